#![allow(clippy::unwrap_used)]

use super::{code_blocks, finished, render};
use crate::theme::{Theme, ThemeName};
use ratatui::style::Modifier;
use ratatui::text::Line;

fn theme() -> Theme {
    Theme::of(ThemeName::Dark)
}

fn plain(lines: &[Line<'_>]) -> Vec<String> {
    lines.iter().map(|line| line.spans.iter().map(|span| span.content.as_ref()).collect()).collect()
}

fn shown(source: &str, width: u16) -> Vec<String> {
    plain(&render(source, width, &theme()))
}

#[test]
fn blocks_stand_apart_and_lists_do_not() {
    let source = "# Title\n\nSome *words* and **more** `code`.\n\n- one\n- two\n  - deep\n    wrapped on\n\n3. three\n4. four\n\n> quoted\n> text\n\n---\nend";
    assert_eq!(
        shown(source, 40),
        [
            "# Title",
            "",
            "Some words and more `code`.",
            "",
            "• one",
            "• two",
            "  • deep wrapped on",
            "",
            "3. three",
            "4. four",
            "",
            "│ quoted text",
            "",
            "────────────────────────────────────────",
            "",
            "end"
        ]
    );
}

#[test]
fn a_loose_list_and_a_quote_in_an_item_keep_their_edges() {
    assert_eq!(
        shown("1. one\n\n   more of one\n2. > quoted\n3.", 30),
        ["1. one", "   ".trim_end(), "   more of one", "2. │ quoted", "3. "]
    );
}

#[test]
fn emphasis_is_a_style_and_a_link_shows_where_it_leads() {
    let lines = render("*a* **b** ~~c~~ [here](https://x.example/y) <https://z.example>", 80, &theme());
    assert_eq!(plain(&lines), ["a b c here (https://x.example/y) https://z.example"]);
    let has = |text: &str, modifier| {
        lines[0].spans.iter().any(|span| span.content == text && span.style.add_modifier.contains(modifier))
    };
    assert!(has("a", Modifier::ITALIC) && has("b", Modifier::BOLD) && has("c", Modifier::CROSSED_OUT));
}

#[test]
fn code_keeps_its_spaces_and_has_colours_but_in_the_plain_theme() {
    let source = "```rust\nfn main() {\n    let x = \"日本\"; // why\n}\n```";
    let dark = render(source, 60, &theme());
    assert_eq!(plain(&dark), ["▏ fn main() {", "▏     let x = \"日本\"; // why", "▏ }"]);
    let colours = |lines: &[Line<'_>]| lines.iter().flat_map(|l| &l.spans).filter(|s| s.style.fg.is_some()).count();
    assert!(colours(&dark) >= 3, "{dark:?}");
    let without = Theme::of(ThemeName::Plain);
    let bare = render(source, 60, &without);
    assert_eq!(plain(&bare), plain(&dark));
    assert!(bare.iter().flat_map(|l| &l.spans).all(|s| s.style.fg.is_none_or(|c| c == ratatui::style::Color::Reset)));
}

const TABLE: &str = "| name | 説明 | n |\n|:--|:-:|--:|\n| a | 日本語の文章 | 1 |\n| 👨‍👩‍👧 x | שלום עולם here | 1000 |\n";

#[test]
fn a_table_that_fits_is_a_grid_of_one_width() {
    let rows = shown(TABLE, 60);
    assert_eq!(rows[0], "name │      説明      │    n");
    assert_eq!(rows[2], "a    │  日本語の文章  │    1");
    let widths: Vec<usize> = rows.iter().map(|row| text::width(row)).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{rows:#?}");
}

#[test]
fn a_table_that_is_too_wide_gets_narrow_columns_then_rows_of_values() {
    let source = "| key | text |\n|---|---|\n| alpha | some words that are longer than the room there is |\n";
    let rows = shown(source, 30);
    assert!(rows.iter().all(|row| text::width(row) == 30), "{rows:#?}");
    assert!(rows.len() > 3);
    let wide = "| aaaaaaaa | bbbbbbbb | cccccccc |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n";
    assert_eq!(
        shown(wide, 14),
        ["aaaaaaaa: 1", "bbbbbbbb: 2", "cccccccc: 3", "──────────────", "aaaaaaaa: 4", "bbbbbbbb: 5", "cccccccc: 6"]
    );
}

/// Texts that have broken terminals: wide, joined, combining, right to left, escapes, entities, direction controls.
const CORPUS: &[&str] = &[
    "日本語の長い文章はどこでも折り返せます。 English in between, ｆｕｌｌ width.",
    "family 👨‍👩‍👧‍👦 flags 🇩🇪🇫🇷 keycap 1️⃣ tone 👍🏽 heart ❤️ e\u{301}e\u{301}",
    "שלום עולם مرحبا بالعالم mixed with latin words",
    "\u{1b}[2J\u{1b}]52;c;ZXZpbA==\u{7} \u{9b}31m red \u{202e}evil\u{202c} \u{200b}zero",
    "&#27;[31m &#x202E;turned &#7; &#155; [&#27;]0;t](javascript:&#27;) ![&#8;](x\u{1b})",
    "| a\u{1b} | b |\n|---|---|\n| \u{202e}x | `\u{7}` |",
    "> - 1. > deep\n>   - deeper > and > deeper\n>     - deepest of all of them",
    "```\u{1b}rust\n\tlet \u{1b}[0m = \"日\u{202e}\";\n```\n\n    indented \u{7}\n",
    "<b>html \u{1b}</b>\n\n<div>\nblock\u{9b}\n</div>\n\nz\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}",
    "- [x] done\n- [ ] open\n-\n\n1000000. many\n1. more",
    "nospacesatallinthisverylongwordthatgoesonandonandonandon\\\nhard break",
];

#[test]
fn no_row_is_wider_than_its_area_and_none_holds_a_control() {
    for source in CORPUS {
        for width in 1..=70 {
            for line in render(source, width, &theme()) {
                let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
                let columns: usize = line.spans.iter().map(|span| text::width(&span.content)).sum();
                assert!(columns <= usize::from(width), "{columns} > {width}: {text:?}");
                assert!(
                    text.chars().all(|c| !c.is_control() && !"\u{202e}\u{202c}\u{200b}\u{9b}".contains(c)),
                    "{text:?}"
                );
            }
        }
    }
}

#[test]
fn rows_drawn_to_a_buffer_are_as_wide_as_measured() {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::widgets::Widget;
    for source in CORPUS.iter().chain(&[TABLE]) {
        let lines = render(source, 40, &theme());
        for line in &lines {
            let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
            let mut buffer = Buffer::empty(Rect::new(0, 0, 42, 1));
            line.clone().render(Rect::new(0, 0, 40, 1), &mut buffer);
            buffer[(41, 0)].set_symbol("|");
            let mut drawn = String::new();
            let mut x = 0;
            while x < 40 {
                let symbol = buffer[(x, 0)].symbol();
                drawn += symbol;
                x += (text::width(symbol) as u16).max(1);
            }
            assert_eq!(drawn.trim_end(), text.trim_end(), "drawn cell by cell");
        }
    }
}

#[test]
fn what_is_finished_renders_the_same_alone() {
    let source = "# a\n\ntext one\n\n```rust\nlet a;\n\nlet b;\n```\n\nlast **para";
    let at = finished(source);
    assert_eq!(&source[at..], "last **para");
    let inside = "before\n\n```\ncode\n\nmore";
    assert_eq!(&inside[finished(inside)..], "```\ncode\n\nmore");
    let list = "- a\n\n  more of a\n\nnext";
    assert_eq!(&list[finished(list)..], "next");
}

#[test]
fn code_is_found_as_it_was_written() {
    assert_eq!(code_blocks("x\n```sh\na  b\n\tc\n```\ny\n\n~~~\nd\n~~~"), ["a  b\n\tc\n", "d\n"]);
}
