//! Tools, run directly.

use crate::Micros;
use crate::operation::{Authoring, Gates, TenantNeed};
use crate::operations;
use crate::wire::{Json, JsonBody, NoQuery, Params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

operations! {
    /// Run a standalone read tool. Host writes are refused: there is nobody here to approve them.
    ExecuteTool = "tools.execute" {
        Post "/tools/{slug}/execute", Run,
        Gates { tenant: TenantNeed::No, ..Gates::RECORD.pbac("testing", "execute").authoring(Authoring::BeforePbac) },
        path: SlugPath, query: NoQuery, body: ExecuteBody, reply: Json<ToolResult>, ok: 200,
        refusals: [AuthoringDenied 403, InvalidJson 400, InvalidRequest 400, NotFound 404, ToolingNotPermitted 403,
            ToolScopeUnavailable 403, ConfirmationRequired 403, ServerManaged 422, InstantiationFailed 500,
            InvalidArgs 422, ToolCallBlocked 403],
    }
}

/// `{slug}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlugPath {
    /// Slug of a tool.
    pub slug: String,
}
impl Params for SlugPath {}

/// Arguments.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecuteBody {
    /// By the tool's schema.
    #[serde(default)]
    pub args: Map<String, Value>,
}
impl JsonBody for ExecuteBody {}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// Whether it worked.
    pub success: bool,
    /// `success`, `error` or `forbidden`.
    pub status: String,
    /// The result.
    pub result: Value,
    /// What went wrong.
    pub error: Option<String>,
    /// `error_code`, `reason` and the like.
    pub metadata: Value,
    /// When.
    pub timestamp: Micros,
    /// Files; none yet.
    pub files: Vec<Value>,
    /// Pictures; none yet.
    pub images: Vec<Value>,
    /// For voices; none yet.
    pub voice_text: Option<String>,
    /// For displays; none yet.
    pub display_data: Option<Value>,
}
