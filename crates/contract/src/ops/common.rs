//! Shapes that several groups of operations share.

use crate::wire::{Params, Query};
use crate::{Code, Result, StudioError};
use serde::{Deserialize, Serialize};

/// `{name}` of an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamePath {
    /// The agent's name.
    pub name: String,
}
impl Params for NamePath {}

/// `{id}` of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdPath {
    /// The record's id.
    pub id: String,
}
impl Params for IdPath {}

/// `limit`, `cursor`, `q`, `sort` of a list. With none of them a list is answered whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Most items, 1 to 1000.
    pub limit: Option<u32>,
    /// Where to continue: `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// A filter in the filter language.
    pub q: Option<String>,
    /// A field, with `-` in front for descending.
    pub sort: Option<String>,
}

impl Page {
    /// Whether the answer is paged.
    pub fn is_paged(&self) -> bool {
        self != &Page::default()
    }
}

impl Query for Page {
    fn open(pairs: Vec<(String, String)>) -> Result<Self> {
        let mut page = Page::default();
        for (key, value) in pairs {
            match key.as_str() {
                "limit" => {
                    page.limit = Some(value.parse().ok().filter(|n| (1..=1000).contains(n)).ok_or_else(|| {
                        StudioError::invalid_request("'limit' must be a whole number from 1 to 1000.")
                    })?);
                }
                "cursor" => page.cursor = Some(value),
                "q" => page.q = Some(value),
                "sort" => page.sort = Some(value),
                _ => {}
            }
        }
        Ok(page)
    }

    fn pairs(&self) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        let mut push = |key: &str, value: Option<String>| pairs.extend(value.map(|v| (key.to_owned(), v)));
        push("limit", self.limit.map(|n| n.to_string()));
        push("cursor", self.cursor.clone());
        push("q", self.q.clone());
        push("sort", self.sort.clone());
        pairs
    }

    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter> {
        vec![
            crate::schema::Parameter::new(
                "limit",
                "Most items.",
                serde_json::json!({ "type": "integer", "minimum": 1, "maximum": 1000 }),
            ),
            crate::schema::Parameter::new(
                "cursor",
                "Where to continue: `next_cursor` of the page before.",
                serde_json::json!({ "type": "string" }),
            ),
            crate::schema::Parameter::new(
                "q",
                "A filter: words, and `key:value` with the keys of the list.",
                serde_json::json!({ "type": "string", "maxLength": 1000 }),
            ),
            crate::schema::Parameter::new(
                "sort",
                "A field, with `-` in front for descending.",
                serde_json::json!({ "enum": ["name", "-name", "updated_at", "-updated_at"] }),
            ),
        ]
    }
}

/// `?after=` of a stream: the id of the last event that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AfterQuery {
    /// Continue after this place; none = where the stream begins.
    pub after: Option<i64>,
}

impl Query for AfterQuery {
    fn open(pairs: Vec<(String, String)>) -> Result<Self> {
        let value = pairs.into_iter().rev().find(|(key, _)| key == "after").map(|(_, value)| value);
        let read = |value: String| {
            value.parse().ok().filter(|after| *after >= 0).ok_or_else(|| {
                StudioError::invalid_request("'after' must be the id of an event of this stream, a whole number.")
            })
        };
        Ok(Self { after: value.map(read).transpose()? })
    }

    fn pairs(&self) -> Vec<(String, String)> {
        self.after.map(|after| ("after".to_owned(), after.to_string())).into_iter().collect()
    }

    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter> {
        vec![crate::schema::Parameter::new(
            "after",
            "Continue after this place: the id of the last event that was seen.",
            serde_json::json!({ "type": "integer", "minimum": 0, "maximum": i64::MAX }),
        )]
    }
}

/// `expected_version` in a query.
#[derive(Clone, Debug, Default)]
pub struct VersionQuery {
    /// The version the caller read; none = any.
    pub expected_version: Option<i64>,
}

impl Query for VersionQuery {
    fn open(pairs: Vec<(String, String)>) -> Result<Self> {
        let value = pairs.into_iter().rev().find(|(key, _)| key == "expected_version").map(|(_, value)| value);
        Ok(Self { expected_version: expected_version_text(value.as_deref().unwrap_or_default())? })
    }

    fn pairs(&self) -> Vec<(String, String)> {
        self.expected_version.map(|v| ("expected_version".to_owned(), v.to_string())).into_iter().collect()
    }

    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter> {
        vec![crate::schema::Parameter::new(
            "expected_version",
            "The version the caller read; without it any.",
            serde_json::json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX }),
        )]
    }
}

/// A query in which `expected_version` is refused: 400 `expected_version_unsupported`.
#[derive(Clone, Debug, Default)]
pub struct NoVersionQuery;

impl Query for NoVersionQuery {
    fn open(pairs: Vec<(String, String)>) -> Result<Self> {
        if pairs.iter().any(|(key, _)| key == "expected_version") {
            return Err(expected_version_unsupported());
        }
        Ok(Self)
    }

    fn pairs(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter> {
        vec![]
    }
}

/// 400 `expected_version_unsupported`.
pub fn expected_version_unsupported() -> StudioError {
    StudioError::new(Code::ExpectedVersionUnsupported, 400, "This operation takes no 'expected_version'. Leave it out.")
}

/// White space as the patterns of the published document mean it, which are JavaScript's: Unicode's, and the byte order mark,
/// which nobody sees either.
pub fn is_space(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{feff}'
}

/// The text without white space around it.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Reads an `expected_version` of a query; empty = none.
///
/// # Errors
/// 400 `invalid_expected_version`.
pub fn expected_version_text(text: &str) -> Result<Option<i64>> {
    if text.is_empty() {
        return Ok(None);
    }
    trimmed(text)
        .parse()
        .map(Some)
        .map_err(|_| StudioError::new(Code::InvalidExpectedVersion, 400, "'expected_version' must be a whole number."))
}

/// Reads an `expected_version` of a body: an integer, a text with one, or nothing.
///
/// # Errors
/// 400 `invalid_expected_version`.
pub fn expected_version_value(value: Option<&serde_json::Value>) -> Result<Option<i64>> {
    use serde_json::Value;
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) if number.as_i64().is_some() => Ok(number.as_i64()),
        Some(Value::String(text)) => expected_version_text(text),
        Some(_) => expected_version_text("x"),
    }
}

/// The first key, in alphabetical order, that only the server may set.
pub fn reserved_key(map: &serde_json::Map<String, serde_json::Value>) -> Option<&'static str> {
    ["allowed_groups", "created_by", "owner", "tenant", "visibility"].into_iter().find(|key| map.contains_key(*key))
}

/// 400 `reserved_config_key`.
pub fn reserved_config_key(key: &str) -> StudioError {
    StudioError::new(Code::ReservedConfigKey, 400, format!("'{key}' is set by the server and cannot be sent here."))
        .with(serde_json::json!({ "key": key }))
}
