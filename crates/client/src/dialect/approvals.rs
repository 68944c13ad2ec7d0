//! The other side's questions to people, and the answers to them.
//!
//! They travel apart from the Studio: a socket event carries the question, one address outside the Studio takes the answer.
//! There is no address that lists questions or reads one, so an answer can be given to a question whose interaction id is
//! known, and a question that was received is shown as an approval of ours.

use super::{Sent, Start, lacking};
use contract::ops::approvals::{ApprovalStatus, ApprovalView, Decision, DecisionBody};
use contract::wire::{Method, Raw, WireReply};
use contract::{Micros, Result, canonical};
use serde_json::{Map, Value, json};

/// Where answers go.
const RESPOND: &str = "/api/v1/agents/hitl/respond";
/// What stands where the other side says nothing.
const NOT_SAID: &str = "";

/// A question: the body of the event `hitl:question`. Every field may be missing but the id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// Names it in the answer.
    pub interaction_id: String,
    /// `approval`, `form`, or another kind; small letters.
    pub kind: String,
    /// The words.
    pub question: String,
    /// What stands around them: a text or more.
    pub context: Value,
    /// Answers to choose from.
    pub options: Vec<Value>,
    /// JSON Schema of a form.
    pub form_schema: Value,
    /// What counts when nobody answers, and what a form is filled with.
    pub default_response: Value,
    /// Seconds to answer in.
    pub timeout: Option<f64>,
    /// The agent that asks.
    pub source_agent: String,
    /// When it runs out.
    pub deadline: Option<Micros>,
}

impl Question {
    /// Reads the event; none when it names no interaction, for such a question cannot be answered.
    pub fn read(event: &Value) -> Option<Self> {
        let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let value = |key: &str| event.get(key).cloned().unwrap_or_default();
        let interaction_id = Some(text("interaction_id")).filter(|id| !id.is_empty())?;
        Some(Self {
            interaction_id,
            kind: text("interaction_type").to_lowercase(),
            question: text("question"),
            context: value("context"),
            options: event.get("options").and_then(Value::as_array).cloned().unwrap_or_default(),
            form_schema: value("form_schema"),
            default_response: value("default_response"),
            timeout: event.get("timeout").and_then(Value::as_f64).filter(|seconds| seconds.is_finite()),
            source_agent: text("source_agent"),
            deadline: serde_json::from_value(value("deadline")).ok(),
        })
    }

    fn is_form(&self) -> bool {
        self.kind == "form"
    }
}

/// A question that was received at `at`, as an approval of ours. It shows what the other side says and no more: the tool
/// and its arguments stand in the words, if anywhere.
pub fn view(question: &Question, at: Micros) -> ApprovalView {
    let seconds = question.timeout.unwrap_or_default().clamp(0.0, 1e9);
    let args = match question.is_form() {
        true => question.default_response.clone(),
        false => json!({}),
    };
    ApprovalView {
        id: question.interaction_id.clone(),
        agent: question.source_agent.clone(),
        args_hash: canonical::hash(&args),
        args,
        schema: question.form_schema.clone(),
        preview: Some(json!({
            "question": question.question, "context": question.context, "options": question.options,
        })),
        editable: question.is_form(),
        may_decide: true,
        created_at: at,
        // Whole seconds are all a deadline needs here.
        expires_at: question.deadline.unwrap_or_else(|| at.plus_seconds(seconds as i64)),
        ..blank(ApprovalStatus::Pending)
    }
}

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

/// The body that answers a question. A no is always `false`. A yes is `true`, or for a form the arguments, which must be an
/// object there: anything else counts as a no, so a form without arguments is refused here.
///
/// # Errors
/// 503 `unavailable` for changed arguments where the question is no form, and for a form that has none.
pub fn respond(question: Option<&Question>, interaction: &str, decision: &DecisionBody) -> Result<Value> {
    let form = question.map(Question::is_form);
    let value = match (decision.decision, &decision.args, form) {
        (Decision::Reject, ..) => Value::Bool(false),
        (Decision::Approve, Some(Value::Object(args)), None | Some(true)) => Value::Object(args.clone()),
        (Decision::Approve, Some(_), Some(false)) => {
            return Err(lacking("this question can be answered with yes or no only. Leave the arguments as they are."));
        }
        (Decision::Approve, Some(_), _) => return Err(lacking("changed arguments must be a JSON object.")),
        (Decision::Approve, None, Some(true)) => match question.map(|asked| &asked.default_response) {
            Some(Value::Object(args)) => Value::Object(args.clone()),
            _ => return Err(lacking("this question is a form. Approve it with its arguments.")),
        },
        (Decision::Approve, None, _) => Value::Bool(true),
    };
    let body = [("interaction_id", Value::from(interaction)), ("value", value)];
    Ok(Value::Object(body.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>()))
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

    fn question(kind: &str, default: Value) -> Question {
        Question::read(&json!({
            "interaction_id": "i-1", "interaction_type": kind, "question": "Write a row?", "context": "ledger",
            "options": ["yes", "no"], "form_schema": { "type": "object" }, "default_response": default,
            "timeout": 120.0, "source_agent": "sales", "deadline": null,
        }))
        .unwrap()
    }

    fn body(decision: Decision, args: Option<Value>) -> DecisionBody {
        DecisionBody { decision, args, reason: None }
    }

    #[test]
    fn a_question_is_an_approval() {
        let at = Micros(1_790_000_000_000_000);
        let shown = view(&question("approval", Value::Null), at);
        assert_eq!((shown.id.as_str(), shown.agent.as_str(), shown.status), ("i-1", "sales", ApprovalStatus::Pending));
        assert_eq!(shown.expires_at, at.plus_seconds(120));
        assert_eq!(shown.preview.unwrap()["question"], "Write a row?");
        assert!(!shown.editable && shown.may_decide);
        let form = view(&question("FORM", json!({ "amount": 7 })), at);
        assert!(form.editable);
        assert_eq!(form.args, json!({ "amount": 7 }));
        assert_eq!(Question::read(&json!({ "question": "?" })), None);
        for odd in [json!(null), json!([]), json!({ "interaction_id": 7 })] {
            assert_eq!(Question::read(&odd), None);
        }
        let bare = Question::read(&json!({ "interaction_id": "i", "timeout": -1e300, "options": 5 })).unwrap();
        assert_eq!(view(&bare, at).expires_at, at);
    }

    #[test]
    fn a_decision_answers_it() {
        let (approval, form) = (question("approval", Value::Null), question("form", json!({ "amount": 7 })));
        let value = |asked: Option<&Question>, decision, args: Option<Value>| {
            respond(asked, "i-1", &body(decision, args)).map(|body| {
                assert_eq!(body["interaction_id"], "i-1");
                body["value"].clone()
            })
        };
        for asked in [None, Some(&approval), Some(&form)] {
            assert_eq!(value(asked, Decision::Reject, None).unwrap(), json!(false));
            // A no is a no, whatever came with it.
            assert_eq!(value(asked, Decision::Reject, Some(json!({ "amount": 9 }))).unwrap(), json!(false));
        }
        assert_eq!(value(Some(&approval), Decision::Approve, None).unwrap(), json!(true));
        assert_eq!(value(None, Decision::Approve, None).unwrap(), json!(true));
        assert_eq!(value(Some(&form), Decision::Approve, None).unwrap(), json!({ "amount": 7 }));
        let changed = Some(json!({ "amount": 9 }));
        assert_eq!(value(Some(&form), Decision::Approve, changed.clone()).unwrap(), json!({ "amount": 9 }));
        assert_eq!(value(None, Decision::Approve, changed.clone()).unwrap(), json!({ "amount": 9 }));
        // What would run as it stands is never approved as changed, and a form is never answered with a bare yes.
        assert_eq!(value(Some(&approval), Decision::Approve, changed).unwrap_err().status, 503);
        assert_eq!(value(Some(&form), Decision::Approve, Some(json!([1]))).unwrap_err().status, 503);
        assert_eq!(value(Some(&question("form", json!("x"))), Decision::Approve, None).unwrap_err().status, 503);
    }
}
