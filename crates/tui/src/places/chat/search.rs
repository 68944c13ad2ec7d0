//! Finding words in the transcript, whatever their case.

use super::transcript::Transcript;
use crate::theme::Theme;
use crate::widgets::Line as LineInput;
use ratatui::text::{Line, Span};

/// A search.
#[derive(Debug, Default)]
pub struct Search {
    /// What is typed.
    pub line: LineInput,
    /// What is searched for; empty = nothing.
    pub query: String,
    /// Every place found: the item, and the how manieth in it.
    hits: Vec<(usize, usize)>,
    at: usize,
    revision: Option<u64>,
}

impl Search {
    /// Searches for what is typed.
    pub fn begin(&mut self, transcript: &Transcript) {
        self.query = self.line.text().to_lowercase();
        self.revision = None;
        self.look(transcript);
    }

    /// Forgets the search.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    fn look(&mut self, transcript: &Transcript) {
        if self.revision == Some(transcript.revision()) {
            return;
        }
        self.revision = Some(transcript.revision());
        self.hits.clear();
        if self.query.is_empty() {
            return;
        }
        for (index, item) in transcript.items().iter().enumerate() {
            let count = item.text().to_lowercase().matches(self.query.as_str()).count();
            self.hits.extend((0..count).map(|nth| (index, nth)));
        }
        self.at = self.at.min(self.hits.len().saturating_sub(1));
    }

    /// The first place at or after this item, else the first of all.
    pub fn from(&mut self, item: usize) -> Option<(usize, usize)> {
        self.at = self.hits.iter().position(|(at, _)| *at >= item).unwrap_or(0);
        self.hits.get(self.at).copied()
    }

    /// The place so many further, round the ends.
    pub fn step(&mut self, by: isize, transcript: &Transcript) -> Option<(usize, usize)> {
        self.look(transcript);
        let count = isize::try_from(self.hits.len()).unwrap_or(0);
        if count == 0 {
            return None;
        }
        let at = (isize::try_from(self.at).unwrap_or(0) + by).rem_euclid(count);
        self.at = usize::try_from(at).unwrap_or(0);
        self.hits.get(self.at).copied()
    }

    /// Where one is among all places found.
    pub fn count(&self) -> String {
        if self.hits.is_empty() {
            format!("'{}' is nowhere", self.query)
        } else {
            format!("{} of {} for '{}'", self.at + 1, self.hits.len(), self.query)
        }
    }
}

/// Byte ranges of a query in a row, whatever its case.
fn ranges(row: &str, query: &str) -> Vec<(usize, usize)> {
    // Lower case may have other lengths, so each of its bytes is led back to the character it comes from.
    let mut lower = String::new();
    let mut from = Vec::new();
    for (at, c) in row.char_indices() {
        for small in c.to_lowercase() {
            lower.push(small);
            from.resize(lower.len(), (at, at + c.len_utf8()));
        }
    }
    lower.match_indices(query).map(|(at, found)| (from[at].0, from[at + found.len() - 1].1)).collect()
}

/// How often a row holds the query.
pub fn hits_in(row: &Line<'_>, query: &str) -> usize {
    if query.is_empty() {
        return 0;
    }
    let text: String = row.spans.iter().map(|span| span.content.as_ref()).collect();
    ranges(&text, query).len()
}

/// The row with every place found marked.
pub fn mark(row: &Line<'static>, query: &str, theme: &Theme) -> Line<'static> {
    let text: String = row.spans.iter().map(|span| span.content.as_ref()).collect();
    let found = if query.is_empty() { Vec::new() } else { ranges(&text, query) };
    if found.is_empty() {
        return row.clone();
    }
    let mut spans = Vec::new();
    let mut start = 0;
    for span in &row.spans {
        let end = start + span.content.len();
        let mut at = start;
        while at < end {
            let inside = found.iter().find(|(from, to)| *from <= at && at < *to);
            let next = match inside {
                Some((_, to)) => (*to).min(end),
                None => found.iter().map(|(from, _)| *from).find(|from| *from > at).map_or(end, |from| from.min(end)),
            };
            let style = if inside.is_some() { span.style.patch(theme.hit) } else { span.style };
            spans.push(Span::styled(text[at..next].to_owned(), style));
            at = next;
        }
        start = end;
    }
    Line::from(spans).style(row.style)
}
