//! Small things to draw and to type into, used by places and layers.

use crate::action::Action;
use crate::event::{Input, What};
use crate::keymap::Keymap;
use crate::state::Ctx;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line as TextLine, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use std::cell::Cell;
use text::Safe;

/// A row that fits: what does not ends with `…`, whatever its styles.
pub fn fit(line: TextLine<'_>, columns: usize) -> TextLine<'_> {
    let ends = line.spans.iter().rposition(|span| !span.content.trim_end().is_empty());
    let Some(last) = ends else { return line };
    let whole: usize = line.spans[..last].iter().map(|span| text::width(&span.content)).sum();
    if whole + text::width(line.spans[last].content.trim_end()) <= columns {
        return line;
    }
    let mut used = 0;
    let mut spans = Vec::new();
    for span in line.spans {
        let width = text::width(&span.content);
        if used + width < columns {
            used += width;
            spans.push(span);
            continue;
        }
        // Longer than the room in any case: something was left out here, or after it.
        let cut = text::truncate(&format!("{}…", span.content), columns - used).into_owned();
        spans.push(Span::styled(cut, span.style));
        break;
    }
    TextLine { spans, ..line }
}

/// Draws rows that are not wrapped; each fits.
pub fn rows(frame: &mut Frame<'_>, area: Rect, lines: Vec<TextLine<'_>>) {
    let lines: Vec<TextLine<'_>> = lines.into_iter().map(|line| fit(line, area.width.into())).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// Draws one such row.
pub fn row<'a>(frame: &mut Frame<'_>, area: Rect, text: impl Into<std::borrow::Cow<'a, str>>, style: Style) {
    rows(frame, area, vec![TextLine::styled(text, style)]);
}

/// Draws an empty framed box in the middle of `area` and answers its inside. It shrinks with the terminal.
pub fn popup(frame: &mut Frame<'_>, area: Rect, title: &str, size: (u16, u16), border: Style) -> Rect {
    let width = size.0.min(area.width);
    let height = size.1.min(area.height);
    let area = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, area);
    let title = format!(" {} ", Safe::clean(title));
    let title = text::truncate(&title, usize::from(area.width).saturating_sub(2)).into_owned();
    let block = Block::bordered().border_style(border).title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// The row that a list's action leads to, from the selected one of so many; none for other actions.
pub fn list_move(action: Action, selected: usize, len: usize, ctx: &Ctx<'_>) -> Option<usize> {
    // The frame around a place takes about six rows.
    let page = usize::from(ctx.size.1).saturating_sub(6).max(1);
    let to = match action {
        Action::Up => selected.saturating_sub(1),
        Action::Down => selected + 1,
        Action::PageUp => selected.saturating_sub(page),
        Action::PageDown => selected + page,
        Action::First => 0,
        Action::Last => usize::MAX,
        _ => return None,
    };
    Some(to.min(len.saturating_sub(1)))
}

/// Moves the first visible row so little that the selected one is in sight.
pub fn keep_in_sight(first: &mut usize, selected: usize, rows: usize) {
    *first = (*first).min(selected).max((selected + 1).saturating_sub(rows));
}

/// Gives an input to the filter of a list while it is typed in: Enter leaves it, Esc empties it too. Says whether it changed.
pub fn filter_input(typing: &mut bool, filter: &mut Line, input: &Input) -> bool {
    match &input.what {
        _ if !*typing => false,
        What::Key(key) if key.code == KeyCode::Enter => {
            *typing = false;
            false
        }
        What::Key(key) if key.code == KeyCode::Esc => {
            *typing = false;
            filter.clear();
            true
        }
        What::Key(key) => filter.key(key),
        What::Paste(text) => filter.paste(text),
        _ => false,
    }
}

/// The window over a long text that is only read. Drawing says how long the text is and how much of it fits.
#[derive(Debug, Default)]
pub struct Scroll {
    first: usize,
    most: Cell<usize>,
    rows: Cell<usize>,
}

impl Scroll {
    /// Moves it. Says whether the action does that.
    pub fn act(&mut self, action: Action) -> bool {
        let (most, page) = (self.most.get(), self.rows.get().saturating_sub(1).max(1));
        let at = self.first.min(most);
        self.first = match action {
            Action::ReadUp => at.saturating_sub(1),
            Action::ReadDown => at + 1,
            Action::ReadPageUp => at.saturating_sub(page),
            Action::ReadPageDown => at + page,
            Action::ReadTop => 0,
            // Stays at the end of a text that grows.
            Action::ReadEnd => usize::MAX,
            _ => return false,
        };
        if action != Action::ReadEnd {
            self.first = self.first.min(most);
        }
        true
    }

    /// Takes the length of the text and the rows that fit; answers the first row in sight.
    pub fn settle(&self, total: usize, rows: usize) -> usize {
        self.most.set(total.saturating_sub(rows));
        self.rows.set(rows);
        self.above()
    }

    /// Rows above what was drawn last.
    pub fn above(&self) -> usize {
        self.first.min(self.most.get())
    }

    /// Rows below what was drawn last.
    pub fn below(&self) -> usize {
        self.most.get() - self.above()
    }

    /// What is not in sight, in words with the keys that lead there; empty = all is.
    pub fn told(&self, keymap: &Keymap) -> String {
        let (up, down) = (keymap.hint(Action::ReadUp), keymap.hint(Action::ReadDown));
        match (self.below(), self.above()) {
            (0, 0) => String::new(),
            (0, above) => format!("{up} {above} more above"),
            (below, 0) => format!("{down} {below} more below"),
            (below, above) => format!("{up} {above} more above, {down} {below} more below"),
        }
    }
}

/// A one-line text field with a real cursor. Moves by grapheme; text of others is cleaned when it is shown, not when typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    text: String,
    /// Byte offset of the cursor, on a character boundary.
    cursor: usize,
}

impl Line {
    /// A field with this text, the cursor at its end.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Empties the field.
    pub fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
    }

    /// Takes a key. Says whether the text changed.
    pub fn key(&mut self, key: &KeyEvent) -> bool {
        let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('u') if control => {
                self.clear();
                true
            }
            KeyCode::Char('a') if control => {
                self.cursor = 0;
                false
            }
            KeyCode::Char('e') if control => {
                self.cursor = self.text.len();
                false
            }
            KeyCode::Char('w') if control => self.cut_word(),
            KeyCode::Char(c) if !control => {
                self.text.insert(self.cursor, c);
                self.cursor += c.len_utf8();
                true
            }
            KeyCode::Backspace => self.cut_before(),
            KeyCode::Delete => self.cut_after(),
            KeyCode::Left => {
                self.cursor = self.before();
                false
            }
            KeyCode::Right => {
                self.cursor = self.after();
                false
            }
            KeyCode::Home => {
                self.cursor = 0;
                false
            }
            KeyCode::End => {
                self.cursor = self.text.len();
                false
            }
            _ => false,
        }
    }

    /// Takes pasted text; line breaks become spaces. Says whether the text changed.
    pub fn paste(&mut self, text: &str) -> bool {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        !text.is_empty()
    }

    fn before(&self) -> usize {
        text::graphemes(&self.text[..self.cursor]).next_back().map_or(0, |g| self.cursor - g.len())
    }

    fn after(&self) -> usize {
        text::graphemes(&self.text[self.cursor..]).next().map_or(self.cursor, |g| self.cursor + g.len())
    }

    fn cut_before(&mut self) -> bool {
        let from = self.before();
        let changed = from < self.cursor;
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
        changed
    }

    fn cut_after(&mut self) -> bool {
        let to = self.after();
        let changed = to > self.cursor;
        self.text.replace_range(self.cursor..to, "");
        changed
    }

    fn cut_word(&mut self) -> bool {
        let head = self.text[..self.cursor].trim_end();
        let from = head.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let changed = from < self.cursor;
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
        changed
    }

    /// Draws the field behind a label, scrolled so that the cursor is seen. Answers where the cursor is.
    pub fn draw(&self, frame: &mut Frame<'_>, area: Rect, label: &str, style: Style) -> Option<Position> {
        self.draw_as(frame, area, label, style, false)
    }

    /// The same; with `hidden` each character is shown as a dot.
    pub fn draw_as(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        label: &str,
        style: Style,
        hidden: bool,
    ) -> Option<Position> {
        if area.is_empty() {
            return None;
        }
        let shown = |text: &str| {
            if hidden { "•".repeat(text.chars().count()) } else { Safe::clean(text).as_str().to_owned() }
        };
        let (head, tail) = (shown(&self.text[..self.cursor]), shown(&self.text[self.cursor..]));
        let label_width = text::width(label) as u16;
        let room = area.width.saturating_sub(label_width).saturating_sub(1) as usize;
        let mut start = 0;
        let mut width = text::width(&head);
        // What does not fit on the left is told by a sign of its own.
        let mark = if width > room && room > 1 { "…" } else { "" };
        let room = room - mark.chars().count();
        for grapheme in text::graphemes(&head) {
            if width <= room {
                break;
            }
            width -= text::width(grapheme);
            start += grapheme.len();
        }
        width += text::width(mark);
        let left = usize::from(area.width).saturating_sub(label_width.into()).saturating_sub(width);
        let visible = format!("{mark}{}{}", &head[start..], text::truncate(&tail, left));
        let line = TextLine::from(vec![Span::raw(label.to_owned()), Span::styled(visible, style)]);
        frame.render_widget(Paragraph::new(line), area);
        let x = (area.x + label_width + width as u16).min(area.right().saturating_sub(1));
        Some(Position::new(x, area.y))
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, fit};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    fn press(line: &mut Line, code: KeyCode) {
        line.key(&KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn what_does_not_fit_says_so() {
        use ratatui::text::{Line, Span};
        let shown = |spans: &[&str], columns| {
            let line = Line::from(spans.iter().map(|text| Span::raw((*text).to_owned())).collect::<Vec<_>>());
            fit(line, columns).spans.iter().map(|span| span.content.to_string()).collect::<String>()
        };
        assert_eq!(shown(&["abc", "def"], 6), "abcdef");
        assert_eq!(shown(&["abc", "def   "], 6), "abcdef   ", "blanks are nothing that is missed");
        assert_eq!(shown(&["abc", "def"], 5), "abcd…");
        assert_eq!(shown(&["abc", "def"], 3), "ab…");
        assert_eq!(shown(&["日本", "語"], 5), "日本…");
        assert_eq!(shown(&["", " "], 0), " ");
    }

    #[test]
    fn moves_and_cuts_by_grapheme() {
        let mut line = Line::new("a👨‍👩‍👧é");
        press(&mut line, KeyCode::Backspace);
        press(&mut line, KeyCode::Backspace);
        assert_eq!(line.text(), "a");
        line.paste("b\nc");
        press(&mut line, KeyCode::Home);
        press(&mut line, KeyCode::Delete);
        assert_eq!(line.text(), "b c");
    }
}
