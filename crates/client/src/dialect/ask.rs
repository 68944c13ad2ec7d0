//! The test chat. The other side answers a question in one piece; of that one answer a finished turn is made, so that a
//! chat shows it.

use super::lacking;
use super::shape::{self, Object, reply};
use contract::chat::{Block, Finish, Usage};
use contract::ops::test::{AskAnswer, AskBody, SessionQuery, TestEnded};
use contract::turn::{Limits, LoggedEvent, TurnEvent, TurnStatus, Watched};
use contract::wire::{Events, Query as _, Raw, Reply as _, WireReply, WireRequest};
use contract::{Micros, Result, ids};
use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};

/// The one session: the other side has no names for sessions.
pub(super) const SESSION: &str = "default";

/// The session of a query.
///
/// # Errors
/// None today; it opens as at home.
pub(super) fn session_of(query: &[(String, String)]) -> Result<Option<String>> {
    Ok(SessionQuery::open(query.to_vec())?.session)
}

/// Refuses every session but the one.
///
/// # Errors
/// 503 `unavailable`.
pub(super) fn default_session(session: Option<&str>) -> Result<()> {
    match session {
        None | Some("" | SESSION) => Ok(()),
        Some(_) => Err(lacking("it keeps one test session for each agent and has no names for them. Name none.")),
    }
}

/// The body of a question. How long to wait for people is the other side's own affair, so `wait` stays here.
///
/// # Errors
/// The refusals of the shape; 503 `unavailable` for a named session or another model.
pub(super) fn asked_with(query: &[(String, String)], body: &Raw) -> Result<Value> {
    let body: AskBody = shape::typed(body)?;
    default_session(session_of(query)?.as_deref())?;
    default_session(body.session.as_deref())?;
    if body.model.is_some() {
        return Err(lacking("an agent answers there with its own model only. Edit the agent to change it."));
    }
    let mut sent = json!({ "query": body.query, "use_byok": body.use_byok });
    if let Some(source) = body.key_source {
        sent["key_source"] = source.into();
    }
    Ok(sent)
}

/// The answer to a question. Its turn has an id of ours, for screens to tell turns apart; what the other side does not say
/// is named in the metadata as `not_reported`, and is zero or empty.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn read(asked: &WireRequest, body: Value) -> Result<AskAnswer> {
    let mut body = Object::open(body)?;
    let name = asked.path.get("name").cloned().unwrap_or_default();
    let byok = body.get("byok").as_bool().unwrap_or_default();
    let response = match body.get("response") {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut metadata = match body.get("metadata") {
        Value::Object(map) => map.clone(),
        Value::Null => serde_json::Map::new(),
        other => [("metadata".to_owned(), other.clone())].into_iter().collect(),
    };
    metadata.insert("not_reported".into(), json!(["agent_version", "usage", "tool_calls"]));
    let question = shape::typed::<AskBody>(&asked.body).map(|body| body.query).unwrap_or_default();
    body.fill("agent_name", name).fill("query", question).fill("key_source", if byok { "byok" } else { "server" });
    body.set("response", response).set("metadata", metadata).set("byok", byok);
    // Every question there is answered by the agent as it stands.
    body.set("session", SESSION).set("turn", ids::log_id()).set("status", "done").set("stale", false);
    body.set("agent_version", 0).set("tool_calls", json!([]));
    body.set("usage", serde_json::to_value(Usage::default()).unwrap_or_default());
    body.read()
}

/// A finished turn that began at `began`. Its events have no ids: nothing is kept from which they could be continued.
pub(super) fn turn(answer: &AskAnswer, began: Micros) -> WireReply {
    // The other side has limits of its own and does not tell them.
    let limits = Limits { steps: 0, tokens: 0, seconds: 0 };
    let said = Block::Text { text: answer.response.clone() };
    let log = [
        (
            began,
            TurnEvent::Started {
                text: answer.query.clone(),
                agent_version: answer.agent_version,
                model: String::new(),
                limits,
            },
        ),
        (
            Micros::now(),
            TurnEvent::ModelReplied { blocks: vec![said], calls: Vec::new(), usage: None, finish: Finish::Stop },
        ),
        (Micros::now(), TurnEvent::Ended { status: TurnStatus::Done, text: answer.response.clone() }),
    ];
    let first = Watched::Turn { turn: answer.turn.clone(), session: answer.session.clone() };
    let entry = |(seq, (at, event))| Watched::Event { entry: LoggedEvent { seq, at, event } };
    let events: Vec<_> = std::iter::once(first).chain((1..).zip(log).map(entry)).map(|event| (None, event)).collect();
    Events(stream::iter(events).boxed()).into_wire(200)
}

/// What the end of a test session answers.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn ended(name: &str, body: Value) -> Result<WireReply> {
    let mut body = Object::open(body)?;
    body.fill("agent_name", name).fill("message", "The test session has ended.");
    Ok(reply(200, &body.read::<TestEnded>()?))
}
