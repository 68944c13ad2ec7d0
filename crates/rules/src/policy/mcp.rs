//! MCP servers: what of a specification will really run, and whether a tenant may have that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Phase, Reason, Refusal, TenantToolingPolicy, endpoint};

/// Fields of a tenant's own server.
const OWN_FIELDS: [&str; 10] = [
    "name",
    "url",
    "transport",
    "description",
    "allowed_tools",
    "blocked_tools",
    "auth_type",
    "headers",
    "auth_config",
    "timeout",
];
/// Fields that make a server local.
const LOCAL_FIELDS: [&str; 4] = ["command", "args", "env", "socket_path"];
/// Transports that do.
const LOCAL_TRANSPORTS: [&str; 2] = ["stdio", "unix"];

/// An MCP server as it is configured on an agent. `headers`, `auth_config` and `env` stand in `params`, or as references in
/// `secret_refs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSpec {
    /// Name, unique on the agent.
    pub name: String,
    /// Transport; `auto` finds it from the other fields.
    #[serde(default = "default_transport")]
    pub transport: String,
    /// Address.
    #[serde(default)]
    pub url: Option<String>,
    /// Program of a local server.
    #[serde(default)]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Tools that may be used; all when absent.
    #[serde(default)]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that may not.
    #[serde(default)]
    pub blocked_tools: Option<Vec<String>>,
    /// For people.
    #[serde(default)]
    pub description: Option<String>,
    /// Kind of authentication.
    #[serde(default)]
    pub auth_type: Option<String>,
    /// Everything else, overlaid on the fields above.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// Secret fields: path to vault name.
    #[serde(default)]
    pub secret_refs: BTreeMap<String, String>,
    /// In whose vault they are.
    #[serde(default)]
    pub vault_owner: Option<String>,
}

fn default_transport() -> String {
    "http".to_owned()
}

impl McpSpec {
    /// A server with nothing but a name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            transport: default_transport(),
            url: None,
            command: None,
            args: Vec::new(),
            allowed_tools: None,
            blocked_tools: None,
            description: None,
            auth_type: None,
            params: Map::new(),
            secret_refs: BTreeMap::new(),
            vault_owner: None,
        }
    }
}

/// What the specification amounts to: its fields, overlaid with `params`, each secret field as the mask. Null is no value, in either. So a
/// command that is hidden in `params` counts. Whoever runs the server must start from this map.
pub fn effective_config(spec: &McpSpec) -> Map<String, Value> {
    let args = (!spec.args.is_empty()).then_some(&spec.args);
    let fields = [
        ("name", json!(spec.name)),
        ("transport", json!(spec.transport)),
        ("url", json!(spec.url)),
        ("command", json!(spec.command)),
        ("args", json!(args)),
        ("allowed_tools", json!(spec.allowed_tools)),
        ("blocked_tools", json!(spec.blocked_tools)),
        ("description", json!(spec.description)),
        ("auth_type", json!(spec.auth_type)),
    ]
    .map(|(key, value)| (key.to_owned(), value));
    let secrets = spec.secret_refs.keys().map(|path| {
        let field = path.split('.').next().unwrap_or(path);
        (field.to_owned(), json!(text::MASK))
    });
    fields.into_iter().chain(spec.params.clone()).filter(|(_, value)| !value.is_null()).chain(secrets).collect()
}

impl TenantToolingPolicy {
    /// Judges one server and gives the configuration to run: the effective one, or that of the host's server with what the tenant may
    /// set on it.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn resolve_mcp(&self, phase: Phase, spec: &McpSpec) -> Result<Map<String, Value>, Refusal> {
        let refuse = |reason| Refusal::new(phase, reason, &spec.name);
        let refuse_field = |key: &str| Refusal::new(phase, Reason::FieldNotPermitted, format!("{}.{key}", spec.name));
        let config = effective_config(spec);
        if config.get("name").and_then(Value::as_str) != Some(&spec.name) {
            // A second name in the parameters would decide what runs, and the first what is judged.
            return Err(refuse_field("name"));
        }

        if let Some(host) = self.mcp_servers.get(&spec.name) {
            let mut result = host.config.clone();
            for (key, value) in config {
                if key == "name" || host.tenant_fields.contains(&key) {
                    result.insert(key, value);
                } else if key != "transport" || value != default_transport() {
                    return Err(refuse_field(&key));
                }
            }
            return Ok(result);
        }

        let transport = transport_of(&config);
        let local = LOCAL_FIELDS.iter().any(|key| config.get(*key).is_some_and(truthy))
            || transport.is_some_and(|t| LOCAL_TRANSPORTS.contains(&t.to_ascii_lowercase().trim()));
        if local && !self.own_machine {
            return Err(refuse(Reason::LocalExecution));
        }
        let known = |t: &str| self.mcp_transports.contains(t) || (self.own_machine && LOCAL_TRANSPORTS.contains(&t));
        // A transport that cannot be found has no address either, and falls to that rule.
        let is_auto = config.get("transport").is_some_and(|t| t == "auto");
        if !transport.map_or(is_auto, known) {
            return Err(refuse(Reason::TransportNotPermitted));
        }
        let own = |key: &str| OWN_FIELDS.contains(&key) || (self.own_machine && LOCAL_FIELDS.contains(&key));
        if let Some(key) = config.keys().find(|key| !own(key)) {
            return Err(refuse_field(key));
        }
        let url = config.get("url").map(Value::as_str);
        let reachable = match url {
            // An address that is no text.
            Some(None) => false,
            Some(Some(url)) if self.own_machine => endpoint::is_safe(url),
            Some(Some(url)) => endpoint::is_under(url, &self.mcp_endpoints),
            None => local,
        };
        if reachable { Ok(config) } else { Err(refuse(Reason::EndpointNotAllowed)) }
    }
}

/// The transport, found where it is `auto`; none when it cannot be found or is no text.
fn transport_of(config: &Map<String, Value>) -> Option<&str> {
    let transport = config.get("transport")?.as_str()?;
    if transport != "auto" {
        return Some(transport);
    }
    if config.get("socket_path").is_some_and(truthy) {
        Some("unix")
    } else if let Some(url) = config.get("url").and_then(Value::as_str) {
        let streams = url.contains("events") || url.contains("sse");
        Some(if streams { "sse" } else { "http" })
    } else if config.get("command").is_some_and(truthy) {
        Some("stdio")
    } else {
        None
    }
}

/// Whether a value says anything: not null, false, zero or empty.
fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(value) => value.as_f64() != Some(0.0),
        Value::String(value) => !value.is_empty(),
        Value::Array(value) => !value.is_empty(),
        Value::Object(value) => !value.is_empty(),
    }
}
