//! The tooling policy, asked about the final tooling of an agent.

use crate::Engine;
use contract::Result;
use rules::partition::Partition;
use rules::policy::{
    AgentRef, AllowLists, McpSpec, Phase, Request, SecretOwner, TenantToolingPolicy, Tooling, ToolkitSpec,
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::repo::agents as repo;
use tools::Registry;

/// Everything needed to judge a record inside a transaction, where nobody can be asked.
#[derive(Clone)]
pub(super) struct Judge {
    policy: TenantToolingPolicy,
    registry: Arc<Registry>,
    allow: AllowLists,
    classes: BTreeSet<String>,
    partition: Partition,
}

impl Engine {
    pub(super) fn judge(&self, partition: &Partition) -> Judge {
        Judge {
            policy: self.policy.clone(),
            registry: self.registry.clone(),
            allow: AllowLists::default(),
            classes: self.settings.class_allowlist.clone(),
            partition: partition.clone(),
        }
    }
}

impl Judge {
    /// Whether the class is allowed; see [`super::classes::check`].
    ///
    /// # Errors
    /// As there.
    pub(super) fn class(&self, class: &str) -> Result<()> {
        super::classes::check(class, &self.partition, &self.classes)
    }

    /// Judges the tools of an agent that is to be created.
    ///
    /// # Errors
    /// 422 `tooling_not_permitted`.
    pub(super) fn created(&self, definition: &repo::Definition) -> Result<()> {
        let tooling = Tooling { tools: &definition.tools, ..Tooling::default() };
        self.check(&tooling, &BTreeSet::new(), SecretOwner::Client)
    }

    /// Judges a changed agent with the tooling that is configured for it. A change that leaves the tooling alone holds all of it,
    /// so what was disabled for the tenant since then does not block the change; every other rule does.
    ///
    /// # Errors
    /// 422 `bot_class_not_allowed`, `unsupported_config_key`, `tooling_not_permitted`, in this order.
    pub(super) fn changed(&self, agent: &repo::Agent, stored: &[repo::Tooling]) -> Result<()> {
        let repo::Agent { head, definition } = agent;
        if !self.partition.is_global() {
            self.class(&definition.bot_class)?;
        }
        super::definition::check_config(definition, &self.partition)?;
        let of_kind = |kind: &'static str| stored.iter().filter(move |row| row.kind == kind);
        let toolkits: Vec<ToolkitSpec<'_>> = of_kind("toolkit")
            .map(|row| ToolkitSpec {
                slug: &row.slug,
                secret_refs: &row.secret_refs,
                vault_owner: row.vault_owner.as_deref(),
            })
            .collect();
        let mcp_servers: Vec<McpSpec> = of_kind("mcp").map(server).collect();
        let named = |tool: &Value| tool.as_str().or_else(|| tool.get("name")?.as_str()).map(str::to_owned);
        let held = definition.tools.iter().filter_map(named).chain(stored.iter().map(|row| row.slug.clone())).collect();
        let vault_ref = format!("studio-agent:{}", head.id);
        let owner = SecretOwner::Server(AgentRef { vault_ref: &vault_ref, owner: &head.owner });
        let tooling = Tooling { tools: &definition.tools, toolkits: &toolkits, mcp_servers: &mcp_servers };
        self.check(&tooling, &held, owner)
    }

    fn check(&self, tooling: &Tooling<'_>, held: &BTreeSet<String>, secrets: SecretOwner<'_>) -> Result<()> {
        let lookup = |slug: &str| self.registry.policy_entry(slug);
        let request = Request {
            phase: Phase::Write,
            partition: &self.partition,
            allow: &self.allow,
            held,
            secrets,
            lookup: &lookup,
        };
        Ok(self.policy.check(&request, tooling)?)
    }
}

/// A stored server as the policy reads it. One of a shape that is not ours is judged by everything it holds.
fn server(row: &repo::Tooling) -> McpSpec {
    let mut config = row.config.as_object().cloned().unwrap_or_default();
    config.insert("name".into(), Value::from(row.slug.as_str()));
    let read = |config: Map<String, Value>| serde_json::from_value::<McpSpec>(Value::Object(config));
    let mut spec = read(config.clone()).unwrap_or_else(|_| McpSpec { params: config, ..McpSpec::new(&row.slug) });
    spec.secret_refs = row.secret_refs.clone();
    spec.vault_owner = row.vault_owner.clone();
    spec
}
