//! A line of text that is asked for; a secret is shown as dots.

use super::{Done, Then};
use crate::action::{Action, Need};
use crate::event::{Input, What};
use crate::state::{Ctx, State};
use crate::view::View;
use crate::widgets::{Line as LineInput, popup, row};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::{Paragraph, Wrap};
use text::Safe;

/// The layer.
pub struct Ask {
    title: &'static str,
    question: Safe<'static>,
    hidden: bool,
    typed: LineInput,
    then: Option<Then<String>>,
}

impl Ask {
    /// A secret; `then` is done with it. An empty one is no answer.
    pub fn secret(
        title: &'static str,
        question: impl AsRef<str>,
        then: impl FnOnce(String, &mut Ctx<'_>) + Send + 'static,
    ) -> Self {
        let question = Safe::clean_lines(question.as_ref()).into_owned();
        Self { title, question, hidden: true, typed: LineInput::default(), then: Some(Box::new(then)) }
    }

    /// A line of text with something in it already; `then` is done with it. An empty one is no answer.
    pub fn line(
        title: &'static str,
        question: impl AsRef<str>,
        now: impl Into<String>,
        then: impl FnOnce(String, &mut Ctx<'_>) + Send + 'static,
    ) -> Self {
        let question = Safe::clean_lines(question.as_ref()).into_owned();
        Self { title, question, hidden: false, typed: LineInput::new(now), then: Some(Box::new(then)) }
    }

    /// Whether there is what an action needs.
    pub(super) fn has(&self, need: Need) -> bool {
        need != Need::Choice || !self.typed.text().trim().is_empty()
    }

    pub(super) fn input(&mut self, input: &Input, action: Option<Action>, ctx: &mut Ctx<'_>) -> Done {
        match action {
            Some(Action::LayerClose) => return Done::Close,
            Some(Action::LayerEnter) => {
                let answer = self.typed.text().trim().to_owned();
                if let (false, Some(then)) = (answer.is_empty(), self.then.take()) {
                    then(answer, ctx);
                    return Done::Close;
                }
            }
            _ => match &input.what {
                What::Key(key) => _ = self.typed.key(key),
                What::Paste(text) => _ = self.typed.paste(text),
                _ => {}
            },
        }
        Done::Stay
    }

    pub(super) fn draw(&self, state: &State, view: &mut View, area: Rect, frame: &mut Frame<'_>) {
        let inner = popup(frame, area, self.title, (64, 7), state.theme.border);
        let [text, field, hint] =
            Layout::vertical([Constraint::Min(1), Constraint::Length(1), Constraint::Length(1)]).areas(inner);
        frame.render_widget(Paragraph::new(self.question.as_str().to_owned()).wrap(Wrap { trim: false }), text);
        view.cursor = self.typed.draw_as(frame, field, "› ", state.theme.text, self.hidden);
        let key = |action| state.keymap.hint(action);
        let said = format!("{}: done   {}: leave it", key(Action::LayerEnter), key(Action::LayerClose));
        row(frame, hint, said, state.theme.dim);
    }
}
