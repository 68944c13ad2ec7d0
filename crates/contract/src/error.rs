//! The one error of the contract.

use crate::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What an operation answers.
pub type Result<T> = std::result::Result<T, StudioError>;

/// A refusal: the body of every answer that is not a success.
///
/// `message` says what was wrong and what to do, and never holds a secret, a server path or a list of what is installed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct StudioError {
    /// Machine-readable reason.
    pub code: Code,
    /// HTTP status; some codes have two.
    pub status: u16,
    /// For a person.
    pub message: String,
    /// An object or a list, by code.
    pub details: Option<Value>,
}

/// The body as it travels.
#[derive(Serialize, Deserialize)]
struct ErrorBody {
    message: String,
    code: Option<String>,
    details: Option<Value>,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for StudioError {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StudioError".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A refusal: the body of every answer that is not a success.",
            "type": "object",
            "properties": {
                "message": { "description": "For a person: what was wrong and what to do.", "type": "string" },
                "code": generator.subschema_for::<Code>(),
                "details": { "description": "More, by code.", "type": ["object", "array", "null"] },
            },
            "required": ["message", "code", "details"],
            "additionalProperties": false,
        })
    }
}

impl StudioError {
    /// A refusal without details.
    pub fn new(code: Code, status: u16, message: impl Into<String>) -> Self {
        Self { code, status, message: message.into(), details: None }
    }

    /// The same refusal with details.
    #[must_use]
    pub fn with(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// 404 for a record that is absent or that the caller cannot see: one template for both, so that nothing tells them
    /// apart.
    pub fn not_found(kind: &str, name: &str) -> Self {
        Self::new(Code::NotFound, 404, format!("{kind} '{name}' not found."))
    }

    /// 409 for a name that is in use, whoever uses it and wherever.
    pub fn name_taken(slug: &str) -> Self {
        Self::new(Code::NameTaken, 409, format!("Name '{slug}' is not available."))
    }

    /// 400 for a request of the wrong shape.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, 400, message)
    }

    /// 503: the storage cannot be used now; nothing was written.
    pub fn storage_unavailable() -> Self {
        Self::new(
            Code::StudioStorageUnavailable,
            503,
            "The storage cannot be used right now and nothing was changed. Check free disk space and the database, then try again.",
        )
    }

    /// 500 without internals.
    pub fn internal() -> Self {
        Self::new(Code::InternalError, 500, "Something went wrong inside astudio. The log has the details.")
    }

    /// 409: the record changed since the caller read it.
    pub fn version_conflict(current: Option<i64>) -> Self {
        let error = Self::new(
            Code::VersionConflict,
            409,
            "The record has changed since it was read. Read it again, then repeat the change.",
        );
        match current {
            Some(version) => error.with(json!({ "current_version": version })),
            None => error,
        }
    }

    /// The JSON body `{message, code, details}`.
    pub fn body(&self) -> Value {
        json!({ "message": self.message, "code": self.code.as_str(), "details": self.details })
    }

    /// Reads an error body; an unknown or missing code becomes `internal_error` and keeps the message.
    pub fn from_body(status: u16, body: &[u8]) -> Self {
        match serde_json::from_slice::<ErrorBody>(body) {
            Ok(read) => Self {
                code: read.code.as_deref().and_then(Code::parse).unwrap_or(Code::InternalError),
                status,
                message: read.message,
                details: read.details,
            },
            Err(_) => Self::new(Code::InternalError, status, String::from_utf8_lossy(body).trim().to_owned()),
        }
    }
}
