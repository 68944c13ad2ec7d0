//! Templates: text with `{{paths}}` in it, and arguments made of such text.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::error::Place;

/// The longest value that is put into a text, in characters; longer ones are cut visibly.
const MAX_INSERT: usize = 4_000;

/// Where a template finds the values it names.
pub(crate) trait Lookup {
    /// The values at a path: none when it is not set, several when the path has a `*`.
    fn values(&self, path: &Path) -> Vec<Value>;
}

/// A dotted path: `order_id`, `result.orders.0.item`, `result.orders.*.item`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) root: String,
    pub(crate) steps: Vec<String>,
}

impl Path {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('.').map(str::to_owned);
        let root = parts.next().unwrap_or_default();
        let steps: Vec<_> = parts.collect();
        if !is_name(&root) {
            return Err(format!(
                "`{text}` is not a path; write a name such as `order_id` or `result.status`, in lower case"
            ));
        }
        if steps.iter().any(|s| s.is_empty() || s.contains(['{', '}'])) {
            return Err(format!("`{text}` is not a path; write dots only between names, as in `result.orders.0.item`"));
        }
        Ok(Self { root, steps })
    }

    /// Whether the path may name several values.
    pub(crate) fn is_many(&self) -> bool {
        self.steps.iter().any(|step| step == "*")
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Whether a text can name a capture.
pub(crate) fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Adds what lies at the end of `steps` inside `value`; `*` goes through a list.
pub(crate) fn select(value: &Value, steps: &[String], found: &mut Vec<Value>) {
    let Some((step, rest)) = steps.split_first() else {
        if !value.is_null() {
            found.push(value.clone());
        }
        return;
    };
    match value {
        Value::Array(list) if step == "*" => {
            for item in list {
                select(item, rest, found);
            }
        }
        Value::Array(list) => {
            if let Some(item) = step.parse::<usize>().ok().and_then(|i| list.get(i)) {
                select(item, rest, found);
            }
        }
        Value::Object(map) => {
            if let Some(item) = map.get(step) {
                select(item, rest, found);
            }
        }
        _ => {}
    }
}

/// A value as a person reads it: lists as `a, b and c`, each different entry once.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let mut texts: Vec<String> = Vec::new();
            let mut seen = std::collections::HashSet::new();
            for text in list.iter().map(text_of).filter(|t| !t.is_empty()) {
                if seen.insert(text.clone()) {
                    texts.push(text);
                }
            }
            match texts.pop() {
                Some(last) if texts.is_empty() => last,
                Some(last) => format!("{} and {last}", texts.join(", ")),
                None => String::new(),
            }
        }
        other => other.to_string(),
    }
}

/// A text cut to `max` characters, with a mark where it was cut.
pub(crate) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}… (cut)", &text[..end]),
        None => text.to_owned(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value { path: Path, count: bool, fallback: Option<String> },
}

/// A text with values in it. What is put in is never read as a template again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    pub(crate) place: Place,
}

impl Template {
    pub(crate) fn parse(source: &str, place: Place) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find("{{") {
            if let Some(before) = rest[..at].strip_suffix('\\') {
                text.push_str(before);
                text.push_str("{{");
                rest = &rest[at + 2..];
                continue;
            }
            text.push_str(&rest[..at]);
            let inner = &rest[at + 2..];
            let end = inner.find("}}").ok_or_else(|| {
                "a `{{` without its `}}`; close it, or write `\\{{` for the two braces themselves".to_owned()
            })?;
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            let (name, fallback) = match inner[..end].split_once('|') {
                Some((name, fallback)) => (name.trim(), Some(fallback.trim().to_owned())),
                None => (inner[..end].trim(), None),
            };
            let (name, count) = match name.strip_prefix('#') {
                Some(name) => (name, true),
                None => (name, false),
            };
            pieces.push(Piece::Value { path: Path::parse(name)?, count, fallback });
            rest = &inner[end + 2..];
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(Self { pieces, place })
    }

    /// The paths it names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value { path, .. } => Some(path),
            Piece::Text(_) => None,
        })
    }

    /// The text with its values filled in.
    pub(crate) fn render(&self, lookup: &dyn Lookup) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Value { path, count, fallback } => {
                    let values = lookup.values(path);
                    let shown = if *count { count_of(path, &values).to_string() } else { text_of(&one(path, values)) };
                    match fallback {
                        Some(fallback) if shown.is_empty() => text.push_str(fallback),
                        _ => text.push_str(&cut(&shown, MAX_INSERT)),
                    }
                }
            }
        }
        text
    }

    /// As an argument: a path alone keeps its JSON type, and is left out when not set.
    fn argument(&self, lookup: &dyn Lookup) -> Option<Value> {
        match &self.pieces[..] {
            [Piece::Value { path, count: false, fallback: None }] => {
                Some(one(path, lookup.values(path))).filter(|value| !value.is_null())
            }
            [Piece::Value { path, count: true, .. }] => Some(count_of(path, &lookup.values(path)).into()),
            _ => Some(self.render(lookup).into()),
        }
    }
}

fn one(path: &Path, mut values: Vec<Value>) -> Value {
    if path.is_many() { Value::Array(values) } else { values.pop().unwrap_or(Value::Null) }
}

fn count_of(path: &Path, values: &[Value]) -> usize {
    match values {
        [Value::Array(list)] if !path.is_many() => list.len(),
        [Value::String(text)] if !path.is_many() => text.chars().count(),
        many => many.len(),
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = Spanned::<String>::deserialize(deserializer)?;
        Self::parse(&source.value, source.referenced.into()).map_err(D::Error::custom)
    }
}

/// Arguments of a call, with templates in their texts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Args {
    Text(Template),
    List(Vec<Args>),
    Map(Vec<(String, Args)>),
    Plain(Value),
}

impl Args {
    fn from_value(value: Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::Text(Template::parse(&text, Place::default())?),
            Value::Array(list) => Self::List(list.into_iter().map(Self::from_value).collect::<Result<_, _>>()?),
            Value::Object(map) => Self::Map(
                map.into_iter()
                    .map(|(key, value)| Ok((key, Self::from_value(value)?)))
                    .collect::<Result<_, String>>()?,
            ),
            plain => Self::Plain(plain),
        })
    }

    /// The templates in it.
    pub(crate) fn templates<'a>(&'a self, found: &mut Vec<&'a Template>) {
        match self {
            Self::Text(template) => found.push(template),
            Self::List(list) => list.iter().for_each(|args| args.templates(found)),
            Self::Map(map) => map.iter().for_each(|(_, args)| args.templates(found)),
            Self::Plain(_) => {}
        }
    }

    /// The arguments with their values filled in; what is not set is left out.
    pub(crate) fn fill(&self, lookup: &dyn Lookup) -> Option<Value> {
        match self {
            Self::Text(template) => template.argument(lookup),
            Self::List(list) => Some(Value::Array(list.iter().filter_map(|args| args.fill(lookup)).collect())),
            Self::Map(map) => Some(Value::Object(
                map.iter().filter_map(|(key, args)| Some((key.clone(), args.fill(lookup)?))).collect::<Map<_, _>>(),
            )),
            Self::Plain(value) => Some(value.clone()),
        }
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if !value.is_object() {
            return Err(D::Error::custom("`args` has to be a map of argument names and values"));
        }
        Self::from_value(value).map_err(D::Error::custom)
    }
}
