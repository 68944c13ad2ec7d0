//! Which provider key serves a turn: the person's stored one, else the machine's. A stored key that fails is never
//! replaced silently.

use crate::Runtime;
use contract::{Code, StudioError};
use models::{ModelClient, ModelError, ModelErrorKind};
use serde_json::json;
use std::sync::Arc;
use text::Secret;
use trust::keys::stored_key;

/// What the caller said about keys.
#[derive(Clone, Debug)]
pub struct KeyChoice {
    /// Whether their own key may serve.
    pub use_byok: bool,
    /// `server` or `byok`: which must.
    pub source: Option<String>,
}

impl Runtime {
    /// Decides which key serves: `byok`, `server`, or `none` where there is none and the provider needs none.
    ///
    /// # Errors
    /// 400 for an unknown source, 422 `key_source_unavailable`, 503 for a key that cannot be opened.
    pub(crate) async fn key_source(
        &self,
        provider: &str,
        user: &str,
        choice: &KeyChoice,
    ) -> Result<&'static str, StudioError> {
        if !matches!(choice.source.as_deref(), None | Some("server" | "byok")) {
            return Err(StudioError::invalid_request("'key_source' must be 'server' or 'byok'."));
        }
        let unavailable = |requested: &str, how: &str| {
            StudioError::new(
                Code::KeySourceUnavailable,
                422,
                format!("There is no {requested} key for '{provider}'. {how}"),
            )
            .with(json!({ "provider": provider, "requested": requested }))
        };
        let server = || self.models.server_key(provider).is_some();
        let own = async || self.own_key(provider, user).await.map(|key| key.is_some());
        match choice.source.as_deref() {
            Some("byok") if own().await? => Ok("byok"),
            Some("byok") => Err(unavailable("byok", "Store one: astudio keys set.")),
            Some(_) if server() => Ok("server"),
            Some(_) if !self.models.needs_key(provider) => Ok("none"),
            Some(_) => Err(unavailable("server", "Set it in the environment of this machine.")),
            None if choice.use_byok && own().await? => Ok("byok"),
            None if server() => Ok("server"),
            // A server of one's own may want none; where there is a key it is sent all the same.
            None if !self.models.needs_key(provider) => Ok("none"),
            None => Err(unavailable("provider", "Store one (astudio keys set) or set it in the environment.")),
        }
    }

    async fn own_key(&self, provider: &str, user: &str) -> Result<Option<Secret>, StudioError> {
        let Some(vault) = &self.vault else { return Ok(None) };
        stored_key(&self.store, vault, user, provider).await.map_err(|error| {
            tracing::error!(?error, "stored key");
            StudioError::new(
                Code::VaultUnavailable,
                503,
                "Your stored key cannot be opened. Store it again, or restore the master key.",
            )
        })
    }

    /// A client of the provider with the key that was chosen when the turn began.
    pub(crate) async fn client(
        &self,
        provider: &str,
        source: &str,
        user: &str,
    ) -> Result<Arc<dyn ModelClient>, ModelError> {
        let key = match source {
            "byok" => {
                self.own_key(provider, user).await.map_err(|e| ModelError::new(ModelErrorKind::Auth, e.message))?
            }
            "server" => self.models.server_key(provider),
            _ => None,
        };
        if key.is_none() && source != "none" {
            return Err(ModelError::new(
                ModelErrorKind::Auth,
                format!("The {source} key for '{provider}' that this turn began with is gone."),
            ));
        }
        self.models.connect(provider, key.as_ref()).await
    }
}
