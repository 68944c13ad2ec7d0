//! Tables: columns as wide as their content where that fits, narrower ones with broken cells where it does not, and one row per
//! value where even that would be unreadable.

use super::wrap::{Break, Piece, widest_word, width, wrap};
use crate::theme::Theme;
use pulldown_cmark::Alignment;
use ratatui::style::Style;
use ratatui::text::Span;

/// Between two columns.
const BAR: &str = " │ ";
/// A column narrower than this cannot be read.
const NARROWEST: usize = 6;

/// A table as it was read.
#[derive(Default)]
pub struct Table {
    /// How columns are aligned.
    pub alignments: Vec<Alignment>,
    /// Rows of cells; the first is the head.
    pub rows: Vec<Vec<Vec<Piece>>>,
}

type Row = Vec<Span<'static>>;

impl Table {
    /// The table in at most `columns`. All rows of a grid have the same width.
    pub fn rows(mut self, columns: usize, theme: &Theme) -> Vec<Row> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        for row in &mut self.rows {
            row.resize_with(count, Vec::new);
        }
        if count == 0 {
            return Vec::new();
        }
        match self.widths(count, columns) {
            Some(widths) => self.grid(&widths, theme),
            None => self.list(columns, theme),
        }
    }

    /// Widths of the columns; none when they cannot be read.
    fn widths(&self, count: usize, columns: usize) -> Option<Vec<usize>> {
        let room = columns.checked_sub(text::width(BAR) * (count - 1))?;
        let most = |of: fn(&[Piece]) -> usize, column: usize| self.rows.iter().map(|row| of(&row[column])).max();
        let natural: Vec<usize> = (0..count).map(|column| most(width, column).unwrap_or(0).max(1)).collect();
        // A column never gets narrower than its words, up to a third of the room.
        let least: Vec<usize> = (0..count)
            .map(|column| {
                let word = most(widest_word, column).unwrap_or(0);
                natural[column].min(word.clamp(NARROWEST, (room / 3).max(NARROWEST)))
            })
            .collect();
        if least.iter().sum::<usize>() > room {
            return None;
        }
        let mut widths = natural;
        let mut over = widths.iter().sum::<usize>().saturating_sub(room);
        while over > 0 {
            let widest = (0..count).filter(|&at| widths[at] > least[at]).max_by_key(|&at| widths[at])?;
            widths[widest] -= 1;
            over -= 1;
        }
        Some(widths)
    }

    fn grid(&self, widths: &[usize], theme: &Theme) -> Vec<Row> {
        let mut out = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<Row>> =
                row.iter().zip(widths).map(|(cell, width)| wrap(cell, *width, Break::Words)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(1);
            for line in 0..height {
                let mut spans = Vec::new();
                for (column, cell) in cells.iter().enumerate() {
                    if column > 0 {
                        spans.push(Span::styled(BAR, theme.dim));
                    }
                    let content = cell.get(line).cloned().unwrap_or_default();
                    let alignment = self.alignments.get(column).copied().unwrap_or(Alignment::None);
                    pad(&mut spans, content, widths[column], alignment);
                }
                out.push(spans);
            }
            if index == 0 {
                let rule = widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("─┼─");
                out.push(vec![Span::styled(rule, theme.dim)]);
            }
        }
        out
    }

    /// `name: value`, a row each.
    fn list(&self, columns: usize, theme: &Theme) -> Vec<Row> {
        let (Some(head), rows) = (self.rows.first(), self.rows.get(1..).unwrap_or_default()) else { return Vec::new() };
        let mut out = Vec::new();
        if rows.is_empty() {
            return head.iter().flat_map(|cell| wrap(cell, columns, Break::Words)).collect();
        }
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                out.push(vec![Span::styled("─".repeat(columns), theme.dim)]);
            }
            for (name, value) in head.iter().zip(row) {
                let mut pieces = name.clone();
                pieces.push(Piece::new(": ", theme.strong));
                pieces.extend(value.iter().cloned());
                out.extend(wrap(&pieces, columns, Break::Words));
            }
        }
        out
    }
}

fn pad(spans: &mut Row, content: Row, columns: usize, alignment: Alignment) {
    let used: usize = content.iter().map(|span| text::width(&span.content)).sum();
    let left = columns.saturating_sub(used);
    let before = match alignment {
        Alignment::Right => left,
        Alignment::Center => left / 2,
        Alignment::Left | Alignment::None => 0,
    };
    let fill = |count: usize, spans: &mut Row| {
        if count > 0 {
            spans.push(Span::styled(" ".repeat(count), Style::new()));
        }
    };
    fill(before, spans);
    spans.extend(content);
    fill(left - before, spans);
}
