//! Who the caller is, catalogues, keys, tools: what is close to ours on both sides.

use super::shape::{Object, items, reply, unreadable};
use contract::Micros;
use contract::Result;
use contract::ops::catalog::CatalogQuery;
use contract::ops::keys::{KeyDeleted, KeyItem, KeyList, KeyStored};
use contract::ops::me::Me;
use contract::ops::tools::ToolResult;
use contract::wire::{Query as _, WireReply};
use serde_json::{Value, json};

/// The catalogue that is a schema.
const MODEL_PARAMS: &str = "model-params";

/// Who the caller is. What is not said is not allowed.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn me(body: Value) -> Result<WireReply> {
    let mut body = Object::open(body)?;
    body.ids(&["user_id", "tenant"]).fill("enabled", true);
    body.fill("may_author", false).fill("may_administer", false).fill("is_superuser", false);
    Ok(reply(200, &body.read::<Me>()?))
}

/// The query of a catalogue.
///
/// # Errors
/// None today; it opens as at home.
pub(super) fn catalog_asked(query: &[(String, String)]) -> Result<Vec<(String, String)>> {
    Ok(CatalogQuery::open(query.to_vec())?.pairs())
}

/// A catalogue: rows whose fields are free on both sides, or the bounds of a model's parameters.
///
/// # Errors
/// 502 `internal_error` for what is no catalogue.
pub(super) fn catalog(kind: &str, body: Value) -> Result<WireReply> {
    let good = match &body {
        Value::Array(rows) => kind != MODEL_PARAMS && rows.iter().all(Value::is_object),
        Value::Object(_) => kind == MODEL_PARAMS,
        _ => false,
    };
    if good { Ok(reply(200, &body)) } else { Err(unreadable("a catalogue was expected")) }
}

/// The caller's keys.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn keys(body: Value) -> Result<WireReply> {
    let read = |row: Value| {
        let mut row = Object::open(row)?;
        // A key without a time was stored before times were kept.
        row.time("created_at").fill("created_at", Micros::default().to_rfc3339()).fill("masked", "****");
        row.read::<KeyItem>()
    };
    let keys = items(body, "keys")?.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(reply(200, &KeyList { count: keys.len(), keys }))
}

/// What storing a key answers.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn key_stored(body: Value) -> Result<WireReply> {
    let mut body = Object::open(body)?;
    body.fill("masked", "****");
    Ok(reply(201, &body.read::<KeyStored>()?))
}

/// What the deletion of a key answers.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn key_deleted(provider: &str, body: Value) -> Result<WireReply> {
    let mut body = Object::open(body)?;
    body.fill("provider", provider.to_lowercase()).fill("deleted", true);
    Ok(reply(200, &body.read::<KeyDeleted>()?))
}

/// What a tool answered.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn executed(body: Value) -> Result<WireReply> {
    let mut body = Object::open(body)?;
    body.time("timestamp").fill("timestamp", Micros::now().to_rfc3339());
    body.fill("metadata", json!({})).fill("files", json!([])).fill("images", json!([])).fill("result", Value::Null);
    Ok(reply(200, &body.read::<ToolResult>()?))
}
