//! Which characters must not reach a terminal as they are, and how such a character is written instead.

use std::sync::LazyLock;

use regex::Regex;

/// Characters that steer a terminal, reorder text, or cannot be seen. Sorted, closed ranges.
///
/// A test compares this table with the Unicode properties it stands for: Control, Format (without the visible Arabic and similar
/// number signs), Default_Ignorable_Code_Point, Private_Use, line and paragraph separators, noncharacters of the BMP.
const HIDDEN: &[(u32, u32)] = &[
    (0x0000, 0x001F),
    (0x007F, 0x009F),
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    // Braille blank: a letter by its properties, but nothing is drawn.
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xE000, 0xF8FF),
    (0xFDD0, 0xFDEF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
    (0xF0000, 0x10FFFF),
];

/// Whether the character must be made visible unless it is part of an emoji.
pub(crate) fn is_hidden(c: char) -> bool {
    let code = u32::from(c);
    // Every plane ends in two noncharacters.
    if code & 0xFFFE == 0xFFFE {
        return true;
    }
    HIDDEN
        .binary_search_by(|&(low, high)| {
            if high < code {
                std::cmp::Ordering::Less
            } else if low > code {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// Appends what stands for a hidden character: the control picture for C0 and DEL, `⟨U+XXXX⟩` for the others.
pub(crate) fn push_visible(out: &mut String, c: char) {
    let code = u32::from(c);
    match code {
        0..=0x1F => out.push(char::from_u32(0x2400 + code).unwrap_or('?')),
        0x7F => out.push('\u{2421}'),
        _ => out.push_str(&format!("⟨U+{code:04X}⟩")),
    }
}

/// Whether the character is a picture that emoji sequences are built from.
pub(crate) fn is_pictograph(c: char) -> bool {
    static PICTOGRAPH: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\A\p{Extended_Pictographic}\z").expect("the pattern is constant and valid"));
    PICTOGRAPH.is_match(c.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_is_what_unicode_says() {
        let properties = Regex::new(
            r"\A[\p{Cc}[\p{Cf}--\p{Prepended_Concatenation_Mark}]\p{Default_Ignorable_Code_Point}\p{Co}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Noncharacter_Code_Point}\u{2800}]\z",
        )
        .unwrap();
        for c in '\0'..=char::MAX {
            let expected = properties.is_match(c.encode_utf8(&mut [0; 4]));
            assert_eq!(is_hidden(c), expected, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn ranges_are_sorted() {
        assert!(HIDDEN.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(HIDDEN.iter().all(|&(low, high)| low <= high));
    }
}
