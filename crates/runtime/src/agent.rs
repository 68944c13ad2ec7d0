//! An agent as a turn runs it: one version of its record, read whole.

use contract::ops::agents::ModelParams;
use models::Params;
use rules::partition::Partition;
use serde::Deserialize;
use serde_json::Value;
use store::{StoreError, Tx, vals};

/// One version of an agent.
#[derive(Clone, Debug)]
pub struct AgentVersion {
    /// Id of the record.
    pub agent_id: String,
    /// The version.
    pub version: i64,
    /// Its name.
    pub name: String,
    /// `provider:model` or `provider`.
    pub llm: Option<String>,
    /// The prompt.
    pub system_prompt: Option<String>,
    /// Sampling.
    pub params: Params,
    /// Slugs of tools and toolkits.
    pub tools: Vec<Value>,
}

#[derive(Deserialize)]
struct Kept {
    name: String,
    definition: KeptDefinition,
}

#[derive(Deserialize)]
struct KeptDefinition {
    llm: Option<String>,
    #[serde(default)]
    model_params: ModelParams,
    system_prompt: Option<String>,
    #[serde(default)]
    tools: Vec<Value>,
}

/// Reads a version as the history kept it, so that a turn which is resumed runs on what it began with.
pub fn load(tx: &mut dyn Tx, agent_id: &str, version: i64) -> Result<Option<AgentVersion>, StoreError> {
    let row = tx.query_one(
        "select record from agent_versions where agent_id = $1 and version = $2 and record <> 'null'",
        vals![agent_id, version],
    )?;
    let Some(row) = row else { return Ok(None) };
    let kept: Kept =
        serde_json::from_str(row.str(0)?).map_err(|e| StoreError::Decode(format!("version of an agent: {e}")))?;
    let ModelParams { temperature, max_tokens, top_k, top_p } = kept.definition.model_params;
    let positive = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    Ok(Some(AgentVersion {
        agent_id: agent_id.to_owned(),
        version,
        name: kept.name,
        llm: kept.definition.llm,
        system_prompt: kept.definition.system_prompt,
        params: Params { temperature, max_tokens: positive(max_tokens), top_k: positive(top_k), top_p },
        tools: kept.definition.tools,
    }))
}

/// The agent's current version, if it is there and enabled.
pub fn current_version(tx: &mut dyn Tx, partition: &Partition, agent_id: &str) -> Result<Option<i64>, StoreError> {
    tx.query_one(
        "select version from agents where partition = $1 and id = $2 and status = 'active'",
        vals![partition.as_str(), agent_id],
    )?
    .map(|row| row.int(0))
    .transpose()
}
