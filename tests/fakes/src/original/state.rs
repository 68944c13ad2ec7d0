//! What the small Studio holds, and how its answers are made.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::{AUTHOR, SUPERUSER, Seen, VIEWER};

/// A person and what they may do.
#[derive(Clone, Debug)]
pub(super) struct Person {
    pub user: &'static str,
    pub token: &'static str,
    pub groups: &'static [&'static str],
    pub may_author: bool,
    pub superuser: bool,
}

/// A row.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    pub id: String,
    pub owner: String,
    pub version: i64,
    pub visibility: String,
    pub allowed_groups: Vec<String>,
    pub bot_class: String,
    pub llm: Value,
    pub description: Value,
    pub category: String,
    pub params: Map<String, Value>,
    pub system_prompt: Value,
    pub tools: Value,
}

/// Everything.
pub(super) struct State {
    pub people: Vec<Person>,
    pub agents: BTreeMap<String, Agent>,
    /// Keys by user and provider, masked.
    pub keys: BTreeMap<(String, String), String>,
    /// Messages in the test session of a user with an agent.
    pub sessions: BTreeMap<(String, String), usize>,
    /// Questions to people by interaction id, with their answers.
    pub questions: BTreeMap<String, Option<Value>>,
    pub seen: Vec<Seen>,
    made: u64,
}

/// An answer.
pub(super) struct Reply(pub u16, pub Value);

impl State {
    pub(super) fn new() -> Self {
        let person = |user, token, groups, may_author, superuser| Person { user, token, groups, may_author, superuser };
        Self {
            people: vec![
                person("u1", AUTHOR, &["g1"], true, false),
                person("u2", VIEWER, &[], false, false),
                person("u9", SUPERUSER, &[], true, true),
            ],
            agents: BTreeMap::new(),
            keys: BTreeMap::new(),
            sessions: BTreeMap::new(),
            questions: BTreeMap::new(),
            seen: Vec::new(),
            made: 0,
        }
    }

    /// An id that was not given before.
    pub(super) fn new_id(&mut self) -> String {
        self.made += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.made)
    }
}

impl Reply {
    /// A refusal.
    pub(super) fn no(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self(status, json!({ "message": message.into(), "code": code, "details": null }))
    }

    /// A refusal of the framework, which is plain text.
    pub(super) fn text(status: u16, text: &str) -> Self {
        Self(status, Value::String(text.to_owned()))
    }

    /// A failure of the schema checker: the value that was sent is repeated in it.
    pub(super) fn schema(status: u16, shape: &str, field: &str, fault: &str, kind: &str, sent: &Value) -> Self {
        let kind_of_value = match sent {
            Value::String(_) => "str",
            Value::Number(_) => "int",
            Value::Array(_) => "list",
            Value::Bool(_) => "bool",
            Value::Null => "NoneType",
            Value::Object(_) => "dict",
        };
        let shown = match sent {
            Value::String(text) => format!("'{text}'"),
            other => other.to_string(),
        };
        Self::no(
            status,
            "invalid_request",
            format!(
                "Invalid request: 1 validation error for {shape}\n{field}\n  {fault} [type={kind}, input_value={shown}, \
                 input_type={kind_of_value}]\n    For further information visit \
                 https://errors.pydantic.dev/2.14/v/{kind}"
            ),
        )
    }

    /// As it travels.
    pub(super) fn into_response(self) -> Response<Body> {
        let (kind, text) = match self.1 {
            Value::String(text) => ("text/plain; charset=utf-8", text),
            value => ("application/json", value.to_string()),
        };
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = StatusCode::from_u16(self.0).expect("the fake's statuses are valid");
        response.headers_mut().insert("content-type", kind.parse().expect("the type is a header"));
        response
    }
}
