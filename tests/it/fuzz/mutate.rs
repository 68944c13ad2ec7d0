//! What is done to valid requests.

use crate::interleave::Dice;
use serde_json::{Value, json};

/// A text that stands for raw JSON while the rest is written.
const RAW: &str = "@raw@";

/// Texts that programs trip over.
pub fn odd_text(dice: &mut Dice) -> String {
    let long = if dice.roll(20) == 0 { 2_000_000 } else { 70_000 };
    dice.pick(&[
        String::new(),
        " ".into(),
        "a\0b".into(),
        "\n".into(),
        "..".into(),
        "../../etc/passwd".into(),
        "a/b".into(),
        "%00".into(),
        "' or 1=1; drop table agents; --".into(),
        "\u{202e}\u{feff}\u{1b}[31m".into(),
        "🙂é\u{301}".into(),
        "-1".into(),
        "+5".into(),
        "0x10".into(),
        "1e3".into(),
        "NaN".into(),
        "99999999999999999999".into(),
        "9223372036854775807".into(),
        "null".into(),
        "{}".into(),
        "status:active \"".into(),
        "x".repeat(65),
        "x".repeat(long),
    ])
}

fn odd_value(dice: &mut Dice) -> Value {
    let deep =
        (0..100).fold(json!(1), |inside, _| if dice.roll(2) == 0 { json!([inside]) } else { json!({ "a": inside }) });
    match dice.roll(4) {
        0 => json!(odd_text(dice)),
        _ => dice.pick(&[
            json!(null),
            json!(true),
            json!(0),
            json!(-1),
            json!(1.5),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(1e308),
            json!(4_294_967_296_u64),
            json!([]),
            json!({}),
            json!([[null]]),
            json!({ "": { "\0": 1 } }),
            json!(vec!["x"; 3_000]),
            deep,
        ]),
    }
}

/// JSON that no value stands for, or not every reader takes alike.
fn odd_json(dice: &mut Dice) -> String {
    let all = [
        "1e999",
        "-1e-999",
        "99999999999999999999",
        "-9223372036854775809",
        "-0",
        "01",
        ".5",
        "NaN",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\u0000\"",
        "\"\\x\"",
        "\"\t\"",
        "{\"a\":1,\"a\":2}",
        "[1,]",
        "{\"a\":1,}",
        "'a'",
        "/* */1",
        "tru",
        "1 2",
    ];
    dice.pick(&all).to_owned()
}

/// How many values there are in a value, itself included.
fn size(value: &Value) -> u64 {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
        _ => 0,
    }
}

/// Replaces the value at a place, counted through; takes what it puts there.
fn replace(value: &mut Value, at: &mut u64, new: &mut Option<Value>) {
    if new.is_none() {
        return;
    }
    if *at == 0 {
        *value = new.take().unwrap();
        return;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, at, new)),
        Value::Object(map) => map.values_mut().for_each(|item| replace(item, at, new)),
        _ => {}
    }
}

fn put(value: &mut Value, new: Value, dice: &mut Dice) {
    let mut at = dice.roll(size(value));
    replace(value, &mut at, &mut Some(new));
}

/// A body that began as this one.
pub fn body(valid: &Value, dice: &mut Dice) -> Vec<u8> {
    let mut value = valid.clone();
    let keys: Vec<String> = value.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
    match dice.roll(16) {
        0..=3 => {
            let new = odd_value(dice);
            put(&mut value, new, dice);
        }
        4 => {
            if let (Some(map), false) = (value.as_object_mut(), keys.is_empty()) {
                map.remove(&dice.pick(&keys));
            }
        }
        5 => {
            if let Some(map) = value.as_object_mut() {
                let key = dice.pick(&["unknown", "", "__proto__", "tenant", "owner", "name", "expected_version"]);
                map.insert(key.into(), odd_value(dice));
            }
        }
        6 | 7 => {
            put(&mut value, json!(RAW), dice);
            return value.to_string().replacen(&format!("\"{RAW}\""), &odd_json(dice), 1).into_bytes();
        }
        8 => {
            let mut bytes = value.to_string().into_bytes();
            bytes.truncate(dice.roll(bytes.len() as u64 + 1) as usize);
            return bytes;
        }
        9 => {
            let mut bytes = value.to_string().into_bytes();
            let at = dice.roll(bytes.len() as u64) as usize;
            bytes[at] = dice.roll(256) as u8;
            return bytes;
        }
        10 => {
            let mut bytes = value.to_string().into_bytes();
            let at = dice.roll(bytes.len() as u64 + 1) as usize;
            let odd: &[u8] =
                dice.pick(&[b"\xff" as &[u8], b"\0", b"\xc3\x28", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\"", b"\\"]);
            bytes.splice(at..at, odd.iter().copied());
            return bytes;
        }
        11 => {
            let depth = dice.pick(&[127, 128, 129, 10_000, 200_000]);
            let (open, close) = dice.pick(&[("[", "]"), ("{\"a\":", "}")]);
            return format!("{}1{}", open.repeat(depth), close.repeat(depth)).into_bytes();
        }
        12 => {
            // Every key twice, the second time with another value.
            let text = value.to_string();
            if let (Some(inner), false) = (text.strip_suffix('}'), keys.is_empty()) {
                return format!("{inner},{}:{}}}", json!(dice.pick(&keys)), odd_value(dice)).into_bytes();
            }
        }
        13 => value = json!([value]),
        14 => {
            let whole: &[u8] = dice.pick(&[
                b"" as &[u8],
                b" ",
                b"null",
                b"0",
                b"\"\"",
                b"[]",
                b"{}",
                b"{",
                b"\xef\xbb\xbf{}",
                b"a=b&c=d",
            ]);
            return whole.to_vec();
        }
        _ => {
            let text = value.to_string();
            return format!("{text}{}", dice.pick(&["x", "{}", "\0", " \n\t", ","])).into_bytes();
        }
    }
    value.to_string().into_bytes()
}

/// A query that began as this one.
pub fn query(valid: &[(String, String)], known: &[String], dice: &mut Dice) -> Vec<(String, String)> {
    let mut pairs = valid.to_vec();
    for _ in 0..=dice.roll(3) {
        let unknown = ["unknown", "", "limit", "after", "expected_version", "session", "cursor"].map(str::to_owned);
        let key = if known.is_empty() || dice.roll(3) == 0 { dice.pick(&unknown) } else { dice.pick(known) };
        pairs.push((key, odd_text(dice)));
    }
    pairs
}
