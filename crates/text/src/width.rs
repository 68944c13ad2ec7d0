//! Columns in a terminal: measuring, cutting and filling, by grapheme so that nothing is cut in the middle of an emoji or accent.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const ELLIPSIS: &str = "…";

/// Columns that one line of safe text takes. Terminals differ on a few emoji; this follows Unicode.
pub fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (0x20..0x7F).contains(&byte)) {
        return text.len();
    }
    text.graphemes(true).map(cells).sum()
}

/// Columns of one grapheme, as the cells are laid out in which it is drawn: the halfwidth voice marks (`ﾞ`, `ﾟ`) count once more
/// there than Unicode says, so a blank stands behind them.
fn cells(grapheme: &str) -> usize {
    grapheme.width() + grapheme.chars().filter(|c| matches!(c, '\u{FF9E}' | '\u{FF9F}')).count()
}

/// The text cut to at most `columns`; where something was cut off, the last column is `…`.
pub fn truncate(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    if columns == 0 {
        return Cow::Borrowed("");
    }
    let room = columns - 1;
    let mut used = 0;
    let mut end = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += cells(grapheme);
        if used > room {
            break;
        }
        end = at + grapheme.len();
    }
    Cow::Owned(format!("{}{ELLIPSIS}", &text[..end]))
}

/// The text cut, or filled with spaces at its end, to exactly `columns`.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = truncate(text, columns).into_owned();
    let fill = columns.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', fill));
    out
}

/// The text cut, or filled with spaces at its start, to exactly `columns`: for numbers.
pub fn pad_start(text: &str, columns: usize) -> String {
    let cut = truncate(text, columns);
    let fill = columns.saturating_sub(width(&cut));
    format!("{}{cut}", " ".repeat(fill))
}

/// What people take for one character each, in order. A cursor moves by these.
pub fn graphemes(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.graphemes(true)
}

/// Whether terminals differ on the columns of a grapheme: those that count its characters one by one give it others than those
/// that take it as a whole, or spread it over cells. What was drawn with one has to be drawn anew around it.
pub fn is_loose(grapheme: &str) -> bool {
    let mut single = grapheme.chars().map(|c| c.width().unwrap_or(0));
    let (Some(first), rest) = (single.next(), single.sum::<usize>()) else { return false };
    // A mark that asks for the picture makes some terminals draw two cells and others one.
    rest > 0 || first != cells(grapheme) || grapheme.contains('\u{FE0F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        for (text, columns) in [
            ("", 0),
            ("abc", 3),
            ("日本語", 6),
            ("한글", 4),
            ("e\u{301}", 1),
            ("👨‍👩‍👧‍👦", 2),
            ("🇩🇪", 2),
            ("⚠️", 2),
            ("1️⃣", 2),
            ("ｆｕｌｌ", 8),
            ("a日b", 4),
            ("ｶﾞﾊﾟ", 6),
        ] {
            assert_eq!(width(text), columns, "{text}");
        }
    }

    #[test]
    fn loose_are_those_that_terminals_measure_in_two_ways() {
        for loose in ["🇩🇪", "👩‍👩‍👧", "👍🏽", "❤\u{fe0f}", "⌚\u{fe0f}", "1\u{fe0f}\u{20e3}", "क्षि", "ｶﾞ"]
        {
            assert!(is_loose(loose), "{loose}");
        }
        for firm in ["", " ", "a", "日", "😀", "e\u{301}", "한", "…"] {
            assert!(!is_loose(firm), "{firm}");
        }
    }

    #[test]
    fn cutting_keeps_graphemes_whole() {
        assert_eq!(truncate("hello", 5), "hello");
        assert_eq!(truncate("hello", 4), "hel…");
        assert_eq!(truncate("hello", 1), "…");
        assert_eq!(truncate("hello", 0), "");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("日本語", 5), "日本…");
        assert_eq!(truncate("a👨‍👩‍👧‍👦bcd", 3), "a…");
        assert_eq!(truncate("a👨‍👩‍👧‍👦bcd", 4), "a👨‍👩‍👧‍👦…");
    }

    #[test]
    fn filling_is_exact() {
        for text in ["", "ab", "日本語", "ｶﾞｷﾞｸﾞ", "long enough to cut", "👩‍💻👩‍💻👩‍💻"]
        {
            for columns in 0..10 {
                assert_eq!(width(&pad(text, columns)), columns, "{text} {columns}");
                assert_eq!(width(&pad_start(text, columns)), columns);
            }
        }
        assert_eq!(pad_start("7", 3), "  7");
    }
}
