//! How a form is drawn.

use super::field::{Field, Kind, shown};
use super::{Editor, Form};
use crate::markdown::wrap::{Break, wrap_text};
use crate::theme::Theme;
use crate::widgets::{row, rows as fitting_rows};
use crate::words::count;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use serde_json::Value;
use text::Safe;

/// Rows of a text area that has not the focus, and the least of one that has.
const AREA: u16 = 3;
/// Most rows of the help of a field.
const HELP: usize = 2;
/// Columns for the marks of focus and change.
const MARKS: u16 = 3;

/// What drawing keeps.
#[derive(Debug, Default)]
pub struct View {
    /// The field at the top.
    first: usize,
}

impl Form {
    /// Draws the form. Answers where the real cursor belongs.
    pub fn draw(&self, theme: &Theme, view: &mut View, area: Rect, frame: &mut Frame<'_>) -> Option<Position> {
        if area.is_empty() {
            return None;
        }
        let help = self.focus().map(|field| field.help.as_str()).filter(|help| !help.is_empty());
        let mut rows = area;
        if let Some(help) = help.filter(|_| area.height > 4) {
            let mut said = wrap_text(&Safe::clean(help), area.width.into(), theme.dim, Break::Words);
            // Two rows where there is room; the rest of a very long one is the schema's affair.
            let most = if area.height > 12 { HELP } else { 1 };
            let cut = said.len() > most;
            said.truncate(most);
            let mut said: Vec<Line<'_>> = said.into_iter().map(Line::from).collect();
            if let Some(last) = said.last_mut().filter(|_| cut) {
                last.spans.push(Span::styled(" …", theme.dim));
            }
            let height = said.len() as u16;
            rows.height -= height;
            fitting_rows(frame, Rect { y: rows.bottom(), height, ..area }, said);
        }
        let cursor = self.draw_fields(theme, view, rows, frame);
        match &self.choices {
            Some(choices) => {
                let items = self.items();
                let current = self.focus().and_then(|field| field.value.clone());
                choices.draw(theme, area, frame, |option| items.contains(option) || current.as_ref() == Some(option))
            }
            None => cursor,
        }
    }

    fn heights(&self, room: u16) -> Vec<u16> {
        let mut heights: Vec<u16> = (0..self.fields.len())
            .map(|index| {
                let field = &self.fields[index];
                let rows = match &self.editors[index] {
                    Editor::Area(area) if matches!(field.kind, Kind::List { .. }) => {
                        1 + (area.lines() as u16).clamp(1, AREA)
                    }
                    Editor::Area(_) => 1 + AREA,
                    _ => 1,
                };
                rows + u16::from(field.error.is_some())
            })
            .collect();
        // The text area in hand, else the last one, gets the room that is left.
        let is_area = |index: &usize| matches!(self.fields[*index].kind, Kind::Multiline);
        let grows = Some(self.focus).filter(|i| *i < heights.len()).filter(is_area);
        if let Some(grows) = grows.or_else(|| (0..heights.len()).rev().find(is_area)) {
            let taken: u16 = heights.iter().fold(0, |sum, height| sum.saturating_add(*height));
            heights[grows] += room.saturating_sub(taken);
        }
        heights.iter().map(|height| (*height).min(room)).collect()
    }

    fn draw_fields(&self, theme: &Theme, view: &mut View, area: Rect, frame: &mut Frame<'_>) -> Option<Position> {
        let heights = self.heights(area.height);
        let focus = self.focus.min(heights.len().saturating_sub(1));
        view.first = view.first.min(focus);
        let sum = |from: usize| heights[from..=focus].iter().fold(0u16, |sum, h| sum.saturating_add(*h));
        while view.first < focus && sum(view.first) > area.height {
            view.first += 1;
        }
        // Room that is left at the end is given back to the fields above.
        let rest = |from: usize| heights[from..].iter().fold(0u16, |sum, h| sum.saturating_add(*h));
        while view.first > 0 && rest(view.first - 1) <= area.height {
            view.first -= 1;
        }
        let widest = self.fields.iter().map(|field| text::width(&Safe::clean(&field.label))).max().unwrap_or(0) as u16;
        let label = widest.min(area.width / 3);
        let mut cursor = None;
        let mut y = area.y;
        for (index, height) in heights.iter().enumerate().skip(view.first) {
            let left = area.bottom().saturating_sub(y);
            if left == 0 {
                break;
            }
            let place = Rect { y, height: (*height).min(left), ..area };
            y += place.height;
            let at = self.draw_field(index, theme, label, place, frame);
            cursor = cursor.or(at);
        }
        cursor
    }

    fn draw_field(
        &self,
        index: usize,
        theme: &Theme,
        label: u16,
        area: Rect,
        frame: &mut Frame<'_>,
    ) -> Option<Position> {
        let field = &self.fields[index];
        let focused = index == self.focus;
        let style = if focused { theme.strong } else { theme.text };
        let head = Line::from(vec![
            Span::styled(if focused { "›" } else { " " }, theme.accent),
            Span::styled(if field.is_changed() { "● " } else { "  " }, theme.warn),
            Span::styled(text::pad(&Safe::clean(&field.label), label.into()), style),
        ]);
        let line = Rect { height: area.height.min(1), ..area };
        frame.render_widget(Paragraph::new(head), line);
        let indent = MARKS.saturating_add(label).saturating_add(1).min(area.width);
        let beside = Rect { x: area.x + indent, width: area.width - indent, ..line };
        let mut below = Rect { y: area.y + line.height, height: area.height - line.height, ..area };
        if let Some(error) = &field.error
            && below.height > 0
        {
            below.height -= 1;
            let line = Rect { y: below.bottom(), height: 1, ..below };
            let said = format!("   ! {}", Safe::clean(error));
            frame.render_widget(
                Paragraph::new(text::truncate(&said, line.width.into()).into_owned()).style(theme.bad),
                line,
            );
        }
        match &self.editors[index] {
            Editor::Area(text) => {
                let note = match (text.is_long(), text.odd()) {
                    (true, _) => "too long to be edited here; use an editor of your own".to_owned(),
                    (_, Some(odd)) => format!("¤ stands for hidden characters: {odd}"),
                    _ if field.read_only => "read-only".to_owned(),
                    _ => match text.lines() {
                        1 => String::new(),
                        lines => count(lines, "line", "lines"),
                    },
                };
                row(frame, beside, note, theme.dim);
                let indent = MARKS.min(below.width);
                let inside = Rect { x: below.x + indent, width: below.width - indent, ..below };
                text.draw(frame, inside, theme.warn, focused)
            }
            Editor::Line(line) if focused && !field.read_only => {
                line.draw_as(frame, beside, "", theme.text, field.secret)
            }
            _ => {
                let shown = one_line(field);
                let style = if field.read_only || field.value.as_ref().is_none_or(Value::is_null) {
                    theme.dim
                } else {
                    theme.text
                };
                frame.render_widget(
                    Paragraph::new(text::truncate(&shown, beside.width.into()).into_owned()).style(style),
                    beside,
                );
                (focused && !beside.is_empty()).then(|| beside.as_position())
            }
        }
    }
}

fn one_line(field: &Field) -> String {
    match (&field.kind, &field.value) {
        (Kind::Bool, Some(Value::Bool(true))) => "[x] yes".into(),
        (Kind::Bool, Some(Value::Bool(false))) => "[ ] no".into(),
        (Kind::Bool, _) => "[-] not set".into(),
        (_, None | Some(Value::Null)) => "–".into(),
        (_, value) if field.secret => "•".repeat(shown(value.as_ref()).chars().count()),
        (_, value) => Safe::clean(&shown(value.as_ref())).to_string(),
    }
}
