//! Valid values, made from schemas of the document.

use crate::document::resolved;
use crate::interleave::Dice;
use contract::schema::{DECIDERS, EMAIL, GROUP, LABEL, SAID, SESSION, SLUG, TENANT, USER, VERSION};
use serde_json::{Map, Value, json};

/// A value that a schema allows.
pub fn example(document: &Value, schema: &Value, dice: &mut Dice) -> Value {
    if schema["$ref"].is_string() {
        return example(document, resolved(document, schema), dice);
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(all) = schema[choice].as_array() {
            let one = dice.pick(all);
            return example(document, &one, dice);
        }
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    if let Some(all) = schema["enum"].as_array() {
        return dice.pick(all);
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => dice.pick(kinds),
        kind => kind.clone(),
    };
    match kind.as_str() {
        Some("null") => Value::Null,
        Some("boolean") => json!(dice.roll(2) == 0),
        Some("integer") => {
            let least = schema["minimum"].as_i64().unwrap_or(0).max(-1);
            // Times to wait are integers too; the fuzz does not wait.
            json!(schema["maximum"].as_i64().unwrap_or(i64::MAX).min(least + dice.roll(2) as i64))
        }
        Some("number") => json!(schema["maximum"].as_f64().unwrap_or(1.0) / [1.0, 2.0, 7.0][dice.roll(3) as usize]),
        Some("string") => json!(text(schema["pattern"].as_str(), dice)),
        Some("array") => {
            (0..dice.roll(3)).map(|_| example(document, &schema["items"], dice)).collect::<Vec<_>>().into()
        }
        Some("object") => {
            let required = |key: &str| schema["required"].as_array().is_some_and(|all| all.contains(&json!(key)));
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            let mut map = Map::new();
            for (key, schema) in &properties {
                if required(key) || dice.roll(2) == 0 {
                    map.insert(key.clone(), example(document, schema, dice));
                }
            }
            map.into()
        }
        // Any value is allowed.
        _ => dice.pick(&[json!(null), json!({ "order_id": 1007 }), json!([1, "two", 3.5]), json!("text")]),
    }
}

fn text(pattern: Option<&str>, dice: &mut Dice) -> String {
    let n = dice.roll(1_000_000);
    let all = match pattern {
        None => vec![String::new(), format!("text {n}"), "Zürich — 東京 🙂".into(), "a:b,c".into()],
        Some("[A-Za-z0-9]") => vec![format!("Fuzz {n}"), format!("fuzz-{n}")],
        Some(LABEL) => vec!["A name".into(), "名前".into(), "x".repeat(200)],
        Some(GROUP) => vec!["support".into(), "Größe".into()],
        Some(EMAIL) => vec!["a@example.com".into(), "ä@b".into()],
        Some(DECIDERS) => vec!["asker".into(), "admins".into(), "group:support".into()],
        Some(SLUG | USER | TENANT) => vec![format!("fuzz-{n}"), "f_1".into()],
        Some(SESSION) => vec![format!("s-{n}"), "default".into(), "!".repeat(128)],
        Some(SAID) => vec!["hello".into(), "what's up with order 1020?".into(), " 🙂 ".into()],
        Some(VERSION) => vec![String::new(), "1".into(), " 2 ".into()],
        Some(other) => panic!("no example is known for the pattern {other}"),
    };
    dice.pick(&all)
}
