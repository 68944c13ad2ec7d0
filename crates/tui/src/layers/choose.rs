//! One of several, found by typing a part of its name.

use super::{Done, Then};
use crate::action::{Action, Need};
use crate::event::{Input, What};
use crate::state::{Ctx, State};
use crate::view::View;
use crate::widgets::{Line as LineInput, popup, rows as fitting_rows};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use text::Safe;

/// Columns for names, at least.
const NAME: usize = 24;
/// Columns that stay for what stands behind a name.
const NOTE: usize = 14;

/// Something to choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What is chosen.
    pub value: String,
    /// More about it.
    pub note: String,
}

/// The layer.
pub struct Choose {
    title: &'static str,
    choices: Vec<Choice>,
    typed: LineInput,
    selected: usize,
    then: Option<Then<String>>,
    preview: Option<Preview>,
}

/// Shows what is selected, while it is; none when nothing is chosen after all.
type Preview = Box<dyn FnMut(Option<&str>, &mut Ctx<'_>) + Send>;

impl Choose {
    /// A choice; `then` is done with what was chosen.
    pub fn new(
        title: &'static str,
        choices: Vec<Choice>,
        then: impl FnOnce(String, &mut Ctx<'_>) + Send + 'static,
    ) -> Self {
        Self { title, choices, typed: LineInput::default(), selected: 0, then: Some(Box::new(then)), preview: None }
    }

    /// With what counts now, which is marked and selected: Enter alone changes nothing.
    pub fn now(mut self, value: &str) -> Self {
        if let Some(at) = self.choices.iter().position(|choice| choice.value == value) {
            self.choices[at].note.push_str(" (now)");
            self.selected = at;
        }
        self
    }

    /// The same; what is selected is shown at once by this, and with none what was before.
    pub fn previewed(mut self, preview: impl FnMut(Option<&str>, &mut Ctx<'_>) + Send + 'static) -> Self {
        self.preview = Some(Box::new(preview));
        self
    }

    /// Shows what is selected now.
    fn show(&mut self, ctx: &mut Ctx<'_>) {
        let selected = self.found().get(self.selected).map(|choice| choice.value.clone());
        if let Some(preview) = &mut self.preview {
            preview(selected.as_deref(), ctx);
        }
    }

    fn found(&self) -> Vec<&Choice> {
        let wanted = self.typed.text().to_lowercase();
        self.choices.iter().filter(|choice| choice.value.to_lowercase().contains(&wanted)).collect()
    }

    /// Whether there is what an action needs.
    pub(super) fn has(&self, need: Need) -> bool {
        need != Need::Choice || self.found().get(self.selected).is_some()
    }

    pub(super) fn input(&mut self, input: &Input, action: Option<Action>, ctx: &mut Ctx<'_>) -> Done {
        match action {
            Some(Action::LayerUp) => {
                self.selected = self.selected.saturating_sub(1);
                self.show(ctx);
            }
            Some(Action::LayerDown) => {
                self.selected = (self.selected + 1).min(self.found().len().saturating_sub(1));
                self.show(ctx);
            }
            Some(Action::LayerClose) => {
                if let Some(preview) = &mut self.preview {
                    preview(None, ctx);
                }
                return Done::Close;
            }
            Some(Action::LayerEnter) => {
                let chosen = self.found().get(self.selected).map(|choice| choice.value.clone());
                if let (Some(chosen), Some(then)) = (chosen, self.then.take()) {
                    then(chosen, ctx);
                    return Done::Close;
                }
            }
            _ => {
                let changed = match &input.what {
                    What::Key(key) => self.typed.key(key),
                    What::Paste(text) => self.typed.paste(text),
                    _ => false,
                };
                if changed {
                    self.selected = 0;
                    self.show(ctx);
                }
            }
        }
        Done::Stay
    }

    pub(super) fn draw(&self, state: &State, view: &mut View, area: Rect, frame: &mut Frame<'_>) {
        let found = self.found();
        let inner = popup(frame, area, self.title, (64, 20), state.theme.border);
        let [top, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
        view.cursor = self.typed.draw(frame, top, "› ", state.theme.text);
        let rows = rest.height as usize;
        let first = (self.selected + 1).saturating_sub(rows);
        // Names that differ at their ends are told apart.
        let widest = found.iter().map(|choice| text::width(&Safe::clean(&choice.value))).max().unwrap_or(0);
        let width = widest.max(NAME).min(usize::from(rest.width).saturating_sub(NOTE));
        let mut lines: Vec<Line<'_>> = Vec::new();
        for (index, choice) in found.iter().enumerate().skip(first).take(rows) {
            let style = if index == self.selected { state.theme.selected } else { state.theme.text };
            lines.push(Line::from(vec![
                Span::styled(if index == self.selected { "›" } else { " " }, style),
                Span::styled(Safe::clean(&choice.value).pad(width).to_string(), style),
                Span::styled(format!(" {}", Safe::clean(&choice.note)), state.theme.dim),
            ]));
        }
        if found.is_empty() {
            lines.push(Line::styled("Nothing fits what was typed.", state.theme.dim));
        }
        fitting_rows(frame, rest, lines);
    }
}
