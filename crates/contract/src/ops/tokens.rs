//! Personal tokens.

use super::common::IdPath;
use super::people::Role;
use crate::Micros;
use crate::operation::Gates;
use crate::operations;
use crate::wire::{Json, JsonBody, NoBody, NoPath, NoQuery};
use serde::{Deserialize, Serialize};

operations! {
    /// List the caller's own tokens.
    ListTokens = "tokens.list" {
        Get "/tokens", Read, Gates::RECORD,
        path: NoPath, query: NoQuery, body: NoBody, reply: Json<TokenList>, ok: 200,
        refusals: [],
    }
    /// Make a token; its secret is shown once.
    CreateToken = "tokens.create" {
        Post "/tokens", Secure, Gates::RECORD,
        path: NoPath, query: NoQuery, body: TokenCreate, reply: Json<Token>, ok: 201,
        refusals: [InvalidJson 400, InvalidRequest 400],
    }
    /// Revoke one's own token.
    RevokeToken = "tokens.revoke" {
        Delete "/tokens/{id}", Secure, Gates::RECORD,
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<TokenRevoked>, ok: 200,
        refusals: [NotFound 404],
    }
    /// List all tokens of the caller's tenant.
    ListTenantTokens = "tokens.admin_list" {
        Get "/admin/tokens", Read, Gates::ADMIN,
        path: NoPath, query: NoQuery, body: NoBody, reply: Json<TokenList>, ok: 200,
        refusals: [],
    }
    /// Revoke any token of the caller's tenant.
    RevokeTenantToken = "tokens.admin_revoke" {
        Delete "/admin/tokens/{id}", Secure, Gates::ADMIN,
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<TokenRevoked>, ok: 200,
        refusals: [NotFound 404],
    }
}

/// A token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Token {
    /// Its id.
    pub id: String,
    /// For people.
    pub name: String,
    /// Its first characters, to tell tokens apart.
    pub prefix: String,
    /// What it is limited to: `run, read, author:agents, author:tools, manage:tools, analysis`. Empty = all that the role gives.
    pub scopes: Vec<String>,
    /// The user's role now.
    pub role: Role,
    /// The tenant it acts in.
    pub tenant: String,
    /// The user.
    pub user: String,
    /// When it was made.
    pub created_at: Micros,
    /// When it ends.
    pub expires_at: Option<Micros>,
    /// When it was last used.
    pub last_used_at: Option<Micros>,
    /// The token itself; only in the answer to its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// Tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenList {
    /// Newest first.
    pub tokens: Vec<Token>,
    /// How many.
    pub count: usize,
}

/// A new token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenCreate {
    /// For people.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::LABEL), extend("maxLength" = 200)))]
    pub name: String,
    /// What it is limited to; empty = all that the role gives.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("items" = { "enum": ["run", "read", "author:agents", "author:tools", "manage:tools", "analysis"] })))]
    pub scopes: Vec<String>,
    /// Days until it ends, 1 to 3650; none = it does not. One made with a token ends with that token at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 3650)))]
    pub days: Option<u32>,
}
impl JsonBody for TokenCreate {}

/// What a revocation answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenRevoked {
    /// Its id.
    pub id: String,
    /// Always true.
    pub revoked: bool,
}
