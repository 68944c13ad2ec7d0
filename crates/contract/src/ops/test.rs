//! The test chat: ask, stream, end, sessions, transcript.

use super::common::NamePath;
use crate::chat::Usage;
use crate::operation::Gates;
use crate::operations;
use crate::turn::{LoggedEvent, TurnStatus, Watched};
use crate::wire::{Events, Json, JsonBody, NoBody, NoQuery, Query};
use crate::{Micros, Result, StudioError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

operations! {
    /// Ask an agent and wait for the answer, or for the moment a person is needed.
    Ask = "test.ask" {
        Post "/agents/{name}/test/ask" "/agents/{name}/test", Run, Gates::RECORD.pbac("testing", "ask"),
        path: NamePath, query: SessionQuery, body: AskBody, reply: Json<AskAnswer>, ok: 200,
        refusals: [NotFound 404, InvalidJson 400, InvalidRequest 400, Unavailable 503, AccessDenied 403, NotManageable 403,
            ToolingNotPermitted 422, TurnOpen 409, KeySourceRequired 409, KeySourceUnavailable 422, QueryFailed 502],
    }
    /// Ask an agent and watch the turn as it happens.
    AskStream = "test.stream" {
        Post "/agents/{name}/test/ask", Run, Gates::RECORD.pbac("testing", "ask"),
        path: NamePath, query: SessionQuery, body: AskBody, reply: Events<Watched>, ok: 200,
        refusals: [NotFound 404, InvalidJson 400, InvalidRequest 400, Unavailable 503, AccessDenied 403, NotManageable 403,
            ToolingNotPermitted 422, TurnOpen 409, KeySourceRequired 409, KeySourceUnavailable 422],
    }
    /// Ask an agent and come back later: the turn goes on without anybody who waits.
    AskDefer = "test.defer" {
        Post "/agents/{name}/test/ask", Run, Gates::RECORD.pbac("testing", "ask"),
        path: NamePath, query: SessionQuery, body: AskBody, reply: Json<Deferred>, ok: 202,
        refusals: [NotFound 404, InvalidJson 400, InvalidRequest 400, Unavailable 503, AccessDenied 403, NotManageable 403,
            ToolingNotPermitted 422, TurnOpen 409, KeySourceRequired 409, KeySourceUnavailable 422],
    }
    /// End the caller's test session with an agent.
    EndTest = "test.end" {
        Delete "/agents/{name}/test", Run, Gates::RECORD,
        path: NamePath, query: SessionQuery, body: NoBody, reply: Json<TestEnded>, ok: 200,
        refusals: [NotFound 404],
    }
    /// List the caller's own test sessions with an agent.
    ListTestSessions = "test.sessions" {
        Get "/agents/{name}/test/sessions", Read, Gates::RECORD,
        path: NamePath, query: NoQuery, body: NoBody, reply: Json<TestSessions>, ok: 200,
        refusals: [NotFound 404],
    }
    /// Read the turns of one of the caller's test sessions.
    Transcript = "test.transcript" {
        Get "/agents/{name}/test/transcript", Read, Gates::RECORD,
        path: NamePath, query: SessionQuery, body: NoBody, reply: Json<TestTranscript>, ok: 200,
        refusals: [NotFound 404],
    }
}

/// `?session=`.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    /// Name of a session; none = the default one.
    pub session: Option<String>,
}

impl Query for SessionQuery {
    fn open(pairs: Vec<(String, String)>) -> Result<Self> {
        let session = pairs.into_iter().rev().find(|(key, _)| key == "session").map(|(_, value)| value);
        session.as_deref().map(check_session_name).transpose()?;
        Ok(Self { session })
    }

    fn pairs(&self) -> Vec<(String, String)> {
        self.session.iter().map(|s| ("session".to_owned(), s.clone())).collect()
    }

    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter> {
        vec![crate::schema::Parameter::new(
            "session",
            "Name of a session; without it the default one.",
            serde_json::json!({ "type": "string", "pattern": crate::schema::SESSION }),
        )]
    }
}

/// Checks the name of a session, wherever it was sent.
///
/// # Errors
/// 400 `invalid_request` for a name of no or more than 128 characters, or with other than visible ASCII.
pub fn check_session_name(name: &str) -> Result<()> {
    if (1..=128).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(StudioError::invalid_request("The name of a session has 1 to 128 visible ASCII characters without spaces."))
}

/// What is asked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskBody {
    /// The person's words.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::SAID)))]
    pub query: String,
    /// Whether the caller's own provider key may serve.
    #[serde(default = "yes")]
    pub use_byok: bool,
    /// `server` or `byok`: which key must serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["server", "byok", null])))]
    pub key_source: Option<String>,
    /// Name of the session; 1 to 128 visible ASCII characters. None = the default session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::SESSION)))]
    pub session: Option<String>,
    /// Another model for this session, for those who manage the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many seconds to wait for people before answering with what is open; default 120.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(max = 86_400)))]
    pub wait: Option<u64>,
}

fn yes() -> bool {
    true
}

impl JsonBody for AskBody {
    /// Takes the input of an AG-UI run as well: its last user message is the question, its thread the session, and what it
    /// forwards are the other fields.
    fn canonical(raw: Value) -> Value {
        let Value::Object(run) = &raw else { return raw };
        let Some(messages) = run.get("messages").and_then(Value::as_array).filter(|_| !run.contains_key("query"))
        else {
            return raw;
        };
        let mut body = run.get("forwardedProps").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(thread) = run.get("threadId").and_then(Value::as_str).filter(|thread| !thread.is_empty()) {
            body.entry("session").or_insert_with(|| thread.into());
        }
        let asked = messages.iter().rev().find(|message| message["role"] == "user");
        body.insert("query".into(), asked.map(|message| text_of(&message["content"])).unwrap_or_default().into());
        Value::Object(body)
    }
}

/// The text of an AG-UI message, which is plain or in parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// What an ask answers that does not wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deferred {
    /// Id of the turn that has begun.
    pub turn: String,
    /// Name of its session.
    pub session: String,
    /// Approvals that it waits for already; none as it has only begun. The turn names those it comes to.
    pub approvals: Vec<String>,
}

/// What an ask answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskAnswer {
    /// The agent.
    pub agent_name: String,
    /// What was asked.
    pub query: String,
    /// The answer; empty while people are waited for.
    pub response: String,
    /// `error_code`, `approvals` and more, by how the turn stands.
    pub metadata: Value,
    /// Whether the caller's own key served.
    pub byok: bool,
    /// Which key served: `server`, `byok`, or `none` where the model needs none.
    pub key_source: String,
    /// Name of the session.
    pub session: String,
    /// Id of the turn.
    pub turn: String,
    /// Where the turn stands.
    pub status: TurnStatus,
    /// Version of the agent this session runs on.
    pub agent_version: i64,
    /// Whether the agent has changed since.
    pub stale: bool,
    /// Tokens.
    pub usage: Usage,
    /// The calls of the turn.
    pub tool_calls: Vec<CallView>,
}

/// A call as people see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallView {
    /// Its number in the turn.
    pub ordinal: u32,
    /// The tool.
    pub tool: String,
    /// The arguments: validated ones, else the model's text.
    pub args: Value,
    /// `planned, checked, waiting, running, done, failed, refused, rejected, expired, withdrawn, void, unknown, settled`.
    pub state: String,
    /// The approval it waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// What came of it, or why nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

/// What the end of a test session answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestEnded {
    /// For people.
    pub message: String,
    /// The agent.
    pub agent_name: String,
}

/// A test session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestSession {
    /// Its name.
    pub session: String,
    /// Version of the agent it runs on.
    pub agent_version: i64,
    /// Whether the agent has changed since.
    pub stale: bool,
    /// When it began.
    pub started_at: Micros,
    /// When it was last used.
    pub last_at: Micros,
    /// How many turns it has.
    pub turns: i64,
}

impl TestSession {
    /// How the names of sessions begin that were made to ask another model the same. They are asked once, then ended, and lists
    /// for people leave them out.
    pub const COMPARISON: &str = "compare~";

    /// Whether it was made to ask another model the same.
    pub fn is_comparison(&self) -> bool {
        self.session.starts_with(Self::COMPARISON)
    }
}

/// The caller's test sessions with an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestSessions {
    /// Newest first.
    pub sessions: Vec<TestSession>,
}

/// The turns of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestTranscript {
    /// Name of the session.
    pub session: String,
    /// The turns, oldest first.
    pub turns: Vec<TranscriptTurn>,
}

/// One turn with its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptTurn {
    /// Its id.
    pub turn: String,
    /// Where it stands.
    pub status: TurnStatus,
    /// Its log.
    pub events: Vec<LoggedEvent>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wire::{Body as _, Raw};
    use serde_json::json;

    fn open(body: Value) -> Result<AskBody> {
        AskBody::open(Raw::Value(body))
    }

    #[test]
    fn the_input_of_an_ag_ui_run_is_a_question() {
        let run = json!({
            "threadId": "t-1", "runId": "r-1", "tools": [], "context": [], "state": {},
            "messages": [
                { "id": "1", "role": "user", "content": "first" },
                { "id": "2", "role": "assistant", "content": "answer" },
                { "id": "3", "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
            ],
            "forwardedProps": { "model": "rehearsal:greeter", "use_byok": false },
        });
        let body = open(run).unwrap();
        assert_eq!((body.query.as_str(), body.session.as_deref()), ("a\nb", Some("t-1")));
        assert_eq!((body.model.as_deref(), body.use_byok), (Some("rehearsal:greeter"), false));
        let none = open(json!({ "threadId": "", "messages": [] })).unwrap();
        assert_eq!((none.query.as_str(), none.session), ("", None));
        // A question of our own that happens to carry messages stays what it is.
        assert_eq!(open(json!({ "query": "q", "messages": 7 })).unwrap().query, "q");
        assert!(open(json!({ "messages": "no list" })).is_err());
    }

    #[test]
    fn a_session_has_a_name_of_visible_ascii() {
        let query = |name: &str| SessionQuery::open(vec![("session".into(), name.into())]);
        assert_eq!(query("a-1").unwrap().session.as_deref(), Some("a-1"));
        assert!(query(&"x".repeat(128)).is_ok() && SessionQuery::open(vec![]).is_ok());
        for bad in ["", "a b", "é", "\n", &"x".repeat(129)] {
            assert_eq!(query(bad).unwrap_err().status, 400, "{bad:?}");
        }
    }
}
