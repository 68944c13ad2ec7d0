//! What all handlers share, and who calls.

use crate::ServerSettings;
use crate::limits::Limits;
use crate::lists::Lists;
use crate::metrics::Metrics;
use crate::repeat::Repeats;
use crate::sign_in::{SignInSource, session};
use contract::{Code, Result, StudioError};
use engine::{Caller, Engine, SignIn};
use http::HeaderMap;
use std::sync::Arc;
use tokio::sync::watch;

/// What all handlers share.
pub struct Shared {
    /// The engine.
    pub engine: Engine,
    /// Who checks credentials.
    pub sign_in: Arc<dyn SignInSource>,
    /// The settings.
    pub settings: ServerSettings,
    pub(crate) limits: Limits,
    pub(crate) metrics: Metrics,
    pub(crate) repeats: Repeats,
    pub(crate) lists: Lists,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// The caller of a request whose route may name a tenant.
    pub(crate) async fn caller(&self, headers: &HeaderMap, route_tenant: Option<String>) -> Result<Caller> {
        let sign_in = self.sign_in.sign_in(headers).await?.filter(|sign_in| !sign_in.user_id.is_empty());
        let sign_in: SignIn = sign_in.ok_or_else(|| {
            StudioError::new(Code::Unauthorized, 401, "Sign in first: send 'Authorization: Bearer TOKEN'.")
        })?;
        self.limits.pass(&sign_in.credential)?;
        Ok(Caller { sign_in: Some(sign_in), route_tenant, session: session(headers)? })
    }
}
