//! Agents: list, read, create, patch, delete, reload, visibility.

use super::lacking;
use super::shape::{self, Object, items, reply};
use contract::ops::agents::{AgentCreate, AgentCreated, AgentDefinition, AgentItem, AgentPatch, Deleted, Reloaded};
use contract::ops::common::{NoVersionQuery, Page, VersionQuery};
use contract::wire::{Query as _, Raw, WireReply, WireRequest};
use contract::{Patch, Result};
use serde_json::{Value, json};

/// Looks at the query of a list, which is not sent: the other side knows no pages.
///
/// # Errors
/// 400 `invalid_request`.
pub(super) fn list_asked(query: &[(String, String)]) -> Result<()> {
    Page::open(query.to_vec()).map(|_| ())
}

/// The page of the list that was asked for, out of the whole list.
///
/// # Errors
/// Those of the page; 503 `unavailable` for `owner:me` where the list does not say whose agents are the caller's.
pub(super) fn list(asked: &WireRequest, body: Value) -> Result<WireReply> {
    let page = Page::open(asked.query.clone())?;
    let agents = items(body, "agents")?.into_iter().map(item).collect::<Result<Vec<_>>>()?;
    let me = agents.iter().find(|agent| agent.access == "owner").and_then(|agent| agent.owner.clone());
    let asks_me = page.q.as_deref().is_some_and(|q| q.split_whitespace().any(|term| term == "owner:me"));
    if me.is_none() && asks_me && agents.iter().any(|agent| agent.access == "global") {
        return Err(lacking("its list does not say which agents are yours. Use owner:ID with your user id."));
    }
    Ok(reply(200, &engine::agents::page_of(agents, &page, me.as_deref().unwrap_or_default())?))
}

/// One agent.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn one(body: Value) -> Result<WireReply> {
    Ok(reply(200, &item(body)?))
}

/// An item of any of the three kinds: of the Studio, of the registry, and of the older database, which say less and less.
fn item(body: Value) -> Result<AgentItem> {
    let mut body = Object::open(body)?;
    body.ids(&["owner", "agent_id", "chatbot_id", "tenant"]).time("updated_at");
    let older = body.get("chatbot_id").clone();
    let source = body.text("source").unwrap_or("studio").to_owned();
    let class = body.get("definition").get("bot_class").cloned().unwrap_or_default();
    body.fill("agent_id", older).fill("source", source.as_str()).fill("origin", source).fill("enabled", true);
    // What is not shared is private, and a list that names no access is that of a plain host.
    body.fill("visibility", "private").fill("allowed_groups", json!([])).fill("access", "global");
    body.fill("can_manage", false).fill("class_name", class).fill("class_name", "");
    body.fill("tags", json!([])).fill("priority", 0).fill("at_startup", false);
    if body.get("definition").is_object() {
        let made_of = definition(body.get("definition").clone(), body.text("class_name").unwrap_or_default())?;
        body.set("definition", serde_json::to_value(made_of).unwrap_or_default());
    }
    body.read()
}

fn definition(body: Value, class: &str) -> Result<AgentDefinition> {
    let mut body = Object::open(body)?;
    body.fill("bot_class", class).fill("category", "general").fill("model_params", json!({})).fill("tools", json!([]));
    body.read()
}

/// The body of a creation; the other side takes the same.
///
/// # Errors
/// The refusals of the shape.
pub(super) fn created_from(body: &Raw) -> Result<Value> {
    shape::typed::<AgentCreate>(body)?;
    shape::object(body)
}

/// What a creation answers. An agent that the other side keeps in its registry has no record and so no id and no version.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn created(body: Value) -> Result<WireReply> {
    let mut body = Object::open(body)?;
    body.ids(&["agent_id", "tenant"]).fill("persisted", false).fill("source", "studio");
    if body.get("agent_id").is_null() {
        body.fill("warnings", json!([])).set("agent_id", "").set("version", 0);
        let mut created: AgentCreated = body.read()?;
        created.warnings.push("The server keeps this agent in files, not as a record: it cannot be edited.".into());
        return Ok(reply(201, &created));
    }
    body.fill("version", 1);
    Ok(reply(201, &body.read::<AgentCreated>()?))
}

/// The body of a change. Null means "unchanged" on the other side, so what would clear a field is refused; a category is
/// cleared by its default, which can be sent.
///
/// # Errors
/// The refusals of the shape; 503 `unavailable` for what would clear a field.
pub(super) fn patched_with(body: &Raw) -> Result<Value> {
    let mut patch: AgentPatch = shape::typed(body)?;
    if patch.category == Patch::Null {
        patch.category = Patch::Set("general".into());
    }
    let params = match &patch.model_params {
        Patch::Set(params) => params.iter().find(|(_, value)| value.is_null()).map(|(key, _)| key.as_str()),
        Patch::Null => Some("model_params"),
        Patch::Absent => None,
    };
    let texts = [("description", &patch.description), ("llm", &patch.llm), ("system_prompt", &patch.system_prompt)];
    let text = texts.into_iter().find(|(_, value)| **value == Patch::Null).map(|(key, _)| key);
    match text.or(params) {
        Some(field) => Err(lacking(&format!(
            "'{field}' cannot be cleared there, only set to something else. Nothing was changed."
        ))),
        None => Ok(serde_json::to_value(&patch).unwrap_or_default()),
    }
}

/// The query of a deletion.
///
/// # Errors
/// 400 `invalid_expected_version`.
pub(super) fn deleted_at(query: &[(String, String)]) -> Result<Vec<(String, String)>> {
    Ok(VersionQuery::open(query.to_vec())?.pairs())
}

/// What a deletion answers.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn deleted(name: &str, body: Value) -> Result<WireReply> {
    let mut body = Object::open(body)?;
    body.fill("name", name).fill("deleted", true);
    Ok(reply(200, &body.read::<Deleted>()?))
}

/// Looks at the query of a reload.
///
/// # Errors
/// 400 `expected_version_unsupported`.
pub(super) fn reload_asked(query: &[(String, String)]) -> Result<()> {
    NoVersionQuery::open(query.to_vec()).map(|_| ())
}

/// What a reload answers.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn reloaded(name: &str, body: Value) -> Result<WireReply> {
    let mut body = Object::open(body)?;
    body.fill("name", name).fill("reloaded", true).fill("previous_instance_closed", false).fill("warnings", json!([]));
    Ok(reply(200, &body.read::<Reloaded>()?))
}
