//! The scope gate: before anything else, for every tool that works on data of one tenant.

use crate::Facts;
use rules::scope::{BoundRequest, ScopeReason, ToolScope, tool_scope_gate};

/// Proof that the scope gate of a tool was passed. Owns the scope the tool may act in.
#[derive(Clone, Debug)]
pub struct InScope {
    scope: Option<ToolScope>,
    tool: String,
}

impl InScope {
    /// The tenant, when there is a scope.
    pub fn tenant(&self) -> Option<&str> {
        self.scope.as_ref().and_then(|scope| scope.caller.tenant())
    }

    /// The scope, when there is one.
    pub fn scope(&self) -> Option<&ToolScope> {
        self.scope.as_ref()
    }

    pub(crate) fn is_for(&self, facts: &Facts) -> bool {
        self.tool == facts.name
    }
}

/// Passes the gate.
///
/// # Errors
/// The first reason why a tenant-bound tool has no valid scope.
pub fn enter(facts: &Facts, request: Option<&BoundRequest>) -> Result<InScope, ScopeReason> {
    if facts.tenant_bound {
        tool_scope_gate(request)?;
    }
    Ok(InScope { scope: request.and_then(|r| r.scope.clone()), tool: facts.name.clone() })
}
