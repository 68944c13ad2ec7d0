//! Terminal-safe text: whatever came from a model, a tool, a server, a file or a record becomes [`Safe`] before it is shown.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use unicode_width::UnicodeWidthChar;

use crate::invisible::{is_hidden, is_pictograph, push_visible};

/// Combining marks drawn over one character before the rest is shown as `⟨…⟩`: real scripts need fewer, and a tall pile paints over
/// the lines above and below.
const MAX_MARKS: usize = 8;
/// Joins in one emoji: the longest in use (a family) has three. More would be one glyph for us and many columns for a terminal.
const MAX_JOINS: usize = 3;
/// What a tab becomes where lines are kept.
const TAB: &str = "    ";

const JOINER: char = '\u{200D}';
const TEXT_STYLE: char = '\u{FE0E}';
const EMOJI_STYLE: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';
/// The only flags made of tag characters that are in general use: England, Scotland, Wales.
const TAG_FLAGS: [&str; 3] = [
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
];

/// Text that a terminal shows as it reads: no control byte, escape sequence, direction control or invisible character is left in it;
/// each was replaced by something visible. Emoji stay whole.
///
/// The field is private, so a value exists only by cleaning. Widgets and writers take `Safe` and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Safe<'a>(Cow<'a, str>);

impl<'a> Safe<'a> {
    /// Cleans text for one line: line breaks and tabs are made visible too. Borrows when there is nothing to clean.
    pub fn clean(text: &'a str) -> Self {
        Self(clean(text, false))
    }

    /// Cleans text of several lines: `\n` is kept, `\r\n` becomes `\n`, a tab becomes four spaces.
    pub fn clean_lines(text: &'a str) -> Self {
        Self(clean(text, true))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same text without a borrow.
    pub fn into_owned(self) -> Safe<'static> {
        Safe(Cow::Owned(self.0.into_owned()))
    }

    /// The lines, without their ends.
    pub fn lines(&self) -> impl Iterator<Item = Safe<'_>> {
        self.0.split('\n').map(|line| Safe(Cow::Borrowed(line)))
    }

    /// Columns the text takes in a terminal.
    pub fn width(&self) -> usize {
        crate::width::width(&self.0)
    }

    /// The text cut to at most `columns`, with an ellipsis where something was cut off.
    pub fn truncate(&self, columns: usize) -> Safe<'_> {
        // Cutting at a grapheme boundary cannot make safe text unsafe.
        Safe(crate::width::truncate(&self.0, columns))
    }

    /// The text cut or filled with spaces to exactly `columns`.
    pub fn pad(&self, columns: usize) -> Safe<'static> {
        Safe(Cow::Owned(crate::width::pad(&self.0, columns)))
    }
}

impl Deref for Safe<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Safe<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Safe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn clean(text: &str, keep_lines: bool) -> Cow<'_, str> {
    let plain = |byte: u8| (0x20..0x7F).contains(&byte) || (keep_lines && byte == b'\n');
    let Some(start) = text.bytes().position(|byte| !plain(byte)) else {
        return Cow::Borrowed(text);
    };
    // A mark belongs to the character before it, so begin at that one.
    let start = start.saturating_sub(1);
    let mut out = Output { source: text, changed: None };
    let mut marks = 0;
    let mut joins = 0;
    let mut based = start > 0;
    let mut at = start;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let next = at + c.len_utf8();
        if let Some(flag) = TAG_FLAGS.iter().find(|flag| rest.starts_with(**flag)) {
            out.keep(flag);
            (based, marks, joins) = (true, 0, 0);
            at += flag.len();
            continue;
        }
        if c == '\n' && keep_lines {
            out.keep("\n");
            (based, marks, joins) = (false, 0, 0);
        } else if c == '\t' && keep_lines {
            out.replace(at, |text| text.push_str(TAB));
            (based, marks, joins) = (true, 0, 0);
        } else if c == '\r' && keep_lines && text[next..].starts_with('\n') {
            out.replace(at, |_| ());
        } else if is_hidden(c) {
            let joined = c == JOINER && joins < MAX_JOINS && joins_pictures(&text[..at], &text[next..]);
            if joined || (matches!(c, TEXT_STYLE | EMOJI_STYLE) && styles_picture(&text[..at], &text[next..])) {
                joins += usize::from(joined);
                out.keep(&rest[..c.len_utf8()]);
            } else {
                out.replace(at, |text| push_visible(text, c));
                (based, marks, joins) = (true, 0, 0);
            }
        } else if c.width() == Some(0) {
            marks += 1;
            match marks {
                // At the start of a line a mark would be drawn over whatever stands to the left.
                1 if !based => out.replace(at, |text| {
                    text.push('\u{25CC}');
                    text.push(c);
                }),
                1..=MAX_MARKS => out.keep(&rest[..c.len_utf8()]),
                _ if marks == MAX_MARKS + 1 => out.replace(at, |text| text.push_str("⟨…⟩")),
                _ => out.replace(at, |_| ()),
            }
            based = true;
        } else {
            out.keep(&rest[..c.len_utf8()]);
            if !text[..at].ends_with(JOINER) && !is_skin_tone(c) {
                joins = 0;
            }
            (based, marks) = (true, 0);
        }
        at = next;
    }
    match out.changed {
        Some(changed) => Cow::Owned(changed),
        None => Cow::Borrowed(text),
    }
}

/// The result so far: nothing but the source until the first change.
struct Output<'a> {
    source: &'a str,
    changed: Option<String>,
}

impl Output<'_> {
    fn keep(&mut self, piece: &str) {
        if let Some(changed) = &mut self.changed {
            changed.push_str(piece);
        }
    }

    fn replace(&mut self, at: usize, write: impl FnOnce(&mut String)) {
        write(self.changed.get_or_insert_with(|| self.source[..at].to_owned()));
    }
}

fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}

/// Whether a joiner between the two texts stands between two pictures of an emoji.
fn joins_pictures(before: &str, after: &str) -> bool {
    let mut back = before.chars().rev();
    let mut last = back.next();
    // A picture may carry a style or a skin tone.
    if last.is_some_and(|c| c == EMOJI_STYLE || is_skin_tone(c)) {
        last = back.next();
    }
    last.is_some_and(is_pictograph) && after.chars().next().is_some_and(is_pictograph)
}

/// Whether a style selector between the two texts belongs to a picture or to a keycap.
fn styles_picture(before: &str, after: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_some_and(|last| is_pictograph(last) || (matches!(last, '0'..='9' | '#' | '*') && after.starts_with(KEYCAP)))
}

#[cfg(test)]
mod tests;
