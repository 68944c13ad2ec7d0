//! Requests and answers, written with their journal entries.

use super::life::{Act, Life, Refused, Who};
use crate::journal;
use crate::vault::{Context, Vault, VaultError};
use contract::ops::approvals::ApprovalStatus as Status;
use contract::{Micros, canonical, ids};
use rules::partition::Partition;
use serde_json::{Value, json};
use store::repo::approvals::{self as repo, ApprovalRow, EditedArgs};
use store::{StoreError, Tx};

/// Arguments as they are stored: canonical with secrets masked, and the whole sealed when there are secrets.
struct Stored {
    text: String,
    sealed: Option<String>,
    hash: String,
}

fn stored(vault: Option<&Vault>, id: &str, args: &Value) -> Result<Stored, VaultError> {
    let hash = canonical::hash(args);
    let masked = masked(args);
    let sealed = match (&masked, vault) {
        (masked, _) if masked == args => None,
        (_, Some(vault)) => Some(vault.seal(&Context::approval_args(id), args)?),
        (_, None) => return Err(VaultError::unavailable()),
    };
    Ok(Stored { text: canonical::to_text(&masked), sealed, hash })
}

/// The value with everything masked whose name says that it is secret.
pub fn masked(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, item)| {
                let item = if text::is_secret_name(key) && !item.is_null() { text::MASK.into() } else { masked(item) };
                (key.clone(), item)
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(masked).collect(),
        other => other.clone(),
    }
}

/// The exact arguments that were approved.
///
/// # Errors
/// They are sealed and cannot be opened, or damaged.
pub fn exact_args(vault: Option<&Vault>, row: &ApprovalRow) -> Result<Value, VaultError> {
    let (text, sealed) = match &row.edited_args {
        Some(text) => (text, &row.edited_sealed),
        None => (&row.args, &row.args_sealed),
    };
    match (sealed, vault) {
        (None, _) => serde_json::from_str(text).map_err(|_| VaultError::Format),
        (Some(sealed), Some(vault)) => vault.open(&Context::approval_args(&row.id), sealed),
        (Some(_), None) => Err(VaultError::unavailable()),
    }
}

/// A question to a person, before it has an id. `args` in `row` is replaced by what may be stored.
pub struct Request {
    row: ApprovalRow,
}

impl Request {
    /// Prepares a request: gives it an id, hashes the arguments, seals secrets in them. Outside any transaction, for
    /// sealing may need a key.
    ///
    /// # Errors
    /// Arguments with secrets need a vault.
    pub fn new(vault: Option<&Vault>, mut row: ApprovalRow, args: &Value) -> Result<Self, VaultError> {
        row.id = ids::log_id();
        let kept = stored(vault, &row.id, args)?;
        (row.args, row.args_sealed, row.args_hash) = (kept.text, kept.sealed, kept.hash);
        row.status = Status::Pending;
        Ok(Self { row })
    }

    /// The id it will have.
    pub fn id(&self) -> &str {
        &self.row.id
    }

    /// The call it is for.
    pub fn ordinal(&self) -> u32 {
        self.row.ordinal
    }
}

/// Writes a request.
///
/// # Errors
/// Of the store; a second live request for one call is refused by the database.
pub fn request(tx: &mut dyn Tx, now: Micros, request: &Request) -> Result<(), StoreError> {
    repo::insert(tx, &request.row)?;
    log(tx, now, &request.row, &request.row.requested_by, "approval.requested", json!({}))
}

pub(super) fn log(
    tx: &mut dyn Tx,
    now: Micros,
    row: &ApprovalRow,
    actor: &str,
    action: &str,
    mut body: Value,
) -> Result<(), StoreError> {
    body["approval"] = row.id.clone().into();
    body["tool"] = row.tool.clone().into();
    body["digest"] = row.digest.clone().into();
    body["args_hash"] = row.edited_hash.as_ref().unwrap_or(&row.args_hash).clone().into();
    body["turn"] = row.turn_id.clone().into();
    body["ordinal"] = row.ordinal.into();
    let partition = partition_of(row)?;
    journal::record(
        tx,
        now,
        journal::Entry { partition: &partition, actor, action, subject: &format!("agent:{}", row.agent_name), body },
    )
}

pub(super) fn partition_of(row: &ApprovalRow) -> Result<Partition, StoreError> {
    Partition::from_stored(&row.partition).map_err(|_| StoreError::Decode("partition of an approval".into()))
}

/// The pure life of a row.
pub(super) fn life_of(row: &ApprovalRow) -> Life {
    Life {
        status: row.status,
        asker: row.requested_by.clone(),
        deciders: row.deciders.clone(),
        four_eyes: row.four_eyes,
        expires_at: row.expires_at,
        decided_at: row.decided_at,
    }
}

/// Where a row stands at `now`.
pub fn status_at(row: &ApprovalRow, now: Micros, void_seconds: i64) -> Status {
    life_of(row).status_at(now, void_seconds)
}

/// The row as it stands at `now`, if this person may know of it; with whether they may decide it.
pub fn effective(mut row: ApprovalRow, who: &Who<'_>, now: Micros, void_seconds: i64) -> Option<(ApprovalRow, bool)> {
    let life = life_of(&row);
    if !life.may_see(who) {
        return None;
    }
    row.status = life.status_at(now, void_seconds);
    Some((row, life.may_decide(who)))
}

/// What came of an attempt to answer.
#[derive(Debug)]
pub enum Decided {
    /// Done; the record as it is now.
    Done(Box<ApprovalRow>),
    /// Nothing was done; the record as it is now.
    Not(Refused, Option<Box<ApprovalRow>>),
}

/// Arguments that a person changed, already checked against the tool's schema.
pub struct Edit(EditedArgs);

impl Edit {
    /// Prepares changed arguments for this approval.
    ///
    /// # Errors
    /// Arguments with secrets need a vault.
    pub fn new(vault: Option<&Vault>, id: &str, args: &Value) -> Result<Self, VaultError> {
        let kept = stored(vault, id, args)?;
        Ok(Self(EditedArgs { args: kept.text, sealed: kept.sealed, hash: kept.hash }))
    }
}

/// Answers a question, once: a compare-and-set on `pending`.
///
/// # Errors
/// Of the store. That nothing was done is [`Decided::Not`].
#[allow(clippy::too_many_arguments)]
pub fn decide(
    tx: &mut dyn Tx,
    now: Micros,
    void_seconds: i64,
    partition: &Partition,
    id: &str,
    who: &Who<'_>,
    act: Act,
    reason: Option<&str>,
    edit: Option<&Edit>,
) -> Result<Decided, StoreError> {
    let Some(row) = repo::get(tx, partition, id)? else { return Ok(Decided::Not(Refused::NotFound, None)) };
    let to = match life_of(&row).after(act, who, now, void_seconds) {
        Ok(to) => to,
        Err(Refused::NotFound) => return Ok(Decided::Not(Refused::NotFound, None)),
        Err(why) => {
            let row = lapse(tx, now, void_seconds, row)?;
            return Ok(Decided::Not(why, Some(Box::new(row))));
        }
    };
    let edit = edit.filter(|_| act == Act::Approve).map(|e| &e.0);
    if !repo::decide(tx, id, to, who.user, now, reason, edit)? {
        let row = repo::get(tx, partition, id)?.map(Box::new);
        return Ok(Decided::Not(Refused::Already, row));
    }
    let row = repo::get(tx, partition, id)?.ok_or_else(|| StoreError::Decode("an approval vanished".into()))?;
    let body = json!({ "edited": row.edited_hash.is_some(), "asked_args_hash": row.args_hash });
    log(tx, now, &row, who.user, &format!("approval.{}", to.as_str()), body)?;
    Ok(Decided::Done(Box::new(row)))
}

/// Writes down what time has done to a record: pending → expired, approved → void.
///
/// # Errors
/// Of the store.
pub fn lapse(tx: &mut dyn Tx, now: Micros, void_seconds: i64, mut row: ApprovalRow) -> Result<ApprovalRow, StoreError> {
    let status = life_of(&row).status_at(now, void_seconds);
    if status == row.status {
        return Ok(row);
    }
    let reason = (status == Status::Void).then_some("It was approved, but did not run in time.");
    if repo::end(tx, &row.id, row.status, status, reason)? {
        log(tx, now, &row, "-", &format!("approval.{}", status.as_str()), json!({}))?;
    }
    row.status = status;
    row.reason = reason.map(str::to_owned).or(row.reason);
    Ok(row)
}

/// Ends what is open for a turn, or for one call of it: open questions are withdrawn, a yes that has not run is void.
///
/// # Errors
/// Of the store.
pub fn end_open(
    tx: &mut dyn Tx,
    now: Micros,
    turn_id: &str,
    call: Option<u32>,
    actor: &str,
    reason: &str,
) -> Result<(), StoreError> {
    for row in repo::of_turn(tx, turn_id)?.into_iter().filter(|row| call.is_none_or(|call| row.ordinal == call)) {
        let to = match row.status {
            Status::Pending => Status::Withdrawn,
            Status::Approved => Status::Void,
            _ => continue,
        };
        if repo::end(tx, &row.id, row.status, to, Some(reason))? {
            log(tx, now, &row, actor, &format!("approval.{}", to.as_str()), json!({ "reason": reason }))?;
        }
    }
    Ok(())
}
