//! The dialect of the Python Agent Studio: requests and answers, rewritten.
//!
//! That server speaks the older API on the same paths: the shapes differ, some of its errors are plain text, and a good part
//! of our operations has no counterpart there. Here an operation of ours becomes what that server takes ([`request`]), and
//! what it answered becomes what our screens and commands expect ([`answer`]). Both are pure but for the ids and times that
//! the other side does not send. What it cannot do is never pretended: it is refused with 503 `unavailable` and words that
//! say what is lacking ([`lacks`]). Filters, orders and pages of lists are made here, from its one whole list.
//!
//! [`Original`] adds the little that has to be remembered between two calls.

mod agents;
mod approvals;
mod ask;
mod errors;
mod lacks;
mod original;
mod plain;
mod shape;
#[cfg(test)]
mod tests;

pub use errors::refusal;
pub use lacks::{LACKS, lacks};
pub use original::{Original, Step};

use crate::proxy::path_of;
use contract::wire::{Method, WireReply, WireRequest};
use contract::{Code, Micros, Result, StudioError};
use serde_json::Value;

/// Where the path of a request begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Below the base prefix, such as `/api/v1/astudio`.
    Base,
    /// At the root of the server: its approval channel lies outside the Studio.
    Root,
}

/// A request as the other side takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The verb.
    pub method: Method,
    /// Where the path begins.
    pub start: Start,
    /// The path, percent-encoded.
    pub path: String,
    /// Query pairs, not encoded.
    pub query: Vec<(String, String)>,
    /// The JSON body.
    pub body: Option<Value>,
}

/// Rewrites an operation of ours, named by its id, into what the other side takes.
///
/// # Errors
/// 503 `unavailable` for what the other side cannot do, in whole or with these arguments; 404 `route_not_found` for an
/// unknown id; the refusals of our own shapes for a body or a query that does not fit.
pub fn request(id: &str, request: &WireRequest) -> Result<Sent> {
    if let Some(why) = lacks(id) {
        return Err(lacking(why));
    }
    let WireRequest { path, query, body } = request;
    let meta = contract::ops::ALL.iter().find(|meta| meta.id == id).ok_or_else(|| unknown(id))?;
    let mut sent =
        Sent { method: meta.method, start: Start::Base, path: path_of(meta, request)?, query: Vec::new(), body: None };
    match id {
        "agents.list" => agents::list_asked(query)?,
        "agents.create" => sent.body = Some(agents::created_from(body)?),
        "agents.patch" => sent.body = Some(agents::patched_with(body)?),
        "agents.visibility" => sent.body = Some(shape::object(body)?),
        "agents.delete" => sent.query = agents::deleted_at(query)?,
        "agents.reload" => agents::reload_asked(query)?,
        "test.ask" | "test.stream" => sent.body = Some(ask::asked_with(query, body)?),
        "test.end" => ask::default_session(ask::session_of(query)?.as_deref())?,
        "approvals.decide" => {
            let interaction = path.get("id").map(String::as_str).unwrap_or_default();
            sent = approvals::sent(approvals::respond(interaction, &approvals::decision(body)?)?);
        }
        "catalog.get" => sent.query = plain::catalog_asked(query)?,
        "keys.store" | "tools.execute" => sent.body = Some(shape::object(body)?),
        "me.get" | "agents.get" | "keys.list" | "keys.delete" => {}
        _ => return Err(unknown(id)),
    }
    Ok(sent)
}

/// Rewrites what the other side answered to `asked` into our answer. A body that is no JSON is given as a JSON string.
///
/// # Errors
/// The other side's refusal with our codes; 502 `internal_error` when a success has a shape that cannot be read.
pub fn answer(id: &str, asked: &WireRequest, status: u16, body: Value) -> Result<WireReply> {
    answer_since(id, asked, Micros::now(), status, body)
}

/// The same for a request that was sent at `began`, so that a turn says how long it took.
fn answer_since(id: &str, asked: &WireRequest, began: Micros, status: u16, body: Value) -> Result<WireReply> {
    if !(200..300).contains(&status) {
        return Err(errors::refusal(status, &body));
    }
    let in_path = |key: &str| asked.path.get(key).map(String::as_str).unwrap_or_default();
    match id {
        "agents.list" => agents::list(asked, body),
        "agents.get" | "agents.patch" | "agents.visibility" => agents::one(body),
        "agents.create" => agents::created(body),
        "agents.delete" => agents::deleted(in_path("name"), body),
        "agents.reload" => agents::reloaded(in_path("name"), body),
        "test.ask" => Ok(shape::reply(200, &ask::read(asked, body)?)),
        "test.stream" => Ok(ask::turn(&ask::read(asked, body)?, began)),
        "test.end" => ask::ended(in_path("name"), body),
        "approvals.decide" => approvals::decided(in_path("id"), &approvals::decision(&asked.body)?),
        "catalog.get" => plain::catalog(in_path("kind"), body),
        "keys.list" => plain::keys(body),
        "keys.store" => plain::key_stored(body),
        "keys.delete" => plain::key_deleted(in_path("provider"), body),
        "tools.execute" => plain::executed(body),
        "me.get" => plain::me(body),
        _ => Err(lacks(id).map_or_else(|| unknown(id), lacking)),
    }
}

/// 503 `unavailable`: the other side cannot do this.
fn lacking(why: &str) -> StudioError {
    StudioError::new(Code::Unavailable, 503, format!("The server, a Python Agent Studio, cannot do this: {why}"))
}

fn unknown(id: &str) -> StudioError {
    StudioError::new(
        Code::RouteNotFound,
        404,
        format!("There is no operation '{id}' for a Python Agent Studio. `astudio api` lists the operations."),
    )
}
