//! One call of a tool as the person follows it: from the model's wish to its end.

use contract::Micros;
use contract::turn::{CallResult, NotApproved, PlannedCall, TurnEvent};
use serde_json::{Value, json};

/// Where a call stands.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// The model wants it.
    Planned,
    /// It passed every gate.
    Checked,
    /// A person is asked.
    Waiting,
    /// The tool works.
    Running,
    /// It ended, well or not.
    Ended(CallResult),
    /// It was refused before it could run.
    Refused(String),
    /// The approval ended without a run.
    NotApproved(NotApproved),
    /// It may have run.
    Unknown,
    /// Somebody said whether it had run.
    Settled(bool),
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its number in the turn.
    pub ordinal: u32,
    /// The tool's name.
    pub tool: String,
    /// The arguments: what runs once that is fixed, before that what the model wrote.
    pub args: Value,
    /// Whether a person changed them.
    pub edited: bool,
    /// Where it stands.
    pub state: CallState,
    started: Option<Micros>,
    ended: Option<Micros>,
}

impl Call {
    /// A call as the model wrote it.
    pub fn new(planned: &PlannedCall) -> Self {
        let args =
            serde_json::from_str(&planned.args_text).unwrap_or_else(|_| Value::String(planned.args_text.clone()));
        Self {
            ordinal: planned.ordinal,
            tool: planned.tool.clone(),
            args,
            edited: false,
            state: CallState::Planned,
            started: None,
            ended: None,
        }
    }

    /// Which call an event is about.
    pub fn ordinal_of(event: &TurnEvent) -> Option<u32> {
        match event {
            TurnEvent::CallRefused { ordinal, .. }
            | TurnEvent::CallChecked { ordinal, .. }
            | TurnEvent::ApprovalAsked { ordinal, .. }
            | TurnEvent::ApprovalSettled { ordinal, .. }
            | TurnEvent::CallStarted { ordinal, .. }
            | TurnEvent::CallEnded { ordinal, .. }
            | TurnEvent::CallUnknown { ordinal }
            | TurnEvent::UnknownSettled { ordinal, .. } => Some(*ordinal),
            _ => None,
        }
    }

    /// Takes an event about this call.
    pub fn take(&mut self, event: &TurnEvent, at: Micros) {
        self.state = match event {
            TurnEvent::CallRefused { message, .. } => CallState::Refused(message.clone()),
            TurnEvent::CallChecked { tool, args, .. } => {
                self.tool.clone_from(tool);
                self.args = args.clone();
                CallState::Checked
            }
            TurnEvent::ApprovalAsked { .. } => CallState::Waiting,
            TurnEvent::ApprovalSettled { how, .. } => CallState::NotApproved(how.clone()),
            TurnEvent::CallStarted { edited_args, .. } => {
                self.started = Some(at);
                if let Some(args) = edited_args {
                    self.args = args.clone();
                    self.edited = true;
                }
                CallState::Running
            }
            TurnEvent::CallEnded { result, .. } => {
                self.ended = Some(at);
                CallState::Ended(result.clone())
            }
            TurnEvent::CallUnknown { .. } => CallState::Unknown,
            TurnEvent::UnknownSettled { ran, .. } => CallState::Settled(*ran),
            _ => return,
        };
    }

    /// The state in words.
    pub fn words(&self) -> &'static str {
        match &self.state {
            CallState::Planned => "planned",
            CallState::Checked => "checked",
            CallState::Waiting => "waits for approval",
            CallState::Running => "running",
            CallState::Ended(result) if result.ok => "done",
            CallState::Ended(_) => "failed",
            CallState::Refused(_) => "refused",
            CallState::NotApproved(NotApproved::Rejected { .. }) => "rejected",
            CallState::NotApproved(NotApproved::Expired) => "expired: nobody answered in time",
            CallState::NotApproved(NotApproved::Withdrawn) => "withdrawn",
            CallState::NotApproved(NotApproved::Void { .. }) => "approved too late, not run",
            CallState::Unknown => "outcome unknown",
            CallState::Settled(true) => "settled: it had run",
            CallState::Settled(false) => "settled: it had not run",
        }
    }

    /// A sign for the state, so that it is not told by colour.
    pub fn sign(&self) -> &'static str {
        match &self.state {
            CallState::Planned | CallState::Checked | CallState::Running => "…",
            CallState::Waiting | CallState::Unknown => "?",
            CallState::Ended(result) if result.ok => "✓",
            CallState::Settled(_) => "·",
            _ => "✗",
        }
    }

    /// How long the tool took, in milliseconds.
    pub fn took(&self) -> Option<i64> {
        Some((self.ended?.0 - self.started?.0).max(0) / 1000)
    }

    /// What came of it.
    pub fn outcome(&self) -> Option<Value> {
        Some(match &self.state {
            CallState::Ended(result) if result.ok => result.value.clone(),
            CallState::Ended(result) => {
                let mut outcome = json!({ "error": result.error });
                if let Some(code) = &result.code {
                    outcome["code"] = code.clone().into();
                }
                outcome
            }
            CallState::Refused(message) => json!({ "error": message }),
            CallState::NotApproved(NotApproved::Rejected { reason: Some(reason) } | NotApproved::Void { reason }) => {
                json!({ "reason": reason })
            }
            _ => return None,
        })
    }

    /// All of it as JSON, to be copied.
    pub fn whole(&self) -> Value {
        json!({ "tool": self.tool, "arguments": self.args, "state": self.words(), "result": self.outcome() })
    }
}
