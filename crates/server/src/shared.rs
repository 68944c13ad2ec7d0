//! What all handlers share, and who calls.

use crate::ServerSettings;
use crate::limits::Limits;
use crate::lists::Lists;
use crate::metrics::Metrics;
use crate::repeat::Repeats;
use crate::sign_in::{SignInSource, session};
use contract::operation::Meta;
use contract::{Code, Result, StudioError};
use engine::{Caller, Engine, SignIn};
use http::HeaderMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

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
    pub(crate) bodies: Semaphore,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// The caller of a request whose route may name a tenant.
    pub(crate) async fn caller(&self, headers: &HeaderMap, route_tenant: Option<String>) -> Result<Caller> {
        let sign_in = self.sign_in.sign_in(headers).await?.filter(|sign_in| !sign_in.user_id.is_empty());
        let mut sign_in: SignIn = sign_in.ok_or_else(|| {
            StudioError::new(Code::Unauthorized, 401, "Sign in first: send 'Authorization: Bearer TOKEN'.")
        })?;
        if sign_in.credential.is_empty() {
            sign_in.credential.clone_from(&sign_in.user_id);
        }
        self.limits.pass(&owner(&sign_in))?;
        Ok(Caller { sign_in: Some(sign_in), route_tenant, session: session(headers) })
    }

    /// The moment at which a stream has to end: the server stops, or the caller may not read it any more.
    pub(crate) fn ends(
        self: &Arc<Self>,
        headers: HeaderMap,
        caller: Caller,
        meta: &Meta,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (shared, meta, mut stopping) = (self.clone(), *meta, self.stopping.clone());
        async move {
            let every = Duration::from_secs(shared.settings.recheck_seconds.max(1));
            let lapsed = async {
                loop {
                    tokio::time::sleep(every).await;
                    let again = async {
                        let sign_in = shared.sign_in.sign_in(&headers).await?;
                        let caller = Caller { sign_in, ..caller.clone() };
                        shared.engine.admit(caller, &meta.gates, meta.effect).await
                    };
                    // What cannot be asked now is asked again: a full disk takes nobody's rights away.
                    if again.await.is_err_and(|error| error.status < 500) {
                        return;
                    }
                }
            };
            tokio::select! {
                _ = stopping.wait_for(|stop| *stop) => {}
                () = lapsed => {}
            }
        }
    }
}

/// Names whom a request is counted for. A host's own sign-in need not name credentials that are unique beyond their user.
pub fn owner(sign_in: &SignIn) -> String {
    format!("{}\u{0}{}\u{0}{}", sign_in.tenant.as_deref().unwrap_or_default(), sign_in.user_id, sign_in.credential)
}
