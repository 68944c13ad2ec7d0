//! Agents: list, read, create, patch, delete, reload, visibility.

use super::common::{
    NamePath, NoVersionQuery, Page, VersionQuery, expected_version_unsupported, reserved_config_key, reserved_key,
};
use crate::operation::{Authoring, Gates};
use crate::operations;
use crate::patch::Patch;
use crate::wire::{Json, JsonBody, NoBody, NoPath, NoQuery};
use crate::{Code, Micros, Result, StudioError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

operations! {
    /// List the agents that the caller can see.
    ListAgents = "agents.list" {
        Get "/agents", Read, Gates::LIST,
        path: NoPath, query: Page, body: NoBody, reply: Json<AgentList>, ok: 200,
        refusals: [InvalidRequest 400],
    }
    /// Read one agent; its definition only for those who manage it.
    GetAgent = "agents.get" {
        Get "/agents/{name}", Read, Gates::RECORD,
        path: NamePath, query: NoQuery, body: NoBody, reply: Json<AgentItem>, ok: 200,
        refusals: [NotFound 404],
    }
    /// Create an agent.
    CreateAgent = "agents.create" {
        Post "/agents" "/agents/{name}", Write, Gates::RECORD.pbac("agents", "create").authoring(Authoring::First),
        path: OptionalNamePath, query: NoQuery, body: AgentCreate, reply: Json<AgentCreated>, ok: 201,
        refusals: [AuthoringDenied 403, InvalidRoute 400, InvalidJson 400, ExpectedVersionUnsupported 400, InvalidRequest 400,
            InvalidName 400, InvalidCategory 400, ReservedConfigKey 400, TenantRequired 422, GroupsRequired 422,
            GroupsNotAllowed 422, NameTaken 409, Unavailable 503, InvalidBotClass 400, InvalidConfig 422,
            UnsupportedConfigKey 422, InvalidName 400, InvalidVisibility 422, BotClassNotAllowed 422,
            ToolingNotPermitted 422, NameTaken 409],
    }
    /// Change an agent by a merge patch: what is left out stays, null clears.
    PatchAgent = "agents.patch" {
        Patch "/agents/{name}", Write, Gates::RECORD.pbac("agents", "update").authoring(Authoring::Late),
        path: NamePath, query: NoQuery, body: AgentPatch, reply: Json<AgentItem>, ok: 200,
        refusals: [NotStudioAgent 409, NotFound 404, NotManageable 403, AuthoringDenied 403, InvalidJson 400,
            InvalidRequest 400, NameImmutable 422, ReservedConfigKey 400, InvalidExpectedVersion 400, InvalidConfig 422,
            InvalidRequest 422, InvalidCategory 400, VersionConflict 409, BotClassNotAllowed 422,
            UnsupportedConfigKey 422, ToolingNotPermitted 422],
    }
    /// Delete an agent with all that hangs on it.
    DeleteAgent = "agents.delete" {
        Delete "/agents/{name}", Write, Gates::RECORD.pbac("agents", "delete").authoring(Authoring::Late),
        path: NamePath, query: VersionQuery, body: NoBody, reply: Json<Deleted>, ok: 200,
        refusals: [NotFound 404, NotManageable 403, AuthoringDenied 403, InvalidExpectedVersion 400, VersionConflict 409,
            Delegated 409, NotOwner 403, NoDefinition 409, DeleteRefused 409],
    }
    /// Build an agent anew from its current record.
    ReloadAgent = "agents.reload" {
        Post "/agents/{name}/reload", Write, Gates::RECORD.pbac("agents", "reload").authoring(Authoring::Late),
        path: NamePath, query: NoVersionQuery, body: NoBody, reply: Json<Reloaded>, ok: 200,
        refusals: [NotFound 404, NotManageable 403, AuthoringDenied 403, ExpectedVersionUnsupported 400, ReloadFailed 422],
    }
    /// Change who can see an agent.
    SetAgentVisibility = "agents.visibility" {
        Patch "/agents/{name}/visibility", Write, Gates::RECORD,
        path: NamePath, query: NoQuery, body: VisibilityPatch, reply: Json<AgentItem>, ok: 200,
        refusals: [NotFound 404, NotManageable 403, InvalidJson 400, InvalidRequest 400, TenantRequired 422,
            GroupsRequired 422, GroupsNotAllowed 422, InvalidVisibility 422],
    }
}

/// What a category may hold, in words: for hints and refusals alike.
pub const CATEGORY_SIGNS: &str = "a-z, 0-9, '_' and '-'";

/// `{name}` that a creation must not have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OptionalNamePath {
    /// Present when the request went to an addressed path by mistake: 400 `invalid_route`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
impl crate::wire::Params for OptionalNamePath {}

/// An agent as lists and reads show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentItem {
    /// Unique in its partition.
    pub name: String,
    /// `studio`, or `registry` for agents that the host defines.
    pub source: String,
    /// The same.
    pub origin: String,
    /// User id of the owner.
    pub owner: Option<String>,
    /// Whether it may be used.
    pub enabled: bool,
    /// Id of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Tenant; null in GLOBAL.
    pub tenant: Option<String>,
    /// Grows by one with each change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Micros>,
    /// `private`, `tenant` or `groups`.
    pub visibility: String,
    /// Groups that see it when the visibility is `groups`.
    pub allowed_groups: Vec<String>,
    /// Class of the agent.
    pub class_name: String,
    /// Module, for agents that the host defines.
    pub module: Option<String>,
    /// File, for agents that the host defines.
    pub file_path: Option<String>,
    /// Tags, for agents that the host defines.
    pub tags: Vec<String>,
    /// Priority, for agents that the host defines.
    pub priority: i64,
    /// Whether the host starts it at once.
    pub at_startup: bool,
    /// `provider:model` or `provider`.
    pub llm: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// A slug.
    pub category: Option<String>,
    /// Why the caller sees it: `owner`, `admin`, `tenant`, `groups`, `global`.
    pub access: String,
    /// Whether the caller manages it.
    pub can_manage: bool,
    /// What it is made of; only in reads of one agent by those who manage it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<AgentDefinition>,
}

/// What an agent is made of, as managers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentDefinition {
    /// Class.
    pub bot_class: String,
    /// `provider:model` or `provider`.
    pub llm: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// A slug.
    pub category: String,
    /// Sampling.
    pub model_params: ModelParams,
    /// The prompt.
    pub system_prompt: Option<String>,
    /// Slugs of tools and toolkits.
    pub tools: Vec<Value>,
}

/// Sampling parameters; null = the provider's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelParams {
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// Above 0.
    pub max_tokens: Option<i64>,
    /// Above 0.
    pub top_k: Option<i64>,
    /// Above 0, at most 1.
    pub top_p: Option<f64>,
}

/// A list of agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentList {
    /// The agents, by name unless sorted otherwise.
    pub agents: Vec<AgentItem>,
    /// How many are in this answer.
    pub count: usize,
    /// Where the next page starts; only in paged answers, null at the end.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present_null")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub next_cursor: Option<Option<String>>,
}

/// `Some(None)` travels as null, `None` is left out.
pub(crate) mod present_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<Option<String>>, s: S) -> Result<S::Ok, S::Error> {
        value.as_ref().and_then(Option::as_ref).serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Option<String>>, D::Error> {
        Option::<String>::deserialize(d).map(Some)
    }
}

/// The body of a creation. Shapes of the inner fields are checked in the contract's order by the engine, so they are kept
/// as they came.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("required" = ["name"])))]
pub struct AgentCreate {
    /// Becomes a slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("pattern" = "[A-Za-z0-9]")))]
    pub name: Option<Value>,
    /// Default `BasicBot`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bot_class: Option<String>,
    /// `provider:model` or `provider`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A slug; default `general`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::SLUG)))]
    pub category: Option<String>,
    /// Sampling parameters, `system_prompt`, `tools`; on a plain host free keys too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<AgentConfig>"))]
    pub config: Option<Map<String, Value>>,
    /// Default `private`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["private", "tenant", "groups", null])))]
    pub visibility: Option<String>,
    /// With visibility `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_groups: Option<Vec<String>>,
    /// Ignored here: records are always kept. An explicit false earns a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist: Option<bool>,
}

impl JsonBody for AgentCreate {
    fn before_shape(body: &Map<String, Value>) -> Result<()> {
        if body.contains_key("expected_version") {
            return Err(expected_version_unsupported());
        }
        Ok(())
    }
}

// For the document only: the engine looks at these in the contract's order.

/// What `config` of a creation may hold. On a plain host also free keys.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
struct AgentConfig {
    /// The prompt.
    system_prompt: Option<String>,
    /// Slugs of tools and toolkits.
    tools: Option<Vec<String>>,
    #[schemars(flatten)]
    params: ModelParamsPatch,
}

/// Sampling parameters to set; null = the provider's default. The bounds are those of the catalogue `model-params`.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
struct ModelParamsPatch {
    #[schemars(range(min = 0, max = 2))]
    temperature: Option<f64>,
    #[schemars(range(min = 1))]
    max_tokens: Option<i64>,
    #[schemars(range(min = 1))]
    top_k: Option<i64>,
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1))]
    top_p: Option<f64>,
}

/// What a creation answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentCreated {
    /// The slug it is stored under.
    pub name: String,
    /// Always true.
    pub persisted: bool,
    /// Always `studio`.
    pub source: String,
    /// Always null: nothing is written to files.
    pub file_path: Option<String>,
    /// Id of the record.
    pub agent_id: String,
    /// 1.
    pub version: i64,
    /// Tenant; null in GLOBAL.
    pub tenant: Option<String>,
    /// What the caller should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A merge patch of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AgentPatch {
    /// For people; null clears.
    #[serde(default, skip_serializing_if = "Patch::is_absent")]
    pub description: Patch<String>,
    /// `provider:model` or `provider`; null clears.
    #[serde(default, skip_serializing_if = "Patch::is_absent")]
    pub llm: Patch<String>,
    /// Sampling parameters, each a patch of its own; null clears all. Checked by the engine.
    #[serde(default, skip_serializing_if = "Patch::is_absent")]
    #[cfg_attr(feature = "schema", schemars(with = "Patch<ModelParamsPatch>"))]
    pub model_params: Patch<Map<String, Value>>,
    /// The prompt; null clears.
    #[serde(default, skip_serializing_if = "Patch::is_absent")]
    pub system_prompt: Patch<String>,
    /// A slug; null gives `general`.
    #[serde(default, skip_serializing_if = "Patch::is_absent")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::SLUG)))]
    pub category: Patch<String>,
    /// The version the caller read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::ExpectedVersion"))]
    pub expected_version: Option<Value>,
}

impl JsonBody for AgentPatch {
    const SHAPE_STATUS: u16 = 422;

    fn before_shape(body: &Map<String, Value>) -> Result<()> {
        for key in ["name", "bot_class"] {
            if body.contains_key(key) {
                return Err(StudioError::new(
                    Code::NameImmutable,
                    422,
                    format!("'{key}' of an agent cannot be changed. Create a new agent instead."),
                ));
            }
        }
        if let Some(key) = reserved_key(body) {
            return Err(reserved_config_key(key));
        }
        super::common::expected_version_value(body.get("expected_version")).map(|_| ())
    }
}

/// The body of a visibility change.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VisibilityPatch {
    /// `private`, `tenant` or `groups`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["private", "tenant", "groups"])))]
    pub visibility: String,
    /// With `groups`.
    #[serde(default)]
    pub allowed_groups: Vec<String>,
}

impl JsonBody for VisibilityPatch {}

/// What a deletion answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deleted {
    /// Name of what is gone.
    pub name: String,
    /// Always true.
    pub deleted: bool,
}

/// What a reload answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reloaded {
    /// The agent.
    pub name: String,
    /// Always true.
    pub reloaded: bool,
    /// Always false: the instance before is retired, and closed when nobody uses it.
    pub previous_instance_closed: bool,
    /// What the caller should know.
    pub warnings: Vec<String>,
}
