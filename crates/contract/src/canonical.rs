//! Canonical JSON: keys sorted at every level, no white space; and its SHA-256.
//!
//! A write is approved for exactly the value whose canonical text was hashed, and exactly that value runs.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The canonical text of a value.
pub fn to_text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// SHA-256 of the canonical text, 64 hex digits.
pub fn hash(value: &Value) -> String {
    sha256_hex(to_text(value).as_bytes())
}

/// SHA-256 of bytes, 64 lower-case hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::String(key.clone()));
                write(&map[key], out);
            }
            out.push('}');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{hash, to_text};
    use serde_json::json;

    #[test]
    fn order_of_keys_does_not_matter_and_types_do() {
        let a = json!({"b": [1, {"z": null, "y": "é\n"}], "a": 1.0});
        assert_eq!(to_text(&a), "{\"a\":1.0,\"b\":[1,{\"y\":\"é\\n\",\"z\":null}]}");
        assert_eq!(hash(&json!({"x": 1, "y": 2})), hash(&json!({"y": 2, "x": 1})));
        assert_ne!(hash(&json!({"x": 1})), hash(&json!({"x": "1"})));
        assert_ne!(hash(&json!({"x": [1, 2]})), hash(&json!({"x": [2, 1]})));
    }
}
