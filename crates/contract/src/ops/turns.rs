//! Turns: state, events, resume, interrupt, settle.

use super::common::{AfterQuery, IdPath};
use super::test::AskAnswer;
use crate::operation::Gates;
use crate::operations;
use crate::turn::Watched;
use crate::wire::{Events, Json, JsonBody, NoBody, NoQuery, Params};
use serde::{Deserialize, Serialize};

operations! {
    /// Read a turn of the caller: where it stands, and its answer when done.
    GetTurn = "turns.get" {
        Get "/turns/{id}", Read, Gates::RECORD,
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<AskAnswer>, ok: 200,
        refusals: [NotFound 404],
    }
    /// Watch a turn: its log so far, then what happens.
    TurnEvents = "turns.events" {
        Get "/turns/{id}/events", Read, Gates::RECORD,
        path: IdPath, query: AfterQuery, body: NoBody, reply: Events<Watched>, ok: 200,
        refusals: [NotFound 404, InvalidRequest 400],
    }
    /// Take a turn up again whose process is gone, or whose approvals have been decided.
    ResumeTurn = "turns.resume" {
        Post "/turns/{id}/resume", Run, Gates::RECORD.pbac("testing", "ask"),
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<AskAnswer>, ok: 200,
        refusals: [NotFound 404, Unavailable 503, ToolingNotPermitted 422],
    }
    /// Stop a turn; its open approvals are withdrawn.
    InterruptTurn = "turns.interrupt" {
        Post "/turns/{id}/interrupt", Run, Gates::RECORD,
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<AskAnswer>, ok: 200,
        refusals: [NotFound 404],
    }
    /// Say what became of a call whose outcome is unknown.
    SettleCall = "turns.settle" {
        Post "/turns/{id}/calls/{ordinal}/settle", Run, Gates::RECORD,
        path: CallPath, query: NoQuery, body: SettleBody, reply: Json<AskAnswer>, ok: 200,
        refusals: [NotFound 404, InvalidJson 400, InvalidRequest 400, AlreadyDecided 409],
    }
}

/// A call of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallPath {
    /// The turn's id.
    pub id: String,
    /// The call's number.
    pub ordinal: String,
}
impl Params for CallPath {}

/// What became of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettleBody {
    /// Whether it had run.
    pub ran: bool,
    /// For the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
impl JsonBody for SettleBody {}
