//! From the parser's events to rows: a stack of what a row stands in (quotes, lists), and the text that is being collected.

use super::table::Table;
use super::wrap::{Break, Piece, wrap};
use super::{code, parser};
use crate::theme::Theme;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

/// Left of a code block.
const CODE_EDGE: &str = "▏ ";

pub(super) fn render(source: &str, width: u16, theme: &Theme, colours: bool) -> Vec<Line<'static>> {
    let mut writer = Writer {
        theme,
        width: usize::from(width).max(1),
        colours,
        out: Vec::new(),
        edges: Vec::new(),
        lists: Vec::new(),
        styles: vec![theme.text],
        pieces: Vec::new(),
        gap: false,
        code: None,
        table: None,
        links: Vec::new(),
    };
    for event in parser(source) {
        writer.take(event);
    }
    writer.flush();
    writer.out
}

/// What stands left of the rows of a quote or list item.
struct Edge {
    first: Option<String>,
    rest: String,
}

struct Link {
    address: String,
    text: String,
    image: bool,
}

struct Writer<'a> {
    theme: &'a Theme,
    width: usize,
    colours: bool,
    out: Vec<Line<'static>>,
    edges: Vec<Edge>,
    /// The next number of each open list; none for bullets.
    lists: Vec<Option<u64>>,
    styles: Vec<Style>,
    pieces: Vec<Piece>,
    /// Whether the next block is set apart from the one before.
    gap: bool,
    code: Option<(String, String)>,
    table: Option<Table>,
    links: Vec<Link>,
}

impl Writer<'_> {
    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn patch(&mut self, style: Style) {
        self.styles.push(self.style().patch(style));
    }

    fn piece(&mut self, text: &str, style: Style) {
        if let Some(link) = self.links.last_mut() {
            link.text.push_str(text);
        }
        self.pieces.push(Piece::new(text, style));
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, source)) => source.push_str(&text),
                None => self.piece(&text, self.style()),
            },
            // The marks stay: in a theme without colours nothing else tells code from words.
            Event::Code(text) => self.piece(&format!("`{text}`"), self.style().patch(self.theme.code)),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.piece(&text, self.style());
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                for (index, line) in text.trim_end_matches('\n').split('\n').enumerate() {
                    if index > 0 {
                        self.flush();
                        self.gap = false;
                    }
                    self.piece(line, self.style().patch(self.theme.dim));
                }
                if text.ends_with('\n') {
                    self.flush();
                    self.gap = false;
                }
            }
            Event::SoftBreak => self.piece(" ", self.style()),
            Event::HardBreak if self.table.is_some() => self.piece(" ", self.style()),
            Event::HardBreak => {
                self.flush();
                self.gap = false;
            }
            Event::Rule => {
                self.flush();
                self.set_apart();
                let columns = self.room();
                self.row(vec![Span::styled("─".repeat(columns), self.theme.dim)]);
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.piece(if done { "[x] " } else { "[ ] " }, self.style()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::FootnoteDefinition(_) | Tag::MetadataBlock(_) => self.flush(),
            Tag::Heading { level, .. } => {
                self.flush();
                self.patch(self.theme.strong);
                if level == HeadingLevel::H1 {
                    self.patch(Style::new().add_modifier(Modifier::UNDERLINED));
                } else {
                    self.patch(Style::new());
                }
                // The marks stay, so that the level is not told by the style alone.
                self.piece(&format!("{} ", "#".repeat(level as usize)), self.style());
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.set_apart();
                self.edges.push(Edge { first: None, rest: "│ ".into() });
                self.patch(self.theme.dim);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                let inside = !self.lists.is_empty();
                self.flush();
                // A list in a list belongs to its item.
                self.gap &= !inside;
                self.set_apart();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                self.gap = false;
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".into(),
                };
                self.edges.push(Edge { rest: " ".repeat(text::width(&mark)), first: Some(mark) });
            }
            Tag::Table(alignments) => {
                self.flush();
                self.table = Some(Table { alignments, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.patch(self.theme.strong);
                self.table_row();
            }
            Tag::TableRow => self.table_row(),
            Tag::Emphasis => self.patch(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.patch(self.theme.strong),
            Tag::Strikethrough => self.patch(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } => {
                self.links.push(Link { address: dest_url.into_string(), text: String::new(), image: false });
                self.patch(self.theme.accent.add_modifier(Modifier::UNDERLINED));
            }
            Tag::Image { dest_url, .. } => {
                self.pieces.push(Piece::new("[image: ", self.style()));
                self.links.push(Link { address: dest_url.into_string(), text: String::new(), image: true });
                self.patch(Style::new());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.truncate(self.styles.len().saturating_sub(2).max(1));
                self.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.edges.pop();
                self.unpatch();
                self.gap = true;
            }
            TagEnd::CodeBlock => {
                if let Some((language, source)) = self.code.take() {
                    self.code_block(&language, &source);
                }
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                // An item without text still has its mark.
                if self.edges.last().is_some_and(|edge| edge.first.is_some()) {
                    self.row(Vec::new());
                }
                self.edges.pop();
                self.gap = false;
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.set_apart();
                    for row in table.rows(self.room(), self.theme) {
                        self.row(row);
                    }
                    self.gap = true;
                }
            }
            TagEnd::TableHead => self.unpatch(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.pieces);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.unpatch(),
            TagEnd::Link | TagEnd::Image => {
                self.unpatch();
                let Some(link) = self.links.pop() else { return };
                if link.image {
                    self.pieces.push(Piece::new("]", self.style()));
                }
                // The address is always seen: the text may say another.
                if link.address != link.text && !link.address.is_empty() {
                    self.pieces.push(Piece::new(&format!(" ({})", link.address), self.style().patch(self.theme.dim)));
                }
                if let Some(outer) = self.links.last_mut() {
                    outer.text.push_str(&link.text);
                }
            }
            _ => {}
        }
    }

    fn unpatch(&mut self) {
        if self.styles.len() > 1 {
            self.styles.pop();
        }
    }

    fn table_row(&mut self) {
        self.pieces.clear();
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    fn code_block(&mut self, language: &str, source: &str) {
        self.set_apart();
        let edge = if self.room() > 2 { CODE_EDGE } else { "" };
        let room = self.room().saturating_sub(text::width(edge)).max(1);
        for pieces in code::lines(source, language, self.theme, self.colours) {
            for row in wrap(&pieces, room, Break::Anywhere) {
                let mut spans = vec![Span::styled(edge, self.theme.dim)];
                spans.extend(row);
                self.row(spans);
            }
        }
        self.gap = true;
    }

    /// Columns left of what stands at the edge. Edges that would take more than half are not drawn.
    fn room(&self) -> usize {
        self.width - self.edge_width()
    }

    fn edge_width(&self) -> usize {
        let all = self.edges.iter().map(|edge| text::width(&edge.rest)).sum();
        if all > self.width / 2 { 0 } else { all }
    }

    fn set_apart(&mut self) {
        if std::mem::take(&mut self.gap) && !self.out.is_empty() {
            let mut edge: String = self.edges.iter().map(|edge| edge.rest.as_str()).collect();
            edge.truncate(edge.trim_end().len());
            if self.edge_width() == 0 {
                edge.clear();
            }
            self.out.push(Line::styled(edge, self.theme.dim));
        }
    }

    fn flush(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        let pieces = std::mem::take(&mut self.pieces);
        self.set_apart();
        for row in wrap(&pieces, self.room(), Break::Words) {
            self.row(row);
        }
    }

    fn row(&mut self, row: Vec<Span<'static>>) {
        let shown = self.edge_width() > 0;
        let mut spans = Vec::new();
        for edge in &mut self.edges {
            let text = edge.first.take().unwrap_or_else(|| edge.rest.clone());
            if shown {
                spans.push(Span::styled(text, self.theme.dim));
            }
        }
        spans.extend(row);
        self.out.push(Line::from(spans));
    }
}
