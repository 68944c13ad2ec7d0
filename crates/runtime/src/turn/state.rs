//! A turn as a pure fold over its log.
//!
//! [`State::apply`] takes every event, in any order, without failing; [`State::next`] says what may happen now, from the
//! state alone. There is no clock, no random number and no new id in either, so a turn can be resumed, replayed, examined.

use contract::chat::{Block, Usage};
use contract::turn::{CallResult, Limit, Limits, LoggedEvent, NotApproved, PlannedCall, TurnEvent, TurnStatus};
use contract::{Code, Micros};
use serde_json::Value;

/// Where a call stands.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// The model wants it.
    Planned,
    /// It passed every gate.
    Checked,
    /// A person is asked.
    Asked,
    /// It was refused before it could run.
    Refused(Code, String),
    /// The approval ended without a run.
    NotApproved(NotApproved),
    /// It was handed to the tool under this lease.
    Started(i64),
    /// The tool answered.
    Ended(CallResult),
    /// Nobody knows whether it ran.
    Unknown,
    /// Somebody said whether it ran.
    Settled {
        /// Whether it had run.
        ran: bool,
        /// For the model.
        note: Option<String>,
    },
}

impl CallState {
    /// Whether the model can be told what came of it.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Refused(..) | Self::NotApproved(_) | Self::Ended(_) | Self::Settled { .. })
    }
}

/// A call with what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// As the model planned it.
    pub planned: PlannedCall,
    /// Where it stands.
    pub state: CallState,
    /// Whether it needs a person; known once it is checked.
    pub needs_approval: bool,
    /// The validated arguments; known once it is checked. Those a person edited once they run.
    pub args: Option<Value>,
    /// SHA-256 of the validated arguments.
    pub args_hash: Option<String>,
    /// Digest of the tool's facts when it was checked.
    pub digest: Option<String>,
    /// The newest approval asked for it.
    pub approval: Option<String>,
}

/// One question to the model and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What the model said; none while it is asked.
    pub blocks: Option<Vec<Block>>,
    /// Attempts made at the question.
    pub attempts: u32,
    /// Turns left out of the context.
    pub cut: u32,
    /// Ordinals of its calls: from, to (exclusive).
    pub calls: (u32, u32),
}

/// A turn, folded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// What the person said.
    pub text: String,
    /// What may be used up.
    pub limits: Limits,
    /// The questions to the model.
    pub steps: Vec<Step>,
    /// All calls, by ordinal.
    pub calls: Vec<Call>,
    /// Tokens so far.
    pub usage: Usage,
    /// Time worked, without waiting for people, in microseconds.
    pub worked: i64,
    /// The model's failure.
    pub failure: Option<String>,
    /// A person stopped it.
    pub interrupted: bool,
    /// A limit was reached.
    pub limit: Option<Limit>,
    /// How it ended, with the answer or the reason.
    pub ended: Option<(TurnStatus, String)>,
    /// Place of the last event.
    pub last_seq: i64,
    last_at: Option<Micros>,
}

/// What may happen now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask the model.
    AskModel,
    /// Run the gates of a call.
    Check(u32),
    /// Ask a person.
    OpenApproval(u32),
    /// Run a call that needs nobody.
    RunRead(u32),
    /// Run a write if a person said yes.
    TryWrite(u32),
    /// Wait for people.
    Await,
    /// Note that a limit was reached.
    HitLimit(Limit),
    /// End the turn.
    Finish(TurnStatus, String),
}

impl State {
    /// The fold over a log.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a LoggedEvent>) -> Self {
        let mut state = Self::default();
        for event in events {
            state.apply(event);
        }
        state
    }

    /// Takes one event. Total: an event that does not fit changes nothing.
    pub fn apply(&mut self, logged: &LoggedEvent) {
        if let Some(last) = self.last_at
            && !self.waits()
        {
            self.worked += (logged.at.0 - last.0).max(0);
        }
        self.last_at = Some(logged.at);
        self.last_seq = logged.seq;
        match &logged.event {
            TurnEvent::Started { text, limits, .. } => {
                self.text.clone_from(text);
                self.limits = *limits;
            }
            TurnEvent::ModelAsked { step, attempt, cut } => {
                let first = self.calls.len() as u32;
                if self.steps.len() < *step as usize {
                    self.steps.push(Step { blocks: None, attempts: 0, cut: 0, calls: (first, first) });
                }
                if let Some(open) = self.steps.last_mut() {
                    (open.attempts, open.cut) = (*attempt, *cut);
                }
                self.failure = None;
            }
            TurnEvent::ModelReplied { blocks, calls, usage, .. } => {
                self.usage += usage.unwrap_or_default();
                if let Some(step) = self.steps.last_mut() {
                    step.blocks = Some(blocks.clone());
                    step.calls.1 = step.calls.0 + calls.len() as u32;
                }
                self.calls.extend(calls.iter().map(|planned| Call {
                    planned: planned.clone(),
                    state: CallState::Planned,
                    needs_approval: false,
                    args: None,
                    args_hash: None,
                    digest: None,
                    approval: None,
                }));
            }
            TurnEvent::ModelFailed { message, .. } => self.failure = Some(message.clone()),
            TurnEvent::CallRefused { ordinal, code, message } => {
                self.set(*ordinal, CallState::Refused(*code, message.clone()));
            }
            TurnEvent::CallChecked { ordinal, needs_approval, args, args_hash, digest, .. } => {
                if let Some(call) = self.calls.get_mut(*ordinal as usize) {
                    call.state = CallState::Checked;
                    call.needs_approval = *needs_approval;
                    call.args = Some(args.clone());
                    call.args_hash = Some(args_hash.clone());
                    call.digest = Some(digest.clone());
                }
            }
            TurnEvent::ApprovalAsked { ordinal, approval } => {
                if let Some(call) = self.calls.get_mut(*ordinal as usize) {
                    call.state = CallState::Asked;
                    call.approval = Some(approval.clone());
                }
            }
            TurnEvent::ApprovalSettled { ordinal, how, .. } => {
                self.set(*ordinal, CallState::NotApproved(how.clone()));
            }
            TurnEvent::CallStarted { ordinal, epoch, edited_args, .. } => {
                if let Some(call) = self.calls.get_mut(*ordinal as usize) {
                    call.state = CallState::Started(*epoch);
                    call.args = edited_args.clone().or(call.args.take());
                }
            }
            TurnEvent::CallEnded { ordinal, result } => self.set(*ordinal, CallState::Ended(result.clone())),
            TurnEvent::CallUnknown { ordinal } => self.set(*ordinal, CallState::Unknown),
            TurnEvent::UnknownSettled { ordinal, ran, note, .. } => {
                self.set(*ordinal, CallState::Settled { ran: *ran, note: note.clone() });
            }
            TurnEvent::Interrupted { .. } => self.interrupted = true,
            TurnEvent::LimitHit { limit } => self.limit = Some(*limit),
            TurnEvent::Ended { status, text } => self.ended = Some((*status, text.clone())),
        }
    }

    fn set(&mut self, ordinal: u32, state: CallState) {
        if let Some(call) = self.calls.get_mut(ordinal as usize) {
            call.state = state;
        }
    }

    /// Calls that are not over.
    pub fn open_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| !call.state.is_over())
    }

    /// Whether nothing can go on without people.
    pub fn waits(&self) -> bool {
        self.ended.is_none()
            && self.open_calls().next().is_some()
            && self.open_calls().all(|call| matches!(call.state, CallState::Asked | CallState::Unknown))
    }

    /// What the model has said last, as one text.
    pub fn answer(&self) -> String {
        let blocks = self.steps.iter().rev().find_map(|step| step.blocks.as_ref());
        let texts = blocks.into_iter().flatten().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Writes that had started under an older lease and have no end: what became of them is unknown. Reads that had are
    /// simply run again.
    pub fn lost_writes(&self, epoch: i64) -> Vec<u32> {
        self.calls
            .iter()
            .filter(|call| call.needs_approval && matches!(call.state, CallState::Started(e) if e < epoch))
            .map(|call| call.planned.ordinal)
            .collect()
    }

    /// What may happen now, all of it.
    pub fn next(&self) -> Vec<Effect> {
        if self.ended.is_some() {
            return Vec::new();
        }
        if let Some(failure) = &self.failure {
            return vec![Effect::Finish(TurnStatus::Failed, failure.clone())];
        }
        if let Some(limit) = self.limit {
            return vec![Effect::Finish(TurnStatus::Failed, self.limit_text(limit))];
        }
        if self.interrupted {
            // A write whose outcome nobody knows is not swept under the end of its turn.
            if self.calls.iter().any(|call| call.state == CallState::Unknown) {
                return vec![Effect::Await];
            }
            return vec![Effect::Finish(TurnStatus::Interrupted, self.answer())];
        }
        let open: Vec<Effect> = self.open_calls().filter_map(|call| self.effect_of(call)).collect();
        if !open.is_empty() {
            return if self.waits() { open.into_iter().chain([Effect::Await]).collect() } else { open };
        }
        if self.waits() {
            return vec![Effect::Await];
        }
        match self.steps.last() {
            Some(step) if step.blocks.is_some() && step.calls.0 == step.calls.1 => {
                vec![Effect::Finish(TurnStatus::Done, self.answer())]
            }
            Some(step) if step.blocks.is_none() => vec![Effect::AskModel],
            _ => match self.reached() {
                Some(limit) => vec![Effect::HitLimit(limit)],
                None => vec![Effect::AskModel],
            },
        }
    }

    fn effect_of(&self, call: &Call) -> Option<Effect> {
        let ordinal = call.planned.ordinal;
        match &call.state {
            CallState::Planned => Some(Effect::Check(ordinal)),
            CallState::Checked if call.needs_approval => Some(Effect::OpenApproval(ordinal)),
            CallState::Checked => Some(Effect::RunRead(ordinal)),
            CallState::Started(_) if !call.needs_approval => Some(Effect::RunRead(ordinal)),
            CallState::Asked => Some(Effect::TryWrite(ordinal)),
            _ => None,
        }
    }

    fn reached(&self) -> Option<Limit> {
        if self.steps.len() >= self.limits.steps as usize {
            Some(Limit::Steps)
        } else if self.usage.input + self.usage.output >= self.limits.tokens {
            Some(Limit::Tokens)
        } else if self.worked >= i64::try_from(self.limits.seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000) {
            Some(Limit::Time)
        } else {
            None
        }
    }

    fn limit_text(&self, limit: Limit) -> String {
        match limit {
            Limit::Steps => format!("Stopped after {} questions to the model, the limit of a turn.", self.limits.steps),
            Limit::Tokens => format!("Stopped after {} tokens, the limit of a turn.", self.limits.tokens),
            Limit::Time => format!("Stopped after {} s of work, the limit of a turn.", self.limits.seconds),
        }
    }
}
