//! Provider keys of the caller. They are a person's, not a tenant's: the same in every tenant they act in.

use crate::errors::from_store;
use crate::failure::Failure;
use crate::{Admitted, Engine, Serve};
use contract::ops::keys::{
    DeleteKey, KeyDeleted, KeyItem, KeyList, KeyStore, KeyStored, ListKeys, OptionalProviderPath, StoreKey,
};
use contract::wire::{Json, Late, NoBody, NoPath, NoQuery};
use contract::{Code, Micros, Result, StudioError};
use rules::Partition;
use serde_json::json;
use store::repo::keys;
use text::Secret;
use trust::journal::{self, Entry};
use trust::vault::Vault;

impl Engine {
    fn vault_needed(&self) -> Result<&Vault> {
        self.vault.as_deref().ok_or_else(|| {
            StudioError::new(
                Code::VaultUnavailable,
                503,
                "Keys cannot be kept here: no master key is configured. Set one and start again.",
            )
        })
    }

    /// Whether the program can talk to this provider.
    fn is_provider(&self, name: &str) -> bool {
        models::catalog::provider(name).is_some() || self.models.catalog().iter().any(|row| row["provider"] == *name)
    }
}

/// A storage failure under the code of the operation; one that may pass stays 503.
fn failed(code: Code, what: &str, failure: Failure) -> StudioError {
    match failure {
        Failure::Refused(error) => error,
        Failure::Store(error) if error.is_temporary() => from_store(error),
        Failure::Store(error) => {
            tracing::error!(?error, "keys");
            StudioError::new(code, 500, what)
        }
    }
}

/// Where the journal tells of a person's key: in the tenant they act in.
fn partition(who: &Admitted) -> Partition {
    who.partition.clone().unwrap_or(Partition::GLOBAL)
}

impl Serve<ListKeys> for Engine {
    async fn serve(&self, who: Admitted, _: NoPath, _: Late<NoQuery>, _: Late<NoBody>) -> Result<Json<KeyList>> {
        self.vault_needed()?;
        let rows = self.store.read::<_, Failure, _>(|tx| Ok(keys::list(tx, &who.user)?)).await;
        let rows = rows.map_err(|e| failed(Code::ListFailed, "Your keys could not be listed.", e))?;
        let item = |(provider, masked, at)| KeyItem { provider, masked, created_at: Micros(at) };
        let keys: Vec<KeyItem> = rows.into_iter().map(item).collect();
        Ok(Json(KeyList { count: keys.len(), keys }))
    }
}

impl Serve<StoreKey> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: OptionalProviderPath,
        _: Late<NoQuery>,
        body: Late<KeyStore>,
    ) -> Result<Json<KeyStored>> {
        if path.provider.is_some() {
            return Err(StudioError::new(
                Code::InvalidRoute,
                400,
                "The provider belongs into the body: POST /keys with 'provider' and 'api_key'.",
            ));
        }
        let KeyStore { provider, api_key } = body.open()?;
        let key = Secret::new(api_key.trim().to_owned());
        drop(Secret::new(api_key));
        if key.expose().is_empty() {
            return Err(StudioError::new(Code::InvalidConfig, 422, "The key is blank.")
                .with(json!([{ "field": "api_key", "message": "must not be blank" }])));
        }
        let provider = provider.trim().to_lowercase();
        if !self.is_provider(&provider) {
            return Err(StudioError::new(
                Code::InvalidProvider,
                400,
                "There is no such provider here. The catalogue llm-clients lists those there are.",
            ));
        }
        let vault = self.vault_needed()?;
        let now = Micros::now();
        let row = trust::keys::seal(vault, &who.user, &provider, &key, now.0).map_err(|error| {
            tracing::error!(%error, "a key could not be sealed");
            StudioError::new(Code::StoreFailed, 500, "The key could not be stored.")
        })?;
        let stored = KeyStored { provider: provider.clone(), masked: row.masked.clone() };
        let written = self
            .store
            .write::<_, Failure, _>(move |tx| {
                keys::put(tx, &row)?;
                let entry = Entry {
                    partition: &partition(&who),
                    actor: &who.user,
                    action: "key.stored",
                    subject: &format!("key:{provider}"),
                    body: json!({}),
                };
                Ok(journal::record(tx, now, entry)?)
            })
            .await;
        written.map_err(|e| failed(Code::StoreFailed, "The key could not be stored.", e))?;
        Ok(Json(stored))
    }
}

impl Serve<DeleteKey> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        path: OptionalProviderPath,
        _: Late<NoQuery>,
        _: Late<NoBody>,
    ) -> Result<Json<KeyDeleted>> {
        let provider = path.provider.map(|p| p.trim().to_lowercase()).filter(|p| !p.is_empty()).ok_or_else(|| {
            StudioError::new(Code::MissingProvider, 400, "Name the provider: DELETE /keys/{provider}.")
        })?;
        let answer = KeyDeleted { provider: provider.clone(), deleted: true };
        let now = Micros::now();
        let written = self
            .store
            .write::<_, Failure, _>(move |tx| {
                if keys::delete(tx, &who.user, &provider)? {
                    let entry = Entry {
                        partition: &partition(&who),
                        actor: &who.user,
                        action: "key.deleted",
                        subject: &format!("key:{provider}"),
                        body: json!({}),
                    };
                    journal::record(tx, now, entry)?;
                }
                Ok(())
            })
            .await;
        written.map_err(|e| failed(Code::DeleteFailed, "The key could not be deleted.", e))?;
        Ok(Json(answer))
    }
}
