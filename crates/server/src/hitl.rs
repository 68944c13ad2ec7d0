//! The answer channel that clients of the original know: `POST /api/v1/agents/hitl/respond`.
//!
//! An interaction is an approval; only the person who asked answers here.

use crate::observed::observed;
use crate::shared::Shared;
use crate::{answer, ask, request};
use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use contract::ops::approvals::{DecideApproval, GetApproval};
use contract::wire::{Method, Raw, WireRequest};
use contract::{Code, Operation as _, Result, StudioError, json};
use serde_json::{Value, json};
use std::sync::Arc;

/// The route.
pub fn router(shared: Arc<Shared>) -> Router {
    let refuse = |method: http::Method| async move { answer::method_not_allowed(&method, "POST") };
    Router::new().route("/api/v1/agents/hitl/respond", post(respond).fallback(refuse)).with_state(shared)
}

async fn respond(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    observed(&shared, "hitl.respond", responded(&shared, request)).await
}

async fn responded(shared: &Arc<Shared>, request: Request) -> Result<Response> {
    let (parts, body) = request.into_parts();
    let caller = shared.caller(&parts.headers, None).await?;
    let bytes = request::body(Method::Post, &parts.headers, body, shared).await?;
    let body = json::parse(&bytes)
        .map_err(|fault| StudioError::new(Code::InvalidJson, 400, format!("The body is {fault}.")))?;
    let id = body["interaction_id"].as_str().filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| StudioError::invalid_request("'interaction_id' must name an approval."))?;
    let decision = decision(&body["value"])?;
    let path = || WireRequest { path: [("id".to_owned(), id.to_owned())].into(), ..WireRequest::default() };
    let asked = shared.engine.call::<GetApproval>(caller.clone(), path()).await?.0;
    // By whom the scope names: a host's resolver may know the person by another id than their sign-in does.
    let who = shared.engine.admit(caller.clone(), &GetApproval::GATES, GetApproval::EFFECT).await?;
    if who.user != asked.requested_by {
        let message = "Only the person who asked answers here. Whoever else may decide does so in their approvals.";
        return Err(StudioError::new(Code::AccessDenied, 403, message));
    }
    let decide = WireRequest { body: Raw::Value(decision), ..path() };
    let work = shared.clone();
    // A client that leaves in between leaves no decided turn behind that nobody takes up.
    let decided = tokio::spawn(async move {
        let decided = work.engine.call::<DecideApproval>(caller.clone(), decide).await?.0;
        ask::go_on(&work, caller, &decided.turn);
        Ok::<_, StudioError>(())
    });
    decided.await.map_err(|_| StudioError::internal())??;
    Ok(answer::json(200, &json!({ "ok": true, "interaction_id": id })))
}

/// The decision in the answer's value: a yes or no by itself, as a word, or under one key of a form. A form with anything more
/// than a reason is no decision: what else it says, such as changed arguments, would be passed over.
fn decision(value: &Value) -> Result<Value> {
    let word = match value {
        Value::Object(form) => {
            let mut words = form.iter().filter(|(key, _)| *key != "reason");
            match (words.next(), words.next()) {
                (Some((key, word)), None) => {
                    ["approved", "confirmed", "value", "decision"].contains(&key.as_str()).then_some(word)
                }
                _ => None,
            }
        }
        other => Some(other),
    };
    let yes = match word {
        Some(Value::Bool(yes)) => Some(*yes),
        Some(Value::String(word)) => match word.trim().to_ascii_lowercase().as_str() {
            "yes" | "approve" | "approved" | "confirm" | "true" => Some(true),
            "no" | "reject" | "rejected" | "deny" | "cancel" | "false" => Some(false),
            _ => None,
        },
        _ => None,
    };
    match yes {
        Some(true) => Ok(json!({ "decision": "approve" })),
        Some(false) => Ok(json!({ "decision": "reject", "reason": value.get("reason").and_then(Value::as_str) })),
        None => Err(StudioError::invalid_request("'value' must be true or false, 'approve' or 'reject'.")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_clear_word_decides() {
        for yes in [json!(true), json!("Approve"), json!({ "approved": true }), json!({ "value": "yes" })] {
            assert_eq!(decision(&yes).unwrap()["decision"], "approve", "{yes}");
        }
        for no in [json!(false), json!("reject"), json!({ "confirmed": false, "reason": "r" })] {
            assert_eq!(decision(&no).unwrap()["decision"], "reject", "{no}");
        }
        let forms = [
            json!({ "approved": true, "amount": 9 }),
            json!({ "approved": true, "decision": "reject" }),
            json!({ "reason": "r" }),
            json!({ "order_id": true }),
        ];
        for unclear in
            forms.into_iter().chain([json!(null), json!(1), json!("maybe"), json!({}), json!([true]), json!("")])
        {
            assert_eq!(decision(&unclear).unwrap_err().status, 400, "{unclear}");
        }
    }
}
