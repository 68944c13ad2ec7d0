//! What a tool's author writes.

use crate::scope::InScope;
use async_trait::async_trait;
use contract::turn::CallResult;
use rules::scope::{ScopeAgent, ScopeReason};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A built tool or toolkit. One value may serve many callers at once: it takes who calls from the call, never from itself.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Runs a call. Which method of a toolkit: [`Granted::method`].
    async fn run(&self, call: Granted<'_>) -> Result<Value, ToolError>;

    /// Says what a write would change, without changing anything. Shown to the person who is asked.
    async fn preview(&self, _look: Look<'_>) -> Result<Option<Value>, ToolError> {
        Ok(None)
    }

    /// Says whether a write with this idempotency key has run, when the tool can tell. Asked after a crash.
    async fn did_run(&self, _look: Look<'_>, _key: &str) -> Option<bool> {
        None
    }

    /// Gives back what the tool holds. Called once, when nobody uses it any more.
    ///
    /// # Errors
    /// What went wrong, for the log.
    async fn close(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Why a tool could not do its work.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolError {
    /// In words, for the model and the person.
    Failed(String),
    /// The tool's own record belongs to another tenant than the scope.
    Scope(ScopeReason),
}

impl ToolError {
    /// With a message.
    pub fn new(message: impl Into<String>) -> Self {
        ToolError::Failed(message.into())
    }

    /// As the result of a call.
    pub fn into_result(self) -> CallResult {
        match self {
            ToolError::Failed(message) => {
                CallResult { ok: false, value: Value::Null, error: Some(message), code: None }
            }
            ToolError::Scope(reason) => CallResult {
                ok: false,
                value: serde_json::json!({ "reason": reason.as_str() }),
                error: Some(format!("The tool cannot be used in this scope ({reason}).")),
                code: Some("tool_scope_unavailable".into()),
            },
        }
    }
}

/// A call that may run now. Made by [`crate::Cleared::execute`] only.
pub struct Granted<'a> {
    pub(crate) look: Look<'a>,
    pub(crate) key: Option<&'a str>,
}

impl<'a> Granted<'a> {
    /// The method; the slug of a standalone tool.
    pub fn method(&self) -> &'a str {
        self.look.method
    }

    /// The arguments with server-managed ones filled in.
    ///
    /// # Errors
    /// When the tool's type does not fit its schema.
    pub fn args<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        self.look.args()
    }

    /// The tenant. Always there for a tenant-bound tool.
    pub fn tenant(&self) -> Option<&'a str> {
        self.look.scope.tenant()
    }

    /// The calling user, when there is a scope.
    pub fn caller(&self) -> Option<&'a str> {
        self.look.caller()
    }

    /// The agent, when one calls.
    pub fn agent(&self) -> Option<&'a ScopeAgent> {
        self.look.scope.scope().and_then(|scope| scope.agent.as_ref())
    }

    /// Id of the approval: the same call never carries two. Keep it with what you write, and you can answer
    /// [`Tool::did_run`].
    pub fn idempotency_key(&self) -> Option<&'a str> {
        self.key
    }

    /// The same without the right to run.
    pub fn look(&self) -> &Look<'a> {
        &self.look
    }
}

/// A call that may be looked at, not run: for previews.
pub struct Look<'a> {
    pub(crate) method: &'a str,
    pub(crate) args: &'a Value,
    pub(crate) scope: &'a InScope,
}

impl<'a> Look<'a> {
    /// The method; the slug of a standalone tool.
    pub fn method(&self) -> &'a str {
        self.method
    }

    /// The arguments with server-managed ones filled in.
    ///
    /// # Errors
    /// When the tool's type does not fit its schema.
    pub fn args<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        serde_json::from_value(self.args.clone())
            .map_err(|e| ToolError::new(format!("The arguments do not fit the tool: {e}.")))
    }

    /// The tenant. Always there for a tenant-bound tool.
    pub fn tenant(&self) -> Option<&'a str> {
        self.scope.tenant()
    }

    /// The calling user, when there is a scope.
    pub fn caller(&self) -> Option<&'a str> {
        self.scope.scope().and_then(|scope| scope.caller.user_id())
    }
}
