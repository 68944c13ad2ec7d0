//! The help: every key that works now, from the action table.

use super::Done;
use crate::action::{ACTIONS, Action, Context};
use crate::event::Input;
use crate::state::State;
use crate::view::View;
use crate::widgets::popup;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use std::cell::Cell;

/// The help layer.
pub struct Help {
    contexts: Vec<Context>,
    scroll: u16,
    /// How far the last frame could be scrolled.
    most: Cell<u16>,
}

impl Help {
    /// The help of these contexts.
    pub fn new(contexts: Vec<Context>) -> Self {
        Self { contexts, scroll: 0, most: Cell::new(0) }
    }

    pub(super) fn input(&mut self, _: &Input, action: Option<Action>) -> Done {
        match action {
            Some(Action::LayerUp) => self.scroll = self.scroll.min(self.most.get()).saturating_sub(1),
            Some(Action::LayerDown) => self.scroll = self.scroll.saturating_add(1).min(self.most.get()),
            Some(Action::LayerClose | Action::LayerEnter) => return Done::Close,
            _ => {}
        }
        Done::Stay
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
                lines.push(Line::from(vec![
                    Span::styled(format!("  {:<20}", keys.join(" ")), state.theme.accent),
                    Span::raw(info.about),
                ]));
            }
            lines.push(Line::default());
        }
        let inner = popup(frame, area, "Keys", (90, area.height.saturating_sub(2)), state.theme.border);
        if inner.is_empty() {
            return;
        }
        let all = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        let mut body = inner;
        if all > inner.height && inner.height > 1 {
            // A row of its own, so that nobody takes what fits for all there is.
            body.height -= 1;
        }
        let most = all.saturating_sub(body.height);
        self.most.set(most);
        let from = self.scroll.min(most);
        frame.render_widget(Paragraph::new(lines).scroll((from, 0)), body);
        if body.height < inner.height {
            let keys = (state.keymap.hint(Action::LayerUp), state.keymap.hint(Action::LayerDown));
            let below = match (most - from, from) {
                (0, above) => format!("{} {above} more above", keys.0),
                (below, 0) => format!("{} {below} more below", keys.1),
                (below, above) => format!("{} {above} more above, {} {below} more below", keys.0, keys.1),
            };
            let foot = Rect { y: body.bottom(), height: 1, ..inner };
            frame.render_widget(Line::styled(below, state.theme.accent), foot);
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
    }
}
