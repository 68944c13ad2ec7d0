//! What is known of a tool. Facts come from the registration, never from the tool object.

use contract::canonical;
use serde_json::{Value, json};

/// Whether a tool only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It changes nothing.
    Read,
    /// It may change something. Whatever is not declared read is a write.
    Write,
}

impl Access {
    /// `read` or `write`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
        }
    }
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Ships with astudio.
    Builtin,
    /// Registered by the host.
    Host,
    /// Found by a walk through a host's package instead of a registration. Policed and confirmed as host code.
    Walk,
    /// Of an MCP server.
    Mcp,
}

impl Source {
    /// The text of catalogues.
    pub const fn as_str(self) -> &'static str {
        match self {
            Source::Builtin => "builtin",
            Source::Host => "host",
            Source::Walk => "walk",
            Source::Mcp => "mcp",
        }
    }

    /// Whether this is host code.
    pub const fn is_host(self) -> bool {
        matches!(self, Source::Host | Source::Walk)
    }
}

/// The registered facts of one callable tool: a standalone tool, or one method of a toolkit.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    pub(crate) name: String,
    pub(crate) slug: String,
    pub(crate) method: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    pub(crate) access: Access,
    pub(crate) source: Source,
    pub(crate) tenant_bound: bool,
    pub(crate) four_eyes: bool,
    pub(crate) editable: bool,
    pub(crate) marked: bool,
    pub(crate) approval_seconds: Option<i64>,
    pub(crate) server_managed: Vec<(String, ServerValue)>,
    pub(crate) digest: String,
}

/// What the server fills in for a parameter that nobody else may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerValue {
    /// The tenant.
    Tenant,
    /// The calling user's id.
    Caller,
    /// The agent's id.
    Agent,
}

impl ServerValue {
    const fn as_str(self) -> &'static str {
        match self {
            ServerValue::Tenant => "tenant",
            ServerValue::Caller => "caller",
            ServerValue::Agent => "agent",
        }
    }
}

impl Facts {
    /// The name models call it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Slug of the tool or of its toolkit.
    pub fn slug(&self) -> &str {
        &self.slug
    }

    /// The method of the toolkit; the slug of a standalone tool.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// For models and people.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// JSON Schema of the arguments, without server-managed ones.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Read or write.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Where it comes from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Whether it works on data of one tenant and may only run inside a scope.
    pub fn tenant_bound(&self) -> bool {
        self.tenant_bound
    }

    /// Whether the person who asked may not approve it.
    pub fn four_eyes(&self) -> bool {
        self.four_eyes
    }

    /// Whether the person who approves may change the arguments.
    pub fn editable(&self) -> bool {
        self.editable
    }

    /// How long a question about it lives, when it says so itself.
    pub fn approval_seconds(&self) -> Option<i64> {
        self.approval_seconds
    }

    /// Names that the server fills in.
    pub fn server_managed(&self) -> impl Iterator<Item = &str> {
        self.server_managed.iter().map(|(name, _)| name.as_str())
    }

    /// SHA-256 over all facts but how long a question lives: a changed tool voids an approval.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether a call needs an approval: a write of host code always, another tool when it is marked.
    pub fn needs_approval(&self) -> bool {
        (self.source.is_host() && self.access == Access::Write) || self.marked
    }

    /// The rule that makes it ask, in words; none when it does not ask.
    pub fn rule(&self) -> Option<&'static str> {
        match () {
            () if self.source.is_host() && self.access == Access::Write => {
                Some("A tool of the host that writes runs only after a person approved exactly this call.")
            }
            () if self.marked => Some("This tool is marked: each call needs a person's approval."),
            () => None,
        }
    }

    pub(crate) fn sealed(mut self) -> Self {
        let server: Vec<(&str, &str)> =
            self.server_managed.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.digest = canonical::hash(&json!({
            "name": self.name,
            "slug": self.slug,
            "method": self.method,
            "description": self.description,
            "schema": self.schema,
            "access": self.access.as_str(),
            "source": self.source.as_str(),
            "server_managed": server,
            "tenant_bound": self.tenant_bound,
            "four_eyes": self.four_eyes,
            "editable": self.editable,
            "marked": self.marked,
        }));
        self
    }
}
