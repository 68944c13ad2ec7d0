//! Answers to the other side's questions to people.
//!
//! They travel apart from the Studio: a socket event carries the question, one address outside the Studio takes the answer.
//! There is no address that lists questions or reads one, so an answer can be given to a question whose interaction id is
//! known.

use super::{Sent, Start, lacking};
use contract::ops::approvals::{ApprovalStatus, ApprovalView, Decision, DecisionBody};
use contract::wire::{Method, Raw, WireReply};
use contract::{Micros, Result};
use serde_json::{Value, json};

/// Where answers go.
const RESPOND: &str = "/api/v1/agents/hitl/respond";
/// What stands where the other side says nothing.
const NOT_SAID: &str = "";

fn blank(status: ApprovalStatus) -> ApprovalView {
    ApprovalView {
        id: NOT_SAID.into(),
        status,
        tenant: None,
        requested_by: NOT_SAID.into(),
        agent: NOT_SAID.into(),
        agent_version: 0,
        model: NOT_SAID.into(),
        session: NOT_SAID.into(),
        turn: NOT_SAID.into(),
        ordinal: 0,
        tool: NOT_SAID.into(),
        slug: NOT_SAID.into(),
        source: NOT_SAID.into(),
        args: Value::Null,
        args_hash: NOT_SAID.into(),
        schema: Value::Null,
        preview: None,
        rule: "The server asks over its own channel.".into(),
        editable: false,
        may_decide: false,
        created_at: Micros::default(),
        expires_at: Micros::default(),
        decided_by: None,
        decided_at: None,
        reason: None,
        edited_args: None,
        replaced_by: None,
    }
}

/// Reads a decision.
///
/// # Errors
/// The refusals of the shape.
pub(super) fn decision(body: &Raw) -> Result<DecisionBody> {
    super::shape::typed(body)
}

/// The body that answers a question. A no is always `false`. A yes is `true`, or for a form its arguments, which must be an object
/// there: anything else counts as a no.
///
/// # Errors
/// 503 `unavailable` for arguments that are no object.
pub(super) fn respond(interaction: &str, decision: &DecisionBody) -> Result<Value> {
    let value = match (decision.decision, &decision.args) {
        (Decision::Reject, _) => Value::Bool(false),
        (Decision::Approve, None) => Value::Bool(true),
        (Decision::Approve, Some(args @ Value::Object(_))) => args.clone(),
        (Decision::Approve, Some(_)) => return Err(lacking("changed arguments must be a JSON object.")),
    };
    Ok(json!({ "interaction_id": interaction, "value": value }))
}

/// The request that carries an answer.
pub(super) fn sent(body: Value) -> Sent {
    Sent { method: Method::Post, start: Start::Root, path: RESPOND.into(), query: Vec::new(), body: Some(body) }
}

/// What a decision came to. The other side confirms that it took the answer and says nothing of the call.
///
/// # Errors
/// None; what the other side refuses does not come here.
pub(super) fn decided(interaction: &str, decision: &DecisionBody) -> Result<WireReply> {
    let status = match decision.decision {
        Decision::Approve => ApprovalStatus::Approved,
        Decision::Reject => ApprovalStatus::Rejected,
    };
    let mut reason = "The server took the answer; it does not say what becomes of the call.".to_owned();
    if decision.reason.as_deref().is_some_and(|reason| !reason.is_empty()) {
        reason.push_str(" Your reason was not sent: it takes none.");
    }
    let view = ApprovalView {
        id: interaction.to_owned(),
        decided_at: Some(Micros::now()),
        reason: Some(reason),
        edited_args: decision.args.clone().filter(|_| decision.decision == Decision::Approve),
        ..blank(status)
    };
    Ok(super::shape::reply(200, &view))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_decision_answers_it() {
        let value = |decision, args: Option<Value>| {
            respond("i-1", &DecisionBody { decision, args, reason: None }).map(|body| {
                assert_eq!(body["interaction_id"], "i-1");
                body["value"].clone()
            })
        };
        let changed = Some(json!({ "amount": 9 }));
        // A no is a no, whatever came with it.
        for args in [None, changed.clone()] {
            assert_eq!(value(Decision::Reject, args).unwrap(), json!(false));
        }
        assert_eq!(value(Decision::Approve, None).unwrap(), json!(true));
        assert_eq!(value(Decision::Approve, changed).unwrap(), json!({ "amount": 9 }));
        assert_eq!(value(Decision::Approve, Some(json!([1]))).unwrap_err().status, 503);
    }
}
