//! Strings of all scripts and kinds through lists, forms, chats, calls and questions: what stands beside and behind them stands
//! where it would with plain letters.
//!
//! `ASTUDIO_STRINGS` says how many, `ASTUDIO_SEED` where the dice begin.

use super::screen::Screen;
use super::sizes::is_fresh;
use crate::binary::Desk;
use crate::interleave::{Dice, number};
use serde_json::json;
use std::collections::BTreeSet;
use text::Safe;

/// How many.
const STRINGS: u64 = 500;
/// How many of them in one message or call.
const AT_ONCE: usize = 20;
/// What the strings are made of.
const PIECES: [&str; 60] = [
    // Wide: CJK, Hangul, fullwidth; narrow twins of them.
    "日本",
    "漢字",
    "中文",
    "한국",
    "각",
    "ﾊﾝ",
    "ｱﾞ",
    "Ａ１",
    "！",
    "〇",
    "𠀋",
    "㍿",
    "￥",
    // Combining: over, under, several, on blanks, Indic and Thai, Hangul jamo.
    "e\u{301}",
    "n\u{303}\u{330}",
    "\u{301}",
    "a\u{300}\u{301}\u{302}\u{303}",
    "क्षि",
    "ท้ำ",
    "ᄀ\u{1161}\u{11a8}",
    "தமி",
    "ä",
    "a\u{308}",
    // Right to left, alone and with digits.
    "שלום",
    "مرحبا",
    "العربية 12",
    "אב1",
    // Emoji: plain, with skin, joined, with a style, keycaps.
    "😀",
    "👍🏽",
    "👩‍👩‍👧",
    "👨🏿‍💻",
    "❤\u{fe0f}",
    "☺\u{fe0e}",
    "✈",
    "1\u{fe0f}\u{20e3}",
    "🏳\u{fe0f}‍🌈",
    "⌚",
    "☎",
    // Flags: a pair, one and a half, tags.
    "🇩🇪",
    "🇩🇪🇯",
    "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    // Unseen: joiners, spaces, marks, selectors, controls of direction, tags, byte order.
    "a\u{200b}b",
    "\u{200d}",
    "x\u{ad}y",
    "\u{2060}",
    "\u{fe0f}",
    "\u{e0001}",
    "\u{202e}abc\u{202c}",
    "\u{feff}",
    "\u{3000}",
    "\u{a0}",
    // Of unclear width, and plain.
    "…",
    "—",
    "①",
    "½",
    "“”",
    "ﷺ",
    "a",
    "xyz",
    "42",
];

fn strings(count: u64, dice: &mut Dice) -> Vec<String> {
    (0..count).map(|_| (0..=dice.roll(5)).map(|_| dice.pick(&PIECES)).collect()).collect()
}

/// Columns of a string as it is shown.
fn columns(text: &str) -> u16 {
    text::width(&Safe::clean(text)) as u16
}

/// The column of a sign in a row that holds it once.
fn column(row: &[(String, vt100::Color, vt100::Color, bool)], sign: &str) -> Option<usize> {
    let mut found = row.iter().enumerate().filter(|(_, cell)| cell.0 == sign).map(|(at, _)| at);
    found.next().filter(|_| found.next().is_none())
}

fn words(row: &[(String, vt100::Color, vt100::Color, bool)]) -> String {
    row.iter().map(|cell| cell.0.as_str()).collect()
}

#[test]
fn columns_of_lists_stand_beside_any_string() {
    let desk = Desk::new();
    let (count, seed) = (number("ASTUDIO_STRINGS", STRINGS), number("ASTUDIO_SEED", 3));
    let strings = strings(count, &mut Dice::new(seed));
    let mut batch = desk.batch();
    for (n, string) in strings.iter().enumerate() {
        let body = json!({ "name": format!("s{n:03}"), "llm": format!("x:a{string}"), "description": string });
        batch.call(&json!({ "id": "agents.create", "body": body })).ok();
    }
    let mut screen = Screen::open(&desk.home(), 160, 60);
    screen
        .see("NAME ↑")
        .key("/")
        .see("Esc close")
        .type_text("s0")
        .see("s000")
        .key("ctrl-u")
        .type_text("llm:x")
        .key("enter");
    screen.see("›s000").see("filter");
    let mut checked = BTreeSet::new();
    for _ in 0..count {
        let rows = screen.rows();
        let head = rows.iter().map(|row| words(row)).find(|row| row.contains("NAME ↑")).unwrap();
        let at = head.split_once("VISIBLE").unwrap().0.chars().count();
        for row in &rows {
            let shown = words(row);
            let name =
                shown.split_whitespace().find_map(|word| word.trim_start_matches('›').strip_prefix('s')?.parse().ok());
            let Some(of) = name.and_then(|n: usize| strings.get(n)) else { continue };
            let cells: String = row[at..at + 7].iter().map(|cell| cell.0.as_str()).collect();
            assert_eq!(cells, "private", "ASTUDIO_SEED={seed} {of:?}\n{shown}");
            assert_eq!(row[at - 1].0, " ", "{of:?}");
            checked.insert(name);
        }
        if checked.len() == strings.len() {
            return is_fresh(&mut screen, &format!("ASTUDIO_SEED={seed}"));
        }
        screen.key("pagedown").pause(100);
    }
    panic!("only {} of {} were shown", checked.len(), strings.len());
}

#[test]
fn what_is_typed_in_a_form_stands_where_it_should() {
    let desk = Desk::new();
    let (count, seed) = (number("ASTUDIO_STRINGS", STRINGS), number("ASTUDIO_SEED", 4));
    let mut screen = Screen::open(&desk.home(), 120, 30);
    screen.see("›chaos").key("e").see("chaos · version 1").key("ctrl-u").paste("abc|").see("abc|");
    let (row, start) = screen.find("abc|");
    for string in strings(count, &mut Dice::new(seed)) {
        let expected = usize::from(start + columns(&string));
        screen
            .key("ctrl-u")
            .until("an empty field", |screen| !screen.contents().contains('|'))
            .paste(&format!("{string}|"));
        screen.see("|");
        let cells = &screen.rows()[usize::from(row)];
        assert_eq!(column(cells, "|"), Some(expected), "ASTUDIO_SEED={seed} {string:?}\n{}", words(cells));
        // The terminal's own cursor stands behind the text, where an input method opens.
        assert_eq!(screen.cursor(), (row, expected as u16 + 1), "{string:?}");
        assert_eq!(words(&cells[expected + 1..]).trim(), "", "nothing is left of what was there before");
        screen.see("llm           rehearsal:chaos").see("category      playground");
    }
}

#[test]
fn questions_calls_and_messages_keep_their_borders() {
    let desk = Desk::new();
    let (count, seed) = (number("ASTUDIO_STRINGS", STRINGS), number("ASTUDIO_SEED", 5));
    let mut screen = Screen::open(&desk.home(), 120, 60);
    screen.chat("manual");
    for (n, strings) in strings(count, &mut Dice::new(seed)).chunks(AT_ONCE).enumerate() {
        // As a message, and as the answer of a model.
        let said: Vec<String> = strings.iter().map(|string| format!("a{string}|")).collect();
        let end = format!("end{n}.");
        screen.paste(&format!("say {}\n\n{end}", said.join("\n\n"))).see("› [pasted").key("enter");
        screen.until("the whole answer", |screen| {
            let screen = screen.contents();
            screen.rfind(&end) < screen.rfind("· tokens") && screen.contains(&end) && !screen.contains("Esc stops")
        });
        for string in strings {
            let expected = 15 + usize::from(columns(&format!("a{string}")));
            let rows = screen.rows();
            let row = rows.iter().find(|row| column(row, "|") == Some(expected));
            assert!(row.is_some(), "ASTUDIO_SEED={seed} {string:?} ends at {expected}\n{}", screen.screen());
        }
        // As an argument.
        let reason = strings.iter().map(|string| format!("a{string}|")).collect::<Vec<_>>().join("\n");
        let call = json!({ "order_id": 1003, "reason": reason });
        screen.paste(&format!("call desk_cancel_order {call}")).key("enter").dialog();
        let rows = screen.rows();
        let corner =
            |sign: &str| rows.iter().enumerate().find_map(|(at, row)| column(row, sign).map(|col| (at, col))).unwrap();
        let ((top, left), (_, right), (bottom, _)) = (corner("┌"), corner("┐"), corner("└"));
        for row in &rows[top + 1..bottom] {
            assert_eq!(
                (row[left].0.as_str(), row[right].0.as_str()),
                ("│", "│"),
                "ASTUDIO_SEED={seed}\n{}",
                words(row)
            );
        }
        // As a reason.
        screen
            .key("r")
            .see("reason:")
            .paste(&format!("{}|", strings[0]))
            .pause(super::screen::DELIBERATE_MS)
            .key("enter");
        screen.not("Approve this call?");
        screen.until("the end", |screen| screen.contents().contains("total")).key("ctrl-l");
        // The bar of the call's cell stands in one column.
        let bars: Vec<usize> =
            screen.rows().iter().filter_map(|row| row.iter().position(|cell| cell.0 == "▌")).collect();
        assert!(bars.iter().all(|col| *col == 13), "{bars:?}");
    }
}
