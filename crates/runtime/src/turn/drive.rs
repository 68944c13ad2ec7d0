//! The driver of a turn: takes the lease, folds the log, carries out what follows, and waits for people without holding
//! anything. Any process may drive any turn; the lease decides who does.

use super::lease::{Lease, Taken};
use super::state::{Effect, State};
use crate::Runtime;
use crate::error::RuntimeError;
use crate::instances::Shared;
use crate::standing::{self, Standing};
use crate::watch::Live;
use contract::ops::approvals::ApprovalStatus;
use contract::turn::{LoggedEvent, NotApproved, TurnEvent, TurnStatus};
use contract::{Micros, StudioError};
use models::{Message, ModelClient};
use rules::partition::Partition;
use rules::scope::BoundRequest;
use std::sync::Arc;
use std::time::Duration;
use store::repo::turns::TurnRow;
use store::repo::{approvals as approval_rows, sessions, turns};
use tools::enter;
use trust::approvals;

/// A turn in the hands of its driver.
pub(crate) struct Driven {
    pub runtime: Runtime,
    pub partition: Partition,
    pub turn: TurnRow,
    pub session: sessions::SessionRow,
    pub agent: crate::agent::AgentVersion,
    pub instance: Shared,
    /// What the person may do, once it mattered, and how to ask anew.
    pub request: Option<Arc<Result<BoundRequest, StudioError>>>,
    pub standing: Standing,
    pub client: Option<Arc<dyn ModelClient>>,
    pub live: Live,
    pub lease: Lease,
    pub state: State,
    /// Whether the first question stands in the log and has not been put.
    pub is_unput: bool,
    /// The session's earlier turns once they are known; they are over and change no more.
    pub earlier: Option<Arc<Vec<Vec<Message>>>>,
}

/// A turn under a lease that was just taken.
pub(crate) struct Held {
    pub lease: Lease,
    pub turn: TurnRow,
    /// When it has just begun in this process: what would otherwise be read before its model is asked.
    pub known: Option<Known>,
}

/// What a driver has to know of a turn.
pub(crate) struct Known {
    pub session: sessions::SessionRow,
    pub agent: crate::agent::AgentVersion,
    pub instance: Shared,
    pub events: Vec<LoggedEvent>,
    /// The session's earlier turns, when the first question is in the log and was not put.
    pub earlier: Option<Vec<Vec<Message>>>,
}

/// Drives a turn until it is over, or until this process is told to stop.
pub(crate) async fn drive(
    runtime: Runtime,
    partition: Partition,
    turn: String,
    standing: Standing,
    live: Live,
    mut held: Option<Held>,
) {
    loop {
        match once(&runtime, &partition, &turn, &standing, &live, held.take()).await {
            Ok(On::Over) => break,
            Ok(On::Again) => {}
            Err(RuntimeError::Stopping) => break,
            Err(RuntimeError::LeaseLost) => tracing::info!(turn, "another process took the turn over"),
            Err(error) => {
                // What could not be written is not lost: whoever resumes the turn goes on from its log.
                tracing::error!(turn, %error, "turn stopped");
                live.failed(error.into());
                break;
            }
        }
        if runtime.is_stopping() {
            break;
        }
    }
}

enum On {
    Over,
    Again,
}

async fn once(
    runtime: &Runtime,
    partition: &Partition,
    turn: &str,
    standing: &Standing,
    live: &Live,
    held: Option<Held>,
) -> Result<On, RuntimeError> {
    let mut bell = runtime.store.bell().subscribe();
    let held = match held {
        Some(held) => held,
        None => match runtime.take_lease(partition, turn).await? {
            Taken::Over => return Ok(On::Over),
            Taken::Ours(lease, row) => Held { lease, turn: *row, known: None },
            Taken::Busy => {
                runtime.pause(&mut bell, Duration::from_secs(1)).await;
                return Ok(On::Again);
            }
        },
    };
    if let Some(by) = held.turn.stop_asked_by.clone()
        && stop(runtime, &held, by).await?
    {
        return Ok(On::Over);
    }
    let mut driven = Driven::load(runtime, partition, standing, live, held).await?;
    driven.recover().await?;
    loop {
        // Taken before anything is tried: what comes between the attempt and the wait is a difference, not a part of it.
        let seen = look(runtime, partition, turn).await?;
        if let Some(by) = seen.stop.clone().filter(|_| !driven.state.interrupted) {
            driven.interrupt(by).await?;
        }
        let effects = driven.state.next();
        if effects.is_empty() {
            return Ok(On::Over);
        }
        let before = driven.state.last_seq;
        driven.carry_out(&effects).await?;
        if driven.state.ended.is_some() {
            return Ok(On::Over);
        }
        if runtime.is_stopping() {
            let status = if driven.state.waits() { TurnStatus::Waiting } else { TurnStatus::Running };
            runtime.release(&driven.lease, status).await?;
            return Ok(On::Over);
        }
        if driven.state.last_seq == before && effects.contains(&Effect::Await) {
            let seen = Seen { last_seq: before, abandoned: false, ..seen };
            let lease = driven.lease.clone();
            // It may be a day: the instance, the log and the model's client are not held meanwhile.
            drop(driven);
            wait(runtime, &lease, seen, &mut bell).await?;
            return Ok(On::Again);
        }
    }
}

impl Driven {
    pub(crate) async fn load(
        runtime: &Runtime,
        partition: &Partition,
        standing: &Standing,
        live: &Live,
        held: Held,
    ) -> Result<Self, RuntimeError> {
        let Held { lease, turn, known } = held;
        let Known { session, agent, instance, events, earlier } = match known {
            Some(known) => known,
            None => Self::read(runtime, partition, &turn).await?,
        };
        Ok(Self {
            runtime: runtime.clone(),
            partition: partition.clone(),
            state: State::of(&events),
            turn,
            session,
            agent,
            instance,
            request: None,
            standing: standing.clone(),
            client: None,
            live: live.clone(),
            lease,
            is_unput: earlier.is_some(),
            earlier: earlier.map(Arc::new),
        })
    }

    async fn read(runtime: &Runtime, partition: &Partition, turn: &TurnRow) -> Result<Known, RuntimeError> {
        let (id, session, version) = (turn.id.clone(), turn.session_id.clone(), turn.agent_version);
        let loaded = runtime
            .store
            .read(move |tx| -> Result<_, RuntimeError> {
                let Some(session) = sessions::get(tx, &session)? else { return Ok(None) };
                let Some(agent) = crate::agent::load(tx, &session.agent_id, version)? else { return Ok(None) };
                Ok(Some((session, agent, turns::events(tx, &id, 0)?)))
            })
            .await?;
        let Some((session, agent, events)) = loaded else {
            return Err(store::StoreError::Decode("a turn without its session or its agent's version".into()).into());
        };
        let instance = runtime.instance(partition, &session.id, &agent)?;
        Ok(Known { session, agent, instance, events, earlier: None })
    }

    /// What the person may do. It is asked when it first matters, which is after the model was asked.
    pub(crate) async fn request(&mut self) -> Result<Arc<Result<BoundRequest, StudioError>>, RuntimeError> {
        if let Some(request) = &self.request {
            return Ok(request.clone());
        }
        self.request_anew().await
    }

    /// The same, asked anew.
    pub(crate) async fn request_anew(&mut self) -> Result<Arc<Result<BoundRequest, StudioError>>, RuntimeError> {
        let request = Arc::new(standing::ask(&self.standing).await?);
        self.request = Some(request.clone());
        Ok(request)
    }

    /// Appends events and folds them in.
    pub(crate) async fn append(&mut self, events: Vec<TurnEvent>) -> Result<(), RuntimeError> {
        for logged in self.runtime.append(&self.lease, events).await? {
            self.state.apply(&logged);
        }
        Ok(())
    }

    /// The same for what cannot be found out again; see [`Runtime::append_surely`].
    pub(crate) async fn append_surely(&mut self, events: Vec<TurnEvent>) -> Result<(), RuntimeError> {
        for logged in self.runtime.append_surely(&self.lease, events).await? {
            self.state.apply(&logged);
        }
        Ok(())
    }

    /// After a crash: a write that had started is unknown, unless the tool itself can tell.
    pub(crate) async fn recover(&mut self) -> Result<(), RuntimeError> {
        let holder_lives = self.runtime.holder_lives(&self.turn);
        for ordinal in self.state.lost_writes(self.lease.epoch) {
            let mut events = vec![TurnEvent::CallUnknown { ordinal }];
            // A process that only lost its lease may be about to call the tool: then "it did not run" says nothing.
            if let Some(ran) = self.ask_the_tool(ordinal).await.filter(|ran| *ran || !holder_lives) {
                let note = Some("The tool itself was asked after a restart.".to_owned());
                events.push(TurnEvent::UnknownSettled { ordinal, by: "tool".into(), ran, note });
            }
            self.append(events).await?;
        }
        Ok(())
    }

    async fn ask_the_tool(&mut self, ordinal: u32) -> Option<bool> {
        let request = self.request().await.ok()?;
        let call = self.state.calls.get(ordinal as usize)?;
        let facts = self.instance.tool(&call.planned.tool)?;
        if call.digest.as_deref() != Some(facts.digest()) {
            return None;
        }
        let scope = enter(facts, Some(request.as_ref().as_ref().ok()?)).ok()?;
        let bound = self.instance.bound(facts, &scope).ok()?;
        let (partition, id) = (self.partition.clone(), call.approval.clone()?);
        let row = self.runtime.store.read(move |tx| approval_rows::get(tx, &partition, &id)).await.ok()??;
        // The log holds secrets masked; the tool is asked about what was passed.
        let args = approvals::exact_args(self.runtime.vault.as_deref(), &row).ok()?;
        bound.did_run(&scope, &args, &row.id, Duration::from_secs(10)).await
    }

    async fn interrupt(&mut self, by: String) -> Result<(), RuntimeError> {
        self.append(vec![TurnEvent::Interrupted { by }]).await
    }

    async fn carry_out(&mut self, effects: &[Effect]) -> Result<(), RuntimeError> {
        let reads: Vec<u32> = effects
            .iter()
            .filter_map(|e| if let Effect::RunRead(ordinal) = e { Some(*ordinal) } else { None })
            .collect();
        if !reads.is_empty() {
            self.run_reads(&reads).await?;
        }
        for effect in effects {
            if self.state.interrupted && !matches!(effect, Effect::Finish(..)) {
                break;
            }
            match effect {
                Effect::AskModel => self.ask_model().await?,
                Effect::Check(ordinal) => self.check(*ordinal).await?,
                Effect::OpenApproval(ordinal) => self.open_approval(*ordinal).await?,
                Effect::TryWrite(ordinal) => self.try_write(*ordinal).await?,
                Effect::HitLimit(limit) => self.append(vec![TurnEvent::LimitHit { limit: *limit }]).await?,
                Effect::Finish(status, text) => self.finish(*status, text.clone()).await?,
                Effect::RunRead(_) | Effect::Await => {}
            }
        }
        Ok(())
    }

    async fn finish(&mut self, status: TurnStatus, text: String) -> Result<(), RuntimeError> {
        for event in end(&self.runtime, &self.lease, Vec::new(), status, text).await? {
            self.state.apply(&event);
        }
        Ok(())
    }
}

/// Ends a turn that is asked to stop without building its agent, which may not build any more. False when there is more to it:
/// a write that may have run has to be asked about.
async fn stop(runtime: &Runtime, held: &Held, by: String) -> Result<bool, RuntimeError> {
    let id = held.turn.id.clone();
    let events = runtime.store.read(move |tx| turns::events(tx, &id, 0)).await?;
    let mut state = State::of(&events);
    let before = if state.interrupted { Vec::new() } else { vec![TurnEvent::Interrupted { by }] };
    state.interrupted = true;
    if !state.lost_writes(held.lease.epoch).is_empty() {
        return Ok(false);
    }
    let effects = state.next();
    let [Effect::Finish(status, text)] = effects.as_slice() else { return Ok(false) };
    end(runtime, &held.lease, before, *status, text.clone()).await?;
    Ok(true)
}

/// Ends a turn, after these last entries: nothing that was asked is left open, and the lease is given back.
async fn end(
    runtime: &Runtime,
    lease: &Lease,
    mut events: Vec<TurnEvent>,
    status: TurnStatus,
    text: String,
) -> Result<Vec<LoggedEvent>, RuntimeError> {
    events.push(TurnEvent::Ended { status, text });
    let (lease, seconds) = (lease.clone(), runtime.settings.lease_seconds);
    runtime
        .store
        .write(move |tx| -> Result<_, RuntimeError> {
            let logged = super::lease::append_in(tx, &lease, seconds, &events)?;
            approvals::end_open(tx, Micros::now(), &lease.turn, None, &lease.user, "The turn ended.")?;
            turns::release(tx, &lease.turn, lease.epoch, status)?;
            Ok(logged)
        })
        .await
}

/// Waits for people: gives the lease back, and comes back when something that matters has changed, or when the next open
/// question expires. `seen` is how things stood before the last attempt to go on.
async fn wait(
    runtime: &Runtime,
    lease: &Lease,
    seen: Seen,
    bell: &mut store::bell::Waiter,
) -> Result<(), RuntimeError> {
    runtime.release(lease, TurnStatus::Waiting).await?;
    while !runtime.is_stopping() && look(runtime, &lease.partition, &lease.turn).await? == seen {
        let now = Micros::now();
        let slice = match seen.expires_at {
            Some(at) => Duration::from_micros(u64::try_from(at.0 - now.0 + 1000).unwrap_or(0)),
            None => Duration::from_secs(3600),
        };
        // A ring can be lost when its sender is killed between the commit and the ring.
        runtime.pause(bell, slice.min(Duration::from_secs(5))).await;
    }
    Ok(())
}

/// How a turn stands, for its driver.
async fn look(runtime: &Runtime, partition: &Partition, turn: &str) -> Result<Seen, RuntimeError> {
    let (partition, id) = (partition.clone(), turn.to_owned());
    let void = runtime.settings.void_seconds;
    runtime
        .store
        .read(move |tx| -> Result<_, RuntimeError> {
            let now = Micros::now();
            let row = turns::get(tx, &partition, &id)?;
            let rows = approval_rows::of_turn(tx, &id)?;
            let pending = |a: &&approval_rows::ApprovalRow| a.status == ApprovalStatus::Pending;
            Ok(Seen {
                last_seq: row.as_ref().map_or(0, |row| row.last_seq),
                stop: row.as_ref().and_then(|row| row.stop_asked_by.clone()),
                over: row.as_ref().is_none_or(|row| row.status.is_over()),
                abandoned: row.as_ref().is_some_and(|row| runtime.is_abandoned(row)),
                expires_at: rows.iter().filter(pending).map(|a| a.expires_at).min(),
                approvals: rows.iter().map(|a| (a.id.clone(), approvals::status_at(a, now, void))).collect(),
            })
        })
        .await
}

/// What a waiting turn waits for.
#[derive(Debug, PartialEq)]
struct Seen {
    last_seq: i64,
    /// Who asked for a stop.
    stop: Option<String>,
    over: bool,
    /// Somebody took the turn up and died over it.
    abandoned: bool,
    expires_at: Option<Micros>,
    approvals: Vec<(String, ApprovalStatus)>,
}

/// How an approval that did not run is told in the log.
pub(crate) fn not_approved(row: &approvals::ApprovalRow) -> Option<NotApproved> {
    not_approved_status(row.status, row.reason.clone())
}

/// The same by its status and the reason given.
pub(crate) fn not_approved_status(status: ApprovalStatus, reason: Option<String>) -> Option<NotApproved> {
    match status {
        ApprovalStatus::Rejected => Some(NotApproved::Rejected { reason }),
        ApprovalStatus::Expired => Some(NotApproved::Expired),
        ApprovalStatus::Withdrawn => Some(NotApproved::Withdrawn),
        ApprovalStatus::Void => Some(NotApproved::Void { reason: reason.unwrap_or_default() }),
        ApprovalStatus::Pending | ApprovalStatus::Approved | ApprovalStatus::Consumed => None,
    }
}
