//! The algorithm: every tool, toolkit and MCP server of the final tooling, one after the other; the first refusal ends it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{AllowLists, McpSpec, Phase, Reason, Refusal, TenantToolingPolicy};
use crate::partition::Partition;

/// MCP fields that may be kept in the vault.
const MCP_SECRET_FIELDS: [&str; 3] = ["headers", "auth_config", "env"];

/// What the registry knows of a slug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The slug as it is registered; the one asked for may differ in case or be an alias.
    pub slug: String,
    /// Whether the host ships it. Decided by where it was registered, never by the tool itself.
    pub host: bool,
}

/// A toolkit as it is configured on an agent, as far as the policy looks.
#[derive(Clone, Copy, Debug)]
pub struct ToolkitSpec<'a> {
    /// Slug.
    pub slug: &'a str,
    /// Secret parameters: path to vault name.
    pub secret_refs: &'a BTreeMap<String, String>,
    /// In whose vault they are.
    pub vault_owner: Option<&'a str>,
}

/// The final normalised tooling of a record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tooling<'a> {
    /// `definition.tools`: each a slug, or an object whose `name` is one.
    pub tools: &'a [Value],
    /// Toolkits.
    pub toolkits: &'a [ToolkitSpec<'a>],
    /// MCP servers.
    pub mcp_servers: &'a [McpSpec],
}

/// The agent whose secrets are at stake.
#[derive(Clone, Copy, Debug)]
pub struct AgentRef<'a> {
    /// `studio-agent:<agent_id>`, or the bare name for an agent without a row.
    pub vault_ref: &'a str,
    /// Owner of the agent, and so of its secrets.
    pub owner: &'a str,
}

/// Who made the references to secrets in the tooling.
#[derive(Clone, Copy, Debug)]
pub enum SecretOwner<'a> {
    /// A client (a bundle, an attach): any reference is refused.
    Client,
    /// The server: each must be exactly what it makes for this agent.
    Server(AgentRef<'a>),
}

/// The vault name of an agent's toolkit secrets.
pub fn toolkit_vault_name(slug: &str, vault_ref: &str) -> String {
    format!("toolkit_{slug}_{vault_ref}")
}

/// The vault name of the secrets of an agent's MCP server.
pub fn mcp_vault_name(server: &str, vault_ref: &str) -> String {
    format!("mcp_agent_{server}_{vault_ref}")
}

/// One question to the policy: where, for whom, and what the outside answered.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Where the policy is asked.
    pub phase: Phase,
    /// Partition of the record.
    pub partition: &'a Partition,
    /// The tenant's allow-lists.
    pub allow: &'a AllowLists,
    /// Slugs whose stored specification equals the resulting one. They skip the allow-lists and nothing else, so that disabling a toolkit
    /// does not block other edits of an agent that holds it.
    pub held: &'a BTreeSet<String>,
    /// Who made the references to secrets.
    pub secrets: SecretOwner<'a>,
    /// Finds a slug in the registry, whatever its case, or by its alias.
    pub lookup: &'a dyn Fn(&str) -> Option<Entry>,
}

impl TenantToolingPolicy {
    /// Judges the final tooling of a record.
    ///
    /// # Errors
    /// The first refusal: tools, then toolkits, then MCP servers, each in the order given.
    pub fn check(&self, request: &Request<'_>, tooling: &Tooling<'_>) -> Result<(), Refusal> {
        if !self.applies_to(request.partition) {
            return Ok(());
        }
        for (position, tool) in tooling.tools.iter().enumerate() {
            match tool.as_str().or_else(|| tool.get("name")?.as_str()) {
                Some(slug) => self.check_slug(request, slug).map(drop)?,
                None => {
                    let item = format!("tools[{position}]");
                    return Err(Refusal::new(request.phase, Reason::ToolkitUnavailable, item));
                }
            }
        }
        for toolkit in tooling.toolkits {
            let slug =
                self.check_slug(request, toolkit.slug)?.map_or_else(|| toolkit.slug.to_owned(), |entry| entry.slug);
            let expected = |agent: &AgentRef<'_>| toolkit_vault_name(&slug, agent.vault_ref);
            if !request.secrets_permitted(toolkit.secret_refs, toolkit.vault_owner, expected) {
                return Err(Refusal::new(request.phase, Reason::SecretRefNotPermitted, slug));
            }
        }
        for server in tooling.mcp_servers {
            self.resolve_mcp(request.phase, server)?;
            let expected = |agent: &AgentRef<'_>| mcp_vault_name(&server.name, agent.vault_ref);
            let fields = server.secret_refs.keys().all(|path| MCP_SECRET_FIELDS.contains(&path.as_str()));
            if !fields || !request.secrets_permitted(&server.secret_refs, server.vault_owner.as_deref(), expected) {
                return Err(Refusal::new(request.phase, Reason::SecretRefNotPermitted, &server.name));
            }
        }
        Ok(())
    }

    /// Judges one tool or toolkit: for a call, an attach, a row of the catalogue. Gives what the registry knows of it; none only where the
    /// policy does not apply and the slug is unknown.
    ///
    /// # Errors
    /// It is unknown, not permitted, or not enabled for the tenant.
    pub fn check_slug(&self, request: &Request<'_>, slug: &str) -> Result<Option<Entry>, Refusal> {
        let found = (request.lookup)(slug);
        if !self.applies_to(request.partition) {
            return Ok(found);
        }
        let entry = found.ok_or_else(|| Refusal::new(request.phase, Reason::ToolkitUnavailable, slug))?;
        let refuse = |reason| Err(Refusal::new(request.phase, reason, &entry.slug));
        let enabled = if entry.host {
            if !self.host_toolkits {
                return refuse(Reason::ToolkitUnavailable);
            }
            &request.allow.host
        } else {
            if !self.allows_builtin(&entry.slug) {
                return refuse(Reason::BuiltinNotPermitted);
            }
            &request.allow.builtin
        };
        if request.lists_apply(&entry.slug) && !enabled.holds(&entry.slug) {
            return refuse(Reason::ToolkitUnavailable);
        }
        Ok(Some(entry))
    }
}

impl TenantToolingPolicy {
    /// Judges one tool or toolkit by itself, where nothing is held, no secrets are at stake and no list of the tenant was asked
    /// for: a call, a build, a row of the catalogue.
    ///
    /// # Errors
    /// As [`Self::check_slug`].
    pub fn check_one(
        &self,
        phase: Phase,
        partition: &Partition,
        slug: &str,
        lookup: &dyn Fn(&str) -> Option<Entry>,
    ) -> Result<(), Refusal> {
        let (allow, held) = (AllowLists::default(), BTreeSet::new());
        let request = Request { phase, partition, allow: &allow, held: &held, secrets: SecretOwner::Client, lookup };
        self.check_slug(&request, slug).map(drop)
    }
}

impl Request<'_> {
    fn lists_apply(&self, slug: &str) -> bool {
        let held = || self.held.iter().any(|held| super::same_slug(held, slug));
        self.phase != Phase::Build && !self.partition.is_global() && !held()
    }

    fn secrets_permitted(
        &self,
        refs: &BTreeMap<String, String>,
        owner: Option<&str>,
        expected: impl Fn(&AgentRef<'_>) -> String,
    ) -> bool {
        if refs.is_empty() && owner.is_none() {
            return true;
        }
        match &self.secrets {
            // Nothing the server made can come in by an attach.
            SecretOwner::Server(agent) if self.phase != Phase::Attach => {
                let name = expected(agent);
                owner == Some(agent.owner) && refs.values().all(|given| *given == name)
            }
            SecretOwner::Server(_) | SecretOwner::Client => false,
        }
    }
}
