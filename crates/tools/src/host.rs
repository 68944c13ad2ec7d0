//! How a host declares its tools.

use crate::Tool;
use crate::facts::{Access, Facts, ServerValue, Source};
use schemars::JsonSchema;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) type Factory = Arc<dyn Fn() -> Result<Arc<dyn Tool>, String> + Send + Sync>;

/// The tools of one host. Every slug starts with its prefix.
pub struct HostTools {
    pub(crate) prefix: String,
    pub(crate) source: Source,
    pub(crate) toolkits: Vec<HostToolkit>,
    pub(crate) tools: Vec<HostTool>,
}

/// Why an entry was not registered. The rest of the host's tools are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("host entry '{slug}' was rejected: {why}")]
pub struct Rejected {
    /// The entry.
    pub slug: String,
    /// Why.
    pub why: String,
}

impl HostTools {
    /// Tools of the host with this prefix, such as `desk_`.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), source: Source::Host, toolkits: Vec::new(), tools: Vec::new() }
    }

    /// With a toolkit.
    #[must_use]
    pub fn toolkit(mut self, toolkit: HostToolkit) -> Self {
        self.toolkits.push(toolkit);
        self
    }

    /// With a standalone tool.
    #[must_use]
    pub fn tool(mut self, tool: HostTool) -> Self {
        self.tools.push(tool);
        self
    }
}

/// A toolkit of a host: several methods over one built value.
pub struct HostToolkit {
    pub(crate) slug: String,
    pub(crate) tool_prefix: String,
    pub(crate) about: String,
    pub(crate) category: String,
    pub(crate) tenant_bound: bool,
    pub(crate) methods: Vec<Method>,
    pub(crate) factory: Factory,
}

impl HostToolkit {
    /// A toolkit. `build` makes its value when it is first needed, behind the scope gate; it must not open anything for a
    /// tenant.
    pub fn new(
        slug: impl Into<String>,
        tool_prefix: impl Into<String>,
        about: impl Into<String>,
        build: impl Fn() -> Result<Arc<dyn Tool>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            slug: slug.into(),
            tool_prefix: tool_prefix.into(),
            about: about.into(),
            category: "general".into(),
            tenant_bound: false,
            methods: Vec::new(),
            factory: Arc::new(build),
        }
    }

    /// It works on data of one tenant: every call needs a scope.
    #[must_use]
    pub fn tenant_bound(mut self) -> Self {
        self.tenant_bound = true;
        self
    }

    /// A category for catalogues.
    #[must_use]
    pub fn category(mut self, category: impl Into<String>) -> Self {
        self.category = category.into();
        self
    }

    /// With a method.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.methods.push(method);
        self
    }
}

/// A standalone tool of a host.
pub struct HostTool {
    pub(crate) slug: String,
    pub(crate) about: String,
    pub(crate) category: String,
    pub(crate) tenant_bound: bool,
    pub(crate) method: Method,
    pub(crate) factory: Factory,
}

impl HostTool {
    /// A tool whose arguments, access and description are those of `method`; its name is the slug.
    pub fn new(
        slug: impl Into<String>,
        method: Method,
        build: impl Fn() -> Result<Arc<dyn Tool>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            slug: slug.into(),
            about: method.description.clone(),
            category: "general".into(),
            tenant_bound: false,
            method,
            factory: Arc::new(build),
        }
    }

    /// It works on data of one tenant: every call needs a scope.
    #[must_use]
    pub fn tenant_bound(mut self) -> Self {
        self.tenant_bound = true;
        self
    }

    /// A category for catalogues.
    #[must_use]
    pub fn category(mut self, category: impl Into<String>) -> Self {
        self.category = category.into();
        self
    }
}

/// A method of a toolkit.
#[derive(Clone)]
pub struct Method {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    pub(crate) access: Access,
    pub(crate) four_eyes: bool,
    pub(crate) editable: bool,
    pub(crate) approval_seconds: Option<i64>,
    pub(crate) server_managed: Vec<(String, ServerValue)>,
}

impl Method {
    /// A method that only reads; its arguments are those of `A`.
    pub fn read<A: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { access: Access::Read, ..Self::write::<A>(name, description) }
    }

    /// A method that writes; its arguments are those of `A`.
    pub fn write<A: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::with_schema(name, description, schemars::schema_for!(A).to_value())
    }

    /// A method that writes, with a JSON Schema of its arguments.
    pub fn with_schema(name: impl Into<String>, description: impl Into<String>, mut schema: Value) -> Self {
        if let Value::Object(map) = &mut schema {
            // Arguments nobody declared would run without having been checked.
            map.entry("additionalProperties").or_insert(Value::Bool(false));
            map.entry("properties").or_insert_with(|| json!({}));
            map.remove("$schema");
            map.remove("title");
        }
        Self {
            name: name.into(),
            description: description.into(),
            schema,
            access: Access::Write,
            four_eyes: false,
            editable: true,
            approval_seconds: None,
            server_managed: Vec::new(),
        }
    }

    /// It only reads.
    #[must_use]
    pub fn reads(mut self) -> Self {
        self.access = Access::Read;
        self
    }

    /// The person who asked may not approve it.
    #[must_use]
    pub fn four_eyes(mut self) -> Self {
        self.four_eyes = true;
        self
    }

    /// The person who approves may not change the arguments.
    #[must_use]
    pub fn not_editable(mut self) -> Self {
        self.editable = false;
        self
    }

    /// How long a question about it lives.
    #[must_use]
    pub fn approval_seconds(mut self, seconds: i64) -> Self {
        self.approval_seconds = Some(seconds);
        self
    }

    /// A parameter that the server fills in with the tenant; nobody else can send it. Makes the tool tenant-bound.
    #[must_use]
    pub fn filled_with_tenant(mut self, parameter: impl Into<String>) -> Self {
        self.server_managed.push((parameter.into(), ServerValue::Tenant));
        self
    }

    /// A parameter that the server fills in with the calling user's id. Makes the tool tenant-bound.
    #[must_use]
    pub fn filled_with_caller(mut self, parameter: impl Into<String>) -> Self {
        self.server_managed.push((parameter.into(), ServerValue::Caller));
        self
    }

    /// A parameter that the server fills in with the agent's id. Makes the tool tenant-bound.
    #[must_use]
    pub fn filled_with_agent(mut self, parameter: impl Into<String>) -> Self {
        self.server_managed.push((parameter.into(), ServerValue::Agent));
        self
    }

    pub(crate) fn facts(&self, name: String, slug: &str, source: Source, tenant_bound: bool) -> Result<Facts, String> {
        if let Some((exposed, _)) = self.server_managed.iter().find(|(p, _)| !self.schema["properties"][p].is_null()) {
            return Err(format!("the argument '{exposed}' is filled in by the server and must not be in the schema"));
        }
        if self.schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(format!("the arguments of '{}' must be an object", self.name));
        }
        jsonschema::validator_for(&self.schema).map_err(|e| format!("the schema of '{}' is broken: {e}", self.name))?;
        Ok(Facts {
            name,
            slug: slug.to_owned(),
            method: self.name.clone(),
            description: self.description.clone(),
            schema: self.schema.clone(),
            access: self.access,
            source,
            tenant_bound: tenant_bound || !self.server_managed.is_empty(),
            four_eyes: self.four_eyes,
            editable: self.editable,
            marked: false,
            approval_seconds: self.approval_seconds,
            server_managed: self.server_managed.clone(),
            digest: String::new(),
        }
        .sealed())
    }
}
