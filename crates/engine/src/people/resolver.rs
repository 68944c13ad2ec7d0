//! From a sign-in to a scope, by the memberships of this installation.

use crate::failure::Failure;
use crate::{ScopeResolver, SignIn};
use async_trait::async_trait;
use contract::ops::people::Role;
use contract::{Code, Result, StudioError};
use rules::RequestScope;
use store::Store;
use store::repo::people::{self, Standing};

/// The scope resolver of an installation that keeps its own people. Asks the database on each request, so a removal is in
/// force at once.
#[derive(Clone, Debug)]
pub struct Memberships(pub Store);

#[async_trait]
impl ScopeResolver for Memberships {
    async fn resolve(&self, sign_in: &SignIn) -> Result<RequestScope> {
        let user = &sign_in.user_id;
        let Some(tenant) = sign_in.tenant.as_deref().filter(|tenant| !tenant.is_empty()) else {
            let flags = self.0.read::<_, Failure, _>(|tx| Ok(people::user_flags(tx, user)?)).await?;
            let mut scope = RequestScope::new(Some(user), None);
            scope.studio_enabled = true;
            return flags.is_some_and(|(active, _)| active).then_some(scope).ok_or_else(unauthorized);
        };
        let standing = self.0.read::<_, Failure, _>(|tx| Ok(people::standing(tx, tenant, user)?)).await?;
        match standing {
            Some(standing) if standing.user_active && standing.tenant_active => Ok(scope(user, tenant, standing)),
            _ => Err(unauthorized()),
        }
    }
}

/// One answer for all: which of user, tenant and membership is missing is not told.
fn unauthorized() -> StudioError {
    StudioError::new(Code::Unauthorized, 401, "This sign-in is not, or no longer, valid for this tenant.")
}

/// What the role gives. A platform administrator may everything inside the tenant of the sign-in, and nothing outside.
fn scope(user: &str, tenant: &str, standing: Standing) -> RequestScope {
    let platform = standing.platform_admin;
    let mut scope = RequestScope::new(Some(user), Some(tenant));
    scope.groups = standing.groups.into_iter().collect();
    scope.is_superuser = platform;
    scope.may_author = platform || standing.role >= Role::Builder;
    scope.may_administer = platform || standing.role == Role::Admin;
    scope.studio_enabled = true;
    scope
}
