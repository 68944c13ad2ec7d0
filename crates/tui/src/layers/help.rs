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

/// The help layer.
pub struct Help {
    contexts: Vec<Context>,
    scroll: u16,
}

impl Help {
    /// The help of these contexts.
    pub fn new(contexts: Vec<Context>) -> Self {
        Self { contexts, scroll: 0 }
    }

    pub(super) fn input(&mut self, _: &Input, action: Option<Action>) -> Done {
        match action {
            Some(Action::LayerUp) => self.scroll = self.scroll.saturating_sub(1),
            Some(Action::LayerDown) => self.scroll = self.scroll.saturating_add(1).min(ACTIONS.len() as u16),
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
        let most = (lines.len() as u16).saturating_sub(inner.height);
        frame.render_widget(Paragraph::new(lines).scroll((self.scroll.min(most), 0)), inner);
    }
}
