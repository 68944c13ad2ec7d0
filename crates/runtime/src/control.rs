//! Resume, interrupt, settle, end, ask again, reload.

use crate::agent;
use crate::ask::Ask;
use crate::standing::{Standing, nobody};
use crate::turn::lease::Taken;
use crate::turn::state::{CallState, State};
use crate::{Runtime, RuntimeError, store_refusal};
use contract::ops::approvals::ApprovalStatus;
use contract::turn::{PlannedCall, TurnEvent, TurnStatus};
use contract::{Code, Micros, StudioError};
use rules::partition::Partition;
use rules::scope::BoundRequest;
use std::time::Duration;
use store::repo::approvals::{self as approval_rows, ApprovalRow};
use store::repo::sessions;
use store::repo::turns::{self, TurnRow};
use tools::enter;
use trust::approvals::{end_open, status_at};

/// How a turn begins that asks again for a call of an earlier one.
const AGAIN: &str = "Ask again: ";

/// How often, and how long each time, who settles a call waits for somebody who works on the turn.
const SETTLE_TRIES: u32 = 20;
const SETTLE_PAUSE: Duration = Duration::from_millis(100);

/// What a reload found.
#[derive(Clone, Debug, Default)]
pub struct Reload {
    /// Whether an instance was there before; it is retired and closed when nobody uses it.
    pub had_previous: bool,
    /// What the person should know.
    pub warnings: Vec<String>,
}

impl Runtime {
    /// Takes a turn up again in the background. A turn that is over stays over.
    pub fn resume(&self, partition: &Partition, turn: &str, standing: Standing) {
        self.spawn(partition.clone(), turn.to_owned(), standing, None);
    }

    /// Waits until a turn is over, or waits for people and `wait` has passed. A turn whose driver has an answer to act on
    /// does not wait for people.
    ///
    /// # Errors
    /// Of the store, and what made this process stop driving the turn.
    pub async fn settled(&self, partition: &Partition, turn: &str, wait: Duration) -> Result<(), StudioError> {
        let mut bell = self.store.bell().subscribe();
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            let failure = self.watchers.failure(turn);
            let (p, id) = (partition.clone(), turn.to_owned());
            let row = self.store.read(move |tx| turns::get(tx, &p, &id)).await.map_err(store_refusal)?;
            let Some(row) = row.filter(|row| !row.status.is_over()) else { return Ok(()) };
            let now = tokio::time::Instant::now();
            if row.status == TurnStatus::Waiting && now >= deadline && !self.is_answered(&row).await? {
                return Ok(());
            }
            if let Some(failure) = failure.filter(|_| !self.holder_lives(&row)) {
                return Err(failure);
            }
            let left = if now < deadline { deadline - now } else { Duration::from_secs(1) };
            let _ = tokio::time::timeout(left.min(Duration::from_secs(2)), bell.rung()).await;
        }
    }

    /// Whether a waiting turn has something to act on that its driver has not come to yet: an answer to a call, or the wish that
    /// it stops.
    pub(crate) async fn is_answered(&self, row: &TurnRow) -> Result<bool, StudioError> {
        let (id, now, void) = (row.id.clone(), Micros::now(), self.settings.void_seconds);
        let read = self.store.read(move |tx| -> Result<_, store::StoreError> {
            Ok((turns::events(tx, &id, 0)?, approval_rows::of_turn(tx, &id)?))
        });
        let (events, rows) = read.await.map_err(store_refusal)?;
        let state = State::of(&events);
        if row.stop_asked_by.is_some() && !state.interrupted {
            return Ok(true);
        }
        let mut asked = state.calls.iter().filter(|call| call.state == CallState::Asked);
        Ok(asked.any(|call| {
            let newest = rows.iter().rfind(|row| row.ordinal == call.planned.ordinal);
            newest.is_some_and(|row| status_at(row, now, void) != ApprovalStatus::Pending)
        }))
    }

    /// Stops a turn. Whoever works on it stops; if nobody does, it is ended here.
    ///
    /// # Errors
    /// Of the store.
    pub async fn interrupt(
        &self,
        partition: &Partition,
        turn: &str,
        by: &str,
        standing: Standing,
    ) -> Result<(), StudioError> {
        let (id, user) = (turn.to_owned(), by.to_owned());
        // In one transaction with the wish: no approval that was given before can be consumed after it.
        self.store
            .write(move |tx| -> Result<(), store::StoreError> {
                if turns::ask_to_stop(tx, &id, &user)? {
                    end_open(tx, Micros::now(), &id, None, &user, "The turn was stopped.")?;
                }
                Ok(())
            })
            .await
            .map_err(store_refusal)?;
        // A call that had started when its process died may be known to its tool, which is asked for the person who stops.
        self.spawn(partition.clone(), turn.to_owned(), standing, None);
        // What is asked of people has ended with the wish; a call whose outcome nobody knows keeps the turn waiting.
        let over = self.settled(partition, turn, Duration::ZERO);
        // A write that runs is let to its end; the caller is told how the turn stands meanwhile.
        tokio::time::timeout(Duration::from_secs(10), over).await.unwrap_or(Ok(()))
    }

    /// Says what became of a call whose outcome is unknown.
    ///
    /// # Errors
    /// 404 for a call that is not there, 409 `already_decided` for one whose outcome is known, 503 while somebody works on
    /// the turn.
    pub async fn settle(
        &self,
        partition: &Partition,
        turn: &str,
        ordinal: u32,
        by: &str,
        ran: bool,
        note: Option<String>,
    ) -> Result<(), StudioError> {
        let settled = TurnEvent::UnknownSettled { ordinal, by: by.to_owned(), ran, note };
        let mut bell = self.store.bell().subscribe();
        // Of two who settle at the same moment one comes second, and hears how it stands then.
        for _ in 0..SETTLE_TRIES {
            match self.try_settle(partition, turn, ordinal, &settled).await {
                Err(RuntimeError::LeaseLost) => self.pause(&mut bell, SETTLE_PAUSE).await,
                done => return done.map_err(StudioError::from),
            }
        }
        Err(RuntimeError::LeaseLost.into())
    }

    async fn try_settle(
        &self,
        partition: &Partition,
        turn: &str,
        ordinal: u32,
        settled: &TurnEvent,
    ) -> Result<(), RuntimeError> {
        let known =
            || StudioError::new(Code::AlreadyDecided, 409, "The outcome of this call is known, or it has not started.");
        let lease = match self.borrow_lease(partition, turn).await? {
            Taken::Ours(lease, _) => lease,
            Taken::Over => return Err(known().into()),
            Taken::Busy => return Err(RuntimeError::LeaseLost),
        };
        let id = turn.to_owned();
        let events = self.store.read(move |tx| turns::events(tx, &id, 0)).await?;
        let mut state = State::of(&events);
        // The tool is not asked: a person is here to say.
        let lost = state.lost_writes(lease.epoch);
        let mut new: Vec<TurnEvent> = lost.iter().map(|&ordinal| TurnEvent::CallUnknown { ordinal }).collect();
        let result = match state.calls.get(ordinal as usize).map(|call| &call.state) {
            None => Err(StudioError::not_found("Call", &ordinal.to_string())),
            Some(known_state) if *known_state != CallState::Unknown && !lost.contains(&ordinal) => Err(known()),
            Some(_) => {
                new.push(settled.clone());
                Ok(())
            }
        };
        for logged in self.append(&lease, new).await? {
            state.apply(&logged);
        }
        let status = if state.waits() { TurnStatus::Waiting } else { TurnStatus::Running };
        self.release(&lease, status).await?;
        Ok(result?)
    }

    /// Ends a session; its transcript stays. False when there was none.
    ///
    /// # Errors
    /// Of the store.
    pub async fn end_session(&self, partition: &Partition, session_id: &str, by: &str) -> Result<bool, StudioError> {
        let id = session_id.to_owned();
        let user = by.to_owned();
        // In one transaction: no ask begins a turn in between, and nothing that was asked is left to be approved.
        let (ended, open) = self
            .store
            .write(move |tx| -> Result<_, store::StoreError> {
                let now = Micros::now();
                let ended = sessions::end(tx, &id, now)?;
                let open = turns::last_of_session(tx, &id)?.filter(|turn| !turn.status.is_over());
                if let Some(turn) = &open
                    && turns::ask_to_stop(tx, &turn.id, &user)?
                {
                    end_open(tx, now, &turn.id, None, &user, "The turn was stopped.")?;
                }
                Ok((ended, open))
            })
            .await
            .map_err(store_refusal)?;
        let stopped = match open {
            Some(turn) => self.interrupt(partition, &turn.id, by, nobody()).await,
            None => Ok(()),
        };
        // The session has ended, whatever came of its turn.
        self.instances.retire(&format!("session:{session_id}"));
        match stopped {
            // The turn is asked to stop and does so as soon as it can.
            Err(error) if error.status < 500 => tracing::warn!(session_id, %error, "the turn of an ended session"),
            stopped => stopped?,
        }
        Ok(ended)
    }

    /// Asks again for the call of an approval that ended unanswered: a new turn of the same session begins with that call.
    /// The words of that turn stand in place of those of `ask`. Answers the new approval once it is open; none when the call
    /// was refused.
    ///
    /// # Errors
    /// 409 while the session has an open turn.
    pub async fn ask_again(&self, mut ask: Ask, old: &ApprovalRow) -> Result<Option<ApprovalRow>, StudioError> {
        let (turn, ordinal) = (old.turn_id.clone(), old.ordinal);
        let events = self.store.read(move |tx| turns::events(tx, &turn, 0)).await.map_err(store_refusal)?;
        let state = crate::turn::state::State::of(&events);
        let Some(call) = state.calls.get(ordinal as usize) else {
            return Err(StudioError::not_found("Call", &ordinal.to_string()));
        };
        let planned = PlannedCall { ordinal: 0, ..call.planned.clone() };
        // The model gets the words that the call came from, or it could not make sense of its own call.
        ask.text = format!("{AGAIN}{}", state.text.trim_start_matches(AGAIN));
        let (partition, standing) = (ask.partition.clone(), ask.standing.clone());
        let begun = self.begin(ask, Some(planned)).await?;
        self.spawn(partition.clone(), begun.turn.clone(), standing, Some(begun.held));
        self.settled(&partition, &begun.turn, Duration::ZERO).await?;
        let (new_turn, old_id) = (begun.turn.clone(), old.id.clone());
        self.store
            .write(move |tx| -> Result<_, store::StoreError> {
                let new = approval_rows::of_turn(tx, &new_turn)?.into_iter().next();
                if let Some(new) = &new {
                    approval_rows::replace(tx, &old_id, &new.id)?;
                }
                Ok(new)
            })
            .await
            .map_err(store_refusal)
    }

    /// Retires an agent's own instance and proves that the current record builds: its model is known, its tools are
    /// permitted and can be constructed.
    ///
    /// # Errors
    /// 404 for a disabled agent, 422 `reload_failed`; the instance before goes on serving then.
    pub async fn reload(
        &self,
        partition: &Partition,
        agent_id: &str,
        request: &BoundRequest,
    ) -> Result<Reload, StudioError> {
        let (p, id) = (partition.clone(), agent_id.to_owned());
        let (version, stale) = self
            .store
            .read(move |tx| -> Result<_, store::StoreError> {
                let Some(current) = agent::current_version(tx, &p, &id)? else { return Ok((None, 0)) };
                Ok((agent::load(tx, &id, current)?, sessions::stale(tx, &id, current)?))
            })
            .await
            .map_err(store_refusal)?;
        let Some(version) = version else { return Err(StudioError::not_found("Agent", agent_id)) };
        let failed =
            |why: String| StudioError::new(Code::ReloadFailed, 422, format!("The agent does not build: {why}"));
        if let Some(llm) = &version.llm {
            self.models.resolve(llm).map_err(failed)?;
        }
        let instance = self.build(partition, &version).map_err(|error| failed(error.message))?;
        for facts in instance.facts() {
            if let Ok(scope) = enter(facts, Some(request)) {
                instance.bound(facts, &scope).map_err(|why| failed(format!("'{}': {why}", facts.slug())))?;
            }
        }
        let mut warnings: Vec<String> = instance
            .unavailable
            .iter()
            .map(|slug| format!("There is no tool '{slug}'; the agent runs without it."))
            .collect();
        let had_previous = self.instances.replace(&format!("base:{}:{agent_id}", partition.as_str()), instance);
        if had_previous {
            warnings.push("The instance before is retired; it is closed when nobody uses it any more.".into());
        }
        if stale > 0 {
            warnings.push(format!("{stale} running test session(s) stay on an older version until they end."));
        }
        Ok(Reload { had_previous, warnings })
    }
}
