//! How the form of an agent is drawn.

use super::{PROMPT, Place, Subject};
use crate::action::Action;
use crate::form;
use crate::state::State;
use crate::widgets::row;
use crate::words::count;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::widgets::{Paragraph, Wrap};
use serde_json::Value;
use text::Safe;

/// What drawing keeps.
#[derive(Debug, Default)]
pub struct View {
    form: form::View,
    /// Which opening it belongs to.
    ticket: u64,
}

impl Place {
    /// Draws the form.
    pub fn draw(&self, state: &State, view: &mut crate::view::View, area: Rect, frame: &mut Frame<'_>) {
        if area.is_empty() {
            return;
        }
        let theme = &state.theme;
        let own = &mut view.places.agent;
        if own.ticket != self.ticket {
            *own = View { ticket: self.ticket, ..View::default() };
        }
        let banner = self.banner(state);
        let banner_rows = u16::from(banner.is_some() && area.height > 3);
        let [title, said, middle, status] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(banner_rows),
            Constraint::Min(0),
            Constraint::Length(u16::from(area.height > 2)),
        ])
        .areas(area);
        one_line(frame, title, &self.title(), theme.strong);
        if let Some((text, style)) = banner {
            one_line(frame, said, &text, style);
        }
        if self.form.fields().is_empty() {
            let (text, style) = match (&self.error, &self.subject) {
                (Some(error), _) => (Safe::clean(&error.message).to_string(), theme.bad),
                (None, Subject::Nothing) => ("Open an agent from the list.".into(), theme.dim),
                (None, _) => ("Reading …".into(), theme.dim),
            };
            frame.render_widget(Paragraph::new(text).style(style).wrap(Wrap { trim: true }), middle);
            return;
        }
        if let Some(conflict) = &self.conflict {
            let key = |action| state.keymap.hint(action);
            let keys = format!(
                "For each field: {} takes mine, {} theirs; then {} saves. {} goes back.",
                key(Action::TakeMine),
                key(Action::TakeTheirs),
                key(Action::Save),
                key(Action::Back)
            );
            conflict.draw(theme, &keys, middle, frame);
            one_line(frame, status, &self.status(), theme.dim);
            return;
        }
        let cursor = self.form.draw(theme, &mut own.form, middle, frame);
        view.cursor = match &self.search {
            Some(search) => search.draw(frame, status, "search: ", theme.text),
            None => {
                one_line(frame, status, &self.status(), theme.dim);
                cursor
            }
        };
    }

    fn title(&self) -> String {
        match (&self.subject, &self.item) {
            (Subject::Nothing, _) => "Agent".into(),
            (Subject::New, _) => "New agent".into(),
            (Subject::Like(name), _) => format!("New agent like {}", Safe::clean(name)),
            (Subject::Agent(name), None) => Safe::clean(name).to_string(),
            (Subject::Agent(name), Some(item)) => {
                let version = self.version.map_or_else(|| "–".into(), |version| version.to_string());
                let owner = item.owner.as_deref().unwrap_or("–");
                Safe::clean(&format!("{name} · version {version} · {} · owner {owner}", item.visibility)).to_string()
            }
        }
    }

    /// What one should know before one types.
    fn banner(&self, state: &State) -> Option<(String, Style)> {
        if let Some(why) = &self.locked {
            return Some((format!("Read-only: {}.", Safe::clean(why)), state.theme.warn));
        }
        if let Some(error) = self.error.as_ref().filter(|_| !self.form.fields().is_empty()) {
            return Some((format!("! {}", Safe::clean(&error.message)), state.theme.bad));
        }
        let offer = self.offer.as_ref()?;
        let (take, forget) = (state.keymap.hint(Action::TakeKept), state.keymap.hint(Action::ForgetKept));
        let names: Vec<&str> = offer.fields.keys().map(String::as_str).collect();
        let text =
            format!("Unsaved text is kept: {take} takes it, {forget} forgets it ({})", Safe::clean(&names.join(", ")));
        Some((text, state.theme.warn))
    }

    fn status(&self) -> String {
        let mut parts = Vec::new();
        match self.form.changed().len() {
            _ if self.saving => parts.push("saving …".to_owned()),
            0 => parts.push("nothing changed".to_owned()),
            changed => parts.push(format!("● {} changed", count(changed, "field", "fields"))),
        }
        if let Some(prompt) = self.form.field(PROMPT) {
            let chars = prompt.value.as_ref().and_then(Value::as_str).map_or(0, |text| text.chars().count());
            let tokens = count(chars.div_ceil(4), "token", "tokens");
            parts.push(format!("prompt about {tokens} (characters / 4)"));
        }
        parts.join(" · ")
    }
}

fn one_line(frame: &mut Frame<'_>, area: Rect, text: &str, style: Style) {
    row(frame, area, text, style);
}
