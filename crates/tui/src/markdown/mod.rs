//! Markdown as rows of a terminal: headings, emphasis, lists, quotes, code, tables, links with their addresses. Whatever comes
//! from the source is cleaned piece by piece, after its entities were read, so that none of them makes an escape.

mod blocks;
mod code;
mod table;
#[cfg(test)]
mod tests;
pub mod wrap;

use crate::theme::Theme;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use ratatui::text::Line;

fn parser(source: &str) -> Parser<'_> {
    Parser::new_ext(source, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
}

/// Markdown in rows of at most `width` columns.
pub fn render(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    blocks::render(source, width, theme, true)
}

/// The same for text that still grows: code has no colours yet, since it would be read anew with every line.
pub fn render_growing(source: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    blocks::render(source, width, theme, false)
}

/// The last place up to which the blocks of a growing text are finished: behind an empty line that stands outside any fence,
/// before a line that begins at the left edge. Rows of what lies before it do not change any more.
pub fn finished(source: &str) -> usize {
    let mut fence: Option<&str> = None;
    let mut end = 0;
    let mut at = 0;
    let mut blank_before = false;
    for line in source.split_inclusive('\n') {
        let text = line.trim_start();
        let blank = text.is_empty();
        if fence.is_none() && blank_before && !blank && text.len() == line.len() {
            end = at;
        }
        let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark && text.trim_end().trim_matches(['`', '~']).is_empty() => {
                fence = None
            }
            _ => {}
        }
        blank_before = blank;
        at += line.len();
    }
    end
}

/// The code blocks of a text, as they stand in it.
pub fn code_blocks(source: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for event in parser(source) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => open = Some(String::new()),
            Event::Text(text) => {
                if let Some(block) = &mut open {
                    block.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}
