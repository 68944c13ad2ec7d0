//! The lease on a turn: one process works on it, and a process that lost it can write nothing more.

use crate::Runtime;
use crate::error::RuntimeError;
use contract::Micros;
use contract::turn::{LoggedEvent, TurnEvent, TurnStatus};
use rules::partition::Partition;
use serde_json::json;
use std::time::Duration;
use store::repo::approvals;
use store::repo::turns::{self, TurnRow};
use store::{StoreError, Tx};
use tokio::time::Instant;
use trust::approvals::end_open;
use trust::journal::{self, Entry};

/// Between two tries at a store that cannot write just now.
const AGAIN: Duration = Duration::from_millis(500);

/// A lease that this process holds.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub turn: String,
    pub epoch: i64,
    pub partition: Partition,
    /// Whose turn it is.
    pub user: String,
}

/// What came of trying to take a lease.
pub(crate) enum Taken {
    /// It is ours.
    Ours(Lease, Box<TurnRow>),
    /// A living process has it.
    Busy,
    /// The turn is over.
    Over,
}

impl Runtime {
    /// How a lease of this process names it.
    pub(crate) fn owner(&self) -> String {
        self.store.home().process_id().to_string()
    }

    /// Takes the lease for a driver, unless a living process has it. A process is dead when its lock in the home is gone;
    /// on another machine, when its time has run out.
    pub(crate) async fn take_lease(&self, partition: &Partition, turn: &str) -> Result<Taken, RuntimeError> {
        self.take(partition, turn, true).await
    }

    /// Takes the lease for something short beside the driver, unless one works on the turn, here or elsewhere.
    pub(crate) async fn borrow_lease(&self, partition: &Partition, turn: &str) -> Result<Taken, RuntimeError> {
        self.take(partition, turn, false).await
    }

    async fn take(&self, partition: &Partition, turn: &str, for_driver: bool) -> Result<Taken, RuntimeError> {
        let (p, id) = (partition.clone(), turn.to_owned());
        let Some(row) = self.store.read(move |tx| turns::get(tx, &p, &id)).await? else { return Ok(Taken::Over) };
        if row.status.is_over() {
            return Ok(Taken::Over);
        }
        let me = self.owner();
        let busy = if row.lease_owner.as_ref() == Some(&me) {
            // Left over from a driver of this process that failed, unless it is the one at work.
            !for_driver && self.watchers.is_driven(turn)
        } else {
            row.lease_until.is_some_and(|until| until > Micros::now()) && self.holder_lives(&row)
        };
        if busy {
            return Ok(Taken::Busy);
        }
        let (id, seen, seconds) = (turn.to_owned(), row.lease_epoch, self.settings.lease_seconds);
        let taken = self
            .store
            .write(move |tx| turns::take_lease(tx, &id, seen, &me, Micros::now().plus_seconds(seconds)))
            .await?;
        Ok(match taken {
            Some(epoch) => Taken::Ours(
                Lease { turn: turn.to_owned(), epoch, partition: partition.clone(), user: row.user_id.clone() },
                Box::new(row),
            ),
            None => Taken::Busy,
        })
    }

    /// Whether the process that holds this row's lease is another one that still lives.
    pub(crate) fn holder_lives(&self, row: &TurnRow) -> bool {
        let other = row.lease_owner.as_ref().filter(|owner| **owner != self.owner());
        other.is_some_and(|owner| owner.parse().is_ok_and(|id| self.store.home().is_alive(id)))
    }

    /// Whether a turn is to be worked on, and neither this process nor another living one is at it.
    pub(crate) fn is_abandoned(&self, row: &TurnRow) -> bool {
        row.status == TurnStatus::Running && row.lease_owner.as_ref() != Some(&self.owner()) && !self.holder_lives(row)
    }

    /// Appends events under a lease.
    pub(crate) async fn append(&self, lease: &Lease, events: Vec<TurnEvent>) -> Result<Vec<LoggedEvent>, RuntimeError> {
        let (lease, seconds) = (lease.clone(), self.settings.lease_seconds);
        self.store.write(move |tx| append_in(tx, &lease, seconds, &events)).await
    }

    /// Gives a lease back; the turn stands at `status`.
    pub(crate) async fn release(&self, lease: &Lease, status: TurnStatus) -> Result<(), RuntimeError> {
        let lease = lease.clone();
        self.store.write(move |tx| turns::release(tx, &lease.turn, lease.epoch, status)).await?;
        Ok(())
    }

    /// The same for what is known and cannot be found out again: a store that cannot take it just now is asked again, for as
    /// long as a lease lasts. Whether it may still be written is the fence's to say.
    pub(crate) async fn append_surely(
        &self,
        lease: &Lease,
        events: Vec<TurnEvent>,
    ) -> Result<Vec<LoggedEvent>, RuntimeError> {
        let until = Instant::now() + self.lease_lasts();
        loop {
            match self.append(lease, events.clone()).await {
                Err(RuntimeError::Store(error)) if may_pass(&error) && Instant::now() + AGAIN < until => {
                    tracing::warn!(turn = lease.turn, %error, "what is known cannot be written yet");
                    tokio::time::sleep(AGAIN).await;
                }
                done => return done,
            }
        }
    }

    /// Prolongs a lease while something long runs; it has been prolonged just before. Ends when the lease is lost, or has
    /// come to its end because the store could not prolong it: a renewal that fails is tried again until then.
    pub(crate) async fn keep(&self, lease: &Lease) -> RuntimeError {
        let lasts = self.lease_lasts();
        let every = (lasts / 3).max(Duration::from_secs(1));
        let mut until = Instant::now() + lasts;
        let mut pause = every;
        loop {
            tokio::time::sleep(pause).await;
            let (lease, seconds) = (lease.clone(), self.settings.lease_seconds);
            let tried = Instant::now();
            let renewed = self
                .store
                .write(move |tx| turns::renew(tx, &lease.turn, lease.epoch, Micros::now().plus_seconds(seconds)))
                .await;
            match renewed {
                Ok(true) => (until, pause) = (tried + lasts, every),
                Ok(false) => return RuntimeError::LeaseLost,
                Err(error) if may_pass(&error) && Instant::now() + AGAIN < until => pause = AGAIN,
                Err(error) => return error.into(),
            }
        }
    }

    fn lease_lasts(&self) -> Duration {
        Duration::from_secs(self.settings.lease_seconds.max(1).unsigned_abs())
    }
}

/// Whether the store may work again in a moment; one that was closed does not.
fn may_pass(error: &StoreError) -> bool {
    error.is_temporary() && *error != StoreError::Closed
}

/// Tells the journal what became of calls that a person was asked about, and ends what a refused call leaves open.
fn tell(tx: &mut dyn Tx, now: Micros, lease: &Lease, event: &TurnEvent) -> Result<(), StoreError> {
    let (ordinal, actor, action, mut body) = match event {
        TurnEvent::CallRefused { ordinal, code, .. } => {
            (*ordinal, &lease.user, "call.refused", json!({ "code": code }))
        }
        TurnEvent::CallEnded { ordinal, result } => (*ordinal, &lease.user, "call.ended", json!({ "ok": result.ok })),
        TurnEvent::CallUnknown { ordinal } => (*ordinal, &lease.user, "call.unknown", json!({})),
        TurnEvent::UnknownSettled { ordinal, by, ran, .. } => (*ordinal, by, "call.settled", json!({ "ran": ran })),
        _ => return Ok(()),
    };
    let asked = approvals::of_turn(tx, &lease.turn)?.into_iter().rfind(|row| row.ordinal == ordinal);
    let Some(asked) = asked else { return Ok(()) };
    if action == "call.refused" {
        end_open(tx, now, &lease.turn, Some(ordinal), actor, "The call was refused.")?;
    }
    body["approval"] = asked.id.into();
    body["turn"] = lease.turn.clone().into();
    body["ordinal"] = ordinal.into();
    let subject = format!("agent:{}", asked.agent_name);
    journal::record(tx, now, Entry { partition: &lease.partition, actor, action, subject: &subject, body })
}

/// Appends inside a transaction, and prolongs the lease.
///
/// # Errors
/// [`RuntimeError::LeaseLost`]: nothing of the transaction may stand.
pub(crate) fn append_in(
    tx: &mut dyn Tx,
    lease: &Lease,
    lease_seconds: i64,
    events: &[TurnEvent],
) -> Result<Vec<LoggedEvent>, RuntimeError> {
    let now = Micros::now();
    let logged = turns::append(tx, &lease.turn, lease.epoch, now, events)?.ok_or(RuntimeError::LeaseLost)?;
    for event in events {
        tell(tx, now, lease, event)?;
    }
    turns::renew(tx, &lease.turn, lease.epoch, now.plus_seconds(lease_seconds))?;
    Ok(logged)
}
