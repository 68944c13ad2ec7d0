//! Corpora of hostile and of legitimate text.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;

use super::*;

fn shown(text: &str) -> String {
    Safe::clean(text).to_string()
}

#[test]
fn plain_text_is_borrowed() {
    for text in ["", "plain", "zażółć gęślą jaźń", "日本語", "👩‍👩‍👧‍👦 ok", "é", "e\u{301}"]
    {
        assert!(matches!(Safe::clean(text).0, Cow::Borrowed(_)), "{text:?}");
        assert_eq!(shown(text), text);
    }
    assert!(matches!(Safe::clean_lines("a\nb").0, Cow::Borrowed(_)));
}

#[test]
fn escape_sequences_lose_their_introducer() {
    let cases = [
        ("\u{1b}[31mred\u{1b}[0m", "␛[31mred␛[0m"),
        ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7}", "␛]8;;http://x␇link␛]8;;␇"),
        ("\u{1b}]52;c;aGk=\u{1b}\\", "␛]52;c;aGk=␛\\"),
        ("\u{1b}P1$r0m\u{1b}\\", "␛P1$r0m␛\\"),
        ("\u{1b}c", "␛c"),
        ("\u{9b}2J", "⟨U+009B⟩2J"),
        ("\u{9d}0;t\u{9c}", "⟨U+009D⟩0;t⟨U+009C⟩"),
        ("\u{90}q\u{9c}", "⟨U+0090⟩q⟨U+009C⟩"),
        ("\u{85}", "⟨U+0085⟩"),
        ("a\u{8}b\u{7f}", "a␈b␡"),
        ("\0", "␀"),
        ("line\nnext\r\n\tend", "line␊next␍␊␉end"),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected);
    }
}

#[test]
fn lines_are_kept_on_request() {
    let safe = Safe::clean_lines("a\n\tb\r\nc\rd\u{1b}[0m");
    assert_eq!(safe.as_str(), "a\n    b\nc␍d␛[0m");
    assert_eq!(safe.lines().map(|line| line.to_string()).collect::<Vec<_>>(), ["a", "    b", "c␍d␛[0m"]);
}

#[test]
fn direction_and_invisible_characters_are_shown() {
    let cases = [
        ("access \u{202e}\u{2066}// admin\u{2069}\u{2066}", "access ⟨U+202E⟩⟨U+2066⟩// admin⟨U+2069⟩⟨U+2066⟩"),
        ("\u{200e}\u{200f}\u{61c}", "⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩"),
        ("pay\u{200b}pal", "pay⟨U+200B⟩pal"),
        ("a\u{2060}\u{feff}\u{ad}b", "a⟨U+2060⟩⟨U+FEFF⟩⟨U+00AD⟩b"),
        ("\u{2028}\u{2029}", "⟨U+2028⟩⟨U+2029⟩"),
        ("\u{3164}\u{115f}\u{2800}", "⟨U+3164⟩⟨U+115F⟩⟨U+2800⟩"),
        ("\u{e0041}\u{e007f}", "⟨U+E0041⟩⟨U+E007F⟩"),
        ("\u{e000}", "⟨U+E000⟩"),
        ("\u{10ffff}", "⟨U+10FFFF⟩"),
        // A joiner or selector that joins nothing is a place to hide data in.
        ("a\u{200d}b", "a⟨U+200D⟩b"),
        ("a\u{fe0f}", "a⟨U+FE0F⟩"),
        ("1\u{fe0f}", "1⟨U+FE0F⟩"),
        ("😀\u{e0100}\u{e0101}", "😀⟨U+E0100⟩⟨U+E0101⟩"),
        ("😀\u{fe0f}\u{fe0f}", "😀\u{fe0f}⟨U+FE0F⟩"),
        ("😀\u{200d}", "😀⟨U+200D⟩"),
        ("😀\u{200d}a", "😀⟨U+200D⟩a"),
        ("🏴\u{e0061}\u{e007f}", "🏴⟨U+E0061⟩⟨U+E007F⟩"),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected);
    }
}

#[test]
fn emoji_stay_whole() {
    for emoji in [
        "👨‍👩‍👧‍👦",
        "👩🏽‍💻",
        "🏳️‍🌈",
        "🏴‍☠️",
        "👁️‍🗨️",
        "❤️‍🔥",
        "🧑🏿‍🤝‍🧑🏻",
        "👩‍❤️‍💋‍👩",
        "🇩🇪🇯🇵",
        "1️⃣",
        "#️⃣",
        "*️⃣",
        "⚠️",
        "☺︎",
        "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
        "👍🏽",
        "👨‍👩‍👧‍👦👨‍👩‍👧‍👦",
    ] {
        assert_eq!(shown(emoji), emoji);
    }
    let chain = "😀\u{200d}".repeat(6) + "😀";
    assert!(shown(&chain).contains("⟨U+200D⟩"));
}

#[test]
fn piles_of_marks_are_capped() {
    let eight = format!("a{}", "\u{301}".repeat(8));
    assert_eq!(shown(&eight), eight);
    let many = format!("a{}b\u{301}", "\u{301}".repeat(500));
    assert_eq!(shown(&many), format!("{eight}⟨…⟩b\u{301}"));
    assert_eq!(shown("\u{301}x"), "\u{25cc}\u{301}x");
    assert_eq!(Safe::clean_lines("a\n\u{301}x").as_str(), "a\n\u{25cc}\u{301}x");
    let devanagari = "क्षत्रिय";
    assert_eq!(shown(devanagari), devanagari);
    // Decomposed Korean is made of characters without a width of their own.
    let jamo = "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}";
    assert_eq!(shown(jamo), jamo);
}

#[test]
fn no_character_passes_in_any_neighbourhood() {
    let dangerous = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e0fff}')
    };
    // Between these planes nothing is assigned.
    for c in ('\0'..='\u{33fff}').chain('\u{e0000}'..=char::MAX) {
        for text in [format!("{c}"), format!("a{c}b"), format!("😀{c}😀")] {
            let safe = Safe::clean(&text);
            assert!(!safe.chars().any(dangerous), "U+{:04X}", u32::from(c));
            assert_eq!(Safe::clean(&safe), safe, "cleaning twice changes U+{:04X}", u32::from(c));
            let lines = Safe::clean_lines(&text);
            assert!(!lines.chars().any(|c| c != '\n' && dangerous(c)));
        }
    }
}

#[test]
fn formatting_widths_apply() {
    assert_eq!(format!("[{:>4}]", Safe::clean("ab")), "[  ab]");
}
