//! The tenant tooling policy: which tools, toolkits and MCP servers the agents of a tenant may hold and use.
//!
//! Pure: it judges the final normalised tooling, before anything is stored and before any process starts. What the host must answer (its
//! allow-lists per tenant, what a slug means) is passed in.

mod check;
mod endpoint;
mod mcp;
mod refusal;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

pub use check::{AgentRef, Entry, Request, SecretOwner, Tooling, ToolkitSpec, mcp_vault_name, toolkit_vault_name};
pub use endpoint::{BadEndpoint, EndpointPrefix};
pub use mcp::{McpSpec, effective_config};
pub use refusal::{Phase, Reason, Refusal};

use crate::partition::Partition;

/// Transports a tenant may use where the host names no others.
const TRANSPORTS: [&str; 3] = ["http", "sse", "streamable-http"];
/// Fields a tenant may set on a server that the host registered, where the host names no others.
const TENANT_FIELDS: [&str; 3] = ["allowed_tools", "blocked_tools", "description"];

/// The policy of a host. One per application, fixed before it starts.
#[derive(Clone, Debug)]
pub struct TenantToolingPolicy {
    /// Slugs of built-ins that tenants may use, in any case.
    pub builtin_tools: BTreeSet<String>,
    /// Where a tenant's own MCP servers may be.
    pub mcp_endpoints: Vec<EndpointPrefix>,
    /// Servers that the host registered, by name; a tenant takes one by naming it.
    pub mcp_servers: BTreeMap<String, HostMcpServer>,
    /// Transports of a tenant's own servers.
    pub mcp_transports: BTreeSet<String>,
    /// Whether host toolkits may be used at all.
    pub host_toolkits: bool,
    /// Whether GLOBAL records are judged too.
    pub apply_to_global: bool,
    /// The host is the person: see [`TenantToolingPolicy::own_machine`].
    own_machine: bool,
}

/// An MCP server that the host registered. Its configuration may start a local process: the host vouches for it.
#[derive(Clone, Debug, PartialEq)]
pub struct HostMcpServer {
    /// The configuration, without the name.
    pub config: Map<String, Value>,
    /// Fields a tenant may set on it.
    pub tenant_fields: BTreeSet<String>,
}

impl HostMcpServer {
    /// A server whose tools a tenant may narrow and describe.
    pub fn new(config: Map<String, Value>) -> Self {
        Self { config, tenant_fields: TENANT_FIELDS.map(str::to_owned).into() }
    }
}

impl TenantToolingPolicy {
    /// The default: host toolkits only; no built-ins, no MCP server.
    pub fn deny_all() -> Self {
        Self {
            builtin_tools: BTreeSet::new(),
            mcp_endpoints: Vec::new(),
            mcp_servers: BTreeMap::new(),
            mcp_transports: TRANSPORTS.map(str::to_owned).into(),
            host_toolkits: true,
            apply_to_global: false,
            own_machine: false,
        }
    }

    /// For a person's own machine, where host, tenant and user are one: every built-in, MCP servers anywhere, and such as are local
    /// processes. Unknown slugs, foreign secrets and changed host servers are still refused.
    pub fn own_machine() -> Self {
        Self { own_machine: true, ..Self::deny_all() }
    }

    /// Whether the records of the partition are judged.
    pub fn applies_to(&self, partition: &Partition) -> bool {
        !partition.is_global() || self.apply_to_global
    }

    fn allows_builtin(&self, slug: &str) -> bool {
        self.own_machine || self.builtin_tools.iter().any(|allowed| same_slug(allowed, slug))
    }
}

impl Default for TenantToolingPolicy {
    fn default() -> Self {
        Self::deny_all()
    }
}

/// The slugs that are enabled for one tenant, as the host's callback answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AllowList {
    /// No restriction beyond the other rules.
    #[default]
    Unrestricted,
    /// Exactly these.
    Only(BTreeSet<String>),
}

impl AllowList {
    /// Nothing is enabled: also what a callback that failed means.
    pub fn nothing() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// Reads an answer given as JSON: null is unrestricted, a text that one slug, an array of texts exactly those, anything else nothing.
    pub fn from_json(answer: &Value) -> Self {
        match answer {
            Value::Null => Self::Unrestricted,
            Value::String(slug) => Self::Only([slug.clone()].into()),
            Value::Array(slugs) => slugs
                .iter()
                .map(|slug| slug.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .map_or_else(Self::nothing, Self::Only),
            _ => Self::nothing(),
        }
    }

    fn holds(&self, slug: &str) -> bool {
        match self {
            Self::Unrestricted => true,
            Self::Only(slugs) => slugs.iter().any(|allowed| same_slug(allowed, slug)),
        }
    }
}

/// The allow-lists of one tenant. Asked for once per request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowLists {
    /// For host toolkits and tools.
    pub host: AllowList,
    /// For built-ins.
    pub builtin: AllowList,
}

fn same_slug(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests;
