//! Approvals as rows. Every change of a status is a compare-and-set on the status before.

use crate::{Row, StoreError, Tx, Val, vals};
use contract::Micros;
use contract::ops::approvals::ApprovalStatus;
use rules::partition::Partition;

/// An approval as it is stored. JSON stays text: what was hashed is kept to the byte.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct ApprovalRow {
    pub id: String,
    pub partition: String,
    pub requested_by: String,
    pub agent_id: String,
    pub agent_name: String,
    pub agent_version: i64,
    pub model: String,
    pub session_id: String,
    pub session_name: String,
    pub turn_id: String,
    pub ordinal: u32,
    /// The tool's full name.
    pub tool: String,
    pub slug: String,
    pub method: String,
    pub source: String,
    /// Digest of the tool's registered facts.
    pub digest: String,
    pub instance_id: String,
    /// Canonical arguments; secrets in them masked.
    pub args: String,
    /// The whole arguments, sealed, when some of them are secret.
    pub args_sealed: Option<String>,
    pub args_hash: String,
    pub schema: String,
    pub preview: Option<String>,
    pub rule: String,
    /// `asker`, `admins` or `group:NAME`.
    pub deciders: String,
    /// Whether the asker may not decide.
    pub four_eyes: bool,
    pub editable: bool,
    pub status: ApprovalStatus,
    pub created_at: Micros,
    pub expires_at: Micros,
    pub decided_by: Option<String>,
    pub decided_at: Option<Micros>,
    pub reason: Option<String>,
    pub edited_args: Option<String>,
    pub edited_sealed: Option<String>,
    pub edited_hash: Option<String>,
    pub consumed_at: Option<Micros>,
    pub replaced_by: Option<String>,
}

const COLUMNS: &str = "id, partition, requested_by, agent_id, agent_name, agent_version, model, session_id, session_name, \
     turn_id, ordinal, tool, slug, method, source, digest, instance_id, args, args_sealed, args_hash, schema, preview, rule, \
     deciders, four_eyes, editable, status, created_at, expires_at, decided_by, decided_at, reason, edited_args, \
     edited_sealed, edited_hash, consumed_at, replaced_by";

fn read(row: Row) -> Result<ApprovalRow, StoreError> {
    let time = |i| Ok::<_, StoreError>(row.opt_int(i)?.map(Micros));
    Ok(ApprovalRow {
        id: row.text(0)?,
        partition: row.text(1)?,
        requested_by: row.text(2)?,
        agent_id: row.text(3)?,
        agent_name: row.text(4)?,
        agent_version: row.int(5)?,
        model: row.text(6)?,
        session_id: row.text(7)?,
        session_name: row.text(8)?,
        turn_id: row.text(9)?,
        ordinal: u32::try_from(row.int(10)?).map_err(|_| StoreError::BadNumber)?,
        tool: row.text(11)?,
        slug: row.text(12)?,
        method: row.text(13)?,
        source: row.text(14)?,
        digest: row.text(15)?,
        instance_id: row.text(16)?,
        args: row.text(17)?,
        args_sealed: row.opt_text(18)?,
        args_hash: row.text(19)?,
        schema: row.text(20)?,
        preview: row.opt_text(21)?,
        rule: row.text(22)?,
        deciders: row.text(23)?,
        four_eyes: row.bool(24)?,
        editable: row.bool(25)?,
        status: ApprovalStatus::parse(row.str(26)?)
            .ok_or_else(|| StoreError::Decode("status of an approval".into()))?,
        created_at: Micros(row.int(27)?),
        expires_at: Micros(row.int(28)?),
        decided_by: row.opt_text(29)?,
        decided_at: time(30)?,
        reason: row.opt_text(31)?,
        edited_args: row.opt_text(32)?,
        edited_sealed: row.opt_text(33)?,
        edited_hash: row.opt_text(34)?,
        consumed_at: time(35)?,
        replaced_by: row.opt_text(36)?,
    })
}

/// Inserts a pending approval.
pub fn insert(tx: &mut dyn Tx, a: &ApprovalRow) -> Result<(), StoreError> {
    let marks: Vec<String> = (1..=37).map(|n| format!("${n}")).collect();
    tx.exec(
        &format!("insert into approvals ({COLUMNS}) values ({})", marks.join(", ")),
        vals![
            &a.id,
            &a.partition,
            &a.requested_by,
            &a.agent_id,
            &a.agent_name,
            a.agent_version,
            &a.model,
            &a.session_id,
            &a.session_name,
            &a.turn_id,
            a.ordinal,
            &a.tool,
            &a.slug,
            &a.method,
            &a.source,
            &a.digest,
            &a.instance_id,
            &a.args,
            a.args_sealed.clone(),
            &a.args_hash,
            &a.schema,
            a.preview.clone(),
            &a.rule,
            &a.deciders,
            a.four_eyes,
            a.editable,
            a.status.as_str(),
            a.created_at.0,
            a.expires_at.0,
            a.decided_by.clone(),
            a.decided_at.map(|t| t.0),
            a.reason.clone(),
            a.edited_args.clone(),
            a.edited_sealed.clone(),
            a.edited_hash.clone(),
            a.consumed_at.map(|t| t.0),
            a.replaced_by.clone()
        ],
    )?;
    Ok(())
}

/// One approval.
pub fn get(tx: &mut dyn Tx, partition: &Partition, id: &str) -> Result<Option<ApprovalRow>, StoreError> {
    tx.query_one(
        &format!("select {COLUMNS} from approvals where partition = $1 and id = $2"),
        vals![partition.as_str(), id],
    )?
    .map(read)
    .transpose()
}

/// All approvals of a turn, by the call's number, the newest last.
pub fn of_turn(tx: &mut dyn Tx, turn_id: &str) -> Result<Vec<ApprovalRow>, StoreError> {
    tx.query(&format!("select {COLUMNS} from approvals where turn_id = $1 order by ordinal, id"), vals![turn_id])?
        .into_iter()
        .map(read)
        .collect()
}

/// Approvals of a partition, newest first, at most a thousand: with some statuses, of one agent, of one asker; and only those
/// that can concern a person, who asked or whom a rule may name.
pub fn list(
    tx: &mut dyn Tx,
    partition: &Partition,
    statuses: &[ApprovalStatus],
    agent: Option<&str>,
    asker: Option<&str>,
    concerned: &str,
) -> Result<Vec<ApprovalRow>, StoreError> {
    let mut sql = format!(
        "select {COLUMNS} from approvals where partition = $1 and (requested_by = $2 or deciders <> 'asker' or four_eyes = 1)"
    );
    let mut args: Vec<Val> = vec![partition.as_str().into(), concerned.into()];
    if !statuses.is_empty() {
        let marks: Vec<String> = statuses
            .iter()
            .map(|status| {
                args.push(status.as_str().into());
                format!("${}", args.len())
            })
            .collect();
        sql += &format!(" and status in ({})", marks.join(", "));
    }
    if let Some(agent) = agent {
        args.push(agent.into());
        sql += &format!(" and agent_name = ${}", args.len());
    }
    if let Some(asker) = asker {
        args.push(asker.into());
        sql += &format!(" and requested_by = ${}", args.len());
    }
    sql += " order by id desc limit 1000";
    tx.query(&sql, &args)?.into_iter().map(read).collect()
}

/// Pending → approved, rejected or withdrawn. False when it was no longer pending.
pub fn decide(
    tx: &mut dyn Tx,
    id: &str,
    to: ApprovalStatus,
    by: &str,
    at: Micros,
    reason: Option<&str>,
    edited: Option<&EditedArgs>,
) -> Result<bool, StoreError> {
    let changed = tx.exec(
        "update approvals set status = $2, decided_by = $3, decided_at = $4, reason = $5, edited_args = $6, \
         edited_sealed = $7, edited_hash = $8 where id = $1 and status = 'pending'",
        vals![
            id,
            to.as_str(),
            by,
            at.0,
            reason,
            edited.map(|e| e.args.clone()),
            edited.and_then(|e| e.sealed.clone()),
            edited.map(|e| e.hash.clone())
        ],
    )?;
    Ok(changed == 1)
}

/// Arguments changed by the person who decided.
#[derive(Clone, Debug)]
pub struct EditedArgs {
    /// Canonical, secrets masked.
    pub args: String,
    /// The whole, sealed, when some are secret.
    pub sealed: Option<String>,
    /// SHA-256 of the whole.
    pub hash: String,
}

/// One status → another, for ends that are no decision. False when it was in another status.
pub fn end(
    tx: &mut dyn Tx,
    id: &str,
    from: ApprovalStatus,
    to: ApprovalStatus,
    reason: Option<&str>,
) -> Result<bool, StoreError> {
    let changed = tx.exec(
        "update approvals set status = $3, reason = coalesce($4, reason) where id = $1 and status = $2",
        vals![id, from.as_str(), to.as_str(), reason],
    )?;
    Ok(changed == 1)
}

/// What must still hold when an approval is consumed.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct MustHold<'a> {
    pub partition: &'a Partition,
    pub turn_id: &'a str,
    pub ordinal: u32,
    pub tool: &'a str,
    pub digest: &'a str,
    pub agent_version: i64,
    pub args_hash: &'a str,
    /// An approval decided before this is too old to run.
    pub decided_after: Micros,
}

/// Approved → consumed, if everything still holds. The compare-and-set on which "once" rests.
pub fn consume(tx: &mut dyn Tx, id: &str, at: Micros, hold: &MustHold<'_>) -> Result<bool, StoreError> {
    // Only in builds for tests: shows that the tests notice when the compare-and-set is missing.
    let status = if crate::fault::active("consume_without_cas") { "status <> 'none'" } else { "status = 'approved'" };
    let changed = tx.exec(
        &format!(
            "update approvals set status = 'consumed', consumed_at = $2 where id = $1 and {status} and partition = $3 \
             and turn_id = $4 and ordinal = $5 and tool = $6 and digest = $7 and agent_version = $8 \
             and coalesce(edited_hash, args_hash) = $9 and coalesce(decided_at, $10) >= $10"
        ),
        vals![
            id,
            at.0,
            hold.partition.as_str(),
            hold.turn_id,
            hold.ordinal,
            hold.tool,
            hold.digest,
            hold.agent_version,
            hold.args_hash,
            hold.decided_after.0
        ],
    )?;
    Ok(changed == 1)
}

/// Names the approval that was asked instead of this one, once.
pub fn replace(tx: &mut dyn Tx, id: &str, by: &str) -> Result<bool, StoreError> {
    Ok(tx.exec("update approvals set replaced_by = $2 where id = $1 and replaced_by is null", vals![id, by])? == 1)
}
