//! Provider keys of people: sealed texts, and what may be shown of them.

use crate::{StoreError, Tx, vals};

/// A stored key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRow {
    /// Whose.
    pub user: String,
    /// For which provider.
    pub provider: String,
    /// The envelope.
    pub sealed: String,
    /// Number of the master key it was sealed with.
    pub key_id: u16,
    /// What may be shown of it.
    pub masked: String,
    /// When one was first stored, microseconds since 1970.
    pub created_at: i64,
    /// When this one was stored.
    pub updated_at: i64,
}

/// Provider, mask and first time of a person's keys, by provider. What a rotation set aside is not among them.
pub fn list(tx: &mut dyn Tx, user: &str) -> Result<Vec<(String, String, i64)>, StoreError> {
    let rows = tx.query(
        "select provider, masked, created_at from keys
         where user_id = $1 and provider not like '%#quarantined:%' order by provider",
        vals![user],
    )?;
    rows.into_iter().map(|mut row| Ok((row.take_text(0)?, row.take_text(1)?, row.int(2)?))).collect()
}

/// The sealed key of a person for a provider.
pub fn sealed(tx: &mut dyn Tx, user: &str, provider: &str) -> Result<Option<String>, StoreError> {
    let row = tx.query_one("select sealed from keys where user_id = $1 and provider = $2", vals![user, provider])?;
    row.map(|mut row| row.take_text(0)).transpose()
}

/// Stores a key, in the place of the one before, whose first time stays.
pub fn put(tx: &mut dyn Tx, row: &KeyRow) -> Result<(), StoreError> {
    tx.exec(
        "insert into keys (user_id, provider, sealed, key_id, masked, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7)
         on conflict (user_id, provider) do update
         set sealed = excluded.sealed, key_id = excluded.key_id, masked = excluded.masked, updated_at = excluded.updated_at",
        vals![&row.user, &row.provider, &row.sealed, row.key_id, &row.masked, row.created_at, row.updated_at],
    )?;
    Ok(())
}

/// Deletes a person's key for a provider; answers whether there was one.
pub fn delete(tx: &mut dyn Tx, user: &str, provider: &str) -> Result<bool, StoreError> {
    Ok(tx.exec("delete from keys where user_id = $1 and provider = $2", vals![user, provider])? > 0)
}
