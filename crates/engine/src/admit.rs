//! Admission: the gates in front of every operation, in the contract's order.
//!
//! Authentication, then tenant mismatch, studio disabled, tenant required, PBAC. What follows (404, 403, authoring on
//! records, bodies) belongs to each operation.

use crate::Engine;
use crate::caller::{Caller, SignIn};
use crate::tokens::{narrow, permits};
use contract::operation::{Authoring, Effect, Gates, RoleNeed, TenantNeed};
use contract::{Code, Result, StudioError};
use rules::access::{self, PlainCaller};
use rules::partition::Partition;
use rules::scope::RequestScope;

/// The kind of host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// A resolver gives scopes; records belong to tenants.
    OptedIn,
    /// No resolver; records are GLOBAL.
    Plain,
}

/// A caller who passed the gates.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// The user.
    pub user: String,
    /// Opted-in or plain host.
    pub host: Host,
    /// The scope; on a plain host the one the contract gives there. Its user is `user`.
    pub scope: RequestScope,
    /// The partition; none for a caller without a tenant, who sees empty lists only.
    pub partition: Option<Partition>,
    /// The sign-in.
    pub sign_in: SignIn,
    /// Name of the test session that the transport carried.
    pub session: Option<String>,
}

impl Admitted {
    /// The partition of an operation that needs one.
    ///
    /// # Errors
    /// 422 `tenant_required`.
    pub fn partition(&self) -> Result<&Partition> {
        self.partition.as_ref().ok_or_else(tenant_required)
    }

    /// The caller as the access rule knows one.
    pub fn access_caller(&self) -> access::Caller {
        match self.host {
            Host::OptedIn => access::Caller::OptedIn(self.scope.clone()),
            Host::Plain => access::Caller::Plain(PlainCaller {
                user_id: Some(self.user.clone()),
                is_superuser: self.scope.is_superuser,
            }),
        }
    }

    /// The authoring gate, for operations that ask after 404 and 403.
    ///
    /// # Errors
    /// 403 `authoring_denied`.
    pub fn require_author(&self) -> Result<()> {
        if self.host == Host::OptedIn && !self.scope.may_author {
            return Err(StudioError::new(
                Code::AuthoringDenied,
                403,
                "Your role may not author agents or tools here. Ask an administrator for the Builder role.",
            ));
        }
        Ok(())
    }
}

fn tenant_required() -> StudioError {
    StudioError::new(Code::TenantRequired, 422, "This needs a tenant, and your sign-in has none.")
}

impl Engine {
    /// Runs the gates.
    ///
    /// # Errors
    /// The refusal of the first gate that does not open.
    pub async fn admit(&self, caller: Caller, gates: &Gates, effect: Effect) -> Result<Admitted> {
        let Some(sign_in) = caller.sign_in.filter(|s| !s.user_id.is_empty()) else {
            return Err(StudioError::new(Code::Unauthorized, 401, "Sign in first."));
        };
        let (host, mut scope) = match &self.resolver {
            Some(resolver) => (Host::OptedIn, resolver.resolve(&sign_in).await?),
            None => (Host::Plain, plain_scope(&sign_in)),
        };
        // Here and not by a resolver, for a host brings its own.
        narrow(&mut scope, sign_in.token_scopes.as_deref());
        let user = scope.user_id().unwrap_or(&sign_in.user_id).to_owned();
        let tenant = scope.tenant().map(str::to_owned);
        let scope = with_user(scope, &user);

        if caller.route_tenant.is_some() && caller.route_tenant != tenant {
            return Err(StudioError::new(
                Code::TenantMismatch,
                403,
                "This address belongs to another tenant than your sign-in.",
            ));
        }
        if gates.studio && host == Host::OptedIn && !scope.studio_enabled {
            return Err(StudioError::new(Code::StudioDisabled, 404, "Studio is not enabled here."));
        }
        let partition = match (host, &tenant) {
            (Host::Plain, _) => Some(Partition::GLOBAL),
            (Host::OptedIn, Some(tenant)) => Some(Partition::tenant(tenant).map_err(|_| tenant_required())?),
            (Host::OptedIn, None) => None,
        };
        if partition.is_none() && gates.tenant == TenantNeed::Required {
            return Err(tenant_required());
        }
        if !permits(sign_in.token_scopes.as_deref(), effect) {
            return Err(StudioError::new(
                Code::AccessDenied,
                403,
                "The scopes of this token do not allow this operation.",
            ));
        }
        let admitted = Admitted { user, host, scope, partition, sign_in, session: caller.session };
        match gates.role {
            RoleNeed::None => {}
            RoleNeed::Admin if admitted.scope.may_administer || admitted.scope.is_superuser => {}
            RoleNeed::Platform if admitted.scope.is_superuser => {}
            RoleNeed::Admin => {
                return Err(StudioError::new(
                    Code::AdminRequired,
                    403,
                    "Only an administrator of the tenant may do this.",
                ));
            }
            RoleNeed::Platform => {
                return Err(StudioError::new(
                    Code::AdminRequired,
                    403,
                    "Only an administrator of the platform may do this.",
                ));
            }
        }
        if gates.authoring == Authoring::BeforePbac {
            admitted.require_author()?;
        }
        self.ask_pbac(&admitted.scope, gates)?;
        if gates.authoring == Authoring::First {
            admitted.require_author()?;
        }
        Ok(admitted)
    }

    /// The PBAC gate; asked again when a record changed between check and write.
    ///
    /// # Errors
    /// 403 `pbac_denied`.
    pub fn ask_pbac(&self, scope: &RequestScope, gates: &Gates) -> Result<()> {
        if let (Some((area, verb)), Some(pbac)) = (gates.pbac, &self.pbac)
            // Fails open: an evaluator that cannot answer does not lock everybody out.
            && pbac.allows(scope, &format!("astudio:{area}"), &format!("astudio:{area}:{verb}")) == Some(false)
        {
            let message = format!("The policy of this installation denies astudio:{area}:{verb} to you.");
            return Err(StudioError::new(Code::PbacDenied, 403, message));
        }
        Ok(())
    }
}

/// The scope of a plain host: the session's single programme as tenant, superuser as the session says.
fn plain_scope(sign_in: &SignIn) -> RequestScope {
    let tenant = match sign_in.programmes.as_slice() {
        [one] => Some(one.as_str()),
        _ => None,
    };
    let mut scope = RequestScope::new(Some(&sign_in.user_id), tenant);
    scope.is_superuser = sign_in.superuser;
    scope.may_author = true;
    scope.studio_enabled = true;
    scope
}

/// The scope with this user, for a resolver that names none: records are owned by who signed in.
fn with_user(scope: RequestScope, user: &str) -> RequestScope {
    if scope.user_id().is_some() {
        return scope;
    }
    let mut named = RequestScope::new(Some(user), scope.tenant());
    named.groups = scope.groups;
    named.is_superuser = scope.is_superuser;
    named.may_author = scope.may_author;
    named.may_administer = scope.may_administer;
    named.studio_enabled = scope.studio_enabled;
    named
}
