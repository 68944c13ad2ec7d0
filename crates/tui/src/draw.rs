//! One frame: top line, place, footer, layers, toasts.

use crate::action::{ACTIONS, Action, Info};
use crate::keymap::Key;
use crate::layers::Layers;
use crate::places::{PlaceId, Places};
use crate::state::State;
use crate::view::View;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};
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
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(area);
    draw_top(state, top, frame);
    let compact = area.width < COMPACT.0 || area.height < COMPACT.1;
    let place = if compact {
        middle
    } else {
        let [left, place] = Layout::horizontal([Constraint::Length(13), Constraint::Min(1)]).areas(middle);
        draw_places(state, left, frame);
        place
    };
    view.middle = place;
    Places::draw(state, view, place, frame);
    draw_footer(state, bottom, frame);
    Layers::draw(state, view, middle, frame);
    draw_toasts(state, middle, frame);
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
    let room = (area.width as usize).saturating_sub(text::width(&badge));
    let left = text::pad(&text::truncate(&left, room), room);
    let line = Line::from(vec![Span::styled(left, theme.bar), Span::styled(badge, theme.warn.patch(theme.bar))]);
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
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_footer(state: &State, area: Rect, frame: &mut Frame<'_>) {
    let contexts = state.contexts();
    let typing = !state.layers.is_open() && state.places.wants_text(state.place);
    // Only a key that does it now is told: one that an inner context or a text field takes first does not.
    let key = |info: &Info| {
        let works =
            |key: &&Key| !(typing && key.is_text()) && state.keymap.action(&contexts, **key) == Some(info.action);
        state.keymap.keys(info.action).iter().find(works).map(Key::label)
    };
    let mut pieces: Vec<(String, &str)> = Vec::new();
    let mut last: Vec<(String, &str)> = Vec::new();
    for info in contexts.iter().flat_map(|context| ACTIONS.iter().filter(move |info| info.context == *context)) {
        if let Some(key) = key(info).filter(|_| !info.label.is_empty()) {
            if !state.layers.is_open() && state.places.leaves_out(state.place).contains(&info.action) {
                continue;
            }
            let always = matches!(info.action, Action::Help | Action::Palette);
            if always { &mut last } else { &mut pieces }.push((key, info.label));
        }
    }
    let wide = |(key, label): &(String, &str)| text::width(key) + text::width(label) + 3;
    let mut room = (area.width as usize).saturating_sub(last.iter().map(wide).sum());
    let mut spans = Vec::new();
    let fits = pieces.into_iter().take_while(|piece| {
        let fits = wide(piece) <= room;
        room = room.saturating_sub(wide(piece));
        fits
    });
    for (key, label) in fits.collect::<Vec<_>>().into_iter().chain(last) {
        spans.push(Span::styled(key, state.theme.accent));
        spans.push(Span::styled(format!(" {label}  "), state.theme.dim));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

/// At the top right, where they cover neither what is typed nor the newest of a transcript.
fn draw_toasts(state: &State, area: Rect, frame: &mut Frame<'_>) {
    for (index, (toast, _)) in state.toasts.iter().rev().take(3).enumerate() {
        let index = index as u16;
        if index >= area.height {
            break;
        }
        let text = format!(" {} {} ", if toast.bad { "!" } else { "·" }, toast.text);
        let text = text::truncate(&text, area.width as usize).into_owned();
        let width = (text::width(&text) as u16).min(area.width);
        let line = Rect { x: area.right() - width, y: area.y + index, width, height: 1 };
        frame.render_widget(Clear, line);
        let style = if toast.bad { state.theme.bad } else { state.theme.good };
        frame.render_widget(Paragraph::new(text).style(style.patch(state.theme.bar)), line);
    }
}
