//! Versions of answers: `ETag`, `If-None-Match`, `If-Match`, and lists that are written once for each of their states.
//!
//! The tag of an agent is its version and a hash of its id and of the caller's access. The tag of a list is the newest
//! place in the tenant's journal, for every change moves that in its own transaction, and a hash of who asks for what.

use crate::shared::Shared;
use bytes::Bytes;
use contract::ops::agents::{CreateAgent, DeleteAgent, GetAgent, ListAgents, PatchAgent, ReloadAgent};
use contract::ops::common::{VersionQuery, expected_version_unsupported, expected_version_value};
use contract::wire::{Json, Query as _, Raw, WireReply, WireRequest};
use contract::{Code, Operation as _, Result, StudioError};
use engine::{Caller, Entry};
use http::HeaderMap;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What a read answers.
pub enum Read {
    /// Nothing has changed since the caller read it: 304.
    Same(String),
    /// An answer, with its tag.
    Fresh(u16, Bytes, Option<String>),
}

/// Calls a read with an answer of its own.
///
/// # Errors
/// The refusals of the operation.
pub async fn read(
    shared: &Shared,
    entry: &Entry,
    caller: Caller,
    request: WireRequest,
    headers: &HeaderMap,
) -> Result<Read> {
    if entry.meta.id == ListAgents::ID {
        return list(shared, entry, caller, request, headers).await;
    }
    let (status, value) = json_of((entry.call)(shared.engine.clone(), caller, request).await?)?;
    let tag = (entry.meta.id == GetAgent::ID).then(|| tag_of(&value)).flatten();
    Ok(match tag {
        Some(tag) if matches(headers, &tag) => Read::Same(tag),
        tag => Read::Fresh(status, written(&value), tag),
    })
}

async fn list(
    shared: &Shared,
    entry: &Entry,
    caller: Caller,
    request: WireRequest,
    headers: &HeaderMap,
) -> Result<Read> {
    let who = shared.engine.admit(caller.clone(), &entry.meta.gates, entry.meta.effect).await?;
    let Some(partition) = &who.partition else {
        return Ok(Read::Fresh(entry.meta.ok, list_of(shared, caller, request).await?, None));
    };
    // Read before the list: a change in between makes the tag too old, never too new.
    let (head, link) = shared.engine.head(partition).await?;
    // With the link's hash, a place of a journal that was restored from a backup is another one.
    let asks =
        format!("{link}\u{0}{:?}\u{0}{:?}\u{0}{}\u{0}{:?}", who.scope, who.host, partition.as_str(), request.query);
    let tag = format!("W/\"{head}-{}\"", hash(asks.as_bytes()));
    // A tag that is known was given out with an answer; `*` is known to everybody, and says nothing of the query.
    if names(headers, &tag) {
        return Ok(Read::Same(tag));
    }
    let bytes = match shared.lists.get(&tag) {
        Some(bytes) => bytes,
        None => {
            let bytes = list_of(shared, caller, request).await?;
            shared.lists.insert(tag.clone(), bytes.clone());
            bytes
        }
    };
    Ok(if matches(headers, &tag) { Read::Same(tag) } else { Read::Fresh(entry.meta.ok, bytes, Some(tag)) })
}

/// The list, written without a tree of values in between, which would be many times as large.
async fn list_of(shared: &Shared, caller: Caller, request: WireRequest) -> Result<Bytes> {
    let Json(list) = shared.engine.call::<ListAgents>(caller, request).await?;
    serde_json::to_vec(&list).map(Bytes::from).map_err(|_| StudioError::internal())
}

/// A version that no record has: whoever expects it is told of a conflict.
const NO_VERSION: i64 = 0;
/// An `expected_version` that is none.
const NONSENSE: &str = "If-Match";

/// What a write says of an `If-Match` that cannot be read, in place of what it would say of its `expected_version`.
#[derive(Default)]
pub struct Reworded(Option<&'static str>);

impl Reworded {
    /// The refusal, about what the client sent.
    pub fn refusal(&self, error: StudioError) -> StudioError {
        match self.0 {
            Some(message) if error.code == Code::InvalidExpectedVersion => StudioError::new(error.code, 400, message),
            _ => error,
        }
    }
}

/// Makes `If-Match` of a write of an agent the version that it expects, so that the write refuses it where the contract's order
/// says so: 409 for a record that is not the one that was read; 400 for a tag that is none, and for another version than the
/// body's.
///
/// # Errors
/// The refusals of the write's own gates and 404; 400 for a write that takes no version.
pub async fn expect(
    shared: &Shared,
    entry: &Entry,
    caller: &Caller,
    request: &mut WireRequest,
    headers: &HeaderMap,
) -> Result<Reworded> {
    let untouched = Ok(Reworded::default());
    let Some(value) = headers.get(IF_MATCH).filter(|_| request.path.contains_key("name")) else { return untouched };
    if !entry.meta.id.starts_with("agents.") {
        return untouched;
    }
    shared.engine.admit(caller.clone(), &entry.meta.gates, entry.meta.effect).await?;
    if entry.meta.id == CreateAgent::ID {
        return Err(expected_version_unsupported());
    }
    let wanted = value.to_str().map(str::trim).unwrap_or_default();
    let takes_version = [PatchAgent::ID, DeleteAgent::ID].contains(&entry.meta.id);
    if takes_version && wanted == "*" {
        return untouched;
    }
    let path = WireRequest { path: request.path.clone(), ..WireRequest::default() };
    let now = shared.engine.call::<GetAgent>(caller.clone(), path).await?;
    let now = serde_json::to_value(&now.0).unwrap_or_default();
    if now["can_manage"] != true {
        // The write says why.
        return untouched;
    }
    if entry.meta.id == ReloadAgent::ID {
        request.query.push(("expected_version".into(), NONSENSE.into()));
        return untouched;
    }
    if !takes_version {
        return Err(expected_version_unsupported());
    }
    let tag = wanted.strip_prefix('"').and_then(|tag| tag.split('-').next()?.parse::<i64>().ok());
    let same = tag_of(&now).as_deref() == Some(wanted);
    // What is to be expected, or why there is nothing to expect; of a record that is another one than was read, nothing.
    let expect = |named: Option<i64>| match tag {
        None => Err("'If-Match' must be the ETag of the agent as it was read."),
        Some(version) if named.is_some_and(|named| named != version) => {
            Err("'If-Match' and 'expected_version' name two different versions. Name one.")
        }
        Some(version) => Ok(if same { version } else { NO_VERSION }),
    };
    // What is refused anyway, a version or a body that is none, is left as it is: the write says so in its place.
    if entry.meta.id == DeleteAgent::ID {
        let Ok(named) = VersionQuery::open(request.query.clone()) else { return untouched };
        let (value, reworded) = match expect(named.expected_version) {
            Ok(version) => (version.to_string(), Reworded::default()),
            Err(message) => (NONSENSE.into(), Reworded(Some(message))),
        };
        request.query.push(("expected_version".into(), value));
        return Ok(reworded);
    }
    let Raw::Bytes(bytes) = &request.body else { return untouched };
    let Ok(Value::Object(mut body)) = contract::json::parse(bytes) else { return untouched };
    let Ok(named) = expected_version_value(body.get("expected_version")) else { return untouched };
    let (value, reworded) = match expect(named) {
        Ok(version) => (version.into(), Reworded::default()),
        Err(message) => (NONSENSE.into(), Reworded(Some(message))),
    };
    body.insert("expected_version".into(), value);
    request.body = Raw::Value(Value::Object(body));
    Ok(reworded)
}

/// The tag of an agent as this caller sees it.
pub fn tag_of(agent: &Value) -> Option<String> {
    let version = agent["version"].as_i64()?;
    // What a creation answers is no agent as anybody sees it.
    agent["access"].as_str()?;
    let seen = format!("{}\u{0}{}\u{0}{}", agent["agent_id"], agent["access"], agent["can_manage"]);
    Some(format!("\"{version}-{}\"", hash(seen.as_bytes())))
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The tags in `If-None-Match`, without what makes them weak: the header compares weakly.
fn tags(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|text| text.split(',')).map(|tag| tag.trim().trim_start_matches("W/"))
}

/// Whether `If-None-Match` has this very tag.
fn names(headers: &HeaderMap, tag: &str) -> bool {
    tags(headers).any(|named| named == tag.trim_start_matches("W/"))
}

/// Whether `If-None-Match` has this tag, or `*` for any.
fn matches(headers: &HeaderMap, tag: &str) -> bool {
    names(headers, tag) || tags(headers).any(|named| named == "*")
}

fn written(value: &Value) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

/// The JSON of an answer.
///
/// # Errors
/// 500 for a stream, which no read of this kind answers.
pub fn json_of(reply: WireReply) -> Result<(u16, Value)> {
    match reply {
        WireReply::Json(status, value) => Ok((status, value)),
        WireReply::Events(..) => Err(StudioError::internal()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http::HeaderValue;
    use serde_json::json;

    #[test]
    fn a_tag_tells_versions_ids_and_access_apart() {
        let agent = |version: i64, id: &str, access: &str| {
            tag_of(&json!({ "version": version, "agent_id": id, "access": access, "can_manage": true })).unwrap()
        };
        let tag = agent(3, "a", "owner");
        assert!(tag.starts_with("\"3-"), "{tag}");
        for other in [agent(4, "a", "owner"), agent(3, "b", "owner"), agent(3, "a", "tenant")] {
            assert_ne!(other, tag);
        }
        assert_eq!(tag_of(&json!({ "version": null })), None);
    }

    #[test]
    fn if_none_match_is_a_list() {
        let headers = |text| HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static(text))]);
        assert!(matches(&headers("\"1-x\", W/\"3-y\""), "\"3-y\""));
        assert!(matches(&headers("*"), "\"3-y\""));
        assert!(!matches(&headers("\"3-z\""), "\"3-y\""));
        assert!(!matches(&HeaderMap::new(), "\"3-y\""));
        assert!(names(&headers("W/\"3-y\""), "\"3-y\"") && !names(&headers("*"), "\"3-y\""));
    }
}
