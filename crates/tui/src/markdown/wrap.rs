//! Breaking styled text into rows of a width, by grapheme: at spaces, between wide characters, and inside a word only when the
//! word alone is too long.

use ratatui::style::Style;
use ratatui::text::Span;
use text::Safe;

/// Text of one style, clean and without line breaks.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    text: String,
    style: Style,
}

impl Piece {
    /// Cleans a text for one line.
    pub fn new(text: &str, style: Style) -> Self {
        Self { text: Safe::clean(text).as_str().to_owned(), style }
    }

    /// The clean text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Columns of some pieces in a row.
pub fn width(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| text::width(&piece.text)).sum()
}

/// Columns of the widest word: what a row must hold so that no word is broken.
pub fn widest_word(pieces: &[Piece]) -> usize {
    let whole: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    whole.split(' ').map(text::width).max().unwrap_or(0)
}

/// How rows are broken.
#[derive(Clone, Copy, PartialEq)]
pub enum Break {
    /// At spaces; spaces at a break vanish.
    Words,
    /// Wherever the row is full; nothing vanishes.
    Anywhere,
}

struct Cell<'a> {
    text: &'a str,
    width: usize,
    style: Style,
}

/// Breaks pieces into rows of at most `columns`. Nothing makes one empty row.
pub fn wrap(pieces: &[Piece], columns: usize, how: Break) -> Vec<Vec<Span<'static>>> {
    let columns = columns.max(1);
    let mut rows = Vec::new();
    let mut row: Vec<Cell<'_>> = Vec::new();
    let mut used = 0;
    // Where the row may be cut: the number of cells that stay.
    let mut cut = None;
    for piece in pieces {
        for grapheme in text::graphemes(&piece.text) {
            let width = text::width(grapheme);
            // What is wider than the whole area cannot be shown in it.
            let (grapheme, width) = if width > columns { ("…", 1) } else { (grapheme, width) };
            let space = grapheme == " " && how == Break::Words;
            if used + width > columns {
                if space {
                    rows.push(spans(&row, how));
                    row.clear();
                    (used, cut) = (0, None);
                    continue;
                }
                let keep = cut.filter(|keep| *keep > 0 && how == Break::Words).unwrap_or(row.len());
                let rest = row.split_off(keep);
                rows.push(spans(&row, how));
                row = rest;
                used = row.iter().map(|cell| cell.width).sum();
                cut = None;
            }
            if width > 1 && !row.is_empty() {
                cut = Some(row.len());
            }
            row.push(Cell { text: grapheme, width, style: piece.style });
            used += width;
            if space || width > 1 {
                cut = Some(row.len());
            }
        }
    }
    if !row.is_empty() || rows.is_empty() {
        rows.push(spans(&row, how));
    }
    rows
}

fn spans(row: &[Cell<'_>], how: Break) -> Vec<Span<'static>> {
    let end = match how {
        Break::Words => row.iter().rposition(|cell| cell.text != " ").map_or(0, |at| at + 1),
        Break::Anywhere => row.len(),
    };
    let mut spans: Vec<Span<'static>> = Vec::new();
    for cell in &row[..end] {
        match spans.last_mut() {
            Some(last) if last.style == cell.style => last.content.to_mut().push_str(cell.text),
            _ => spans.push(Span::styled(cell.text.to_owned(), cell.style)),
        }
    }
    spans
}

/// Plain text of several lines in one style, each line broken on its own.
pub fn wrap_text(source: &str, columns: usize, style: Style, how: Break) -> Vec<Vec<Span<'static>>> {
    Safe::clean_lines(source).lines().flat_map(|line| wrap(&[Piece::new(&line, style)], columns, how)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, columns: usize, how: Break) -> Vec<String> {
        let spans = wrap(&[Piece::new(text, Style::new())], columns, how);
        spans.into_iter().map(|row| row.into_iter().map(|span| span.content.into_owned()).collect()).collect()
    }

    #[test]
    fn breaks_at_words_and_inside_long_ones() {
        assert_eq!(rows("one two three", 7, Break::Words), ["one two", "three"]);
        assert_eq!(rows("abcdefgh ij", 3, Break::Words), ["abc", "def", "gh", "ij"]);
        assert_eq!(rows("", 3, Break::Words), [""]);
        assert_eq!(rows("a  b c", 4, Break::Anywhere), ["a  b", " c"]);
    }

    #[test]
    fn wide_characters_are_never_halved() {
        assert_eq!(rows("日本語です", 5, Break::Words), ["日本", "語で", "す"]);
        assert_eq!(rows("ab日", 2, Break::Words), ["ab", "日"]);
        assert_eq!(rows("日", 1, Break::Words), ["…"]);
        assert_eq!(rows("a👨‍👩‍👧‍👦b", 3, Break::Words), ["a👨‍👩‍👧‍👦", "b"]);
    }
}
