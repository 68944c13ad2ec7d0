//! The journal: what happened, linked so that a change of the past shows.
//!
//! [`record`] writes an entry in the transaction of what it tells. [`seal`] later numbers and links what was committed,
//! per partition, and adds one root per round to a global chain. [`verify`] checks entries against links against roots.
//!
//! A chain whose newest root lives in the same database proves nothing against whoever may rewrite that database; keep
//! [`newest_root`] elsewhere and verify against it. An entry that is not sealed yet is not protected at all; the sealer
//! runs in the same commit as the entry, so this lasts only while a sealer fails.

mod hash;
mod seal;
mod verify;

#[cfg(test)]
mod tests;

pub use seal::{install, seal};
pub use verify::{ExportedRoot, newest_root, verify, verify_partition};

use contract::{Micros, canonical, ids};
use rules::Partition;
use serde_json::Value;
use store::repo::audit::{self, EntryRow};
use store::{StoreError, Tx};

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Where it happened.
    pub partition: &'a Partition,
    /// Who did it: a user id, or the name of a part of the program.
    pub actor: &'a str,
    /// What was done, such as `agent.updated`.
    pub action: &'a str,
    /// On what, such as `agent:sales`.
    pub subject: &'a str,
    /// More. Never a secret: entries are read by every administrator and cannot be taken back.
    pub body: Value,
}

/// Writes an entry in the transaction of what it tells, so that neither is there without the other.
///
/// # Errors
/// What the store says.
pub fn record(tx: &mut dyn Tx, now: Micros, entry: Entry<'_>) -> Result<(), StoreError> {
    let mut row = EntryRow {
        id: ids::log_id(),
        partition: entry.partition.as_str().to_owned(),
        at: now.0,
        actor: entry.actor.to_owned(),
        action: entry.action.to_owned(),
        subject: entry.subject.to_owned(),
        body: canonical::to_text(&entry.body),
        body_hash: String::new(),
    };
    row.body_hash = hash::entry(&row);
    audit::insert(tx, &row)
}
