//! The composer: several lines, what was sent before, and large pastes as placeholders that are put in when the text is sent.

use crate::action::Action;
use crate::words::count;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui_textarea::{CursorMove, TextArea};
use text::Safe;

/// A paste longer than this becomes a placeholder.
const MOST_PASTED: (usize, usize) = (2_000, 20);
/// Text that is put in otherwise becomes one only when editing it here would be slow.
const MOST_PUT: (usize, usize) = (100_000, 1_000);
/// How many sent texts are kept.
const HISTORY: usize = 200;

#[derive(Clone, Debug, Default, PartialEq)]
struct Draft {
    text: String,
    /// Placeholders and what they stand for.
    pastes: Vec<(String, String)>,
}

/// The composer.
#[derive(Default)]
pub struct Composer {
    area: TextArea<'static>,
    pastes: Vec<(String, String)>,
    history: Vec<Draft>,
    /// Where in the history; none = at what is being written.
    at: Option<usize>,
    /// What was being written before the walk through the history.
    written: Draft,
}

impl Composer {
    fn draft(&self) -> Draft {
        Draft { text: self.area.lines().join("\n"), pastes: self.pastes.clone() }
    }

    fn show(&mut self, draft: Draft) {
        self.area = TextArea::new(draft.text.split('\n').map(str::to_owned).collect());
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
        self.pastes = draft.pastes;
    }

    /// The text with every placeholder replaced by what it stands for.
    pub fn text(&self) -> String {
        let mut text = self.area.lines().join("\n");
        for (label, content) in &self.pastes {
            text = text.replacen(label.as_str(), content, 1);
        }
        text
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.area.lines().iter().all(|line| line.trim().is_empty())
    }

    /// Puts a text in the place of all.
    pub fn set(&mut self, text: &str) {
        self.at = None;
        self.show(Draft::default());
        self.put(text, MOST_PUT);
    }

    /// Puts a text before what is written.
    pub fn put_back(&mut self, text: &str) {
        let written = self.text();
        if written.trim().is_empty() {
            self.set(text);
        } else {
            self.set(&format!("{text}\n\n{written}"));
        }
    }

    /// Empties the composer; what was written goes into the history. Answers it, expanded.
    pub fn take(&mut self) -> String {
        let (text, draft) = (self.text(), self.draft());
        if !self.is_empty() && self.history.last() != Some(&draft) {
            self.history.push(draft);
            if self.history.len() > HISTORY {
                self.history.remove(0);
            }
        }
        self.at = None;
        self.show(Draft::default());
        text
    }

    /// Takes pasted text. A large one is shown as a placeholder.
    pub fn paste(&mut self, text: &str) {
        self.put(text, MOST_PASTED);
    }

    fn put(&mut self, text: &str, most: (usize, usize)) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.split('\n').count();
        let characters = text.chars().count();
        if characters <= most.0 && lines <= most.1 {
            self.area.insert_str(&text);
            return;
        }
        let size =
            if lines > 20 { count(lines, "line", "lines") } else { count(characters, "character", "characters") };
        let mut label = format!("[pasted {size}]");
        let mut number = 2;
        let written = self.area.lines().join("\n");
        while written.contains(&label) || self.pastes.iter().any(|(other, _)| *other == label) {
            label = format!("[pasted {size} #{number}]");
            number += 1;
        }
        self.area.insert_str(&label);
        self.pastes.push((label, text));
    }

    /// A new line at the cursor.
    pub fn new_line(&mut self) {
        self.area.insert_newline();
    }

    /// One line up; on the first one, what was sent before. Says whether the text changed.
    pub fn up(&mut self) -> bool {
        if self.area.cursor().0 > 0 {
            self.area.move_cursor(CursorMove::Up);
            return false;
        }
        let Some(at) = self.at.unwrap_or(self.history.len()).checked_sub(1) else { return false };
        if self.at.is_none() {
            self.written = self.draft();
        }
        self.at = Some(at);
        self.show(self.history[at].clone());
        true
    }

    /// One line down; on the last one, what was sent after.
    pub fn down(&mut self) -> bool {
        if self.area.cursor().0 + 1 < self.area.lines().len() {
            self.area.move_cursor(CursorMove::Down);
            return false;
        }
        let Some(at) = self.at else { return false };
        match self.history.get(at + 1).cloned() {
            Some(draft) => {
                self.at = Some(at + 1);
                self.show(draft);
            }
            None => {
                self.at = None;
                let written = std::mem::take(&mut self.written);
                self.show(written);
            }
        }
        true
    }

    /// Does what the table of actions has for text areas. Says whether the text changed.
    pub fn act(&mut self, action: Action) -> bool {
        let moved = match action {
            Action::WordLeft => CursorMove::WordBack,
            Action::WordRight => CursorMove::WordForward,
            Action::TextTop => CursorMove::Top,
            Action::TextEnd => CursorMove::Bottom,
            Action::CutWord => return self.area.delete_word(),
            Action::Undo => return self.area.undo(),
            Action::Redo => return self.area.redo(),
            _ => return false,
        };
        self.area.move_cursor(moved);
        false
    }

    /// Takes a key that means no action. Says whether the text changed.
    pub fn key(&mut self, key: &KeyEvent) -> bool {
        let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let moved = match key.code {
            KeyCode::Home => CursorMove::Head,
            KeyCode::End => CursorMove::End,
            KeyCode::Char('a') if control => CursorMove::Head,
            KeyCode::Left => return self.repeat(self.before(), |area| area.move_cursor(CursorMove::Back)),
            KeyCode::Right => return self.repeat(self.after(), |area| area.move_cursor(CursorMove::Forward)),
            KeyCode::Char('u') if control => return self.area.delete_line_by_head(),
            KeyCode::Char('k') if control => return self.area.delete_line_by_end(),
            KeyCode::Char(_) if control => return false,
            KeyCode::Backspace => {
                return self.repeat(self.before(), |area| {
                    area.delete_char();
                }) | true;
            }
            KeyCode::Delete => {
                return self.repeat(self.after(), |area| {
                    area.delete_next_char();
                }) | true;
            }
            KeyCode::Tab => return false,
            _ => return self.area.input_without_shortcuts(*key),
        };
        self.area.move_cursor(moved);
        false
    }

    fn repeat(&mut self, times: usize, mut act: impl FnMut(&mut TextArea<'static>)) -> bool {
        for _ in 0..times {
            act(&mut self.area);
        }
        false
    }

    fn around(&self) -> (String, String) {
        let cursor = self.area.cursor();
        let line = self.area.lines().get(cursor.0).map_or("", String::as_str);
        let at = line.char_indices().nth(cursor.1).map_or(line.len(), |(at, _)| at);
        (line[..at].to_owned(), line[at..].to_owned())
    }

    /// Characters of what stands before the cursor: a placeholder as a whole, else a grapheme, else a line's end.
    fn before(&self) -> usize {
        let (head, _) = self.around();
        let label =
            self.pastes.iter().find(|(label, _)| head.ends_with(label.as_str())).map(|(label, _)| label.as_str());
        label.or_else(|| text::graphemes(&head).next_back()).map_or(1, |piece| piece.chars().count())
    }

    fn after(&self) -> usize {
        let (_, tail) = self.around();
        let label =
            self.pastes.iter().find(|(label, _)| tail.starts_with(label.as_str())).map(|(label, _)| label.as_str());
        label.or_else(|| text::graphemes(&tail).next()).map_or(1, |piece| piece.chars().count())
    }

    /// The rows around the cursor, at most `height`, and where the cursor is in them. Looks at no more lines than are shown.
    pub fn rows(&self, width: usize, height: usize, style: Style) -> (Vec<Line<'static>>, (usize, usize)) {
        let (width, height) = (width.max(1), height.max(1));
        let cursor = self.area.cursor();
        let lines = self.area.lines();
        let from = cursor.0.saturating_sub(height);
        let to = (cursor.0 + height + 1).min(lines.len());
        let mut rows = Vec::new();
        let mut place = (0, 0);
        for (number, line) in lines.iter().enumerate().take(to).skip(from) {
            let first = rows.len();
            let (broken, at) = break_line(line, if number == cursor.0 { Some(cursor.1) } else { None }, width);
            if let Some((row, column)) = at {
                place = (first + row, column);
            }
            rows.extend(broken);
        }
        // The window ends with the last row as long as the cursor is seen in it.
        let first = rows.len().saturating_sub(height).min(place.0);
        let shown = rows.into_iter().skip(first).take(height).map(|row| Line::styled(row, style)).collect();
        (shown, (place.0 - first, place.1))
    }
}

/// A line in rows, each full before the next, and where the character with this number is.
fn break_line(line: &str, cursor: Option<usize>, width: usize) -> (Vec<String>, Option<(usize, usize)>) {
    let mut rows = vec![String::new()];
    let (mut used, mut characters, mut at) = (0, 0, None);
    for grapheme in text::graphemes(line) {
        let shown = Safe::clean_lines(grapheme);
        let columns = shown.width();
        if used + columns > width && used > 0 {
            rows.push(String::new());
            used = 0;
        }
        let count = grapheme.chars().count();
        if cursor.is_some_and(|cursor| (characters..characters + count).contains(&cursor)) {
            at = Some((rows.len() - 1, used));
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(if columns > width { "…" } else { &shown });
        }
        used += columns.min(width);
        characters += count;
    }
    if cursor.is_some() && at.is_none() {
        // At the end of a full row the cursor stands on the next one.
        if used >= width {
            rows.push(String::new());
            used = 0;
        }
        at = Some((rows.len() - 1, used));
    }
    (rows, at)
}
