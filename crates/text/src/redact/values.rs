//! Finding given secret values in text, in the forms that libraries and errors write them.
//!
//! A matcher by hand and not a regular expression: a compiled expression would keep the secret in memory that is never wiped.

use std::borrow::Cow;

use zeroize::Zeroizing;

use crate::secret::MASK;

/// Shorter values are not searched for.
const MIN_CHARS: usize = 4;

/// How a secret may be written.
#[derive(Clone, Copy)]
enum Form {
    /// Byte for byte.
    Raw,
    /// Percent-encoded, wholly or in part; a space may be `+`.
    Percent,
    /// With the escapes of a JSON string, wholly or in part.
    Json,
}

/// Replaces each of the values by the mask.
pub(super) fn remove<'a>(text: &'a str, secrets: &[&str]) -> Cow<'a, str> {
    let mut needles: Vec<Zeroizing<Vec<u8>>> = Vec::new();
    for secret in secrets {
        if secret.chars().count() < MIN_CHARS {
            continue;
        }
        needles.push(Zeroizing::new(secret.as_bytes().to_vec()));
        for offset in 0..3 {
            let core = base64_core(secret.as_bytes(), offset);
            // In addresses the two last letters of the alphabet differ.
            let url: Vec<u8> = core
                .iter()
                .map(|byte| match byte {
                    b'+' => b'-',
                    b'/' => b'_',
                    other => *other,
                })
                .collect();
            if url != *core {
                needles.push(Zeroizing::new(url));
            }
            needles.push(core);
        }
    }
    // The longest first, so that a secret which begins with another goes as a whole.
    needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));

    let bytes = text.as_bytes();
    let mut forms = vec![Form::Raw];
    if text.contains(['%', '+']) {
        forms.push(Form::Percent);
    }
    if text.contains('\\') {
        forms.push(Form::Json);
    }
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let end = needles.iter().find_map(|needle| forms.iter().find_map(|form| match_at(bytes, at, needle, *form)));
        // A match begins and ends with whole characters, for the needle is made of them.
        match end.filter(|end| text.is_char_boundary(at) && text.is_char_boundary(*end)) {
            Some(end) => {
                let out = out.get_or_insert_with(String::new);
                out.push_str(&text[copied..at]);
                out.push_str(MASK);
                copied = end;
                at = end;
            }
            None => at += 1,
        }
    }
    match out {
        Some(mut out) => {
            out.push_str(&text[copied..]);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(text),
    }
}

/// Where the needle ends if it stands at `at`.
fn match_at(text: &[u8], mut at: usize, needle: &[u8], form: Form) -> Option<usize> {
    let mut matched = 0;
    while matched < needle.len() {
        let first = *text.get(at)?;
        let decoded = match (form, first) {
            (Form::Percent, b'+') if needle[matched] == b' ' => Some(([b' ', 0, 0, 0], 1, 1)),
            (Form::Percent, b'%') => {
                hex(text.get(at + 1..at + 3)?).and_then(|value| Some(([u8::try_from(value).ok()?, 0, 0, 0], 1, 3)))
            }
            (Form::Json, b'\\') => json_escape(&text[at + 1..]),
            _ => None,
        };
        let (piece, length, taken) = decoded.unwrap_or(([first, 0, 0, 0], 1, 1));
        if !needle[matched..].starts_with(&piece[..length]) {
            return None;
        }
        matched += length;
        at += taken;
    }
    Some(at)
}

/// The character after a backslash in a JSON string: its bytes, how many they are, and how many bytes of text it took with the
/// backslash.
fn json_escape(after: &[u8]) -> Option<([u8; 4], usize, usize)> {
    let byte = match after.first()? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        b'u' => {
            let mut piece = [0; 4];
            let length = char::from_u32(hex(after.get(1..5)?)?)?.encode_utf8(&mut piece).len();
            return Some((piece, length, 6));
        }
        same @ (b'"' | b'\\' | b'/') => *same,
        _ => return None,
    };
    Some(([byte, 0, 0, 0], 1, 2))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}

/// The base64 letters that depend on the secret alone when `offset` other bytes (modulo 3) stand before it. So `user:secret` is found
/// whatever the user is called.
fn base64_core(secret: &[u8], offset: usize) -> Zeroizing<Vec<u8>> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |index: usize| {
        let index = index - 8 * offset;
        (secret[index / 8] >> (7 - index % 8)) & 1
    };
    let first = (8 * offset).div_ceil(6);
    let last = 8 * (offset + secret.len()) / 6;
    Zeroizing::new(
        (first..last)
            .map(|letter| {
                let value = (0..6).fold(0, |value, i| value << 1 | bit(letter * 6 + i));
                ALPHABET[usize::from(value)]
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_value_goes() {
        let secret = "p@ss \"w/ö?\\d";
        for text in [
            "p@ss \"w/ö?\\d",
            "p%40ss%20%22w%2F%C3%B6%3F%5Cd",
            "p%40ss+%22w%2f%c3%b6%3f%5cd",
            "p@ss%20\"w/%C3%B6?%5Cd",
            "p@ss \\\"w/ö?\\\\d",
            "p@ss \\\"w\\/\\u00f6?\\\\d",
        ] {
            assert_eq!(remove(&format!("<{text}> ü"), &[secret]), "<********> ü", "{text}");
        }
    }

    #[test]
    fn base64_goes_at_every_alignment() {
        // base64 of "hunter2x", "a:hunter2x!", "ab:hunter2x!", "abc:hunter2x"
        for (text, expected) in [
            ("aHVudGVyMng=", "********g="),
            ("YTpodW50ZXIyeCE=", "YTp********CE="),
            ("YWI6aHVudGVyMnghIQ==", "YWI6********ghIQ=="),
            ("YWJjOmh1bnRlcjJ4", "YWJjOm********"),
        ] {
            assert_eq!(remove(text, &["hunter2x"]), expected);
        }
        // The two alphabets: bytes that give `+` and `/`.
        for text in ["Pz8/Pj4+fn5+", "Pz8_Pj4-fn5-", "Pz8%2FPj4%2Bfn5%2B"] {
            assert_eq!(remove(text, &["???>>>~~~"]), MASK);
        }
    }

    #[test]
    fn other_text_stays() {
        assert!(matches!(remove("nothing here", &["hunter2", ""]), Cow::Borrowed(_)));
        assert_eq!(remove("a cat", &["cat"]), "a cat");
        assert_eq!(remove("hunter", &["hunter2"]), "hunter");
        assert_eq!(remove("100% of ü\\", &["100%25"]), "100% of ü\\");
    }

    #[test]
    fn overlapping_values_go_whole() {
        assert_eq!(remove("abcdefgh abcd", &["abcd", "abcdefgh"]), "******** ********");
        assert_eq!(remove("abcdabcd", &["abcd"]), "****************");
    }
}
