//! The demo: a tenant with people, agents and orders to play with.
//!
//! Everything is made once and found again afterwards, so the command can be repeated. Agents are created by the operation
//! that everybody uses, as their owners.

mod cast;
mod orders;

use super::home::Places;
use contract::ops::agents::{AgentCreate, AgentItem, CreateAgent, DeleteAgent, ListAgents};
use contract::ops::people::{Member, Tenant, User};
use contract::ops::tokens::{CreateToken, ListTokens, TokenCreate};
use contract::wire::{Body as _, Json, Raw, WireRequest};
use contract::{Code, Micros, Result, StudioError};
use engine::{Caller, Engine};
use rules::Partition;
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use store::repo::{people, sessions, settings};
use store::{StoreError, Tx};
use trust::journal::{self, Entry};

/// The tenant of the demo.
pub const TENANT: &str = "demo";
/// Whom commands speak as afterwards.
pub const USER: &str = "ben";

/// Name of the tokens that the demo makes.
const TOKEN: &str = "demo";

/// What to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Bring people, agents and orders back to their beginning.
    pub reset: bool,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The tenant.
    pub tenant: String,
    /// Whom commands speak as now.
    pub user: String,
    /// Whom they spoke as before, when that was somebody else: `USER@TENANT`.
    pub before: Option<String>,
    /// The people, with what they may do.
    pub people: Vec<Person>,
    /// Agents that were made now.
    pub agents_made: Vec<String>,
    /// Agents that were there and stay as they are.
    pub agents_kept: Vec<String>,
    /// Agents of the demo that were deleted before they were made again.
    pub agents_deleted: Vec<String>,
    /// Test sessions with them that were ended; what waited for a person in them was withdrawn.
    pub sessions_ended: usize,
    /// Orders that were written now.
    pub orders_written: usize,
    /// What to type next, after the program's name.
    pub tries: Vec<Try>,
}

/// A person of the demo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Person {
    /// Their id.
    pub id: String,
    /// What they may do.
    pub role: String,
    /// Their groups.
    pub groups: Vec<String>,
}

/// Something to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Try {
    /// The command without the program's name.
    pub command: &'static str,
    /// What one sees.
    pub what: &'static str,
}

const TRIES: [Try; 5] = [
    Try { command: "agents list", what: "the agents that ben can see" },
    Try { command: "ask orders-desk \"what's up with order 1020?\"", what: "a read, which runs at once" },
    Try { command: "ask orders-desk \"cancel order 1007\"", what: "a write, which waits for a person" },
    Try { command: "approvals list", what: "what waits, with its id" },
    Try { command: "approvals approve ID", what: "exactly that call runs, once; `approvals reject ID` runs nothing" },
];

/// Fills the home.
///
/// # Errors
/// Of the storage, and refusals of the operations that make the agents.
pub async fn seed(engine: &Engine, options: Options) -> Result<Report> {
    let before = settle(engine, options.reset).await?;
    let agents = agents(engine, options.reset).await?;
    // The desk's file lies where the program's tools look for it.
    let desk = Places { home: engine.store.home().path().to_owned(), config: None }.desk();
    let written =
        tokio::task::spawn_blocking(move || toolkits::desk::stock(&desk, TENANT, &orders::all(), options.reset)).await;
    let unavailable = |why: String| StudioError::new(Code::StudioStorageUnavailable, 503, why);
    let orders_written = written
        .map_err(|_| unavailable("The orders could not be written.".into()))?
        .map_err(|error| unavailable(error.to_string()))?;
    Ok(Report {
        tenant: TENANT.into(),
        user: USER.into(),
        before,
        people: cast::PEOPLE
            .iter()
            .map(|p| Person {
                id: p.id.into(),
                role: if p.platform { format!("{}, platform", p.role.as_str()) } else { p.role.as_str().into() },
                groups: p.groups.iter().map(|g| (*g).to_owned()).collect(),
            })
            .collect(),
        agents_made: agents.made,
        agents_kept: agents.kept,
        agents_deleted: agents.deleted,
        sessions_ended: agents.sessions_ended,
        orders_written,
        tries: TRIES.to_vec(),
    })
}

/// Makes the tenant and its people, and makes one of them the home's own person. Answers who that was before.
async fn settle(engine: &Engine, reset: bool) -> Result<Option<String>> {
    let now = Micros::now();
    engine
        .store
        .write(move |tx| -> std::result::Result<Option<String>, StoreError> {
            let tenant = Tenant {
                id: TENANT.into(),
                name: "Demo shop".into(),
                active: true,
                approvals: "asker".into(),
                created_at: now,
            };
            if people::insert_tenant(tx, &tenant)? {
                record(tx, now, "tenant.created", &format!("tenant:{TENANT}"), json!({}))?;
            } else if reset {
                people::update_tenant(tx, &tenant)?;
                record(
                    tx,
                    now,
                    "tenant.updated",
                    &format!("tenant:{TENANT}"),
                    json!({ "active": true, "approvals": "asker" }),
                )?;
            }
            for person in &cast::PEOPLE {
                person_in(tx, now, person, reset)?;
            }
            let user = settings::get(tx, settings::DEFAULT_USER)?;
            let tenant = settings::get(tx, settings::DEFAULT_TENANT)?;
            settings::set(tx, settings::DEFAULT_TENANT, TENANT)?;
            settings::set(tx, settings::DEFAULT_USER, USER)?;
            let before = user.zip(tenant).filter(|(user, tenant)| (user.as_str(), tenant.as_str()) != (USER, TENANT));
            Ok(before.map(|(user, tenant)| format!("{user}@{tenant}")))
        })
        .await
        .map_err(super::store_fault)
}

fn person_in(tx: &mut dyn Tx, now: Micros, person: &cast::Person, reset: bool) -> std::result::Result<(), StoreError> {
    let user = User { id: person.id.into(), name: person.name.into(), email: None, active: true, created_at: now };
    people::insert_user(tx, &user, person.platform)?;
    let before = people::get_member(tx, TENANT, person.id)?;
    let member = Member {
        user: person.id.into(),
        tenant: TENANT.into(),
        role: person.role,
        groups: person.groups.iter().map(|g| (*g).to_owned()).collect(),
        since: before.as_ref().map_or(now, |m| m.since),
    };
    if reset
        && let Some(user) = people::user_of(tx, TENANT, person.id)?
        && !user.active
    {
        people::update_user(tx, &User { active: true, ..user })?;
        record(tx, now, "user.updated", &format!("user:{}", person.id), json!({ "active": true }))?;
    }
    if before.as_ref().is_some_and(|m| !reset || *m == member) {
        return Ok(());
    }
    people::put_member(tx, &member)?;
    let action = if before.is_some() { "member.updated" } else { "member.added" };
    let body = json!({ "role": member.role, "groups": member.groups });
    record(tx, now, action, &format!("user:{}", person.id), body)
}

fn record(
    tx: &mut dyn Tx,
    now: Micros,
    action: &str,
    subject: &str,
    body: serde_json::Value,
) -> std::result::Result<(), StoreError> {
    let partition = Partition::tenant(TENANT).map_err(|_| StoreError::Decode("the demo's tenant".into()))?;
    journal::record(tx, now, Entry { partition: &partition, actor: "demo", action, subject, body })
}

/// A token for each of the people who has none of the demo's yet, as `(user, secret)`: with it they sign in at a server of
/// this home. A secret cannot be shown a second time.
///
/// # Errors
/// Of the storage, and refusals of the operations.
pub async fn tokens(engine: &Engine) -> Result<Vec<(String, String)>> {
    let mut made = Vec::new();
    for person in &cast::PEOPLE {
        let Json(list) = engine.call::<ListTokens>(caller(person.id), WireRequest::default()).await?;
        if list.tokens.iter().any(|token| token.name == TOKEN) {
            continue;
        }
        let body = TokenCreate { name: TOKEN.into(), scopes: Vec::new(), days: None }.raw();
        let Json(token) =
            engine.call::<CreateToken>(caller(person.id), WireRequest { body, ..WireRequest::default() }).await?;
        made.extend(token.secret.map(|secret| (person.id.to_owned(), secret)));
    }
    Ok(made)
}

#[derive(Default)]
struct Agents {
    made: Vec<String>,
    kept: Vec<String>,
    deleted: Vec<String>,
    sessions_ended: usize,
}

/// Makes the agents that are missing; with `reset` the demo's own are deleted first.
async fn agents(engine: &Engine, reset: bool) -> Result<Agents> {
    let Json(list) = engine.call::<ListAgents>(caller("ada"), WireRequest::default()).await?;
    let there: BTreeSet<String> = list.agents.iter().map(|agent| agent.name.clone()).collect();
    let mut done = Agents::default();
    if reset {
        let ours = |agent: &AgentItem| cast::AGENTS.iter().any(|a| a.name == agent.name);
        let ids = list.agents.into_iter().filter(ours).filter_map(|agent| agent.agent_id).collect();
        done.sessions_ended = end_sessions(engine, ids).await?;
    }
    for agent in &cast::AGENTS {
        let name = agent.name.to_owned();
        if there.contains(agent.name) {
            if !reset {
                done.kept.push(name);
                continue;
            }
            let path = BTreeMap::from([("name".to_owned(), name.clone())]);
            engine.call::<DeleteAgent>(caller("ada"), WireRequest { path, ..WireRequest::default() }).await?;
            done.deleted.push(name.clone());
        }
        engine
            .call::<CreateAgent>(caller(agent.owner), WireRequest { body: body(agent), ..WireRequest::default() })
            .await?;
        done.made.push(name);
    }
    Ok(done)
}

/// Ends the people's test sessions with these agents, so that no question outlives the agent that asked it.
async fn end_sessions(engine: &Engine, agents: Vec<String>) -> Result<usize> {
    let partition = Partition::tenant(TENANT).map_err(|_| StudioError::internal())?;
    let of = partition.clone();
    let open = engine
        .store
        .read_long(move |tx| -> std::result::Result<Vec<String>, StoreError> {
            let mut open = Vec::new();
            for agent in &agents {
                for person in &cast::PEOPLE {
                    let rows = sessions::list(tx, &of, person.id, agent)?;
                    open.extend(rows.into_iter().filter(|(row, _)| row.ended_at.is_none()).map(|(row, _)| row.id));
                }
            }
            Ok(open)
        })
        .await
        .map_err(super::store_fault)?;
    let mut ended = 0;
    for session in open {
        ended += usize::from(engine.runtime.end_session(&partition, &session, "demo").await?);
    }
    Ok(ended)
}

fn caller(user: &str) -> Caller {
    Caller::user(user, Some(TENANT))
}

fn body(agent: &cast::Agent) -> Raw {
    let config = json!({ "system_prompt": agent.prompt, "tools": agent.tools });
    let groups: Vec<String> = agent.groups.iter().map(|g| (*g).to_owned()).collect();
    AgentCreate {
        name: Some(agent.name.into()),
        llm: Some(format!("rehearsal:{}", agent.script)),
        description: Some(agent.about.into()),
        category: Some(agent.category.into()),
        config: config.as_object().cloned(),
        visibility: Some(agent.visibility.into()),
        allowed_groups: Some(groups).filter(|g| !g.is_empty()),
        ..AgentCreate::default()
    }
    .raw()
}

#[cfg(test)]
mod tests;
