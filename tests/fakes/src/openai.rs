//! An answer as OpenAI's chat completions stream it.

use serde_json::{Value, json};

use crate::answer::{Answer, Call, Part, Step};
use crate::request::Request;

pub(crate) fn steps(answer: &Answer, request: &Request) -> Vec<Step> {
    let model = request.body["model"].clone();
    let mut steps = Vec::new();
    let send = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": model, "system_fingerprint": "fp_fake",
            "choices": choices, "usage": usage,
        });
        Step::Bytes(format!("data: {chunk}\n\n").into_bytes())
    };
    let delta = |delta: Value, finish: Value| {
        let choice = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
        send(choice, Value::Null)
    };
    steps.push(delta(json!({"role": "assistant", "content": "", "refusal": null}), Value::Null));
    let mut calls = 0;
    for part in &answer.parts {
        match part {
            Part::Text(pieces) => {
                for piece in pieces {
                    steps.push(delta(json!({"content": piece}), Value::Null));
                }
            }
            Part::Reasoning { pieces, .. } => {
                for piece in pieces {
                    steps.push(delta(json!({"reasoning_content": piece}), Value::Null));
                }
            }
            Part::Redacted(_) => {}
            Part::Calls(parallel) => {
                for call in deltas(parallel, calls) {
                    steps.push(delta(json!({"tool_calls": [call]}), Value::Null));
                }
                calls += parallel.len();
            }
            Part::Pause(pause) => steps.push(Step::Pause(*pause)),
            Part::Error(error) => {
                let error = json!({ "error": error });
                steps.push(Step::Bytes(format!("data: {error}\n\n").into_bytes()));
            }
            Part::Raw(bytes) => steps.push(Step::Bytes(bytes.clone().into_bytes())),
        }
    }
    if answer.fails() {
        return steps;
    }
    let finish =
        answer.finish.clone().unwrap_or_else(|| if answer.has_calls() { "tool_calls" } else { "stop" }.to_owned());
    steps.push(delta(json!({}), Value::String(finish)));
    let asked = request.body["stream_options"]["include_usage"] == true;
    if let (true, Some((input, output, cached))) = (asked, answer.usage) {
        let usage = json!({
            "prompt_tokens": input, "completion_tokens": output,
            "total_tokens": input + output,
            "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        });
        steps.push(send(json!([]), usage));
    }
    steps.push(Step::Bytes(b"data: [DONE]\n\n".to_vec()));
    steps
}

/// The deltas of calls that run in parallel: all begin, then their arguments take turns.
fn deltas(calls: &[Call], first: usize) -> Vec<Value> {
    let mut sent: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, call)| {
            json!({"index": first + at, "id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": ""}})
        })
        .collect();
    let longest = calls.iter().map(|call| call.deltas.len()).max();
    for turn in 0..longest.unwrap_or(0) {
        for (at, call) in calls.iter().enumerate() {
            if let Some(delta) = call.deltas.get(turn) {
                sent.push(json!({"index": first + at, "function": {"arguments": delta}}));
            }
        }
    }
    sent
}

/// The envelope of an error that is no stream.
pub(crate) fn no_answer_left() -> Value {
    json!({"error": {"message": "the fake has no answer left", "type": "server_error"}})
}
