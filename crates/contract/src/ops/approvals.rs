//! Approvals: list, read, decide, withdraw, ask again.

use super::common::IdPath;
use crate::operation::Gates;
use crate::operations;
use crate::wire::{Json, JsonBody, NoBody, NoPath, NoQuery, Query};
use crate::{Micros, Result, StudioError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

operations! {
    /// List approvals that the caller asked for or may decide.
    ListApprovals = "approvals.list" {
        Get "/approvals", Read, Gates::LIST,
        path: NoPath, query: ApprovalsQuery, body: NoBody, reply: Json<ApprovalList>, ok: 200,
        refusals: [InvalidRequest 400],
    }
    /// Read one approval.
    GetApproval = "approvals.get" {
        Get "/approvals/{id}", Read, Gates::RECORD,
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<ApprovalView>, ok: 200,
        refusals: [NotFound 404],
    }
    /// Approve or reject exactly this call, once.
    DecideApproval = "approvals.decide" {
        Post "/approvals/{id}/decision", Decide, Gates::RECORD,
        path: IdPath, query: NoQuery, body: DecisionBody, reply: Json<ApprovalView>, ok: 200,
        refusals: [NotFound 404, InvalidJson 400, InvalidRequest 400, AlreadyDecided 409, ApprovalExpired 410, InvalidArgs 422, VaultUnavailable 503],
    }
    /// Take back one's own open question.
    WithdrawApproval = "approvals.withdraw" {
        Post "/approvals/{id}/withdraw", Run, Gates::RECORD,
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<ApprovalView>, ok: 200,
        refusals: [NotFound 404, AlreadyDecided 409],
    }
    /// Ask again for a call whose approval expired or became void: a new record.
    ReaskApproval = "approvals.reask" {
        Post "/approvals/{id}/reask", Run, Gates::RECORD,
        path: IdPath, query: NoQuery, body: NoBody, reply: Json<ApprovalView>, ok: 200,
        refusals: [NotFound 404, AlreadyDecided 409, TurnOpen 409, Unavailable 503, ToolingNotPermitted 422,
            KeySourceUnavailable 422],
    }
}

/// Where an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// Nobody has answered.
    Pending,
    /// A person said yes; it has not run yet.
    Approved,
    /// A person said no.
    Rejected,
    /// Nobody answered in time.
    Expired,
    /// The asker took it back.
    Withdrawn,
    /// It ran, once.
    Consumed,
    /// Approved, but too late or for something that has changed since: it cannot run any more.
    Void,
}

impl ApprovalStatus {
    /// All, in the order of the life of an approval.
    pub const ALL: [Self; 7] =
        [Self::Pending, Self::Approved, Self::Rejected, Self::Expired, Self::Withdrawn, Self::Consumed, Self::Void];

    /// The text stored and sent.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Consumed => "consumed",
            Self::Void => "void",
        }
    }

    /// Reads the text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

/// Filters of the list.
#[derive(Clone, Debug, Default)]
pub struct ApprovalsQuery {
    /// Only with this status.
    pub status: Option<ApprovalStatus>,
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only asked by the caller.
    pub mine: bool,
}

impl Query for ApprovalsQuery {
    fn open(pairs: Vec<(String, String)>) -> Result<Self> {
        let mut query = Self::default();
        for (key, value) in pairs {
            match key.as_str() {
                "status" if value.is_empty() => {}
                "status" => {
                    query.status = Some(ApprovalStatus::parse(&value).ok_or_else(|| {
                        StudioError::invalid_request(format!(
                            "'status' must be one of {}.",
                            ApprovalStatus::ALL.map(ApprovalStatus::as_str).join(", ")
                        ))
                    })?);
                }
                "agent" => query.agent = Some(value).filter(|v| !v.is_empty()),
                "mine" => query.mine = matches!(value.as_str(), "1" | "true" | "yes"),
                _ => {}
            }
        }
        Ok(query)
    }

    fn pairs(&self) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        pairs.extend(self.status.map(|s| ("status".to_owned(), s.as_str().to_owned())));
        pairs.extend(self.agent.clone().map(|a| ("agent".to_owned(), a)));
        pairs.extend(self.mine.then(|| ("mine".to_owned(), "true".to_owned())));
        pairs
    }

    #[cfg(feature = "schema")]
    fn parameters() -> Vec<crate::schema::Parameter> {
        vec![
            crate::schema::Parameter::new(
                "status",
                "Only with this status.",
                serde_json::json!({ "enum": ApprovalStatus::ALL.map(ApprovalStatus::as_str) }),
            ),
            crate::schema::Parameter::new("agent", "Only of this agent.", serde_json::json!({ "type": "string" })),
            crate::schema::Parameter::new(
                "mine",
                "`true` for those that the caller asked for; anything else for all.",
                serde_json::json!({ "type": "string" }),
            ),
        ]
    }
}

/// An approval as people see it. Secrets in the arguments are masked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalView {
    /// Its id; decisions name it.
    pub id: String,
    /// Where it stands.
    pub status: ApprovalStatus,
    /// The tenant it acts on.
    pub tenant: Option<String>,
    /// Who asked.
    pub requested_by: String,
    /// The agent.
    pub agent: String,
    /// The agent's version.
    pub agent_version: i64,
    /// The model that wants the call.
    pub model: String,
    /// Name of the session.
    pub session: String,
    /// The turn.
    pub turn: String,
    /// The call in the turn.
    pub ordinal: u32,
    /// The tool's full name.
    pub tool: String,
    /// Slug of the tool or toolkit it comes from.
    pub slug: String,
    /// Where the tool comes from: `host`, `builtin`, `mcp`.
    pub source: String,
    /// The exact arguments.
    pub args: Value,
    /// SHA-256 of the arguments, canonical.
    pub args_hash: String,
    /// The tool's argument schema, for editing.
    pub schema: Value,
    /// What will change, when the tool can say.
    pub preview: Option<Value>,
    /// The rule that makes it ask.
    pub rule: String,
    /// Whether arguments may be changed by the person who decides.
    pub editable: bool,
    /// Whether the caller may decide it.
    pub may_decide: bool,
    /// When it was asked.
    pub created_at: Micros,
    /// When it expires if nobody answers.
    pub expires_at: Micros,
    /// Who answered.
    pub decided_by: Option<String>,
    /// When.
    pub decided_at: Option<Micros>,
    /// Why, or what made it void.
    pub reason: Option<String>,
    /// The arguments as the person changed them; these run.
    pub edited_args: Option<Value>,
    /// The approval that was asked instead of this one.
    pub replaced_by: Option<String>,
}

/// Longest line that [`ApprovalView::arguments`] makes, in characters, before it is cut: no list has room for more.
const ARGUMENTS: usize = 400;

impl ApprovalView {
    /// The arguments that run, as `name=value` with the values as JSON, on one line: so that calls of one tool can be told apart
    /// in a list. Who decides needs all of them; see [`Self::args`].
    pub fn arguments(&self) -> String {
        let args = self.edited_args.as_ref().unwrap_or(&self.args);
        let Value::Object(map) = args else { return cut(args.to_string()) };
        let mut line = String::new();
        for (name, value) in map {
            if !line.is_empty() {
                line.push_str(", ");
            }
            line.push_str(&format!("{name}={value}"));
            if line.len() > 4 * ARGUMENTS {
                break;
            }
        }
        cut(line)
    }
}

fn cut(line: String) -> String {
    match line.char_indices().nth(ARGUMENTS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// A list of approvals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalList {
    /// Newest first.
    pub approvals: Vec<ApprovalView>,
    /// How many.
    pub count: usize,
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, once.
    Approve,
    /// No.
    Reject,
}

/// The body of a decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionBody {
    /// Yes or no.
    pub decision: Decision,
    /// Changed arguments, when the tool allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// Goes to the model with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
impl JsonBody for DecisionBody {}
