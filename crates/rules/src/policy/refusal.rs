//! Where the policy is asked, and how it refuses.

use std::fmt;

use contract::{Code, StudioError};
use serde::Serialize;
use serde_json::{Value, json};

/// Where the policy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Tooling or a record that holds tooling is written.
    Write,
    /// A draft is activated.
    Activate,
    /// A tool is attached to a live agent, or shown in the catalogue.
    Attach,
    /// An agent is built. The tenant's allow-lists do not count: what was disabled later must still build, and is refused when called.
    Build,
    /// A tool is called.
    Execute,
}

impl Phase {
    /// The HTTP status of a refusal.
    pub fn status(self) -> u16 {
        match self {
            Self::Execute => 403,
            Self::Write | Self::Activate | Self::Attach | Self::Build => 422,
        }
    }
}

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The slug is unknown, host toolkits are off, or the tenant's list does not hold it.
    ToolkitUnavailable,
    /// A built-in that tenants may not use.
    BuiltinNotPermitted,
    /// An MCP server that would start a process or use a socket of this machine.
    LocalExecution,
    /// An MCP transport that tenants may not use.
    TransportNotPermitted,
    /// An MCP address that is missing, unsafe or under no allowed prefix.
    EndpointNotAllowed,
    /// An MCP field that tenants may not set; the item is `<server>.<field>`.
    FieldNotPermitted,
    /// Part of the vocabulary; an unknown name falls to the rules for a tenant's own servers instead.
    McpServerUnknown,
    /// References to secrets that the server did not make for this agent.
    SecretRefNotPermitted,
    /// The host's parameter hook refused; raised by whoever runs the hook.
    ToolParamsNotPermitted,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::ToolkitUnavailable,
        Self::BuiltinNotPermitted,
        Self::LocalExecution,
        Self::TransportNotPermitted,
        Self::EndpointNotAllowed,
        Self::FieldNotPermitted,
        Self::McpServerUnknown,
        Self::SecretRefNotPermitted,
        Self::ToolParamsNotPermitted,
    ];

    /// As it stands in `details.reason`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolkitUnavailable => "toolkit_unavailable",
            Self::BuiltinNotPermitted => "builtin_not_permitted",
            Self::LocalExecution => "local_execution",
            Self::TransportNotPermitted => "transport_not_permitted",
            Self::EndpointNotAllowed => "endpoint_not_allowed",
            Self::FieldNotPermitted => "field_not_permitted",
            Self::McpServerUnknown => "mcp_server_unknown",
            Self::SecretRefNotPermitted => "secret_ref_not_permitted",
            Self::ToolParamsNotPermitted => "tool_params_not_permitted",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::ToolkitUnavailable => "is not available here",
            Self::BuiltinNotPermitted => "is a built-in that is not permitted here",
            Self::LocalExecution => "would run on the server's own machine",
            Self::TransportNotPermitted => "uses a transport that is not permitted",
            Self::EndpointNotAllowed => "has an address that is not permitted",
            Self::FieldNotPermitted => "is a field that cannot be set here",
            Self::McpServerUnknown => "is not a known server",
            Self::SecretRefNotPermitted => "refers to secrets that are not its own",
            Self::ToolParamsNotPermitted => "has parameters that are not permitted",
        }
    }
}

/// A refusal: code `tooling_not_permitted`, the status of the phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where.
    pub phase: Phase,
    /// Why.
    pub reason: Reason,
    /// The slug, server, or `<server>.<field>`.
    pub item: String,
    /// Names of refused parameters, from the parameter hook.
    pub params: Option<Vec<String>>,
}

impl Refusal {
    /// A refusal of one item.
    pub fn new(phase: Phase, reason: Reason, item: impl Into<String>) -> Self {
        Self { phase, reason, item: item.into(), params: None }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.phase.status()
    }

    /// The `details` of the error.
    pub fn details(&self) -> Value {
        let mut details = json!({"reason": self.reason.as_str(), "item": self.item});
        if let Some(params) = &self.params {
            details["params"] = json!(params);
        }
        details
    }
}

impl From<Refusal> for StudioError {
    fn from(refusal: Refusal) -> Self {
        Self::new(Code::ToolingNotPermitted, refusal.status(), refusal.to_string()).with(refusal.details())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The tooling policy does not permit this: '{}' {}.", self.item, self.reason.words())
    }
}

impl std::error::Error for Refusal {}
