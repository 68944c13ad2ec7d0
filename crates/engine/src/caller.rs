//! Who calls: the sign-in that a transport checked, and how it becomes a scope.

use async_trait::async_trait;
use contract::Result;
use rules::scope::RequestScope;
use serde_json::Value;

/// A checked sign-in. Made by a transport (a token, a session) or by the program for its own person.
#[derive(Clone, Debug, Default)]
pub struct SignIn {
    /// The user.
    pub user_id: String,
    /// The tenant that the credential is for.
    pub tenant: Option<String>,
    /// Names the credential, not its secret; default test sessions hang on it.
    pub credential: String,
    /// Whether the credential is a personal token, and its name the token's id.
    pub is_token: bool,
    /// What the credential is limited to; none = all that the role gives.
    pub token_scopes: Option<Vec<String>>,
    /// Plain host only: the session says superuser.
    pub superuser: bool,
    /// Plain host only: the session's programmes.
    pub programmes: Vec<String>,
    /// What else the host's sign-in said, for its own resolver.
    pub claims: Value,
}

/// A request's caller, as a transport knows it.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// None: nobody signed in.
    pub sign_in: Option<SignIn>,
    /// The tenant in the route, where the prefix has one.
    pub route_tenant: Option<String>,
    /// Name of the test session that the transport carried beside the request.
    pub session: Option<String>,
}

impl Caller {
    /// A caller who signed in as this user for this tenant.
    pub fn user(user_id: impl Into<String>, tenant: Option<&str>) -> Self {
        let user_id = user_id.into();
        Self {
            sign_in: Some(SignIn {
                credential: user_id.clone(),
                user_id,
                tenant: tenant.map(str::to_owned),
                ..SignIn::default()
            }),
            ..Self::default()
        }
    }
}

/// Turns a sign-in into a scope, once per request. A host with one is *opted in*; a host without is a *plain host*.
#[async_trait]
pub trait ScopeResolver: Send + Sync {
    /// The scope of this sign-in now.
    ///
    /// # Errors
    /// 401 when the user, the tenant or the membership no longer stands.
    async fn resolve(&self, sign_in: &SignIn) -> Result<RequestScope>;
}
