//! One frame: top line, place, what is said, footer, layers.

use crate::action::{ACTIONS, Action, Info};
use crate::keymap::Key;
use crate::layers::Layers;
use crate::markdown::wrap::{Break, wrap_text};
use crate::places::{PlaceId, Places};
use crate::state::State;
use crate::view::View;
use crate::widgets::rows;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use text::Safe;

/// Below this nothing can be shown but a line that says so.
const SMALLEST: (u16, u16) = (20, 5);
/// Below this the names of places at the left are left out.
const COMPACT: (u16, u16) = (60, 16);

/// Draws the state. Fills the view; changes nothing else.
pub fn draw(state: &State, view: &mut View, frame: &mut Frame<'_>) {
    let area = frame.area();
    view.cursor = None;
    if area.is_empty() {
        return;
    }
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let compact = area.width < COMPACT.0 || area.height < COMPACT.1;
    let said = said(state, area.width);
    // On a small screen what is said stands where the keys are told, and goes again.
    let said_rows = if compact { 0 } else { u16::try_from(said.len()).unwrap_or(1).max(1) };
    let [top, middle, status, bottom] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(said_rows),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_top(state, top, frame);
    let place = if compact {
        middle
    } else {
        let [left, place] = Layout::horizontal([Constraint::Length(13), Constraint::Min(1)]).areas(middle);
        draw_places(state, left, frame);
        place
    };
    view.middle = place;
    Places::draw(state, view, place, frame);
    if compact && !said.is_empty() {
        frame.render_widget(Paragraph::new(said).style(state.theme.text), bottom);
    } else {
        // The row for what is said is free most of the time: then keys that do not fit on one row have it too.
        let spare = said.is_empty().then_some(status).filter(|row| row.height > 0);
        frame.render_widget(Paragraph::new(said), status);
        draw_footer(state, spare, bottom, frame);
    }
    Layers::draw(state, view, middle, frame);
    if let Some(cursor) = view.cursor.filter(|cursor| area.contains(*cursor)) {
        frame.set_cursor_position(cursor);
    }
}

fn draw_top(state: &State, area: Rect, frame: &mut Frame<'_>) {
    let theme = &state.theme;
    let who = match (&state.me, &state.me_error) {
        (Some(me), _) => {
            let role = if me.is_superuser {
                "platform"
            } else if me.may_administer {
                "admin"
            } else if me.may_author {
                "builder"
            } else {
                "viewer"
            };
            format!("{} · {} · {role}", me.tenant.as_deref().unwrap_or("no tenant"), me.user_id)
        }
        (None, Some(error)) => error.message.clone(),
        (None, None) => "…".to_owned(),
    };
    let waiting = state.places.approvals.pending().len();
    let badge = if waiting > 0 { format!(" {waiting} to approve ") } else { String::new() };
    let left = format!(" astudio · {} · {}", Safe::clean(&state.profile.engine), Safe::clean(&who));
    let cut = match (state.connection.0, state.seconds_to_reconnect()) {
        (client::Connection::Connected, _) => String::new(),
        (client::Connection::Offline, _) => " offline ".to_owned(),
        (_, None | Some(0)) => " reconnecting… ".to_owned(),
        (_, Some(seconds)) => format!(" reconnecting in {seconds} s "),
    };
    let room = (area.width as usize).saturating_sub(text::width(&badge) + text::width(&cut));
    let left = text::pad(&text::truncate(&left, room), room);
    let line = Line::from(vec![
        Span::styled(left, theme.bar),
        Span::styled(cut, theme.bad.patch(theme.bar)),
        Span::styled(badge, theme.warn.patch(theme.bar)),
    ]);
    frame.render_widget(Paragraph::new(line), area);
}

fn draw_places(state: &State, area: Rect, frame: &mut Frame<'_>) {
    let waiting = state.places.approvals.pending().len();
    let lines: Vec<Line<'_>> = PlaceId::ALL
        .iter()
        .filter(|place| !matches!(place, PlaceId::Agent | PlaceId::Chat) || **place == state.place)
        .map(|place| {
            let here = *place == state.place;
            let mark = if here { "›" } else { " " };
            let count = if *place == PlaceId::Approvals && waiting > 0 { format!(" {waiting}") } else { String::new() };
            let style = if here { state.theme.strong } else { state.theme.dim };
            Line::styled(format!("{mark}{}{count}", place.name()), style)
        })
        .collect();
    rows(frame, area, lines);
}

/// A key as the footer tells it.
pub(crate) struct Told {
    /// What it does.
    pub action: Action,
    key: String,
    label: &'static str,
}

impl Told {
    fn width(&self) -> usize {
        text::width(&self.key) + text::width(self.label) + 3
    }
}

/// The keys that do something now, and at the end those that help everywhere.
pub(crate) fn told(state: &State) -> (Vec<Told>, Vec<Told>) {
    let contexts = state.contexts();
    let layer = state.layers.is_open();
    let typing = !layer && state.places.wants_text(state.place);
    // Only a key that does it now is told: one that an inner context or a text field takes first does not.
    let key = |info: &Info| {
        let works =
            |key: &&Key| !(typing && key.is_text()) && state.keymap.action(&contexts, **key) == Some(info.action);
        state.keymap.keys(info.action).iter().find(works).map(Key::label)
    };
    let mut pieces = Vec::new();
    let mut last = Vec::new();
    for info in contexts.iter().flat_map(|context| ACTIONS.iter().filter(move |info| info.context == *context)) {
        let label = if layer { state.layers.label(info) } else { state.places.label(state.place, info) };
        // What it needs is looked for last: only for what would be told.
        if let Some(key) = key(info).filter(|_| !label.is_empty() && state.can(info)) {
            let always = matches!(info.action, Action::Help | Action::Palette);
            let told = Told { action: info.action, key, label };
            if always { &mut last } else { &mut pieces }.push(told);
        }
    }
    (pieces, last)
}

/// Puts pieces into rows with so much room, in order. Answers how many are in each; none when not all fit.
fn lay_out(pieces: &[Told], rooms: &[usize]) -> Option<Vec<usize>> {
    let mut rows = vec![0; rooms.len()];
    let (mut row, mut used) = (0, 0);
    for piece in pieces {
        while used + piece.width() > *rooms.get(row)? {
            (row, used) = (row + 1, 0);
        }
        used += piece.width();
        rows[row] += 1;
    }
    Some(rows)
}

fn draw_footer(state: &State, spare: Option<Rect>, area: Rect, frame: &mut Frame<'_>) {
    let (mut pieces, last) = told(state);
    let width = usize::from(area.width);
    let room = width.saturating_sub(last.iter().map(Told::width).sum());
    let per_row = loop {
        let one = lay_out(&pieces, &[room]).map(|rows| [0, rows[0]]);
        // At the end of a row no blanks are needed.
        let two = || spare.and_then(|_| lay_out(&pieces, &[width + 2, room])).map(|rows| [rows[0], rows[1]]);
        if let Some(rows) = one.or_else(two) {
            break rows;
        }
        // The way out and the like stay longest; all stand in the order of the table.
        let out = pieces.iter().rposition(|piece| !piece.action.is_told_first()).unwrap_or(pieces.len() - 1);
        pieces.remove(out);
    };
    let line = |pieces: &mut dyn Iterator<Item = Told>| {
        let mut spans = Vec::new();
        for Told { key, label, .. } in pieces {
            spans.push(Span::styled(key, state.theme.accent));
            spans.push(Span::styled(format!(" {label}  "), state.theme.dim));
        }
        Paragraph::new(Line::from(spans))
    };
    let mut pieces = pieces.into_iter();
    if let Some(spare) = spare.filter(|_| per_row[0] > 0) {
        frame.render_widget(line(&mut pieces.by_ref().take(per_row[0])), spare);
    }
    frame.render_widget(line(&mut pieces.chain(last)), area);
}

/// Most rows of what is said.
const SAID_ROWS: usize = 3;

/// What is said now, the newest at last, wrapped to the width: it has rows of its own, so that it covers nothing.
fn said(state: &State, width: u16) -> Vec<Line<'static>> {
    let mut rows: Vec<Line<'static>> = Vec::new();
    for (toast, _) in state.toasts.iter().rev() {
        let style = if toast.bad { state.theme.bad } else { state.theme.good };
        let text = format!(" {} {}", if toast.bad { "!" } else { "·" }, toast.text);
        let own: Vec<Line<'static>> =
            wrap_text(&text, width.into(), style, Break::Words).into_iter().take(SAID_ROWS).map(Line::from).collect();
        if rows.len() + own.len() > SAID_ROWS {
            break;
        }
        rows.splice(0..0, own);
    }
    rows
}

#[cfg(test)]
mod tests {
    use crate::event::Event;
    use crate::testing::Stage;
    use client::Connection;
    use std::time::Duration;

    #[test]
    fn the_top_line_says_how_the_connection_stands() {
        let mut stage = Stage::new(80, 24);
        let none = contract::ops::agents::AgentList { agents: Vec::new(), count: 0, next_cursor: Some(None) };
        let listed =
            crate::places::agents::Msg::Listed { generation: 0, page: 0, reply: Ok(contract::wire::Json(none)) };
        stage.reply(Event::Place(crate::places::Msg::Agents(listed)));
        let (lists, rows) = (stage.called("agents.list"), stage.called("approvals.list"));
        let tell = |stage: &mut Stage, connection| {
            let at = stage.now;
            stage.event(Event::Connection { at, connection });
        };
        tell(&mut stage, Connection::Reconnecting { after: Duration::from_secs(4) });
        assert!(stage.screen()[0].contains("reconnecting in 4 s"), "{:?}", stage.screen()[0]);
        stage.wait(2_100);
        assert!(stage.screen()[0].contains("reconnecting in 2 s"), "{:?}", stage.screen()[0]);
        stage.wait(4_000);
        assert!(stage.screen()[0].contains("reconnecting…"), "{:?}", stage.screen()[0]);
        assert_eq!(stage.next_wake(), None, "nothing moves while nothing is known");
        tell(&mut stage, Connection::Offline);
        assert!(stage.screen()[0].contains("offline"));
        assert_eq!(stage.called("agents.list"), lists, "nothing is asked of a server that is away");
        tell(&mut stage, Connection::Connected);
        assert!(!stage.screen()[0].contains("offline"));
        assert_eq!((stage.called("agents.list"), stage.called("approvals.list")), (lists + 1, rows + 1));
    }
}
