//! An answer as Anthropic's messages stream it.

use serde_json::{Value, json};

use crate::answer::{Answer, Part, Step};
use crate::request::Request;

fn event(data: &Value) -> Step {
    let name = data["type"].as_str().unwrap_or_default();
    Step::Bytes(format!("event: {name}\ndata: {data}\n\n").into_bytes())
}

pub(crate) fn steps(answer: &Answer, request: &Request) -> Vec<Step> {
    let mut message = json!({
        "id": "msg_fake", "type": "message", "role": "assistant",
        "model": request.body["model"], "content": [],
        "stop_reason": null, "stop_sequence": null,
    });
    if let Some((input, _, cached)) = answer.usage {
        // Cached tokens are counted beside the input here, not in it.
        message["usage"] = json!({
            "input_tokens": input - cached, "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0, "output_tokens": 1,
        });
    }
    let mut steps = vec![event(&json!({"type": "message_start", "message": message})), event(&json!({"type": "ping"}))];
    let mut index = 0;
    let mut block = |steps: &mut Vec<Step>, start: Value, deltas: Vec<Value>| {
        steps.push(event(&json!({"type": "content_block_start", "index": index, "content_block": start})));
        for delta in deltas {
            steps.push(event(&json!({"type": "content_block_delta", "index": index, "delta": delta})));
        }
        steps.push(event(&json!({"type": "content_block_stop", "index": index})));
        index += 1;
    };
    for part in &answer.parts {
        match part {
            Part::Text(pieces) => {
                let deltas = pieces.iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
                block(&mut steps, json!({"type": "text", "text": ""}), deltas);
            }
            Part::Reasoning { pieces, signature } => {
                let mut deltas: Vec<Value> =
                    pieces.iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece})).collect();
                if let Some(signature) = signature {
                    deltas.push(json!({"type": "signature_delta", "signature": signature}));
                }
                let start = json!({"type": "thinking", "thinking": "", "signature": ""});
                block(&mut steps, start, deltas);
            }
            Part::Redacted(data) => {
                let start = json!({"type": "redacted_thinking", "data": data});
                block(&mut steps, start, Vec::new());
            }
            Part::Calls(calls) => {
                for call in calls {
                    let start = json!({"type": "tool_use", "id": call.id, "name": call.name,
                        "input": {}});
                    let mut deltas = vec![json!({"type": "input_json_delta", "partial_json": ""})];
                    deltas.extend(
                        call.deltas.iter().map(|delta| json!({"type": "input_json_delta", "partial_json": delta})),
                    );
                    block(&mut steps, start, deltas);
                }
            }
            Part::Pause(pause) => steps.push(Step::Pause(*pause)),
            Part::Error(error) => {
                steps.push(event(&json!({"type": "error", "error": error})));
            }
            Part::Raw(bytes) => steps.push(Step::Bytes(bytes.clone().into_bytes())),
        }
    }
    if answer.fails() {
        return steps;
    }
    let reason =
        answer.finish.clone().unwrap_or_else(|| if answer.has_calls() { "tool_use" } else { "end_turn" }.to_owned());
    let mut end = json!({"type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": null}});
    if let Some((_, output, _)) = answer.usage {
        end["usage"] = json!({ "output_tokens": output });
    }
    steps.push(event(&end));
    steps.push(event(&json!({"type": "message_stop"})));
    steps
}

/// The envelope of an error that is no stream.
pub(crate) fn no_answer_left() -> Value {
    json!({"type": "error", "error": {"type": "api_error",
        "message": "the fake has no answer left"}})
}
