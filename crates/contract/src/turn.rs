//! A turn: what happens between a person's words and the end of the answer, as a log of events.
//!
//! The log is the truth; states and transcripts are folds over it. Text deltas are shown, not kept.

use crate::chat::{Block, Finish, Usage};
use crate::{Code, Micros};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a turn may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Most questions to the model.
    pub steps: u32,
    /// Most tokens, read and written together.
    pub tokens: u64,
    /// Most seconds of work; waiting for people does not count.
    pub seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 16, tokens: 400_000, seconds: 600 }
    }
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// Somebody works on it, or would if their process were alive.
    Running,
    /// It waits for people: an approval, or the settling of an unknown outcome.
    Waiting,
    /// It ended with an answer.
    Done,
    /// It ended without one.
    Failed,
    /// A person stopped it.
    Interrupted,
}

impl TurnStatus {
    /// The text stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            TurnStatus::Running => "running",
            TurnStatus::Waiting => "waiting",
            TurnStatus::Done => "done",
            TurnStatus::Failed => "failed",
            TurnStatus::Interrupted => "interrupted",
        }
    }

    /// Reads a stored text.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Running, Self::Waiting, Self::Done, Self::Failed, Self::Interrupted]
            .into_iter()
            .find(|status| status.as_str() == text)
    }

    /// Whether nothing more will happen.
    pub const fn is_over(self) -> bool {
        matches!(self, TurnStatus::Done | TurnStatus::Failed | TurnStatus::Interrupted)
    }
}

/// A call as planned by the model's answer, under our own number: providers send no id, or one twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedCall {
    /// Counts over the whole turn, from 0.
    pub ordinal: u32,
    /// The provider's id, to be sent back.
    pub model_call_id: String,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// The arguments exactly as the model wrote them.
    pub args_text: String,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallResult {
    /// Whether it worked.
    pub ok: bool,
    /// The result, or null.
    pub value: Value,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// A code for the error, such as `tool_scope_unavailable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// How an approval ended without the call being run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum NotApproved {
    /// A person said no.
    Rejected {
        /// Why, for the model.
        reason: Option<String>,
    },
    /// Nobody answered in time. Not the same as a no.
    Expired,
    /// The asker took it back.
    Withdrawn,
    /// Approved, but not run: too late, or what would run had changed.
    Void {
        /// What differed.
        reason: String,
    },
}

/// Which limit ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Questions to the model.
    Steps,
    /// Tokens.
    Tokens,
    /// Time.
    Time,
}

/// One event of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TurnEvent {
    /// A person asked.
    Started {
        /// Their words.
        text: String,
        /// The agent's version the turn runs on.
        agent_version: i64,
        /// `provider:model`.
        model: String,
        /// What it may use up.
        limits: Limits,
    },
    /// The model is being asked.
    ModelAsked {
        /// Counts questions over the turn, from 1.
        step: u32,
        /// Counts attempts at this question, from 1.
        attempt: u32,
        /// How many of the session's earliest turns were left out so that the rest fits the model's window.
        cut: u32,
    },
    /// The model answered.
    ModelReplied {
        /// What it said.
        blocks: Vec<Block>,
        /// The calls in it, numbered.
        calls: Vec<PlannedCall>,
        /// Tokens, when the provider says.
        usage: Option<Usage>,
        /// Why it stopped.
        finish: Finish,
    },
    /// The model could not answer.
    ModelFailed {
        /// The provider's HTTP status.
        status: Option<u16>,
        /// For the person, with the provider's own words.
        message: String,
    },
    /// A call was refused before it could run; the model is told.
    CallRefused {
        /// Which.
        ordinal: u32,
        /// Why, as a code.
        code: Code,
        /// Why, in words.
        message: String,
    },
    /// A call passed every gate: what would run is fixed.
    CallChecked {
        /// Which.
        ordinal: u32,
        /// The tool's registered name.
        tool: String,
        /// Whether it needs a person.
        needs_approval: bool,
        /// The validated arguments with their defaults, canonical.
        args: Value,
        /// SHA-256 of `args`.
        args_hash: String,
        /// Digest of the tool's registered facts.
        digest: String,
    },
    /// A person is asked.
    ApprovalAsked {
        /// Which call.
        ordinal: u32,
        /// The approval's id.
        approval: String,
    },
    /// The approval ended without a run.
    ApprovalSettled {
        /// Which call.
        ordinal: u32,
        /// The approval's id.
        approval: String,
        /// How.
        #[serde(flatten)]
        how: NotApproved,
    },
    /// The call was handed to the tool. Committed before the tool runs.
    CallStarted {
        /// Which.
        ordinal: u32,
        /// The lease under which it runs.
        epoch: i64,
        /// The approval that was consumed.
        approval: Option<String>,
        /// The arguments that run, when a person edited them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited_args: Option<Value>,
    },
    /// The tool answered.
    CallEnded {
        /// Which.
        ordinal: u32,
        /// What.
        result: CallResult,
    },
    /// A write had started when its process died: nobody knows whether it ran, and it is not run again.
    CallUnknown {
        /// Which.
        ordinal: u32,
    },
    /// A person, or the tool itself, said what became of it.
    UnknownSettled {
        /// Which call.
        ordinal: u32,
        /// Who said so.
        by: String,
        /// Whether it had run.
        ran: bool,
        /// A note for the model.
        note: Option<String>,
    },
    /// A person stopped the turn.
    Interrupted {
        /// Who.
        by: String,
    },
    /// A limit was reached.
    LimitHit {
        /// Which.
        limit: Limit,
    },
    /// The end.
    Ended {
        /// How.
        status: TurnStatus,
        /// The answer, or why there is none.
        text: String,
    },
}

/// An event in its place in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoggedEvent {
    /// Counts the turn's events, from 1.
    pub seq: i64,
    /// When.
    pub at: Micros,
    /// What.
    #[serde(flatten)]
    pub event: TurnEvent,
}

/// What somebody who watches a turn sees: the log, and between its entries what passes by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Watched {
    /// Which turn this is; comes first.
    Turn {
        /// The turn's id.
        turn: String,
        /// The session it belongs to.
        session: String,
    },
    /// An entry of the log.
    Event {
        /// The entry.
        entry: LoggedEvent,
    },
    /// A piece of text as the model writes it.
    Text {
        /// The piece.
        text: String,
    },
    /// A piece of reasoning.
    Reasoning {
        /// The piece.
        text: String,
    },
    /// The turn waits for people.
    Waiting {
        /// Approvals that are open.
        approvals: Vec<String>,
        /// Calls whose outcome is unknown.
        unknown: Vec<u32>,
    },
}
