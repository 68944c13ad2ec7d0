//! Turns as rows, and their append-only log of events.
//!
//! Whoever writes to a log holds the turn's lease; the lease's epoch fences a process that lost it.

use crate::{Row, StoreError, Tx, vals};
use contract::Micros;
use contract::turn::{Limits, LoggedEvent, TurnEvent, TurnStatus};
use rules::partition::Partition;

/// A turn.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct TurnRow {
    pub id: String,
    pub session_id: String,
    pub partition: String,
    pub user_id: String,
    /// Counts the session's turns, from 1.
    pub n: i64,
    pub status: TurnStatus,
    pub agent_version: i64,
    /// `provider:model`.
    pub model: String,
    /// `server`, `byok` or `none`.
    pub key_source: String,
    pub limits: Limits,
    /// The process that works on it.
    pub lease_owner: Option<String>,
    pub lease_epoch: i64,
    pub lease_until: Option<Micros>,
    pub last_seq: i64,
    /// Who asked it to stop.
    pub stop_asked_by: Option<String>,
    pub created_at: Micros,
}

const COLUMNS: &str = "id, session_id, partition, user_id, n, status, agent_version, model, key_source, limits, lease_owner, \
     lease_epoch, lease_until, last_seq, stop_asked_by, created_at";

fn read(row: Row) -> Result<TurnRow, StoreError> {
    let bad = |what: &str| StoreError::Decode(format!("{what} of a turn"));
    Ok(TurnRow {
        id: row.text(0)?,
        session_id: row.text(1)?,
        partition: row.text(2)?,
        user_id: row.text(3)?,
        n: row.int(4)?,
        status: TurnStatus::parse(row.str(5)?).ok_or_else(|| bad("status"))?,
        agent_version: row.int(6)?,
        model: row.text(7)?,
        key_source: row.text(8)?,
        limits: serde_json::from_str(row.str(9)?).map_err(|_| bad("limits"))?,
        lease_owner: row.opt_text(10)?,
        lease_epoch: row.int(11)?,
        lease_until: row.opt_int(12)?.map(Micros),
        last_seq: row.int(13)?,
        stop_asked_by: row.opt_text(14)?,
        created_at: Micros(row.int(15)?),
    })
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::Decode(e.to_string()))
}

/// Begins a turn: a running one under the lease that its row names, with the first events of its log, which it answers as they
/// stand there. A second open turn of one session is refused by the database.
pub fn begin(tx: &mut dyn Tx, t: &TurnRow, events: &[TurnEvent]) -> Result<Vec<LoggedEvent>, StoreError> {
    let count = i64::try_from(events.len()).map_err(|_| StoreError::BadNumber)?;
    tx.exec(
        "insert into turns (id, session_id, partition, user_id, n, status, agent_version, model, key_source, limits, \
         lease_owner, lease_epoch, lease_until, last_seq, created_at) \
         values ($1, $2, $3, $4, $5, 'running', $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        vals![
            &t.id,
            &t.session_id,
            &t.partition,
            &t.user_id,
            t.n,
            t.agent_version,
            &t.model,
            &t.key_source,
            json(&t.limits)?,
            t.lease_owner.as_deref(),
            t.lease_epoch,
            t.lease_until.map(|until| until.0),
            count,
            t.created_at.0
        ],
    )?;
    put_events(tx, &t.id, 0, t.created_at, t.lease_epoch, events)
}

/// Puts events into the log of a turn after a place in it.
fn put_events(
    tx: &mut dyn Tx,
    id: &str,
    after: i64,
    at: Micros,
    epoch: i64,
    events: &[TurnEvent],
) -> Result<Vec<LoggedEvent>, StoreError> {
    let mut logged = Vec::with_capacity(events.len());
    for (seq, event) in (after + 1..).zip(events) {
        put_event(tx, id, seq, at, epoch, event)?;
        logged.push(LoggedEvent { seq, at, event: event.clone() });
    }
    Ok(logged)
}

fn put_event(tx: &mut dyn Tx, id: &str, seq: i64, at: Micros, epoch: i64, event: &TurnEvent) -> Result<(), StoreError> {
    let body = serde_json::to_value(event).map_err(|e| StoreError::Decode(e.to_string()))?;
    let kind = body["kind"].as_str().unwrap_or_default().to_owned();
    tx.exec(
        "insert into turn_events (turn_id, seq, at, epoch, kind, body) values ($1, $2, $3, $4, $5, $6)",
        vals![id, seq, at.0, epoch, kind, body.to_string()],
    )
    .map(drop)
}

/// A turn of a partition.
pub fn get(tx: &mut dyn Tx, partition: &Partition, id: &str) -> Result<Option<TurnRow>, StoreError> {
    tx.query_one(
        &format!("select {COLUMNS} from turns where id = $1 and partition = $2"),
        vals![id, partition.as_str()],
    )?
    .map(read)
    .transpose()
}

/// The turns of a session, oldest first.
pub fn of_session(tx: &mut dyn Tx, session_id: &str) -> Result<Vec<TurnRow>, StoreError> {
    tx.query(&format!("select {COLUMNS} from turns where session_id = $1 order by n"), vals![session_id])?
        .into_iter()
        .map(read)
        .collect()
}

/// The newest turn of a session.
pub fn last_of_session(tx: &mut dyn Tx, session_id: &str) -> Result<Option<TurnRow>, StoreError> {
    tx.query_one(
        &format!("select {COLUMNS} from turns where session_id = $1 order by n desc limit 1"),
        vals![session_id],
    )?
    .map(read)
    .transpose()
}

/// Takes the lease from whoever had it, if nobody else took it since `seen_epoch` was read. Answers the new epoch. A turn that
/// waits goes on waiting until something is written: looking at it is not working on it.
pub fn take_lease(
    tx: &mut dyn Tx,
    id: &str,
    seen_epoch: i64,
    owner: &str,
    until: Micros,
) -> Result<Option<i64>, StoreError> {
    let taken = tx.exec(
        "update turns set lease_owner = $3, lease_epoch = lease_epoch + 1, lease_until = $4 \
         where id = $1 and lease_epoch = $2 and status in ('running', 'waiting')",
        vals![id, seen_epoch, owner, until.0],
    )?;
    Ok((taken == 1).then_some(seen_epoch + 1))
}

/// Prolongs a lease. False when it is somebody else's now.
pub fn renew(tx: &mut dyn Tx, id: &str, epoch: i64, until: Micros) -> Result<bool, StoreError> {
    let renewed = tx.exec(
        "update turns set lease_until = $3 where id = $1 and lease_epoch = $2 and lease_owner is not null",
        vals![id, epoch, until.0],
    )?;
    Ok(renewed == 1)
}

/// Gives a lease back and says where the turn stands. False when it was somebody else's.
pub fn release(tx: &mut dyn Tx, id: &str, epoch: i64, status: TurnStatus) -> Result<bool, StoreError> {
    let released = tx.exec(
        "update turns set lease_owner = null, lease_until = null, status = $3 where id = $1 and lease_epoch = $2 \
         and lease_owner is not null",
        vals![id, epoch, status.as_str()],
    )?;
    Ok(released == 1)
}

/// Appends events under a lease; the turn is being worked on from now. None when the lease is somebody else's: nothing was written.
pub fn append(
    tx: &mut dyn Tx,
    id: &str,
    epoch: i64,
    at: Micros,
    events: &[TurnEvent],
) -> Result<Option<Vec<LoggedEvent>>, StoreError> {
    let count = i64::try_from(events.len()).map_err(|_| StoreError::BadNumber)?;
    let fenced = tx.query_one(
        "update turns set last_seq = last_seq + $3, status = 'running' where id = $1 and lease_epoch = $2 and lease_owner is not null \
         returning last_seq",
        vals![id, epoch, count],
    )?;
    let Some(row) = fenced else { return Ok(None) };
    put_events(tx, id, row.int(0)? - count, at, epoch, events).map(Some)
}

/// The events of a turn after a place in its log.
pub fn events(tx: &mut dyn Tx, id: &str, after: i64) -> Result<Vec<LoggedEvent>, StoreError> {
    tx.query("select seq, at, body from turn_events where turn_id = $1 and seq > $2 order by seq", vals![id, after])?
        .into_iter()
        .map(|row| {
            Ok(LoggedEvent {
                seq: row.int(0)?,
                at: Micros(row.int(1)?),
                event: serde_json::from_str(row.str(2)?)
                    .map_err(|e| StoreError::Decode(format!("event of a turn: {e}")))?,
            })
        })
        .collect()
}

/// Asks whoever works on a turn to stop. False when it is over, or was asked before.
pub fn ask_to_stop(tx: &mut dyn Tx, id: &str, by: &str) -> Result<bool, StoreError> {
    let asked = tx.exec(
        "update turns set stop_asked_by = $2 where id = $1 and stop_asked_by is null and status in ('running', 'waiting')",
        vals![id, by],
    )?;
    Ok(asked == 1)
}
