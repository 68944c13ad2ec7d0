//! What the model and people are told of calls.

use super::state::{Call, CallState};
use contract::chat::ToolResultMessage;
use contract::ops::test::CallView;
use contract::turn::NotApproved;
use serde_json::{Value, json};

/// The result of a call for the model.
pub(crate) fn for_model(call: &Call) -> ToolResultMessage {
    let (content, is_error) = match &call.state {
        CallState::Ended(result) if result.ok => (result.value.to_string(), false),
        other => (explain(other), true),
    };
    ToolResultMessage {
        call_id: call.planned.model_call_id.clone(),
        name: call.planned.tool.clone(),
        content,
        is_error,
    }
}

/// Why a call has no result, in words that a model and a person can act on.
fn explain(state: &CallState) -> String {
    match state {
        CallState::Ended(result) => result.error.clone().unwrap_or_else(|| "The tool failed.".into()),
        CallState::Refused(code, message) => format!("The call was not run ({code}): {message}"),
        CallState::NotApproved(NotApproved::Rejected { reason }) => match reason {
            Some(reason) => format!("A person rejected this call and nothing was changed. Their reason: {reason}"),
            None => "A person rejected this call and nothing was changed.".into(),
        },
        CallState::NotApproved(NotApproved::Expired) => {
            "Nobody answered in time: the approval expired and nothing was changed. That is not a no; it may be asked again."
                .into()
        }
        CallState::NotApproved(NotApproved::Withdrawn) => {
            "The request for approval was withdrawn and nothing was changed.".into()
        }
        CallState::NotApproved(NotApproved::Void { reason }) => {
            format!("The approval became void and nothing was changed. {reason}")
        }
        CallState::Settled { ran, note } => {
            let what = if *ran {
                "The tool never answered, but a check afterwards says that the call did run. Do not call it again."
            } else {
                "The call did not run; a check afterwards says that nothing was changed."
            };
            match note {
                Some(note) => format!("{what} Note: {note}"),
                None => what.into(),
            }
        }
        CallState::Unknown => "It is not known whether this call ran.".into(),
        CallState::Planned | CallState::Checked | CallState::Asked | CallState::Started(_) => {
            "The call did not finish: the turn was stopped.".into()
        }
    }
}

/// A call for people.
pub(crate) fn view(call: &Call) -> CallView {
    let state = match &call.state {
        CallState::Planned => "planned",
        CallState::Checked => "checked",
        CallState::Asked => "waiting",
        CallState::Refused(..) => "refused",
        CallState::NotApproved(NotApproved::Rejected { .. }) => "rejected",
        CallState::NotApproved(NotApproved::Expired) => "expired",
        CallState::NotApproved(NotApproved::Withdrawn) => "withdrawn",
        CallState::NotApproved(NotApproved::Void { .. }) => "void",
        CallState::Started(_) => "running",
        CallState::Ended(result) if result.ok => "done",
        CallState::Ended(_) => "failed",
        CallState::Unknown => "unknown",
        CallState::Settled { .. } => "settled",
    };
    let result = match &call.state {
        CallState::Planned | CallState::Checked | CallState::Asked | CallState::Started(_) => None,
        CallState::Ended(result) if result.ok => Some(result.value.clone()),
        CallState::Ended(result) => Some(json!({ "error": result.error, "code": result.code })),
        CallState::Refused(code, message) => Some(json!({ "error": message, "code": code.as_str() })),
        other => Some(json!({ "error": explain(other) })),
    };
    CallView {
        ordinal: call.planned.ordinal,
        tool: call.planned.tool.clone(),
        args: call.args.clone().unwrap_or_else(|| Value::String(call.planned.args_text.clone())),
        state: state.into(),
        approval: call.approval.clone(),
        result,
    }
}
