//! Provider keys of a person.

use crate::Micros;
use crate::operation::Gates;
use crate::operations;
use crate::wire::{Json, JsonBody, NoBody, NoPath, NoQuery, Params};
use serde::{Deserialize, Serialize};

operations! {
    /// List the caller's provider keys, masked.
    ListKeys = "keys.list" {
        Get "/keys", Read, Gates::FREE,
        path: NoPath, query: NoQuery, body: NoBody, reply: Json<KeyList>, ok: 200,
        refusals: [VaultUnavailable 503, ListFailed 500],
    }
    /// Store a provider key, sealed.
    StoreKey = "keys.store" {
        Post "/keys" "/keys/{provider}", Secure, Gates::FREE.pbac("keys", "store"),
        path: OptionalProviderPath, query: NoQuery, body: KeyStore, reply: Json<KeyStored>, ok: 201,
        refusals: [InvalidRoute 400, InvalidJson 400, InvalidRequest 400, InvalidConfig 422, InvalidProvider 400,
            VaultUnavailable 503, StoreFailed 500],
    }
    /// Delete a provider key; fine when there is none.
    DeleteKey = "keys.delete" {
        Delete "/keys/{provider}" "/keys", Secure, Gates::FREE.pbac("keys", "delete"),
        path: OptionalProviderPath, query: NoQuery, body: NoBody, reply: Json<KeyDeleted>, ok: 200,
        refusals: [MissingProvider 400, DeleteFailed 500],
    }
}

/// `{provider}`: must be there for a deletion and must not for a storing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OptionalProviderPath {
    /// The provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::SAID)))]
    pub provider: Option<String>,
}
impl Params for OptionalProviderPath {}

/// A stored key, masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyItem {
    /// The provider.
    pub provider: String,
    /// First three and last four characters.
    pub masked: String,
    /// When it was first stored.
    pub created_at: Micros,
}

/// The caller's keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyList {
    /// By provider.
    pub keys: Vec<KeyItem>,
    /// How many.
    pub count: usize,
}

/// A key to store.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyStore {
    /// The provider; case does not matter.
    pub provider: String,
    /// The key.
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = crate::schema::SAID)))]
    pub api_key: String,
}
impl JsonBody for KeyStore {}

impl std::fmt::Debug for KeyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyStore").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// What storing answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyStored {
    /// The provider, lower case.
    pub provider: String,
    /// First three and last four characters.
    pub masked: String,
}

/// What a deletion answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyDeleted {
    /// The provider.
    pub provider: String,
    /// Always true.
    pub deleted: bool,
}
