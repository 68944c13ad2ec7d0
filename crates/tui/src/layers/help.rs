//! The help: every key that works now, from the action table.

use super::Done;
use crate::action::{ACTIONS, Action, Context};
use crate::event::Input;
use crate::markdown::wrap::{Break, wrap_text};
use crate::state::State;
use crate::view::View;
use crate::widgets::{Scroll, popup, row, rows};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Wider than this nobody reads.
const WIDEST: u16 = 90;
/// Columns for the keys.
const KEYS: usize = 22;

/// The help layer.
pub struct Help {
    contexts: Vec<Context>,
    scroll: Scroll,
}

impl Help {
    /// The help of these contexts.
    pub fn new(contexts: Vec<Context>) -> Self {
        Self { contexts, scroll: Scroll::default() }
    }

    pub(super) fn input(&mut self, _: &Input, action: Option<Action>) -> Done {
        match action {
            Some(Action::LayerClose | Action::LayerEnter) => Done::Close,
            Some(action) => {
                self.scroll.act(action);
                Done::Stay
            }
            None => Done::Stay,
        }
    }

    pub(super) fn draw(&self, state: &State, _: &mut View, area: Rect, frame: &mut Frame<'_>) {
        let mut lines = Vec::new();
        for context in &self.contexts {
            let infos: Vec<_> = ACTIONS.iter().filter(|info| info.context == *context).collect();
            if infos.is_empty() {
                continue;
            }
            lines.push(Line::styled(context.title(), state.theme.strong));
            for info in infos {
                let keys: Vec<String> = state.keymap.keys(info.action).iter().map(crate::keymap::Key::label).collect();
                let keys = format!("  {:<20}", keys.join(" "));
                let room = usize::from(WIDEST.min(area.width)).saturating_sub(2 + KEYS).max(1);
                let about = wrap_text(info.about, room, state.theme.text, Break::Words);
                for (at, about) in about.into_iter().enumerate() {
                    let head = if at == 0 { keys.clone() } else { " ".repeat(KEYS) };
                    let mut spans = vec![Span::styled(head, state.theme.accent)];
                    spans.extend(about);
                    lines.push(Line::from(spans));
                }
            }
            lines.push(Line::default());
        }
        let inner = popup(frame, area, "Keys", (WIDEST, area.height.saturating_sub(2)), state.theme.border);
        if inner.is_empty() {
            return;
        }
        let mut body = inner;
        if lines.len() > usize::from(inner.height) && inner.height > 1 {
            // A row of its own, so that nobody takes what fits for all there is.
            body.height -= 1;
        }
        let from = self.scroll.settle(lines.len(), body.height.into());
        let lines: Vec<Line<'_>> = lines.into_iter().skip(from).take(body.height.into()).collect();
        rows(frame, body, lines);
        if body.height < inner.height {
            let foot = Rect { y: body.bottom(), height: 1, ..inner };
            row(frame, foot, self.scroll.told(&state.keymap), state.theme.accent);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Stage;

    #[test]
    fn it_says_that_there_is_more_and_where() {
        let mut stage = Stage::new(80, 20);
        stage.keys("f1");
        assert!(stage.shows("more below") && !stage.shows("more above"), "{:#?}", stage.screen());
        stage.keys("down");
        assert!(stage.shows("1 more above"), "{:#?}", stage.screen());
        stage.keys(&"down ".repeat(200));
        assert!(!stage.shows("more below") && stage.shows("more above"), "{:#?}", stage.screen());
        stage.keys("up");
        assert!(stage.shows("1 more below"), "what was pressed past the end does not count");
        stage.keys("home");
        assert!(!stage.shows("more above"));
        stage.keys("end");
        assert!(!stage.shows("more below") && stage.shows("more above"), "{:#?}", stage.screen());
        stage.keys("pageup");
        assert!(stage.shows("more below") && stage.shows("more above"));
    }
}
