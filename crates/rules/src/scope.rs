//! The scope of a request (who calls, for which tenant) and of a tool call, and the gate that a tenant-bound tool stands behind.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::access::Visibility;
use crate::names::NameError;
use crate::partition::Partition;

/// What the host's scope resolver says about a request. Resolved once per request; a flag that is not given is off.
///
/// User and tenant are read through methods: an empty text counts as none, also for a resolver that sends one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestScope {
    #[serde(default, deserialize_with = "none_if_empty")]
    user_id: Option<String>,
    #[serde(default, deserialize_with = "none_if_empty")]
    tenant: Option<String>,
    /// Groups of the user in the tenant.
    #[serde(default)]
    pub groups: BTreeSet<String>,
    /// Superuser, of this tenant only.
    #[serde(default)]
    pub is_superuser: bool,
    /// May create and change records.
    #[serde(default)]
    pub may_author: bool,
    /// Administers the tenant.
    #[serde(default)]
    pub may_administer: bool,
    /// Studio is switched on for the tenant.
    #[serde(default)]
    pub studio_enabled: bool,
}

impl RequestScope {
    /// A scope without groups and rights.
    pub fn new(user_id: Option<&str>, tenant: Option<&str>) -> Self {
        let given = |text: &&str| !text.is_empty();
        Self {
            user_id: user_id.filter(given).map(str::to_owned),
            tenant: tenant.filter(given).map(str::to_owned),
            ..Self::default()
        }
    }

    /// The user, as text.
    pub fn user_id(&self) -> Option<&str> {
        self.user_id.as_deref()
    }

    /// The tenant.
    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// The partition of the tenant; none without a tenant. Never GLOBAL.
    ///
    /// # Errors
    /// The resolver gave a tenant that is no tenant name.
    pub fn partition(&self) -> Result<Option<Partition>, NameError> {
        self.tenant().map(Partition::tenant).transpose()
    }
}

fn none_if_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()))
}

/// The agent that a tool call belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeAgent {
    /// Row id of the agent.
    pub agent_id: String,
    /// Name of the agent.
    pub name: String,
    /// Owner of the agent.
    pub owner: Option<String>,
    /// Tenant of the agent.
    pub tenant: Option<String>,
    /// Visibility of the agent.
    pub visibility: Visibility,
}

/// What is bound for the tools of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolScope {
    /// Who calls.
    pub caller: RequestScope,
    /// The agent; none for a call without one (direct execution, the assistant).
    pub agent: Option<ScopeAgent>,
}

/// A request that tools run in. On a plain host it carries no scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundRequest {
    /// The scope, in an opted-in host.
    pub scope: Option<ToolScope>,
}

/// Why a tenant-bound tool has no valid scope, in the order in which the gate asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeReason {
    /// No request is bound.
    NoContext,
    /// The request carries no scope (a plain host).
    NoScope,
    /// The caller has no tenant.
    NoTenant,
    /// The agent has no tenant.
    AgentTenantUnset,
    /// The agent's tenant is not the caller's.
    TenantMismatch,
    /// Raised by host code alone: its own record is another tenant's.
    HostTenantMismatch,
}

impl ScopeReason {
    /// As it stands in `details.reason`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoContext => "no_context",
            Self::NoScope => "no_scope",
            Self::NoTenant => "no_tenant",
            Self::AgentTenantUnset => "agent_tenant_unset",
            Self::TenantMismatch => "tenant_mismatch",
            Self::HostTenantMismatch => "host_tenant_mismatch",
        }
    }
}

impl fmt::Display for ScopeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A scope that passed the gate: it has a tenant, and the agent, if there is one, is of that tenant. Made by [`tool_scope_gate`] only.
#[derive(Clone, Copy, Debug)]
pub struct BoundScope<'a> {
    tenant: &'a str,
    scope: &'a ToolScope,
}

impl<'a> BoundScope<'a> {
    /// The tenant, of caller and agent alike.
    pub fn tenant(&self) -> &'a str {
        self.tenant
    }

    /// The whole scope.
    pub fn scope(&self) -> &'a ToolScope {
        self.scope
    }
}

/// The gate before a tenant-bound tool: nothing of the tool may run, not even its constructor, before this has passed.
///
/// # Errors
/// The first reason, in the order of [`ScopeReason`].
pub fn tool_scope_gate(request: Option<&BoundRequest>) -> Result<BoundScope<'_>, ScopeReason> {
    let request = request.ok_or(ScopeReason::NoContext)?;
    let scope = request.scope.as_ref().ok_or(ScopeReason::NoScope)?;
    let tenant = scope.caller.tenant().ok_or(ScopeReason::NoTenant)?;
    if let Some(agent) = &scope.agent {
        match agent.tenant.as_deref() {
            None | Some("") => return Err(ScopeReason::AgentTenantUnset),
            Some(other) if other != tenant => return Err(ScopeReason::TenantMismatch),
            Some(_) => {}
        }
    }
    Ok(BoundScope { tenant, scope })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn agent(tenant: Option<&str>) -> ScopeAgent {
        ScopeAgent {
            agent_id: "id".into(),
            name: "a".into(),
            owner: Some("u1".into()),
            tenant: tenant.map(str::to_owned),
            visibility: Visibility::Private,
        }
    }

    fn bound(tenant: Option<&str>, agent: Option<ScopeAgent>) -> BoundRequest {
        BoundRequest { scope: Some(ToolScope { caller: RequestScope::new(Some("u1"), tenant), agent }) }
    }

    #[test]
    fn reasons_in_their_order() {
        let reason = |request: Option<&BoundRequest>| tool_scope_gate(request).err();
        assert_eq!(reason(None), Some(ScopeReason::NoContext));
        assert_eq!(reason(Some(&BoundRequest::default())), Some(ScopeReason::NoScope));
        assert_eq!(reason(Some(&bound(None, Some(agent(None))))), Some(ScopeReason::NoTenant));
        assert_eq!(reason(Some(&bound(Some(""), None))), Some(ScopeReason::NoTenant));
        assert_eq!(reason(Some(&bound(Some("acme"), Some(agent(None))))), Some(ScopeReason::AgentTenantUnset));
        assert_eq!(reason(Some(&bound(Some("acme"), Some(agent(Some("")))))), Some(ScopeReason::AgentTenantUnset));
        assert_eq!(reason(Some(&bound(Some("acme"), Some(agent(Some("globex")))))), Some(ScopeReason::TenantMismatch));
        for request in [bound(Some("acme"), Some(agent(Some("acme")))), bound(Some("acme"), None)] {
            assert_eq!(tool_scope_gate(Some(&request)).unwrap().tenant(), "acme");
        }
    }

    #[test]
    fn json_of_the_scope() {
        let text = r#"{"user_id":"u1","tenant":"","groups":["g1"],"is_superuser":false,"may_author":true,"may_administer":false,"studio_enabled":true}"#;
        let scope: RequestScope = serde_json::from_str(text).unwrap();
        assert_eq!(scope.tenant(), None);
        assert_eq!(scope.user_id(), Some("u1"));
        assert!(scope.may_author && scope.studio_enabled);
        assert_eq!(serde_json::to_string(&scope).unwrap(), text.replace("\"tenant\":\"\"", "\"tenant\":null"));
        let bare: RequestScope = serde_json::from_str("{}").unwrap();
        assert_eq!(bare, RequestScope::default());
        assert!(serde_json::from_str::<RequestScope>(r#"{"is_superuser":"yes"}"#).is_err());
    }

    #[test]
    fn partitions_of_scopes() {
        assert_eq!(RequestScope::new(None, Some("acme")).partition().unwrap().unwrap().as_str(), "acme");
        assert_eq!(RequestScope::new(None, None).partition(), Ok(None));
        // The stored form of GLOBAL is no way into it.
        assert!(RequestScope::new(None, Some("-")).partition().is_err());
    }
}
