//! Who the caller is.

use crate::operation::Gates;
use crate::operations;
use crate::wire::{Json, NoBody, NoPath, NoQuery};
use serde::{Deserialize, Serialize};

operations! {
    /// Say who the caller is and what they may do.
    GetMe = "me.get" {
        Get "/me", Read, Gates::FREE.without_studio(),
        path: NoPath, query: NoQuery, body: NoBody, reply: Json<Me>, ok: 200,
        refusals: [],
    }
}

/// The caller's capabilities: exactly these six.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Me {
    /// The user.
    pub user_id: String,
    /// The tenant they act in.
    pub tenant: Option<String>,
    /// Whether they may author agents and tools.
    pub may_author: bool,
    /// Whether they administer the tenant.
    pub may_administer: bool,
    /// Whether Studio is on for the tenant.
    pub enabled: bool,
    /// Superuser inside the tenant.
    pub is_superuser: bool,
}
