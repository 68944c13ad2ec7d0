//! A text area: the library's editing with our keys, moving and deleting by grapheme, with the real cursor. Characters that a
//! terminal would hide or obey are held as stand-ins that are drawn as a mark, so that nothing in a text is invisible and
//! nothing is lost.

use crate::action::Action;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};
use ratatui_textarea::{CursorMove, DataCursor, TextArea, WrapMode};
use text::Safe;

/// Most characters and lines together. The library counts screen rows in 16 bits; longer texts are for an editor of one's own.
pub const MOST: usize = 60_000;
/// First stand-in, in the private plane 15, whose own characters are held as stand-ins too.
const FIRST: u32 = 0xF_0000;
const LAST: u32 = 0xF_FFFD;
/// What a stand-in is drawn as.
const MARK: &str = "¤";
const TAB: usize = 4;

/// The text has its greatest length.
#[derive(Debug)]
pub(super) struct NoRoom;

/// A text area.
#[derive(Debug)]
pub(super) struct Area {
    text: TextArea<'static>,
    /// Characters that stand-ins are for.
    odd: Vec<char>,
    /// The text when it is too long to be edited here.
    long: Option<String>,
}

impl Area {
    pub fn new(text: &str) -> Self {
        let mut area = Self { text: TextArea::default(), odd: Vec::new(), long: None };
        area.replace(text);
        area
    }

    /// Puts another text in the place of this one, without a way back.
    fn replace(&mut self, text: &str) {
        self.long = is_long(text).then(|| text.to_owned());
        let encoded = if self.long.is_some() { String::new() } else { self.encode(text) };
        let mut area = TextArea::new(encoded.split('\n').map(str::to_owned).collect());
        area.set_wrap_mode(WrapMode::WordOrGlyph);
        area.set_tab_length(TAB as u8);
        area.set_max_histories(1000);
        area.set_cursor_line_style(Style::new());
        area.set_cursor_style(Style::new());
        area.set_search_style(Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD));
        self.text = area;
    }

    /// Puts another text in the place of this one; undo brings the old one back where both can be edited here.
    pub fn set(&mut self, text: &str) {
        if is_long(text) || self.long.is_some() {
            return self.replace(text);
        }
        self.clear();
        let encoded = self.encode(text);
        self.text.insert_str(encoded);
    }

    pub fn clear(&mut self) {
        if self.long.is_some() {
            return self.replace("");
        }
        self.text.clear();
    }

    pub fn value(&self) -> String {
        match &self.long {
            Some(text) => text.clone(),
            None => self.text.lines().join("\n").chars().map(|c| self.decode(c)).collect(),
        }
    }

    /// Whether it is too long to be edited here.
    pub fn is_long(&self) -> bool {
        self.long.is_some()
    }

    pub fn lines(&self) -> usize {
        self.long.as_ref().map_or(self.text.lines().len(), |text| text.split('\n').count())
    }

    /// Inserts text at the cursor as one step. Says whether there was room.
    pub fn insert(&mut self, text: &str) -> bool {
        let size: usize = self.text.lines().iter().map(|line| line.len() + 1).sum();
        if self.long.is_some() || (size + 2 * text.len() > MOST && is_long(&(self.value() + text))) {
            return false;
        }
        let encoded = self.encode(&text.replace("\r\n", "\n").replace('\r', "\n"));
        self.text.insert_str(encoded);
        true
    }

    /// Takes a key. Says whether the text changed.
    ///
    /// # Errors
    /// There is no room.
    pub fn key(&mut self, key: &KeyEvent) -> Result<bool, NoRoom> {
        if self.long.is_some() {
            return Err(NoRoom);
        }
        let control = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Char(c) if !control => {
                let mut buffer = [0; 4];
                return if self.insert(c.encode_utf8(&mut buffer)) { Ok(true) } else { Err(NoRoom) };
            }
            KeyCode::Enter => return if self.insert("\n") { Ok(true) } else { Err(NoRoom) },
            KeyCode::Backspace => return Ok(self.cut_before()),
            KeyCode::Delete => return Ok(self.cut_after()),
            KeyCode::Left => match self.before() {
                0 => self.text.move_cursor(CursorMove::Back),
                count => self.by(-(count as isize)),
            },
            KeyCode::Right => match self.after() {
                0 => self.text.move_cursor(CursorMove::Forward),
                count => self.by(count as isize),
            },
            KeyCode::Home => self.text.move_cursor(CursorMove::Head),
            KeyCode::End => self.text.move_cursor(CursorMove::End),
            _ => {}
        }
        Ok(false)
    }

    /// Takes an action on text. Says whether the text changed; none when it meant nothing here and the form may have it.
    pub fn act(&mut self, action: Action) -> Option<bool> {
        let before = self.text.screen_cursor().row;
        let changed = match action {
            Action::TextUp | Action::TextDown => {
                self.text.move_cursor(if action == Action::TextUp { CursorMove::Up } else { CursorMove::Down });
                if self.text.screen_cursor().row == before {
                    return None;
                }
                false
            }
            Action::TextPageUp => self.times(CursorMove::Up),
            Action::TextPageDown => self.times(CursorMove::Down),
            Action::WordLeft => self.moved(CursorMove::WordBack),
            Action::WordRight => self.moved(CursorMove::WordForward),
            Action::TextTop => self.moved(CursorMove::Jump(0, 0)),
            Action::TextEnd => self.moved(CursorMove::Jump(u16::MAX, u16::MAX)),
            Action::CutWord => self.text.delete_word(),
            Action::Undo => self.text.undo(),
            Action::Redo => self.text.redo(),
            _ => return None,
        };
        self.snap();
        Some(changed)
    }

    fn moved(&mut self, to: CursorMove) -> bool {
        self.text.move_cursor(to);
        false
    }

    fn times(&mut self, to: CursorMove) -> bool {
        for _ in 0..10 {
            self.text.move_cursor(to);
        }
        false
    }

    /// Finds the next place with this text, upper and lower case alike. Says whether there is one.
    pub fn find(&mut self, query: &str, back: bool, here: bool) -> bool {
        let encoded = self.encode(query);
        let escaped: String =
            encoded.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect();
        let pattern = if query.is_empty() { String::new() } else { format!("(?i){escaped}") };
        if self.text.set_search_pattern(pattern).is_err() || query.is_empty() {
            return false;
        }
        if back { self.text.search_back(false) } else { self.text.search_forward(here) }
    }

    fn encode(&mut self, text: &str) -> String {
        let plain =
            |text: &str| text.bytes().all(|byte| (0x20..0x7F).contains(&byte) || byte == b'\n' || byte == b'\t');
        if plain(text) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        for grapheme in text::graphemes(text) {
            if plain(grapheme) || *Safe::clean(grapheme) == *grapheme {
                out.push_str(grapheme);
                continue;
            }
            for c in grapheme.chars() {
                out.push(if is_odd(c) { self.stand_in(c) } else { c });
            }
        }
        out
    }

    fn stand_in(&mut self, c: char) -> char {
        let index = self.odd.iter().position(|odd| *odd == c).unwrap_or_else(|| {
            self.odd.push(c);
            self.odd.len() - 1
        });
        char::from_u32(FIRST + index as u32).filter(|c| (*c as u32) <= LAST).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn decode(&self, c: char) -> char {
        if is_stand_in(c) { self.odd.get((c as u32 - FIRST) as usize).copied().unwrap_or(c) } else { c }
    }

    /// Characters of the grapheme before the cursor; 0 at the start of a line.
    fn before(&self) -> usize {
        let (head, _) = self.parts();
        text::graphemes(head).next_back().map_or(0, |g| g.chars().count())
    }

    /// Characters of the grapheme after the cursor; 0 at the end of a line.
    fn after(&self) -> usize {
        let (_, tail) = self.parts();
        text::graphemes(tail).next().map_or(0, |g| g.chars().count())
    }

    fn parts(&self) -> (&str, &str) {
        let DataCursor(row, col) = self.text.cursor();
        let line = &self.text.lines()[row];
        line.split_at(line.char_indices().nth(col).map_or(line.len(), |(at, _)| at))
    }

    fn by(&mut self, chars: isize) {
        let DataCursor(row, col) = self.text.cursor();
        let col = col.saturating_add_signed(chars);
        self.text.move_cursor(CursorMove::Jump(short(row), short(col)));
    }

    /// Brings the cursor to the start of the grapheme it landed in.
    fn snap(&mut self) {
        let DataCursor(row, col) = self.text.cursor();
        let line = &self.text.lines()[row];
        let mut start = 0;
        for grapheme in text::graphemes(line) {
            let end = start + grapheme.chars().count();
            if col < end {
                break;
            }
            start = end;
        }
        if start != col {
            self.text.move_cursor(CursorMove::Jump(short(row), short(start)));
        }
    }

    fn cut_before(&mut self) -> bool {
        match self.before() {
            0 => self.text.delete_newline(),
            count => {
                self.by(-(count as isize));
                self.text.delete_str(count)
            }
        }
    }

    fn cut_after(&mut self) -> bool {
        match self.after() {
            0 => self.text.delete_next_char(),
            count => self.text.delete_str(count),
        }
    }

    /// Draws the text; with the focus answers where the cursor is.
    pub fn draw(&self, frame: &mut Frame<'_>, area: Rect, mark: Style, focused: bool) -> Option<Position> {
        if area.is_empty() {
            return None;
        }
        if let Some(text) = &self.long {
            let head: String = text.chars().take(usize::from(area.width) * usize::from(area.height)).collect();
            let head = Paragraph::new(Safe::clean_lines(&head).as_str().to_owned()).wrap(Wrap { trim: false });
            frame.render_widget(head, area);
            return None;
        }
        // The library measures and scrolls while it renders; but it splits the grapheme under the cursor, so the rows are
        // written once more, whole.
        frame.render_widget(&self.text, area);
        let top = usize::from(self.text.scroll_offset().0);
        for (y, row) in area.rows().zip(top..) {
            let Some(line) = self.row(row, mark) else { break };
            frame.render_widget(Clear, y);
            frame.render_widget(line, y);
        }
        focused.then(|| self.cursor(area))
    }

    /// A row of the screen as it is drawn; none behind the last one.
    fn row(&self, row: usize, mark: Style) -> Option<Line<'static>> {
        let start = self.text.screen_to_data(row, 0);
        if row > 0 && self.text.screen_to_data(row - 1, 0) == start {
            return None;
        }
        let next = self.text.screen_to_data(row + 1, 0);
        let line = &self.text.lines()[start.0];
        let byte = |col: usize| line.char_indices().nth(col).map_or(line.len(), |(at, _)| at);
        let from = byte(start.1);
        let to = if next.0 == start.0 && next.1 > start.1 { byte(next.1) } else { line.len() };
        let hits: Vec<(usize, usize)> = match self.text.search_pattern() {
            Some(pattern) => pattern.find_iter(line).map(|hit| (hit.start(), hit.end())).collect(),
            None => Vec::new(),
        };
        let mut spans: Vec<Span<'static>> = Vec::new();
        let (mut at, mut x) = (from, 0);
        for grapheme in text::graphemes(&line[from..to]) {
            let hit = hits.iter().any(|(start, end)| (*start..*end).contains(&at));
            let odd = grapheme.chars().any(is_stand_in);
            let style = if odd { mark } else { Style::new() };
            let style = if hit { style.patch(self.text.search_style()) } else { style };
            let shown = match grapheme {
                "\t" => " ".repeat(TAB - x % TAB),
                _ if odd => MARK.to_owned(),
                other => other.to_owned(),
            };
            at += grapheme.len();
            x += text::width(&shown);
            match spans.last_mut().filter(|span| span.style == style) {
                Some(span) => span.content.to_mut().push_str(&shown),
                None => spans.push(Span::styled(shown, style)),
            }
        }
        Some(Line::from(spans))
    }

    fn cursor(&self, area: Rect) -> Position {
        let row = self.text.screen_cursor().row;
        let DataCursor(line, start) = self.text.screen_to_data(row, 0);
        let DataCursor(_, col) = self.text.cursor();
        let text: String = self.text.lines()[line].chars().skip(start).take(col.saturating_sub(start)).collect();
        let x = text::graphemes(&text).fold(0, |x, g| if g == "\t" { x + TAB - x % TAB } else { x + text::width(g) });
        let top = usize::from(self.text.scroll_offset().0);
        Position::new(
            area.x.saturating_add(short(x)).min(area.right().saturating_sub(1)),
            area.y.saturating_add(short(row.saturating_sub(top))).min(area.bottom().saturating_sub(1)),
        )
    }

    /// The first hidden characters in it, by their numbers; none when there are none.
    pub fn odd(&self) -> Option<String> {
        if self.odd.is_empty() {
            return None;
        }
        let text = self.text.lines().iter().flat_map(|line| line.chars()).filter(|c| is_stand_in(*c));
        let mut seen: Vec<String> = Vec::new();
        for c in text {
            let name = format!("U+{:04X}", self.decode(c) as u32);
            if !seen.contains(&name) {
                seen.push(name);
            }
            if seen.len() == 3 {
                break;
            }
        }
        (!seen.is_empty()).then(|| seen.join(" "))
    }
}

fn short(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

fn is_long(text: &str) -> bool {
    // Counting is needed only where the bytes leave a doubt.
    text.len() > MOST / 2 && text.chars().count() + text.split('\n').count() > MOST
}

fn is_stand_in(c: char) -> bool {
    (FIRST..=LAST).contains(&(c as u32))
}

/// Whether a terminal would hide or obey the character. Marks that belong to the letter before them are fine.
fn is_odd(c: char) -> bool {
    let pair = format!("a{c}");
    c != '\n' && c != '\t' && (is_stand_in(c) || *Safe::clean(&pair) != *pair)
}
