//! The journal: what happened, linked so that a change of the past shows.

use super::common::Page;
use crate::Micros;
use crate::operation::Gates;
use crate::operations;
use crate::wire::{Json, NoBody, NoPath, NoQuery};
use serde::{Deserialize, Serialize};
use serde_json::Value;

operations! {
    /// List journal entries of the caller's tenant, newest first.
    ListAudit = "audit.list" {
        Get "/audit", Read, Gates::ADMIN,
        path: NoPath, query: Page, body: NoBody, reply: Json<AuditList>, ok: 200,
        refusals: [InvalidRequest 400],
    }
    /// Check the journal: entries against links against roots.
    VerifyAudit = "audit.verify" {
        Get "/audit/verify", Read, Gates::ADMIN,
        path: NoPath, query: NoQuery, body: NoBody, reply: Json<AuditReport>, ok: 200,
        refusals: [],
    }
}

/// A journal entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditEntry {
    /// Its id.
    pub id: String,
    /// Its number in the tenant's chain; null while it is not sealed.
    pub seq: Option<i64>,
    /// When.
    pub at: Micros,
    /// Who.
    pub actor: String,
    /// What, such as `agent.updated`.
    pub action: String,
    /// On what, such as `agent:sales`.
    pub subject: String,
    /// More, without secrets.
    pub body: Value,
    /// Hash of its link; null while it is not sealed.
    pub hash: Option<String>,
}

/// Journal entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditList {
    /// Newest first.
    pub entries: Vec<AuditEntry>,
    /// How many.
    pub count: usize,
    /// Where the next page starts, null at the end.
    pub next_cursor: Option<String>,
}

/// What a check of the journal found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditReport {
    /// Whether everything fits.
    pub ok: bool,
    /// Entries checked.
    pub entries: u64,
    /// Links checked.
    pub links: u64,
    /// Roots checked.
    pub roots: u64,
    /// Entries that are not sealed yet.
    pub unsealed: u64,
    /// What does not fit, in words; the first hundred.
    pub faults: Vec<String>,
}
