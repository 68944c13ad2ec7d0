//! The next key, whatever it means otherwise; for settings. Esc leaves.

use super::{Done, Then};
use crate::event::{Input, What};
use crate::keymap::Key;
use crate::state::{Ctx, State};
use crate::widgets::popup;
use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::{Paragraph, Wrap};
use text::Safe;

/// The layer.
pub struct Press {
    question: Safe<'static>,
    then: Option<Then<Key>>,
}

impl Press {
    /// `then` is done with the key.
    pub fn new(question: impl AsRef<str>, then: impl FnOnce(Key, &mut Ctx<'_>) + Send + 'static) -> Self {
        Self { question: Safe::clean_lines(question.as_ref()).into_owned(), then: Some(Box::new(then)) }
    }

    pub(super) fn input(&mut self, input: &Input, ctx: &mut Ctx<'_>) -> Done {
        let What::Key(key) = &input.what else { return Done::Stay };
        if key.code != KeyCode::Esc
            && let Some(then) = self.then.take()
        {
            then(Key::from(*key), ctx);
        }
        Done::Close
    }

    pub(super) fn draw(&self, state: &State, area: Rect, frame: &mut Frame<'_>) {
        let inner = popup(frame, area, "Press a key", (60, 6), state.theme.warn);
        frame.render_widget(Paragraph::new(self.question.as_str().to_owned()).wrap(Wrap { trim: false }), inner);
    }
}
