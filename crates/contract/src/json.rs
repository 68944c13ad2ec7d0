//! JSON at the door: parsed once, and refused when it holds what cannot be kept exactly.

use serde_json::Value;

/// Why a text was refused as JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// Not JSON.
    #[error("not valid JSON: {0}")]
    Syntax(String),
    /// An integer that does not fit 64 bits would change on its way; send it as a string.
    #[error("the number {0} does not fit 64 bits; send it as a string")]
    BigInteger(String),
    /// NUL cannot be stored by every database.
    #[error("a text holds a NUL character, which cannot be stored")]
    Nul,
}

/// Parses JSON; refuses integers beyond 64 bits and texts with NUL. Lone surrogates are a syntax error.
///
/// # Errors
/// [`JsonFault`] says what and where.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonFault> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| JsonFault::Syntax(e.to_string()))?;
    if let Some(number) = big_integer(bytes) {
        return Err(JsonFault::BigInteger(number));
    }
    if has_nul(&value) {
        return Err(JsonFault::Nul);
    }
    Ok(value)
}

/// Whether any text in the value, keys included, holds NUL.
pub fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(map) => map.iter().any(|(key, item)| key.contains('\0') || has_nul(item)),
        _ => false,
    }
}

/// The first integer literal beyond 64 bits. The parser turns it silently into a float, so the text is looked at; the
/// text is known to be valid JSON here.
fn big_integer(bytes: &[u8]) -> Option<String> {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                while at < bytes.len() && matches!(bytes[at], b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') {
                    at += 1;
                }
                let literal = std::str::from_utf8(&bytes[start..at]).ok()?;
                let integer = !literal.contains(['.', 'e', 'E']);
                if integer && literal.parse::<i64>().is_err() && literal.parse::<u64>().is_err() {
                    return Some(literal.chars().take(40).collect());
                }
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{JsonFault, parse};

    #[test]
    fn keeps_what_fits_and_refuses_what_would_change() {
        for good in
            ["18446744073709551615", "-9223372036854775808", "1e300", "{\"a\":\"99999999999999999999\"}", "[1.5]"]
        {
            assert!(parse(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in ["18446744073709551616", "-9223372036854775809", "{\"a\":[1,{\"b\":99999999999999999999}]}"] {
            assert!(matches!(parse(bad.as_bytes()), Err(JsonFault::BigInteger(_))), "{bad}");
        }
        assert_eq!(parse(br#"{"a":"x\u0000"}"#), Err(JsonFault::Nul));
        assert!(matches!(parse(br#""\ud800""#), Err(JsonFault::Syntax(_))));
        assert!(matches!(parse(b"{"), Err(JsonFault::Syntax(_))));
    }
}
