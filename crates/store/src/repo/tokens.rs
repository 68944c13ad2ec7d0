//! Personal tokens. Only the hash of a secret is stored.

use contract::Micros;
use contract::ops::people::Role;
use contract::ops::tokens::Token;

use crate::{Row, StoreError, Tx, vals};

/// A token to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// Its id.
    pub id: String,
    /// SHA-256 of the secret, 64 hex digits.
    pub hash: String,
    /// First characters of the secret.
    pub prefix: String,
    /// For people.
    pub name: String,
    /// The tenant it acts in.
    pub tenant: String,
    /// Whose it is.
    pub user: String,
    /// What it is limited to.
    pub scopes: Vec<String>,
    /// Microseconds since 1970.
    pub created_at: i64,
    /// Microseconds since 1970.
    pub expires_at: Option<i64>,
}

/// What a sign-in with a token needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub id: String,
    /// The tenant it acts in.
    pub tenant: String,
    /// Whose it is.
    pub user: String,
    /// What it is limited to.
    pub scopes: Vec<String>,
    /// Microseconds since 1970.
    pub expires_at: Option<i64>,
    /// Microseconds since 1970.
    pub last_used_at: Option<i64>,
    /// Whether it was revoked.
    pub revoked: bool,
}

fn scopes(text: &str) -> Result<Vec<String>, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Decode("stored scopes are no list of texts".into()))
}

/// Adds a token.
pub fn insert(tx: &mut dyn Tx, new: &NewToken) -> Result<(), StoreError> {
    let scopes = serde_json::Value::from(new.scopes.as_slice()).to_string();
    tx.exec(
        "insert into tokens (id, hash, prefix, name, tenant, user_id, scopes, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        vals![
            &new.id,
            &new.hash,
            &new.prefix,
            &new.name,
            &new.tenant,
            &new.user,
            scopes,
            new.created_at,
            new.expires_at
        ],
    )?;
    Ok(())
}

/// The token whose secret has this hash.
pub fn by_hash(tx: &mut dyn Tx, hash: &str) -> Result<Option<Found>, StoreError> {
    found(tx, "hash", hash)
}

/// The token with this id.
pub fn by_id(tx: &mut dyn Tx, id: &str) -> Result<Option<Found>, StoreError> {
    found(tx, "id", id)
}

fn found(tx: &mut dyn Tx, column: &'static str, value: &str) -> Result<Option<Found>, StoreError> {
    let sql = format!(
        "select id, tenant, user_id, scopes, expires_at, last_used_at, revoked_at from tokens where {column} = $1"
    );
    let row = tx.query_one(&sql, vals![value])?;
    row.map(|row| {
        Ok(Found {
            id: row.text(0)?,
            tenant: row.text(1)?,
            user: row.text(2)?,
            scopes: scopes(row.str(3)?)?,
            expires_at: row.opt_int(4)?,
            last_used_at: row.opt_int(5)?,
            revoked: !row.is_null(6)?,
        })
    })
    .transpose()
}

/// Notes a use.
pub fn touch(tx: &mut dyn Tx, id: &str, at: i64) -> Result<(), StoreError> {
    tx.exec("update tokens set last_used_at = $2 where id = $1", vals![id, at])?;
    Ok(())
}

/// The tokens of a tenant that were not revoked, newest first: of one user, or of all. The role is the user's now.
pub fn list(tx: &mut dyn Tx, tenant: &str, user: Option<&str>) -> Result<Vec<Token>, StoreError> {
    let rows = tx.query(
        "select k.id, k.name, k.prefix, k.scopes, m.role, k.tenant, k.user_id, k.created_at, k.expires_at, k.last_used_at
         from tokens k join members m on m.tenant = k.tenant and m.user_id = k.user_id
         where k.tenant = $1 and ($2 is null or k.user_id = $2) and k.revoked_at is null
         order by k.created_at desc, k.id",
        vals![tenant, user],
    )?;
    rows.into_iter().map(token).collect()
}

fn token(mut row: Row) -> Result<Token, StoreError> {
    Ok(Token {
        id: row.take_text(0)?,
        name: row.take_text(1)?,
        prefix: row.take_text(2)?,
        scopes: scopes(row.str(3)?)?,
        role: Role::parse(row.str(4)?).ok_or_else(|| StoreError::Decode("a stored role is unknown".into()))?,
        tenant: row.take_text(5)?,
        user: row.take_text(6)?,
        created_at: Micros(row.int(7)?),
        expires_at: row.opt_int(8)?.map(Micros),
        last_used_at: row.opt_int(9)?.map(Micros),
        secret: None,
    })
}

/// Revokes a token of a tenant, and of this user if one is given; answers whose it was, or none if there is no such token
/// or it was revoked before.
pub fn revoke(
    tx: &mut dyn Tx,
    tenant: &str,
    user: Option<&str>,
    id: &str,
    at: i64,
) -> Result<Option<String>, StoreError> {
    let row = tx.query_one(
        "select user_id from tokens where id = $1 and tenant = $2 and ($3 is null or user_id = $3) and revoked_at is null",
        vals![id, tenant, user],
    )?;
    let Some(row) = row else { return Ok(None) };
    tx.exec("update tokens set revoked_at = $2 where id = $1", vals![id, at])?;
    row.text(0).map(Some)
}

/// Revokes all tokens of a user in a tenant; answers how many.
pub fn revoke_all(tx: &mut dyn Tx, tenant: &str, user: &str, at: i64) -> Result<u64, StoreError> {
    tx.exec(
        "update tokens set revoked_at = $3 where tenant = $1 and user_id = $2 and revoked_at is null",
        vals![tenant, user, at],
    )
}
