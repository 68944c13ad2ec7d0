//! Agents: their rows, their history, and the tooling configured for them.

pub mod list;

use crate::{Row, StoreError, Tx, vals};
use contract::Micros;
use contract::ops::agents::ModelParams;
use rules::access::{Owned, Visibility};
use rules::partition::Partition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Version of the stored definition's shape.
pub const SCHEMA_VERSION: u32 = 1;

/// What an agent is made of, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// [`SCHEMA_VERSION`] when it was written.
    pub schema_version: u32,
    /// Class of the agent.
    pub bot_class: String,
    /// `provider:model` or `provider`.
    pub llm: Option<String>,
    /// Sampling.
    pub model_params: ModelParams,
    /// The prompt.
    pub system_prompt: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// A slug.
    pub category: String,
    /// Slugs of tools and toolkits, as they were sent.
    pub tools: Vec<Value>,
    /// Free keys; empty for agents of a tenant.
    pub config: Map<String, Value>,
}

/// What lists show and the access rule asks of an agent; its definition stays unread.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Id of the row; a recreated agent has another.
    pub id: String,
    /// Unique in the partition.
    pub name: String,
    /// User id of the owner.
    pub owner: String,
    /// Visibility; what is not known reads as private.
    pub visibility: Visibility,
    /// Groups it is shared with.
    pub allowed_groups: Vec<String>,
    /// Class of the agent.
    pub bot_class: String,
    /// `provider:model` or `provider`.
    pub llm: Option<String>,
    /// A slug.
    pub category: String,
    /// For people.
    pub description: Option<String>,
    /// Whether it may be used.
    pub active: bool,
    /// Grows by one with each change.
    pub version: i64,
    /// When it was created.
    pub created_at: Micros,
    /// When it was last changed.
    pub updated_at: Micros,
}

impl Head {
    /// What the access rule asks.
    pub fn owned<'a>(&'a self, partition: &'a Partition) -> Owned<'a> {
        Owned {
            tenant: partition.as_tenant(),
            owner: Some(&self.owner),
            visibility: self.visibility,
            allowed_groups: &self.allowed_groups,
        }
    }
}

/// A whole agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// The row without the definition.
    pub head: Head,
    /// What it is made of.
    pub definition: Definition,
}

/// A toolkit or MCP server configured for an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Tooling {
    /// `toolkit` or `mcp`.
    pub kind: String,
    /// Slug of the toolkit, or name of the server.
    pub slug: String,
    /// Its configuration, without secrets.
    pub config: Value,
    /// Names of its secrets in the vault, by parameter.
    pub secret_refs: BTreeMap<String, String>,
    /// Whose vault they are in.
    pub vault_owner: Option<String>,
}

/// The columns of a [`Head`].
const HEAD: &str = "id, name, owner, visibility, allowed_groups, bot_class, llm, category, description, \
                    status, version, created_at, updated_at";

fn head(row: &mut Row) -> Result<Head, StoreError> {
    let groups = row.str(4)?;
    let allowed_groups = if groups == "[]" { Vec::new() } else { decode(groups)? };
    Ok(Head {
        visibility: Visibility::from_stored(row.str(3)?),
        allowed_groups,
        active: row.str(9)? == "active",
        version: row.int(10)?,
        created_at: Micros(row.int(11)?),
        updated_at: Micros(row.int(12)?),
        llm: take_opt_text(row, 6)?,
        description: take_opt_text(row, 8)?,
        id: row.take_text(0)?,
        name: row.take_text(1)?,
        owner: row.take_text(2)?,
        bot_class: row.take_text(5)?,
        category: row.take_text(7)?,
    })
}

fn take_opt_text(row: &mut Row, i: usize) -> Result<Option<String>, StoreError> {
    if row.is_null(i)? { Ok(None) } else { row.take_text(i).map(Some) }
}

fn decode<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| StoreError::Decode(e.to_string()))
}

fn encode<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Decode(e.to_string()))
}

/// The agent of this name.
///
/// # Errors
/// The storage fails.
pub fn by_name(tx: &mut dyn Tx, partition: &Partition, name: &str) -> Result<Option<Agent>, StoreError> {
    one(tx, "name", partition, name, "")
}

/// The agent of this id.
///
/// # Errors
/// The storage fails.
pub fn by_id(tx: &mut dyn Tx, partition: &Partition, id: &str) -> Result<Option<Agent>, StoreError> {
    one(tx, "id", partition, id, "")
}

/// The agent of this name, about to be changed by this transaction.
///
/// # Errors
/// The storage fails.
pub fn by_name_for_update(tx: &mut dyn Tx, partition: &Partition, name: &str) -> Result<Option<Agent>, StoreError> {
    let lock = tx.dialect().for_update();
    one(tx, "name", partition, name, lock)
}

fn one(
    tx: &mut dyn Tx,
    column: &str,
    partition: &Partition,
    key: &str,
    lock: &str,
) -> Result<Option<Agent>, StoreError> {
    let sql = format!("select {HEAD}, definition from agents where partition = $1 and {column} = $2{lock}");
    let Some(mut row) = tx.query_one(&sql, vals![partition.as_str(), key])? else {
        return Ok(None);
    };
    let definition = decode(row.str(13)?)?;
    Ok(Some(Agent { head: head(&mut row)?, definition }))
}

/// The head of the agent of this name, for callers who need no definition.
///
/// # Errors
/// The storage fails.
pub fn head_by_name(tx: &mut dyn Tx, partition: &Partition, name: &str) -> Result<Option<Head>, StoreError> {
    let sql = format!("select {HEAD} from agents where partition = $1 and name = $2");
    tx.query_one(&sql, vals![partition.as_str(), name])?.map(|mut row| head(&mut row)).transpose()
}

/// Whether the name is in use. Asked before an insert, because a failed insert ends the transaction.
///
/// # Errors
/// The storage fails.
pub fn name_in_use(tx: &mut dyn Tx, partition: &Partition, name: &str) -> Result<bool, StoreError> {
    let found =
        tx.query_one("select 1 from agents where partition = $1 and name = $2", vals![partition.as_str(), name])?;
    Ok(found.is_some())
}

/// Writes a new agent and the first entry of its history.
///
/// # Errors
/// [`StoreError::Unique`] when the name is in use; else the storage fails.
pub fn insert(tx: &mut dyn Tx, partition: &Partition, agent: &Agent, by: &str) -> Result<(), StoreError> {
    let Agent { head, definition } = agent;
    tx.exec(
        "insert into agents (id, partition, name, owner, visibility, allowed_groups, definition, llm, category, description, \
         status, version, created_at, updated_at, bot_class) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
         $14, $15)",
        vals![
            &head.id,
            partition.as_str(),
            &head.name,
            &head.owner,
            head.visibility.as_str(),
            encode(&head.allowed_groups)?,
            encode(definition)?,
            head.llm.clone(),
            &head.category,
            head.description.clone(),
            status(head),
            head.version,
            head.created_at.0,
            head.updated_at.0,
            &definition.bot_class,
        ],
    )?;
    add_version(tx, agent, by, "create")
}

/// Writes a changed agent over version `agent.head.version - 1`, and the entry of its history. Name, owner and creation never change.
/// Answers whether that version was there.
///
/// # Errors
/// The storage fails.
pub fn update(
    tx: &mut dyn Tx,
    partition: &Partition,
    agent: &Agent,
    by: &str,
    change: &str,
) -> Result<bool, StoreError> {
    let Agent { head, definition } = agent;
    let changed = tx.exec(
        "update agents set visibility = $1, allowed_groups = $2, definition = $3, llm = $4, category = $5, description = $6, \
         status = $7, version = $8, updated_at = $9 where partition = $10 and id = $11 and version = $8 - 1",
        vals![
            head.visibility.as_str(),
            encode(&head.allowed_groups)?,
            encode(definition)?,
            head.llm.clone(),
            &head.category,
            head.description.clone(),
            status(head),
            head.version,
            head.updated_at.0,
            partition.as_str(),
            &head.id,
        ],
    )?;
    if changed == 1 {
        add_version(tx, agent, by, change)?;
    }
    Ok(changed == 1)
}

/// Deletes this version of an agent; its tooling goes with it, its history stays under its id and says who deleted it. Answers whether
/// that version was there.
///
/// # Errors
/// The storage fails.
pub fn delete(tx: &mut dyn Tx, partition: &Partition, head: &Head, by: &str, now: Micros) -> Result<bool, StoreError> {
    let deleted = tx.exec(
        "delete from agents where partition = $1 and id = $2 and version = $3",
        vals![partition.as_str(), &head.id, head.version],
    )?;
    if deleted == 1 {
        put_version(tx, &head.id, head.version + 1, now, by, "delete", "null".into())?;
    }
    Ok(deleted == 1)
}

fn status(head: &Head) -> &'static str {
    if head.active { "active" } else { "disabled" }
}

/// A record as the history keeps it.
#[derive(Serialize)]
struct Kept<'a> {
    name: &'a str,
    owner: &'a str,
    visibility: &'a str,
    allowed_groups: &'a [String],
    status: &'a str,
    definition: &'a Definition,
}

fn add_version(tx: &mut dyn Tx, agent: &Agent, by: &str, change: &str) -> Result<(), StoreError> {
    let Agent { head, definition } = agent;
    let kept = encode(&Kept {
        name: &head.name,
        owner: &head.owner,
        visibility: head.visibility.as_str(),
        allowed_groups: &head.allowed_groups,
        status: status(head),
        definition,
    })?;
    put_version(tx, &head.id, head.version, head.updated_at, by, change, kept)
}

fn put_version(
    tx: &mut dyn Tx,
    id: &str,
    version: i64,
    at: Micros,
    by: &str,
    change: &str,
    record: String,
) -> Result<(), StoreError> {
    tx.exec(
        "insert into agent_versions (agent_id, version, at, by_user, change, record) values ($1, $2, $3, $4, $5, $6)",
        vals![id, version, at.0, by, change, record],
    )
    .map(drop)
}

/// The tooling configured for an agent, in its order.
///
/// # Errors
/// The storage fails.
pub fn tooling(tx: &mut dyn Tx, agent_id: &str) -> Result<Vec<Tooling>, StoreError> {
    let rows = tx.query(
        "select kind, slug, config, secret_refs, vault_owner from agent_tooling where agent_id = $1 order by kind, position, slug",
        vals![agent_id],
    )?;
    rows.into_iter()
        .map(|mut row| {
            Ok(Tooling {
                config: decode(row.str(2)?)?,
                secret_refs: decode(row.str(3)?)?,
                vault_owner: take_opt_text(&mut row, 4)?,
                kind: row.take_text(0)?,
                slug: row.take_text(1)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
