//! One item of the transcript as rows. Everything here was said by others, and is cleaned on its way.

use super::call::{Call, CallState};
use super::transcript::{End, Item, Kind};
use crate::markdown::wrap::{Break, Piece, wrap, wrap_text};
use crate::markdown::{finished, render, render_growing};
use crate::theme::Theme;
use crate::words::thousands;
use contract::turn::TurnStatus;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use serde_json::Value;
use text::Safe;

/// More rows of an unfolded call are not drawn; copying has all.
const MOST_ROWS: usize = 2_000;
/// What is read of a value for its folded form.
const MOST_FOLDED: usize = 2_000;

/// What painting needs beside the item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look<'a> {
    /// Columns.
    pub width: u16,
    /// Styles.
    pub theme: &'a Theme,
    /// The key that opens approvals.
    pub approvals: &'a str,
    /// The keys that say what became of a call.
    pub settle: (&'a str, &'a str),
}

/// Rows of an item, and what was settled of one that grows.
#[derive(Clone, Debug, Default)]
pub struct Painted {
    /// The rows.
    pub rows: Vec<Line<'static>>,
    /// Bytes and rows of a growing text that do not change any more.
    settled: (usize, usize),
    /// How many rows were made by the last painting.
    pub made: usize,
}

impl Painted {
    /// Paints an item. Of a text that grows since the last painting only the end is painted anew.
    pub fn paint(&mut self, item: &Item, look: Look<'_>, grown: bool) {
        let before = if grown { self.settled.1 } else { 0 };
        match &item.kind {
            Kind::Answer(text) if item.growing => self.grow(text, look, grown),
            _ => {
                self.settled = (0, 0);
                self.rows = rows(item, look);
                self.rows.push(Line::default());
            }
        }
        self.made = self.rows.len() - before.min(self.rows.len());
    }

    fn grow(&mut self, text: &str, look: Look<'_>, grown: bool) {
        if !grown || self.settled.0 > text.len() {
            self.settled = (0, 0);
        }
        let (from, count) = self.settled;
        self.rows.truncate(count);
        let end = from + finished(&text[from..]);
        if end > from {
            self.append(render_growing(&text[from..end], look.width, look.theme));
            self.settled = (end, self.rows.len());
        }
        // A line is read as Markdown when it is whole: before that each letter could change what stands there already. Mere
        // words cannot, and go on where the line before ended.
        let mut whole = text.rfind('\n').map_or(0, |at| at + 1).max(end);
        if is_mere_words(&text[whole..]) {
            whole = text.len();
        }
        self.append(render_growing(&text[end..whole], look.width, look.theme));
        let rest = &text[whole..];
        if !rest.is_empty() {
            if text[..whole].ends_with("\n\n") {
                self.append(Vec::new());
            }
            self.rows.extend(lines(wrap_text(rest, look.width.into(), look.theme.text, Break::Words)));
        }
        self.rows.push(Line::default());
    }

    fn append(&mut self, rows: Vec<Line<'static>>) {
        let apart = self.rows.last().is_some_and(|row| row.width() > 0);
        if apart && !rows.is_empty() {
            self.rows.push(Line::default());
        }
        self.rows.extend(rows);
    }
}

fn is_mere_words(line: &str) -> bool {
    line.starts_with(char::is_alphabetic)
        && !line.contains(['*', '_', '`', '[', ']', '<', '>', '~', '|', '\\', '&', '!', '#', ':'])
}

fn lines(rows: Vec<Vec<Span<'static>>>) -> impl Iterator<Item = Line<'static>> {
    rows.into_iter().map(Line::from)
}

/// Text behind a sign; further rows stand under the text.
fn signed(sign: &str, source: &str, width: u16, style: Style) -> Vec<Line<'static>> {
    let edge = text::width(sign);
    let edge = if edge * 2 > usize::from(width) { 0 } else { edge };
    let mut out = Vec::new();
    for row in wrap_text(source, usize::from(width).saturating_sub(edge), style, Break::Words) {
        let mark = if out.is_empty() { sign.to_owned() } else { " ".repeat(edge) };
        let mut spans = if edge > 0 { vec![Span::styled(mark, style)] } else { Vec::new() };
        spans.extend(row);
        out.push(Line::from(spans));
    }
    out
}

fn rows(item: &Item, look: Look<'_>) -> Vec<Line<'static>> {
    let (width, theme) = (look.width, look.theme);
    match &item.kind {
        Kind::Person(text) => signed("» ", text, width, theme.mine.add_modifier(Modifier::BOLD)),
        Kind::Answer(text) => render(text, width, theme),
        Kind::Reasoning(text) => reasoning(text, item.open, look),
        Kind::Call(call) => cell(call, item.open, look),
        Kind::Failure(text) => signed("! ", text, width, theme.bad),
        Kind::Note(text) => signed("· ", text, width, theme.dim),
        Kind::End(end) => signed("· ", &end_words(end), width, theme.dim),
    }
}

fn reasoning(text: &str, open: bool, look: Look<'_>) -> Vec<Line<'static>> {
    let style = look.theme.dim.add_modifier(Modifier::ITALIC);
    let count = text.trim_end().split('\n').count();
    let head = format!("{} reasoning, {count} line(s)", if open { "▾" } else { "▸" });
    let mut rows = vec![Line::styled(text::truncate(&head, look.width.into()).into_owned(), style)];
    if open {
        rows.extend(signed("  ", text.trim_end(), look.width, style));
    }
    rows
}

/// A value on one line.
fn folded(value: &Value, columns: usize) -> String {
    let text = match value {
        Value::String(text) => text.chars().take(MOST_FOLDED).collect(),
        Value::Null => "nothing".to_owned(),
        other => other.to_string().chars().take(MOST_FOLDED).collect::<String>(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Safe::clean(&line).truncate(columns).as_str().to_owned()
}

fn state_style(call: &Call, theme: &Theme) -> Style {
    match &call.state {
        CallState::Waiting | CallState::Unknown => theme.warn,
        CallState::Ended(result) if result.ok => theme.good,
        CallState::Planned | CallState::Checked | CallState::Running | CallState::Settled(_) => theme.dim,
        _ => theme.bad,
    }
}

fn cell(call: &Call, open: bool, look: Look<'_>) -> Vec<Line<'static>> {
    let (width, theme) = (usize::from(look.width), look.theme);
    let mut state = format!("{} {}", call.sign(), call.words());
    if let Some(took) = call.took() {
        state += &format!(" in {}", seconds(took));
    }
    let mut head = vec![
        Piece::new(if open { "▾ " } else { "▸ " }, theme.accent),
        Piece::new(&call.tool, theme.strong),
        Piece::new(" ", theme.text),
        Piece::new(&state, state_style(call, theme)),
    ];
    if call.edited {
        head.push(Piece::new(" (a person changed the arguments)", theme.warn));
    }
    let mut rows: Vec<Line<'static>> = lines(wrap(&head, width, Break::Words)).collect();
    if open {
        rows.extend(pretty("arguments", &call.args, look));
        if let Some(outcome) = call.outcome() {
            rows.extend(pretty("result", &outcome, look));
        }
    } else {
        let room = width.saturating_sub(4);
        let line = |sign: &str, value: &Value| {
            let text = format!("  {sign} {}", folded(value, room));
            Line::styled(text::truncate(&text, width).into_owned(), theme.dim)
        };
        rows.push(line("(", &call.args));
        if let Some(outcome) = call.outcome() {
            rows.push(line("→", &outcome));
        }
    }
    let hint = match &call.state {
        CallState::Waiting => format!("A person must answer; {} opens it.", look.approvals),
        CallState::Unknown => format!(
            "It may have run, and is not run again by itself. Look, then say: {} it ran, {} it did not.",
            look.settle.0, look.settle.1
        ),
        _ => return rows,
    };
    rows.extend(signed("  ", &hint, look.width, theme.warn));
    rows
}

fn pretty(name: &str, value: &Value, look: Look<'_>) -> Vec<Line<'static>> {
    let theme = look.theme;
    let mut rows = vec![Line::styled(text::truncate(&format!("  {name}"), look.width.into()).into_owned(), theme.dim)];
    // A text that holds JSON or lines is shown as what it holds.
    let shown = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let room = usize::from(look.width).saturating_sub(4).max(1);
    let edge = if look.width > 8 { "    " } else { "" };
    let room = if edge.is_empty() { usize::from(look.width) } else { room };
    let mut count = 0;
    for line in shown.split('\n') {
        if count >= MOST_ROWS {
            rows.extend(signed("    ", "… more is not drawn; copy the cell to have all.", look.width, theme.dim));
            break;
        }
        for row in wrap_text(line, room, theme.code, Break::Anywhere) {
            let mut spans = vec![Span::raw(edge)];
            spans.extend(row);
            rows.push(Line::from(spans));
            count += 1;
        }
    }
    rows
}

/// A time for people.
pub fn seconds(ms: i64) -> String {
    match ms {
        ..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        10_000..120_000 => format!("{} s", ms / 1000),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

fn end_words(end: &End) -> String {
    let mut words = Vec::new();
    match end.status {
        Some(TurnStatus::Failed) => words.push("ended without an answer".to_owned()),
        Some(TurnStatus::Interrupted) => words.push("stopped".to_owned()),
        _ => {}
    }
    let usage = end.usage;
    if usage.input + usage.output > 0 {
        let count = |tokens: u64| thousands(usize::try_from(tokens).unwrap_or(usize::MAX));
        let mut tokens = format!("tokens {} in, {} out", count(usage.input), count(usage.output));
        if usage.cached > 0 {
            tokens += &format!(", {} cached", count(usage.cached));
        }
        words.push(tokens);
    }
    if let Some(first) = end.first_ms {
        words.push(format!("first {}", seconds(i64::try_from(first).unwrap_or(i64::MAX))));
    }
    if let Some(total) = end.total_ms {
        words.push(format!("total {}", seconds(total)));
    }
    words.join(" · ")
}
