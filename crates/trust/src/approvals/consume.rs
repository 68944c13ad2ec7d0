//! From a stored yes to the one value that lets a call run.

use super::service::{exact_args, lapse, log, partition_of};
use crate::vault::Vault;
use contract::ops::approvals::ApprovalStatus as Status;
use contract::{Micros, canonical};
use rules::partition::Partition;
use serde_json::{Value, json};
use std::sync::Arc;
use store::repo::approvals::{self as repo, ApprovalRow, MustHold};
use store::{Store, StoreError, Tx};

/// A person's yes to exactly this call, consumed: the only proof that a write may run.
///
/// It has no public constructor and no `Clone`; it owns the arguments, so that what runs is what was approved.
///
/// ```
/// fn once(approval: trust::approvals::Approval) -> serde_json::Value { approval.into_args() }
/// # use astudio_trust as trust;
/// ```
///
/// It cannot be made:
///
/// ```compile_fail
/// # use astudio_trust as trust;
/// fn forge() -> trust::approvals::Approval {
///     trust::approvals::Approval { id: String::new(), tool: String::new(), digest: String::new(), args: serde_json::Value::Null }
/// }
/// ```
///
/// nor used twice:
///
/// ```compile_fail
/// # use astudio_trust as trust;
/// fn twice(approval: trust::approvals::Approval) -> (serde_json::Value, serde_json::Value) {
///     (approval.clone().into_args(), approval.into_args())
/// }
/// ```
#[derive(Debug)]
pub struct Approval {
    id: String,
    tool: String,
    digest: String,
    args: Value,
}

impl Approval {
    /// The approval's id; goes to the tool as idempotency key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Full name of the tool that may run.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Digest of the tool's facts that were approved.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The arguments that run, and the end of the approval.
    pub fn into_args(self) -> Value {
        self.args
    }
}

/// What is about to run. All of it must equal what was approved.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Consume {
    pub partition: Partition,
    pub id: String,
    pub turn_id: String,
    pub ordinal: u32,
    pub tool: String,
    /// Digest of the tool as it is registered now.
    pub digest: String,
    /// Version of the agent the turn runs on.
    pub agent_version: i64,
    /// How long a yes holds, in seconds.
    pub void_seconds: i64,
}

/// Why a call may not run.
#[derive(Debug, thiserror::Error)]
pub enum NotConsumed {
    /// The record does not allow it; this is how it stands.
    #[error("the approval is {}", .0.status.as_str())]
    Stands(Box<ApprovalRow>),
    /// There is no such record.
    #[error("there is no such approval")]
    Absent,
    /// The arguments cannot be opened.
    #[error("the approved arguments cannot be opened: {0}")]
    Sealed(String),
    /// What was to be written with it was refused; nothing was written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

enum Outcome {
    Consumed(Box<ApprovalRow>, Value),
    Stands(Box<ApprovalRow>),
    Sealed(String),
    Absent,
}

/// Consumes an approval: a compare-and-set on `approved` with everything that must hold, in one transaction with what
/// `also` writes ("call started", guarded by the turn's lease). The value exists only after the commit.
///
/// A record that was approved for something else than what is about to run becomes void; it runs nothing.
///
/// # Errors
/// Why the call may not run. [`NotConsumed::Store`] also carries the refusal of `also`.
pub async fn consume(
    store: &Store,
    vault: Option<Arc<Vault>>,
    want: Consume,
    also: impl Fn(&mut dyn Tx, &ApprovalRow) -> Result<(), StoreError> + Send + 'static,
) -> Result<Approval, NotConsumed> {
    let outcome = store
        .write(move |tx| -> Result<Outcome, StoreError> {
            let now = Micros::now();
            let Some(row) = repo::get(tx, &want.partition, &want.id)? else { return Ok(Outcome::Absent) };
            // The hash is of what is about to be passed, not of what the row says it is: a row whose arguments were changed
            // behind our back runs nothing.
            let args = match exact_args(vault.as_deref(), &row) {
                Ok(args) => args,
                Err(why) => return Ok(Outcome::Sealed(why.to_string())),
            };
            let args_hash = canonical::hash(&args);
            let hold = MustHold {
                partition: &want.partition,
                turn_id: &want.turn_id,
                ordinal: want.ordinal,
                tool: &want.tool,
                digest: &want.digest,
                agent_version: want.agent_version,
                args_hash: &args_hash,
                decided_after: Micros(now.plus_seconds(want.void_seconds.saturating_neg()).0.saturating_add(1)),
            };
            if repo::consume(tx, &row.id, now, &hold)? {
                also(tx, &row)?;
                log(tx, now, &row, &row.requested_by, "approval.consumed", json!({}))?;
                return Ok(Outcome::Consumed(Box::new(row), args));
            }
            let row = lapse(tx, now, want.void_seconds, row)?;
            if row.status != Status::Approved {
                return Ok(Outcome::Stands(Box::new(row)));
            }
            let why = difference(&row, &want);
            repo::end(tx, &row.id, Status::Approved, Status::Void, Some(why))?;
            log(tx, now, &row, "-", "approval.void", json!({ "reason": why }))?;
            Ok(Outcome::Stands(Box::new(ApprovalRow { status: Status::Void, reason: Some(why.into()), ..row })))
        })
        .await?;
    match outcome {
        Outcome::Consumed(row, args) => Ok(Approval { id: row.id, tool: row.tool, digest: row.digest, args }),
        Outcome::Stands(row) => Err(NotConsumed::Stands(row)),
        Outcome::Sealed(why) => Err(NotConsumed::Sealed(why)),
        Outcome::Absent => Err(NotConsumed::Absent),
    }
}

fn difference(row: &ApprovalRow, want: &Consume) -> &'static str {
    if row.tool != want.tool || row.digest != want.digest {
        "The tool has changed since it was approved."
    } else if row.agent_version != want.agent_version {
        "The turn runs on another version of the agent than was approved."
    } else if partition_of(row).is_ok_and(|p| p.as_str() != want.partition.as_str()) || row.turn_id != want.turn_id {
        "It was approved for another call."
    } else {
        "What would run is not what was approved."
    }
}
