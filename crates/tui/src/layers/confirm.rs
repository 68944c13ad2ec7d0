//! A question before something that cannot be taken back; for the worst a word must be typed.

use super::Done;
use crate::action::{Action, Need};
use crate::event::{Input, What};
use crate::state::{Ctx, State};
use crate::view::View;
use crate::widgets::{Line as LineInput, popup, row};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Paragraph, Wrap};
use text::Safe;

/// What is done on yes.
type Yes = Box<dyn FnOnce(&mut Ctx<'_>) + Send>;

/// The question.
pub struct Confirm {
    title: &'static str,
    question: Safe<'static>,
    /// What must be typed; none = Enter is enough.
    word: Option<String>,
    typed: LineInput,
    then: Option<Yes>,
}

impl Confirm {
    /// A question; `then` is done on yes.
    pub fn new(
        title: &'static str,
        question: impl AsRef<str>,
        word: Option<String>,
        then: impl FnOnce(&mut Ctx<'_>) + Send + 'static,
    ) -> Self {
        Self {
            title,
            question: Safe::clean_lines(question.as_ref()).into_owned(),
            word,
            typed: LineInput::default(),
            then: Some(Box::new(then)),
        }
    }

    fn is_right(&self) -> bool {
        self.word.as_deref().is_none_or(|word| word == self.typed.text().trim())
    }

    /// Whether there is what an action needs.
    pub(super) fn has(&self, need: Need) -> bool {
        need != Need::Choice || self.is_right()
    }

    pub(super) fn input(&mut self, input: &Input, action: Option<Action>, ctx: &mut Ctx<'_>) -> Done {
        match action {
            Some(Action::LayerClose) => return Done::Close,
            Some(Action::LayerEnter) => {
                if self.is_right()
                    && let Some(then) = self.then.take()
                {
                    then(ctx);
                    return Done::Close;
                }
            }
            _ => {
                if self.word.is_some() {
                    match &input.what {
                        What::Key(key) => _ = self.typed.key(key),
                        What::Paste(text) => _ = self.typed.paste(text),
                        _ => {}
                    }
                }
            }
        }
        Done::Stay
    }

    pub(super) fn draw(&self, state: &State, view: &mut View, area: Rect, frame: &mut Frame<'_>) {
        let inner = popup(frame, area, self.title, (64, 9), state.theme.warn);
        let [text, field] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(inner);
        frame.render_widget(Paragraph::new(self.question.as_str().to_owned()).wrap(Wrap { trim: false }), text);
        match &self.word {
            Some(word) => {
                let word = Safe::clean(word);
                view.cursor = self.typed.draw(frame, field, &format!("type {word}: "), state.theme.text);
            }
            None => {
                let key = |action| state.keymap.hint(action);
                let said = format!("{}: yes   {}: no", key(Action::LayerEnter), key(Action::LayerClose));
                row(frame, field, said, state.theme.accent);
            }
        }
    }
}
