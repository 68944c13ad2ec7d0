//! Changing an agent: its definition by a merge patch, and who sees it.

use super::create::{not_sharable, visibility};
use super::definition::{check_patch, patched};
use super::guard::{Stop, Written};
use super::item;
use crate::{Admitted, Engine, Serve};
use contract::ops::agents::{AgentItem, AgentPatch, PatchAgent, SetAgentVisibility, VisibilityPatch};
use contract::ops::common::{NamePath, expected_version_value};
use contract::wire::{Json, Late, NoQuery};
use contract::{Micros, Operation, Result, StudioError};
use rules::partition::Partition;
use rules::sharing::check_sharing;
use serde_json::{Value, json};
use store::Tx;
use store::repo::agents::{self as repo, Agent};
use trust::journal::{self, Entry};

impl Serve<PatchAgent> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        _: Late<NoQuery>,
        body: Late<AgentPatch>,
    ) -> Result<Json<AgentItem>> {
        let authorised = self.manageable(&who, &path.name).await?;
        who.require_author()?;
        let patch = body.open()?;
        check_patch(&patch)?;
        let expected = expected_version_value(patch.expected_version.as_ref())?;
        let partition = who.partition()?.clone();
        let judge = self.judge(&partition);
        let user = who.user.clone();
        let agent = self
            .guarded(&who, &PatchAgent::GATES, &path.name, authorised, expected, move |tx, mut agent| {
                agent.definition = patched(agent.definition, patch.clone())?;
                agent.head.llm = agent.definition.llm.clone();
                agent.head.category = agent.definition.category.clone();
                agent.head.description = agent.definition.description.clone();
                judge.changed(&agent, &repo::tooling(tx, &agent.head.id)?)?;
                let fields = fields(&patch);
                store(
                    tx,
                    &partition,
                    agent,
                    &user,
                    Change { kind: "patch", action: "agent.updated", what: json!({ "fields": fields }) },
                )
            })
            .await?;
        shown(&who, agent)
    }
}

impl Serve<SetAgentVisibility> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: NamePath,
        _: Late<NoQuery>,
        body: Late<VisibilityPatch>,
    ) -> Result<Json<AgentItem>> {
        let authorised = self.manageable(&who, &path.name).await?;
        let body = body.open()?;
        let visibility = visibility(&body.visibility)?;
        check_sharing(&who.access_caller(), visibility, &body.allowed_groups).map_err(not_sharable)?;
        let partition = who.partition()?.clone();
        let user = who.user.clone();
        let agent = self
            .guarded(&who, &SetAgentVisibility::GATES, &path.name, authorised, None, move |tx, mut agent| {
                agent.head.visibility = visibility;
                agent.head.allowed_groups = body.allowed_groups.clone();
                let what = json!({ "visibility": visibility.as_str(), "allowed_groups": body.allowed_groups });
                store(tx, &partition, agent, &user, Change { kind: "visibility", action: "agent.shared", what })
            })
            .await?;
        shown(&who, agent)
    }
}

/// What a change is called in the history and in the journal.
struct Change {
    kind: &'static str,
    action: &'static str,
    what: Value,
}

/// Writes the next version of an agent with its history and its journal entry.
fn store(tx: &mut dyn Tx, partition: &Partition, mut agent: Agent, user: &str, change: Change) -> Written<Agent> {
    let now = Micros::now();
    agent.head.version += 1;
    // A clock that was set back must not make a change look older than the one before.
    agent.head.updated_at = now.max(agent.head.updated_at);
    if !repo::update(tx, partition, &agent, user, change.kind)? {
        return Err(Stop::Moved);
    }
    let mut body = change.what;
    body["agent_id"] = json!(agent.head.id);
    body["version"] = json!(agent.head.version);
    let subject = format!("agent:{}", agent.head.name);
    journal::record(tx, now, Entry { partition, actor: user, action: change.action, subject: &subject, body })?;
    Ok(agent)
}

/// The names of the fields that a patch changes; the journal keeps these, not the values.
fn fields(patch: &AgentPatch) -> Vec<&'static str> {
    let sent = [
        ("description", patch.description.is_absent()),
        ("llm", patch.llm.is_absent()),
        ("model_params", patch.model_params.is_absent()),
        ("system_prompt", patch.system_prompt.is_absent()),
        ("category", patch.category.is_absent()),
    ];
    sent.into_iter().filter(|(_, absent)| !absent).map(|(field, _)| field).collect()
}

fn shown(who: &Admitted, agent: Agent) -> Result<Json<AgentItem>> {
    let name = agent.head.name.clone();
    let item = item::whole(&who.access_caller(), who.partition()?, agent);
    item.map(Json).ok_or_else(|| StudioError::not_found("Agent", &name))
}
