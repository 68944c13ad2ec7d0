//! How the inbox is drawn.

use super::Place;
use super::dialog::time_left;
use crate::action::Action;
use crate::event::Ms;
use crate::state::State;
use crate::widgets::row;
use contract::Micros;
use contract::ops::approvals::{ApprovalStatus, ApprovalView};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use text::Safe;

/// What drawing keeps.
#[derive(Default)]
pub struct View {}

/// Lines of a row: the call, and its arguments.
const LINES: usize = 2;
/// From so many lines on there is room for the arguments.
const ROOM: usize = 4;

/// Widths of the columns; the first takes what is left.
struct Columns {
    what: usize,
    agent: usize,
    who: usize,
    state: usize,
    age: usize,
    left: usize,
}

impl Columns {
    fn of(width: usize, all: bool) -> Self {
        let age = 7;
        let left = 9;
        let state = if all { 10 } else { 0 };
        let agent = if width >= 45 { 14 } else { 0 };
        let who = if width >= 60 { 12 } else { 0 };
        let used = [agent, who, state, age, left].into_iter().map(|w| if w == 0 { 0 } else { w + 1 }).sum::<usize>();
        Self { what: width.saturating_sub(used + 2).max(1), agent, who, state, age, left }
    }

    fn row(&self, cells: [&str; 6]) -> String {
        let widths = [self.what, self.agent, self.who, self.state, self.age, self.left];
        let cells = cells.iter().zip(widths).filter(|(_, width)| *width > 0);
        cells.map(|(cell, width)| text::pad(&Safe::clean(cell), width)).collect::<Vec<_>>().join(" ")
    }
}

/// This machine's clock at `now`.
pub(super) fn wall(clock: Option<(Ms, Micros)>, now: Ms) -> Option<Micros> {
    let (at, wall) = clock?;
    let passed = i64::try_from(now.saturating_sub(at)).ok()?.checked_mul(1_000)?;
    Some(Micros(wall.0.saturating_add(passed)))
}

/// How long ago, in one unit.
fn age(micros: i64) -> String {
    let minutes = micros.max(0) / 60_000_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..2_880 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

fn left(micros: i64) -> String {
    let ms = u64::try_from(micros / 1_000).unwrap_or(0);
    match ms {
        0 => "over".to_owned(),
        1..60_000 => "< 1 min".to_owned(),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        _ => time_left(ms).0.trim_end_matches(" left").replace(" min", "m").replace(" h", "h"),
    }
}

impl Place {
    /// Draws the inbox.
    pub fn draw(&self, state: &State, view: &mut crate::view::View, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        if area.is_empty() {
            return;
        }
        let filter = self.filtering || !self.filter.text().is_empty();
        let shown = self.shown();
        // Under rows there is a line for it; without rows it has their room.
        let below = self.error.as_ref().filter(|_| !shown.is_empty());
        let [top, head, body, foot] = Layout::vertical([
            Constraint::Length(u16::from(filter)),
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(u16::from(below.is_some())),
        ])
        .areas(area);
        if filter {
            let cursor = self.filter.draw(frame, top, "filter: ", theme.text);
            view.cursor = cursor.filter(|_| self.filtering);
        }
        if let Some(error) = below {
            row(frame, foot, error.as_str(), theme.bad);
        }
        let columns = Columns::of(area.width.into(), self.show_all);
        let titles = columns.row(["what", "agent", "asked by", "status", "age", "left"]);
        row(frame, head, format!("  {titles}"), theme.dim);
        let lines = if usize::from(body.height) >= ROOM { LINES } else { 1 };
        let rows = (usize::from(body.height) / lines).max(1);
        self.rows.set(rows);
        if shown.is_empty() {
            let said = match &self.error {
                Some(error) => Paragraph::new(error.to_string()).style(theme.bad),
                None => Paragraph::new(self.nothing(state)).style(theme.dim),
            };
            frame.render_widget(said.wrap(Wrap { trim: false }), body);
            return;
        }
        let index = self.index(&shown);
        let first = index - index % rows;
        let mut drawn = Vec::new();
        for (at, approval) in shown.iter().enumerate().skip(first).take(rows) {
            let (mark, style) = if at == index { ("› ", theme.selected) } else { ("  ", theme.text) };
            let style = if approval.status == ApprovalStatus::Pending { style } else { style.patch(theme.dim) };
            drawn.push(Line::from(vec![Span::styled(mark, style), Span::styled(self.line(approval, &columns), style)]));
            if lines == LINES {
                let arguments = format!("    {}", Safe::clean(&approval.arguments()));
                drawn.push(Line::styled(text::truncate(&arguments, body.width.into()).into_owned(), theme.dim));
            }
        }
        frame.render_widget(Paragraph::new(drawn), body);
    }

    fn line(&self, approval: &ApprovalView, columns: &Columns) -> String {
        let pending = approval.status == ApprovalStatus::Pending;
        let now = self.read_at.or(self.clock.map(|(_, wall)| wall));
        let (age, left) = match now {
            Some(now) => (
                age(now.0.saturating_sub(approval.created_at.0)),
                if pending { left(approval.expires_at.0.saturating_sub(now.0)) } else { String::new() },
            ),
            None => (String::new(), String::new()),
        };
        // One that waits for somebody else says so.
        let what = if pending && !approval.may_decide {
            format!("{} (not yours to decide)", approval.tool)
        } else {
            approval.tool.clone()
        };
        columns.row([&what, &approval.agent, &approval.requested_by, approval.status.as_str(), &age, &left])
    }

    fn nothing(&self, state: &State) -> Vec<Line<'static>> {
        if self.waiting.is_none() {
            return vec![Line::raw("Reading…")];
        }
        if !self.filter.text().is_empty() {
            return vec![Line::raw("Nothing fits the filter.")];
        }
        let mut lines = vec![Line::raw("Nothing waits for approval.")];
        if !self.show_all {
            let key = state.keymap.hint(Action::ShowDecided);
            lines.push(Line::raw(format!("{key} shows those that were answered.")));
        }
        lines
    }
}
