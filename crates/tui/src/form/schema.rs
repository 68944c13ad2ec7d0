//! From a JSON Schema and arguments to fields, or why that cannot be.

use super::field::{Bound, Empty, Field, Kind, Scalar};
use serde_json::{Map, Value};

/// From this length on a text gets more than one line.
const LONG: u64 = 200;

/// The fields of an object of scalars.
///
/// # Errors
/// What cannot be shown.
pub(super) fn fields(schema: &Value, args: &Value) -> Result<Vec<Field>, String> {
    let Value::Object(args) = args else { return Err("The arguments are no object.".into()) };
    let none = Map::new();
    let properties = match schema.get("properties") {
        Some(Value::Object(properties)) => properties,
        None => &none,
        Some(_) => return Err("The schema's properties are no object.".into()),
    };
    if let Some(key) = args.keys().find(|key| !properties.contains_key(*key)) {
        return Err(format!("The schema does not describe '{key}'."));
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|keys| keys.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    properties
        .iter()
        .map(|(key, property)| {
            field(key, property, args.get(key), required.contains(&key.as_str()))
                .map_err(|why| format!("'{key}' {why}."))
        })
        .collect()
}

fn field(key: &str, property: &Value, value: Option<&Value>, required: bool) -> Result<Field, String> {
    let (shape, nullable) = shape(property)?;
    let kind = kind(shape, value)?;
    let empty = match (&kind, value) {
        // Where text or a list stood, nothing in it is the empty one; where null may stand too, what stood there decides.
        (Kind::Text | Kind::Multiline, Some(Value::String(text))) if !nullable || text.is_empty() => Empty::Itself,
        (Kind::List { .. }, Some(Value::Array(items))) if !nullable || items.is_empty() => Empty::Itself,
        (Kind::Text | Kind::Multiline | Kind::List { .. }, None) if required && !nullable => Empty::Itself,
        _ if nullable && (required || value.is_some()) => Empty::Null,
        _ if required => Empty::Refused,
        _ => Empty::Omit,
    };
    let told = |name: &str| property.get(name).or_else(|| shape.get(name));
    let mut help: Vec<String> = told("description").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
    if let Some(default) = told("default") {
        help.push(format!("Default: {default}."));
    }
    if required {
        help.push("Needed.".into());
    }
    let is = |name: &str| told(name) == Some(&Value::Bool(true));
    let mut field = Field::new(key, told("title").and_then(Value::as_str).unwrap_or(key), kind)
        .help(help.join(" "))
        .holding(value.cloned())
        .when_empty(empty);
    field.secret = is("x-secret") || is("writeOnly");
    field.read_only = is("x-server-managed") || is("readOnly") || shape.get("const").is_some();
    if !fits(&field) {
        return Err("holds something else than the schema says".into());
    }
    Ok(field)
}

/// Whether what a field holds comes back from its text unchanged.
fn fits(field: &Field) -> bool {
    match &field.value {
        None => true,
        Some(Value::Null) => matches!(field.empty, Empty::Null),
        // A number out of bounds is the person's to put right; one of another type is not for this field.
        Some(Value::Number(_)) if matches!(field.kind, Kind::Number { .. }) => true,
        Some(value) => field.read(&field.text()).is_ok_and(|read| read.as_ref() == Some(value)),
    }
}

/// The schema of the value itself, and whether null is taken too.
fn shape(property: &Value) -> Result<(&Value, bool), String> {
    for key in ["$ref", "allOf", "not", "if"] {
        if property.get(key).is_some() {
            return Err(format!("uses {key}"));
        }
    }
    let Some(Value::Array(any)) = property.get("anyOf").or_else(|| property.get("oneOf")) else {
        let types = property.get("type").and_then(Value::as_array);
        let nullable = types.is_some_and(|types| types.iter().any(|name| name == "null"));
        return Ok((property, nullable || property.get("nullable") == Some(&Value::Bool(true))));
    };
    let is_null = |one: &&Value| one.get("type").is_some_and(|name| name == "null");
    let rest: Vec<&Value> = any.iter().filter(|one| !is_null(one)).collect();
    match rest.as_slice() {
        [one] => Ok((shape(one)?.0, rest.len() < any.len())),
        _ => Err("may have several shapes".into()),
    }
}

fn kind(shape: &Value, value: Option<&Value>) -> Result<Kind, String> {
    if let Some(only) = shape.get("const") {
        return scalars(std::slice::from_ref(only)).map(|options| Kind::Choice { options, free: false });
    }
    if let Some(Value::Array(options)) = shape.get("enum") {
        return scalars(options).map(|options| Kind::Choice { options, free: false });
    }
    match type_name(shape)? {
        "string" => {
            let lines = value.and_then(Value::as_str).is_some_and(|text| text.contains(['\n', '\r', '\t']));
            let length = |name: &str| shape.get(name).and_then(Value::as_u64).is_some_and(|most| most > LONG);
            let long = value.and_then(Value::as_str).is_some_and(|text| text.len() as u64 > LONG);
            Ok(if lines || long || length("maxLength") { Kind::Multiline } else { Kind::Text })
        }
        name @ ("number" | "integer") => Ok(Kind::Number {
            min: bound(shape, "minimum", "exclusiveMinimum", f64::max),
            max: bound(shape, "maximum", "exclusiveMaximum", f64::min),
            integer: name == "integer",
        }),
        "boolean" => Ok(Kind::Bool),
        "array" => {
            let items = shape.get("items").ok_or("is an array of anything")?;
            let of = match type_name(items)? {
                "string" => Scalar::Text,
                "number" => Scalar::Number,
                "integer" => Scalar::Integer,
                "boolean" => Scalar::Bool,
                _ => return Err("is an array of things with parts".into()),
            };
            let options = match items.get("enum") {
                Some(Value::Array(options)) => scalars(options)?,
                _ => Vec::new(),
            };
            Ok(Kind::List { of, options })
        }
        _ => Err("has parts".into()),
    }
}

/// Choices that can be told apart by their text.
fn scalars(options: &[Value]) -> Result<Vec<Value>, String> {
    let options: Vec<Value> = options.iter().filter(|option| !option.is_null()).cloned().collect();
    let texts: std::collections::BTreeSet<String> =
        options.iter().map(|option| super::field::shown(Some(option))).collect();
    if options.iter().any(|option| option.is_object() || option.is_array())
        || texts.len() < options.len()
        || texts.contains("")
    {
        return Err("has choices that cannot be shown".into());
    }
    Ok(options)
}

/// The one type besides null.
fn type_name(shape: &Value) -> Result<&str, String> {
    let names: Vec<&str> = match shape.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect(),
        _ => return Err("has no type".into()),
    };
    match names.as_slice() {
        [name] => Ok(name),
        _ => Err("may be of several types".into()),
    }
}

fn bound(shape: &Value, with: &str, without: &str, stricter: fn(f64, f64) -> f64) -> Option<Bound> {
    let at = |name: &str| shape.get(name).and_then(Value::as_f64);
    match (at(with), at(without)) {
        (Some(with), Some(without)) if stricter(with, without) == with && with != without => {
            Some(Bound { at: with, exclusive: false })
        }
        (_, Some(at)) => Some(Bound { at, exclusive: true }),
        (Some(at), None) => Some(Bound { at, exclusive: false }),
        (None, None) => None,
    }
}
