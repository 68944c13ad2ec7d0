//! Provider keys that people stored: sealing one, and opening it for its owner.

use serde_json::{Value, json};
use store::repo::keys::{self, KeyRow};
use store::{Store, StoreError};
use text::Secret;

use crate::vault::{Context, Vault, VaultError};

/// Why a stored key could not be read.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The vault.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// Seals a key for its owner and provider. `now` stands for both times; a key stored again keeps its first.
///
/// # Errors
/// What the vault says.
pub fn seal(vault: &Vault, user: &str, provider: &str, key: &Secret, now: i64) -> Result<KeyRow, VaultError> {
    Ok(KeyRow {
        user: user.to_owned(),
        provider: provider.to_owned(),
        sealed: vault.seal(&Context::provider_key(user, provider), &json!({ "api_key": key.expose() }))?,
        key_id: vault.active_key(),
        masked: text::mask(key.expose()),
        created_at: now,
        updated_at: now,
    })
}

/// The key that a person stored for a provider; none if there is none.
///
/// # Errors
/// The database fails, or the key is there and cannot be opened: never "none" instead, for then the server's key would be
/// used where the person chose their own.
pub async fn stored_key(store: &Store, vault: &Vault, user: &str, provider: &str) -> Result<Option<Secret>, KeyError> {
    let sealed = store.read(|tx| keys::sealed(tx, user, provider)).await?;
    let Some(sealed) = sealed else {
        return Ok(None);
    };
    match vault.open(&Context::provider_key(user, provider), &sealed)?.get_mut("api_key").map(Value::take) {
        Some(Value::String(key)) => Ok(Some(Secret::new(key))),
        _ => Err(VaultError::Format.into()),
    }
}
