//! The chat on screen. Only what is in sight is painted, and what was painted is kept by item, width and theme, so that a key
//! and a piece of a stream cost the same however long the transcript is.

use super::compare;
use super::paint::{Look, Painted, seconds};
use super::search::{hits_in, mark};
use super::{Focus, Place, Port, Scroll};
use crate::action::Action;
use crate::state::State;
use crate::theme::ThemeName;
use crate::view::View as Whole;
use crate::widgets::{row, rows};
use contract::turn::TurnStatus;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use text::Safe;

/// Left of the transcript: the mark of the selected item.
const EDGE: u16 = 2;
/// Most rows that show what is queued.
const QUEUE_ROWS: usize = 3;
const BEATS: [&str; 4] = ["·  ", "·· ", "···", " ··"];

#[derive(Clone, Debug, Default)]
struct Slot {
    id: u64,
    version: u32,
    width: u16,
    theme: ThemeName,
    growing: bool,
    painted: Painted,
}

/// What drawing keeps: painted items.
#[derive(Default)]
pub struct View {
    slots: Vec<Slot>,
    compare: compare::View,
    /// How many rows were painted so far.
    pub painted: usize,
}

impl View {
    /// The rows of an item, painted if they are not yet.
    fn rows(&mut self, place: &Place, index: usize, look: Look<'_>) -> &[Line<'static>] {
        let item = &place.transcript.items()[index];
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, Slot::default);
        }
        let slot = &mut self.slots[index];
        let same = slot.id == item.id && slot.width == look.width && slot.theme == look.theme.name;
        if !same || slot.version != item.version {
            let grown = same && slot.growing && item.growing;
            slot.painted.paint(item, look, grown);
            (slot.id, slot.version, slot.growing) = (item.id, item.version, item.growing);
            (slot.width, slot.theme) = (look.width, look.theme.name);
            self.painted += slot.painted.made;
        }
        &self.slots[index].painted.rows
    }

    /// Brings the window into bounds and notes what is in sight. Looks at no items but those in and next to it.
    fn settle(&mut self, place: &Place, height: usize, look: Look<'_>) -> Port {
        let mut port = place.port.get();
        let count = place.transcript.items().len();
        port.height = height;
        if count == 0 || height == 0 {
            return Port { seen: count, top: (0, 0), sight: (0, 0), ..port };
        }
        let (mut item, mut line) = match port.scroll {
            Scroll::Follow => self.up(place, (count, 0), height, look),
            Scroll::At { item, line } if line < 0 => {
                let rows = usize::try_from(line.unsigned_abs()).unwrap_or(usize::MAX);
                self.up(place, (item.min(count), 0), rows, look)
            }
            Scroll::At { item, line } => (item.min(count - 1), usize::try_from(line).unwrap_or(usize::MAX)),
            Scroll::Reveal { item, nth } => {
                let item = item.min(count - 1);
                let row = self.row_of_hit(place, item, nth, look);
                self.up(place, (item, row), height / 3, look)
            }
        };
        while item + 1 < count && line >= self.rows(place, item, look).len() {
            line -= self.rows(place, item, look).len();
            item += 1;
        }
        // Nothing stands below the end.
        let end = self.up(place, (count, 0), height, look);
        if (item, line) >= end {
            (item, line) = end;
            port.scroll = Scroll::Follow;
            port.seen = count;
        } else {
            port.scroll = Scroll::At { item, line: i64::try_from(line).unwrap_or(0) };
        }
        port.top = (item, line);
        port
    }

    /// The place so many rows above a row; the beginning when there are fewer.
    fn up(&mut self, place: &Place, from: (usize, usize), rows: usize, look: Look<'_>) -> (usize, usize) {
        let (mut item, mut line) = from;
        let mut left = rows;
        while left > line {
            if item == 0 {
                return (0, 0);
            }
            left -= line;
            item -= 1;
            line = self.rows(place, item, look).len();
        }
        (item, line - left)
    }

    fn row_of_hit(&mut self, place: &Place, item: usize, nth: usize, look: Look<'_>) -> usize {
        let query = &place.search.query;
        let mut before = 0;
        let mut last = 0;
        for (row, line) in self.rows(place, item, look).iter().enumerate() {
            let hits = hits_in(line, query);
            if hits > 0 {
                last = row;
            }
            before += hits;
            if before > nth {
                return row;
            }
        }
        last
    }
}

impl Place {
    /// Draws the chat.
    pub fn draw(&self, state: &State, view: &mut Whole, area: Rect, frame: &mut Frame<'_>) {
        if area.is_empty() {
            return;
        }
        self.port.set(Port { still: state.still, ..self.port.get() });
        let most = (state.size.1 / 3).max(1).min(area.height);
        let focused = self.focus == Focus::Composer;
        let edge = 2.min(area.width.saturating_sub(1));
        let (text, cursor) = self.composer.rows((area.width - edge).into(), most.into(), state.theme.text);
        let composer_rows = u16::try_from(text.len()).unwrap_or(most).clamp(1, most);
        let queue_rows = u16::try_from(self.queue.len().min(QUEUE_ROWS)).unwrap_or(0);
        let spare = area.height.saturating_sub(composer_rows);
        let [head, body, status, queue, composer] = Layout::vertical([
            Constraint::Length(u16::from(spare > 4)),
            Constraint::Min(0),
            Constraint::Length(u16::from(spare > 1)),
            Constraint::Length(if spare > queue_rows + 4 { queue_rows } else { 0 }),
            Constraint::Length(composer_rows),
        ])
        .areas(area);
        self.draw_head(state, head, frame);
        match &self.compare {
            Some(compare) if self.focus == Focus::Compare => {
                compare.draw(state, &mut view.places.chat.compare, body, frame);
            }
            _ => self.draw_transcript(state, view, body, frame),
        }
        view.cursor = self.draw_status(state, status, frame);
        self.draw_queue(state, queue, frame);
        let sign = Rect { width: edge, height: composer.height.min(1), ..composer };
        frame
            .render_widget(Paragraph::new("›").style(if focused { state.theme.accent } else { state.theme.dim }), sign);
        let field = Rect { x: composer.x + edge, width: composer.width - edge, ..composer };
        if self.composer.is_empty() && text.len() <= 1 && !focused {
            // From the other layers of the chat the key means something else.
            let hint = match self.focus {
                Focus::Transcript => format!("{} to write", state.keymap.hint(Action::ToComposer)),
                _ => String::new(),
            };
            row(frame, field, hint, state.theme.dim);
        } else {
            frame.render_widget(Paragraph::new(text), field);
        }
        if focused && !field.is_empty() {
            let column = u16::try_from(cursor.1).unwrap_or(u16::MAX).min(field.width - 1);
            let row = u16::try_from(cursor.0).unwrap_or(u16::MAX).min(field.height - 1);
            view.cursor = Some(Position::new(field.x + column, field.y + row));
        }
        if self.focus == Focus::Sessions {
            self.sessions.draw(self.session.as_deref(), state, area, frame);
            view.cursor = None;
        }
    }

    fn draw_head(&self, state: &State, area: Rect, frame: &mut Frame<'_>) {
        let theme = &state.theme;
        let Some(agent) = &self.agent else { return };
        let mut spans = vec![Span::styled(format!("{} ", Safe::clean(agent)), theme.strong)];
        if self.stale {
            let key = state.keymap.hint(Action::MoveOn);
            spans.push(Span::styled(format!("· changed since, {key} moves on "), theme.warn));
        }
        let mut rest = match &self.session {
            Some(session) => format!("· session {}", Safe::clean(session)),
            None => "· new session".to_owned(),
        };
        if let Some(version) = self.version {
            rest += &format!(" · version {version}");
        }
        spans.push(Span::styled(rest, theme.dim));
        rows(frame, area, vec![Line::from(spans)]);
    }

    fn draw_transcript(&self, state: &State, view: &mut Whole, area: Rect, frame: &mut Frame<'_>) {
        let items = self.transcript.items();
        let width = area.width.saturating_sub(EDGE);
        if area.is_empty() || width == 0 {
            return;
        }
        if items.is_empty() {
            let (text, style) = match (&self.fault, &self.agent) {
                (Some(error), _) => (Safe::clean(&error.message).into_owned(), state.theme.bad),
                (None, None) => {
                    (Safe::clean("Choose an agent first, then chat with it.").into_owned(), state.theme.dim)
                }
                (None, Some(_)) if self.loading => (Safe::clean("Reading…").into_owned(), state.theme.dim),
                (None, Some(_)) => (Safe::clean("Nothing was said yet.").into_owned(), state.theme.dim),
            };
            return frame.render_widget(Paragraph::new(text.to_string()).style(style).wrap(Wrap { trim: false }), area);
        }
        let approvals = state.keymap.hint(Action::GoApprovals);
        let (ran, not) = (state.keymap.hint(Action::CallRan), state.keymap.hint(Action::CallNotRun));
        let look = Look { width, theme: &state.theme, approvals: &approvals, settle: (&ran, &not) };
        let own = &mut view.places.chat;
        own.slots.truncate(items.len());
        let mut port = own.settle(self, area.height.into(), look);
        let (mut item, mut line) = port.top;
        port.sight = (item, item);
        let query = self.search.query.as_str();
        let mut drawn = Vec::with_capacity(area.height.into());
        while drawn.len() < usize::from(area.height) && item < items.len() {
            let selected = self.selected == Some(item) && self.focus != Focus::Composer;
            let edge = if selected { Span::styled("▌ ", state.theme.accent) } else { Span::raw("  ") };
            let left = usize::from(area.height) - drawn.len();
            for row in own.rows(self, item, look).iter().skip(line).take(left) {
                let mut marked = mark(row, query, &state.theme);
                marked.spans.insert(0, edge.clone());
                drawn.push(marked);
            }
            port.sight.1 = item;
            (item, line) = (item + 1, 0);
        }
        self.port.set(port);
        frame.render_widget(Paragraph::new(drawn), area);
    }

    /// What goes on, between transcript and composer. Answers where the cursor is when the search is typed here.
    fn draw_status(&self, state: &State, area: Rect, frame: &mut Frame<'_>) -> Option<Position> {
        let theme = &state.theme;
        if self.focus == Focus::Search {
            return self.search.line.draw(frame, area, "/ ", theme.text);
        }
        if let Some(compare) = self.compare.as_ref().filter(|_| self.focus == Focus::Compare) {
            let close = state.keymap.hint(Action::LayerClose);
            let more = compare.below(state);
            let more = if more.is_empty() { more } else { more + " · " };
            let text = format!("{more}{close} closes, and stops what still runs there");
            row(frame, area, text, theme.dim);
            return None;
        }
        let mut spans = Vec::new();
        let mut say = |text: String, style| spans.push(Span::styled(format!("{text}  "), style));
        let away = state.connection.0 != client::Connection::Connected;
        if away && self.is_busy() {
            say("waiting for the server".into(), theme.warn);
        } else if self.works() {
            let beat = BEATS[usize::try_from(self.now / super::BEAT_MS).unwrap_or(0) % BEATS.len()];
            let mark = if state.still { "···" } else { beat };
            let stop = state.keymap.hint(Action::Interrupt);
            let elapsed = if state.still {
                String::new()
            } else {
                format!(" {}", seconds(i64::try_from(self.now.saturating_sub(self.began) / 1000 * 1000).unwrap_or(0)))
            };
            say(format!("{mark} working{elapsed}"), theme.accent);
            say(if self.stop { "stopping".into() } else { format!("{stop} stops") }, theme.dim);
        } else if self.transcript.open_turn().is_some_and(|turn| turn.status == TurnStatus::Waiting) {
            say(format!("? waits for a person; {} opens it", state.keymap.hint(Action::GoApprovals)), theme.warn);
        }
        if !away && self.again.is_some_and(|(at, _)| at != u64::MAX) {
            say("the connection broke; it is taken up again soon".into(), theme.bad);
        }
        let port = self.port.get();
        if port.scroll != Scroll::Follow {
            let new = self.transcript.items().len().saturating_sub(port.seen);
            let key = state.keymap.hint(Action::Follow);
            let what = if new > 0 { format!("{new} new") } else { "more".into() };
            say(format!("↓ {what} below; {key} follows"), theme.accent);
        }
        if !self.search.query.is_empty() {
            say(Safe::clean(&self.search.count()).as_str().to_owned(), theme.accent);
        }
        rows(frame, area, vec![Line::from(spans)]);
        None
    }

    fn draw_queue(&self, state: &State, area: Rect, frame: &mut Frame<'_>) {
        let rows = usize::from(area.height);
        if rows == 0 {
            return;
        }
        let mut lines = Vec::new();
        for (at, text) in self.queue.iter().take(rows).enumerate() {
            let hidden = self.queue.len() - at - 1;
            let more = if at + 1 == rows && hidden > 0 { format!(" (and {hidden} more)") } else { String::new() };
            let first = text.lines().next().unwrap_or_default();
            let line = format!("queued{more}: {}", Safe::clean(first));
            lines.push(Line::styled(text::truncate(&line, area.width.into()).into_owned(), state.theme.dim));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }
}
