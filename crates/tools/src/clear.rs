//! Clearing: the only way from a wish to a run.

use crate::facts::ServerValue;
use crate::{Args, Facts, Granted, InScope, Look, Tool};
use contract::turn::CallResult;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use trust::approvals::Approval;

/// A built tool together with its registered facts. Made by the registry only, so that a tool cannot speak for itself.
#[derive(Clone)]
pub struct Bound {
    pub(crate) facts: Arc<Facts>,
    pub(crate) tool: Arc<dyn Tool>,
}

impl std::fmt::Debug for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bound").field("name", &self.facts.name).finish_non_exhaustive()
    }
}

impl Bound {
    /// The registered facts.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What a call would change, when the tool can say. A failing preview says nothing; it refuses nothing either.
    pub async fn preview(&self, scope: &InScope, args: &Args, within: Duration) -> Option<Value> {
        let filled = self.filled(args.value(), scope);
        let look = Look { method: &self.facts.method, args: &filled, scope };
        let looking = AssertUnwindSafe(async { self.tool.preview(look).await });
        match tokio::time::timeout(within, catch(looking)).await {
            Ok(Ok(Ok(preview))) => preview,
            _ => None,
        }
    }

    /// Whether a call that had started has run, when the tool can tell.
    pub async fn did_run(&self, scope: &InScope, args: &Value, key: &str, within: Duration) -> Option<bool> {
        let filled = self.filled(args, scope);
        let look = Look { method: &self.facts.method, args: &filled, scope };
        match tokio::time::timeout(within, catch(AssertUnwindSafe(async { self.tool.did_run(look, key).await }))).await
        {
            Ok(Ok(answer)) => answer,
            _ => None,
        }
    }

    /// Closes the tool; for whoever built it, once.
    ///
    /// # Errors
    /// What the tool said.
    pub async fn close(&self) -> Result<(), String> {
        match catch(AssertUnwindSafe(self.tool.close())).await {
            Ok(closed) => closed,
            Err(()) => Err("it failed inside".into()),
        }
    }

    fn filled(&self, args: &Value, scope: &InScope) -> Value {
        let mut args = args.clone();
        if let (Value::Object(map), Some(bound)) = (&mut args, scope.scope()) {
            for (name, value) in &self.facts.server_managed {
                let value = match value {
                    ServerValue::Tenant => bound.caller.tenant().map(str::to_owned),
                    ServerValue::Caller => bound.caller.user_id().map(str::to_owned),
                    ServerValue::Agent => bound.agent.as_ref().map(|agent| agent.agent_id.clone()),
                };
                map.insert(name.clone(), value.map_or(Value::Null, Value::String));
            }
        }
        args
    }
}

/// Why a call is not cleared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCleared {
    /// It is a write that needs an approval.
    #[error("this call needs a person's approval")]
    NeedsApproval,
    /// The approval is for another tool, or for the tool as it was before it changed.
    #[error("the approval is for another tool than the one that would run")]
    OtherTool,
    /// The approved arguments no longer fit the tool.
    #[error("the approved arguments do not fit the tool: {0}")]
    Args(String),
    /// The scope gate was passed for another tool.
    #[error("the scope was checked for another tool")]
    OtherScope,
}

/// A call that may run, once: it has no `Clone` and running ends it.
///
/// It can only be made here; a tool cannot be run without it:
///
/// ```compile_fail
/// # use astudio_tools as tools;
/// async fn around(tool: &dyn tools::Tool, look: tools::Look<'_>) {
///     let granted = tools::Granted { look, key: None };
///     let _ = tool.run(granted).await;
/// }
/// ```
///
/// ```compile_fail
/// # use astudio_tools as tools;
/// fn forge(bound: tools::Bound, scope: tools::InScope) -> tools::Cleared {
///     tools::Cleared { bound, scope, args: serde_json::Value::Null, key: None }
/// }
/// ```
///
/// nor run twice:
///
/// ```compile_fail
/// # use astudio_tools as tools;
/// async fn twice(cleared: tools::Cleared) {
///     let _ = cleared.execute(std::time::Duration::from_secs(1)).await;
///     let _ = cleared.execute(std::time::Duration::from_secs(1)).await;
/// }
/// ```
///
/// and what runs is what was approved, not what is passed again:
///
/// ```compile_fail
/// # use astudio_tools as tools;
/// async fn other(bound: &tools::Bound, scope: tools::InScope, a: trust::approvals::Approval, args: tools::Args) {
///     let _ = tools::Cleared::approved(bound, scope, a, args);
/// }
/// ```
///
/// The right way:
///
/// ```
/// # use astudio_tools as tools;
/// async fn right(bound: &tools::Bound, scope: tools::InScope, a: trust::approvals::Approval) {
///     if let Ok(cleared) = tools::Cleared::approved(bound, scope, a) {
///         let _ = cleared.execute(std::time::Duration::from_secs(1)).await;
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Cleared {
    bound: Bound,
    scope: InScope,
    args: Value,
    key: Option<String>,
}

impl Cleared {
    /// Clears a call that a person approved. The approval is used up.
    ///
    /// # Errors
    /// Nothing runs when the tool is not the approved one.
    pub fn approved(bound: &Bound, scope: InScope, approval: Approval) -> Result<Self, NotCleared> {
        if approval.tool() != bound.facts.name || approval.digest() != bound.facts.digest {
            return Err(NotCleared::OtherTool);
        }
        if !scope.is_for(&bound.facts) {
            return Err(NotCleared::OtherScope);
        }
        let key = approval.id().to_owned();
        let args = approval.into_args();
        let checked = Args::check(&bound.facts, args.clone()).map_err(|fault| NotCleared::Args(fault.to_string()))?;
        if *checked.value() != args {
            return Err(NotCleared::Args("their defaults have changed".into()));
        }
        Ok(Self { bound: bound.clone(), scope, args, key: Some(key) })
    }

    /// Clears a call that needs no approval, by its registered facts.
    ///
    /// # Errors
    /// [`NotCleared::NeedsApproval`] for a write that needs one.
    pub fn unenforced(bound: &Bound, scope: InScope, args: Args) -> Result<Self, NotCleared> {
        if bound.facts.needs_approval() {
            return Err(NotCleared::NeedsApproval);
        }
        if !scope.is_for(&bound.facts) {
            return Err(NotCleared::OtherScope);
        }
        Ok(Self { bound: bound.clone(), scope, args: args.into_value(), key: None })
    }

    /// Runs the call.
    ///
    /// # Errors
    /// The tool gave no answer: it failed inside, or its time ran out. A write may have happened all the same.
    pub async fn execute(self, within: Duration) -> Result<CallResult, Unanswered> {
        let filled = self.bound.filled(&self.args, &self.scope);
        let look = Look { method: &self.bound.facts.method, args: &filled, scope: &self.scope };
        let granted = Granted { look, key: self.key.as_deref() };
        match tokio::time::timeout(within, catch(AssertUnwindSafe(async { self.bound.tool.run(granted).await }))).await
        {
            Ok(Ok(Ok(value))) => Ok(CallResult { ok: true, value, error: None, code: None }),
            Ok(Ok(Err(error))) => Ok(error.into_result()),
            Ok(Err(())) => Err(Unanswered("The tool failed inside.".into())),
            Err(_) => Err(Unanswered(format!("The tool did not answer within {} s.", within.as_secs()))),
        }
    }
}

/// Why a tool gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unanswered(String);

impl Unanswered {
    /// As the result of a call that changes nothing.
    pub fn into_result(self) -> CallResult {
        CallResult { ok: false, value: Value::Null, error: Some(self.0), code: None }
    }
}

/// Polls a future and turns a panic into an error. The future is a block around the tool's own, so that a panic before the
/// tool has made its future is caught too.
async fn catch<F: Future>(future: AssertUnwindSafe<F>) -> Result<F::Output, ()> {
    let mut future = std::pin::pin!(future.0);
    std::future::poll_fn(move |context| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(std::task::Poll::Pending) => std::task::Poll::Pending,
            Ok(std::task::Poll::Ready(output)) => std::task::Poll::Ready(Ok(output)),
            Err(_) => std::task::Poll::Ready(Err(())),
        }
    })
    .await
}
