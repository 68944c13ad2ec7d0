//! The sessions with this agent, over the transcript.

use crate::state::State;
use crate::widgets::popup;
use crate::words::{count, minute};
use contract::StudioError;
use contract::ops::test::TestSession;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};
use text::Safe;

/// The list.
#[derive(Debug, Default)]
pub struct Sessions {
    /// What was read; none = not yet.
    pub list: Option<Result<Vec<TestSession>, StudioError>>,
    /// The selected row.
    pub selected: usize,
}

impl Sessions {
    /// The rows.
    pub fn rows(&self) -> &[TestSession] {
        match &self.list {
            Some(Ok(list)) => list,
            _ => &[],
        }
    }

    /// Moves the selection.
    pub fn step(&mut self, by: isize) {
        let last = self.rows().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Draws the list.
    pub fn draw(&self, current: Option<&str>, state: &State, area: Rect, frame: &mut Frame<'_>) {
        let inner = popup(frame, area, "Sessions", (72, 16), state.theme.border);
        if inner.is_empty() {
            return;
        }
        let width = usize::from(inner.width);
        let say = |text: &str| Line::from(text::truncate(text, width).into_owned());
        let lines = match &self.list {
            None => vec![say("Reading…")],
            Some(Err(error)) => {
                let said = Paragraph::new(Safe::clean(&error.message).to_string()).style(state.theme.bad);
                return frame.render_widget(said.wrap(Wrap { trim: false }), inner);
            }
            Some(Ok(list)) if list.is_empty() => vec![say("There are no sessions with this agent yet.")],
            Some(Ok(list)) => {
                let rows = usize::from(inner.height);
                let first = (self.selected + 1).saturating_sub(rows);
                let row = |(index, session): (usize, &TestSession)| {
                    let here = if current == Some(session.session.as_str()) { "›" } else { " " };
                    let version = format!("v{}{}", session.agent_version, if session.stale { " older" } else { "" });
                    // The day and the minute are enough to tell sessions apart.
                    let last = minute(session.last_at);
                    let turns = count(usize::try_from(session.turns).unwrap_or(0), "turn", "turns");
                    let name = text::pad(&Safe::clean(&session.session), 22);
                    let text = format!("{here} {name} {version:<11} {turns:>10}  {last}");
                    let style = if index == self.selected { state.theme.selected } else { state.theme.text };
                    Line::styled(text::truncate(&text, width).into_owned(), style)
                };
                list.iter().enumerate().skip(first).take(rows).map(row).collect()
            }
        };
        frame.render_widget(Paragraph::new(lines), inner);
    }
}
