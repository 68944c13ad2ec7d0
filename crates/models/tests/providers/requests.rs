//! What is sent to the provider.

use fakes::{Answer, Call, Fake, Protocol};
use models::{
    Block, Message, ModelCall, ModelEvent, ModelRequest, Params, ProviderConfig, ProviderKind, Reply, ToolResultMessage,
};
use serde_json::{Value, json};

use crate::{BOTH, KEY, all, client, question};

/// The body of what is sent for `request`.
async fn sent(protocol: Protocol, request: ModelRequest) -> Value {
    let fake = Fake::scripted(protocol, vec![Answer::text("ok")]);
    let items = all(&client(&fake, protocol), request).await;
    assert!(matches!(items.last(), Some(Ok(ModelEvent::Done(_)))), "{items:?}");
    fake.last_request().body
}

fn call(id: &str, name: &str, args_text: &str) -> Block {
    Block::Call(ModelCall { id: id.to_owned(), name: name.to_owned(), args_text: args_text.to_owned() })
}

fn result(call_id: &str, name: &str, content: &str, is_error: bool) -> ToolResultMessage {
    ToolResultMessage { call_id: call_id.to_owned(), name: name.to_owned(), content: content.to_owned(), is_error }
}

fn after(blocks: Vec<Block>, results: Vec<ToolResultMessage>) -> ModelRequest {
    let mut request = question();
    request.messages.push(Message::Assistant { blocks });
    request.messages.push(Message::ToolResults { results });
    request
}

#[tokio::test]
async fn a_question_has_the_shape_of_its_protocol() {
    let body = sent(Protocol::OpenAi, question()).await;
    assert_eq!(body["model"], "test-model");
    assert_eq!(body["stream"], true);
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello?"},
        ])
    );
    assert_eq!(
        body["tools"][0],
        json!({"type": "function", "function": {
            "name": "search", "description": "Does search.",
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
        }})
    );
    for absent in ["temperature", "max_tokens", "top_p", "top_k", "tool_choice"] {
        assert!(body.get(absent).is_none(), "{absent}: {body}");
    }

    let body = sent(Protocol::Anthropic, question()).await;
    assert_eq!(body["model"], "test-model");
    assert_eq!(body["stream"], true);
    assert_eq!(body["max_tokens"], 4096);
    assert_eq!(body["system"], json!([{"type": "text", "text": "Be brief."}]));
    assert_eq!(body["messages"], json!([{"role": "user", "content": [{"type": "text", "text": "Hello?"}]}]));
    assert_eq!(
        body["tools"][1],
        json!({"name": "write", "description": "Does write.",
            "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}}})
    );
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    for absent in ["temperature", "top_p", "top_k", "thinking"] {
        assert!(body.get(absent).is_none(), "{absent}: {body}");
    }
}

#[tokio::test]
async fn parameters_are_sent_when_given() {
    for protocol in BOTH {
        let mut request = question();
        request.params = Params { temperature: Some(0.5), max_tokens: Some(77), top_k: Some(40), top_p: Some(0.25) };
        let body = sent(protocol, request).await;
        assert_eq!(body["temperature"], 0.5, "{protocol:?}");
        assert_eq!(body["max_tokens"], 77);
        assert_eq!(body["top_k"], 40);
        assert_eq!(body["top_p"], 0.25);
    }
}

#[tokio::test]
async fn the_key_travels_in_the_header_of_its_protocol() {
    for protocol in BOTH {
        let fake = Fake::scripted(protocol, vec![Answer::text("ok")]);
        all(&client(&fake, protocol), question()).await;
        let request = fake.last_request();
        match protocol {
            Protocol::OpenAi => {
                let bearer = format!("Bearer {KEY}");
                assert_eq!(request.header("authorization"), Some(bearer.as_str()));
                assert_eq!(request.path, "/v1/chat/completions");
            }
            Protocol::Anthropic => {
                assert_eq!(request.header("x-api-key"), Some(KEY));
                assert!(request.header("anthropic-version").is_some());
                assert_eq!(request.path, "/v1/messages");
            }
        }
        assert_eq!(request.header("accept"), Some("text/event-stream"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert!(!request.body.to_string().contains(KEY));
    }
}

#[tokio::test]
async fn a_server_without_a_key_gets_no_authorization() {
    models::init();
    let fake = Fake::openai(vec![Answer::text("ok"), Answer::text("ok")]);
    for (name, base_url) in [
        ("house-server", fake.base_url()),
        // Mistral's paths bring their own `/v1`.
        ("mistral", format!("{}/", fake.base_url())),
    ] {
        let cfg = ProviderConfig { name: name.to_owned(), kind: ProviderKind::OpenAi, base_url: Some(base_url) };
        let client = models::connect(&cfg, None).unwrap();
        let items = all(&client, question()).await;
        assert!(matches!(items.last(), Some(Ok(_))), "{name}: {items:?}");
        assert_eq!(fake.last_request().header("authorization"), None, "{name}");
    }
}

#[tokio::test]
async fn results_of_several_calls_go_back_in_order() {
    let request = after(
        vec![
            Block::Text { text: "Looking.".to_owned() },
            call("a", "search", r#"{"q":"one"}"#),
            call("b", "write", r#"{"q":"two"}"#),
        ],
        vec![result("a", "search", "found", false), result("b", "write", "denied by a person", true)],
    );
    let body = sent(Protocol::OpenAi, request.clone()).await;
    assert_eq!(
        body["messages"].as_array().unwrap()[2..],
        [
            json!({"role": "assistant", "content": "Looking.", "tool_calls": [
                {"type": "function", "id": "a",
                    "function": {"name": "search", "arguments": r#"{"q":"one"}"#}},
                {"type": "function", "id": "b",
                    "function": {"name": "write", "arguments": r#"{"q":"two"}"#}},
            ]}),
            json!({"role": "tool", "tool_call_id": "a", "content": "found"}),
            json!({"role": "tool", "tool_call_id": "b", "content": "denied by a person"}),
        ]
    );
    let body = sent(Protocol::Anthropic, request).await;
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    assert_eq!(
        body["messages"].as_array().unwrap()[1..],
        [
            json!({"role": "assistant", "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "a", "name": "search", "input": {"q": "one"}},
                {"type": "tool_use", "id": "b", "name": "write", "input": {"q": "two"}},
            ]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": text("found")},
                {"type": "tool_result", "tool_use_id": "b",
                    "content": text("denied by a person"), "is_error": true},
            ]}),
        ]
    );
}

/// The ids of the calls and of the results of the last turn in `body`, and its results.
fn ids(protocol: Protocol, body: &Value) -> (Vec<String>, Vec<String>, Vec<String>) {
    let messages = body["messages"].as_array().unwrap();
    let string = |value: &Value| value.as_str().unwrap().to_owned();
    match protocol {
        Protocol::OpenAi => {
            let turn = messages.iter().find(|message| message["role"] == "assistant").unwrap();
            let calls = turn["tool_calls"].as_array().unwrap();
            let results: Vec<_> = messages.iter().filter(|m| m["role"] == "tool").collect();
            (
                calls.iter().map(|call| string(&call["id"])).collect(),
                results.iter().map(|r| string(&r["tool_call_id"])).collect(),
                results.iter().map(|r| string(&r["content"])).collect(),
            )
        }
        Protocol::Anthropic => {
            let calls = messages[1]["content"].as_array().unwrap();
            let results = messages[2]["content"].as_array().unwrap();
            (
                calls.iter().map(|call| string(&call["id"])).collect(),
                results.iter().map(|r| string(&r["tool_use_id"])).collect(),
                results.iter().map(|r| string(&r["content"][0]["text"])).collect(),
            )
        }
    }
}

#[tokio::test]
async fn ids_that_tell_nothing_apart_are_replaced() {
    for protocol in BOTH {
        for id in ["", "same"] {
            let request = after(
                vec![call(id, "search", r#"{"q":"one"}"#), call(id, "search", r#"{"q":"two"}"#)],
                vec![result(id, "search", "first", false), result(id, "search", "second", false)],
            );
            let (calls, answered, results) = ids(protocol, &sent(protocol, request).await);
            assert_eq!(calls, answered, "{protocol:?} {id:?}");
            assert_ne!(calls[0], calls[1], "{protocol:?} {id:?}");
            assert!(calls.iter().all(|id| !id.is_empty()));
            assert_eq!(results, ["first", "second"]);
        }
    }
}

#[tokio::test]
async fn a_result_goes_to_its_call_in_any_order() {
    for protocol in BOTH {
        let request = after(
            vec![call("a", "search", "{}"), call("b", "write", "{}")],
            vec![result("b", "write", "of b", false), result("a", "search", "of a", false)],
        );
        let (_, answered, results) = ids(protocol, &sent(protocol, request).await);
        let pairs: Vec<_> = answered.iter().zip(&results).collect();
        assert!(pairs.contains(&(&"a".to_owned(), &"of a".to_owned())), "{pairs:?}");
        assert!(pairs.contains(&(&"b".to_owned(), &"of b".to_owned())), "{pairs:?}");
    }
}

#[tokio::test]
async fn broken_arguments_go_back_as_what_they_were() {
    for protocol in BOTH {
        let broken = r#"{"q": "a"#;
        let request = after(vec![call("a", "search", broken)], vec![result("a", "search", "", true)]);
        let body = sent(protocol, request).await;
        let arguments = match protocol {
            Protocol::OpenAi => {
                let text = &body["messages"][2]["tool_calls"][0]["function"]["arguments"];
                serde_json::from_str(text.as_str().unwrap()).unwrap()
            }
            Protocol::Anthropic => body["messages"][1]["content"][0]["input"].clone(),
        };
        assert_eq!(arguments, json!({"invalid_arguments": broken}), "{protocol:?}");
        // An empty result is refused by some providers.
        let (_, _, results) = ids(protocol, &body);
        assert_eq!(results, ["(no output)"], "{protocol:?}");
    }
}

/// Asks, answers every call with "done", and gives the second request's body.
async fn round_trip(protocol: Protocol, first: Answer) -> (Reply, Value) {
    let fake = Fake::scripted(protocol, vec![first, Answer::text("ok")]);
    let client = client(&fake, protocol);
    let mut items = all(&client, question()).await;
    let Some(Ok(ModelEvent::Done(reply))) = items.pop() else {
        panic!("{items:?}");
    };
    let results = reply
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Call(call) => Some(result(&call.id, &call.name, "done", false)),
            _ => None,
        })
        .collect();
    // The reply goes through storage before it goes back.
    let stored = serde_json::to_string(&reply).unwrap();
    let restored: Reply = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored, reply);
    let items = all(&client, after(restored.blocks, results)).await;
    assert!(matches!(items.last(), Some(Ok(ModelEvent::Done(_)))), "{items:?}");
    (reply, fake.last_request().body)
}

#[tokio::test]
async fn signed_reasoning_goes_back_as_it_came() {
    let first = Answer::new()
        .then_reasoning(&["Think", "ing."], Some("c2lnbmVk"))
        .then_redacted("b3BhcXVl")
        .then_calls(vec![Call::new("a", "search", r#"{"q":"x"}"#)]);
    let (_, body) = round_trip(Protocol::Anthropic, first).await;
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            {"type": "thinking", "thinking": "Thinking.", "signature": "c2lnbmVk"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "tool_use", "id": "a", "name": "search", "input": {"q": "x"}},
        ])
    );
    // Thinking whose text the provider leaves out is signed all the same.
    let first = Answer::new().then_reasoning(&[], Some("c2VhbA")).then_calls(vec![Call::new("a", "search", "{}")]);
    let (_, body) = round_trip(Protocol::Anthropic, first).await;
    assert_eq!(body["messages"][1]["content"][0], json!({"type": "thinking", "thinking": "", "signature": "c2VhbA"}));
}

#[tokio::test]
async fn reasoning_goes_back_in_the_field_it_came_in() {
    let first = Answer::new().then_reasoning(&["Think", "ing."], None).then_calls(vec![Call::new(
        "a",
        "search",
        r#"{"q":"x"}"#,
    )]);
    let (_, body) = round_trip(Protocol::OpenAi, first).await;
    assert_eq!(body["messages"][2]["reasoning_content"], "Thinking.", "{body}");
    assert!(body["messages"][2].get("content").is_none(), "{body}");
}

#[tokio::test]
async fn what_a_provider_seals_into_a_call_goes_back_with_it() {
    let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [{
        "index": 0, "id": "a", "type": "function",
        "function": {"name": "search", "arguments": "{\"q\":\"x\"}"},
        "extra_content": {"google": {"thought_signature": "c2ln"}},
    }]}}]});
    let first = Answer::new().then_raw(&format!("data: {chunk}\n\n")).finish("tool_calls");
    let (reply, body) = round_trip(Protocol::OpenAi, first).await;
    assert!(matches!(reply.blocks.last(), Some(Block::Call(_))), "{reply:?}");
    let call = &body["messages"][2]["tool_calls"][0];
    assert_eq!(call["extra_content"]["google"]["thought_signature"], "c2ln", "{body}");
    assert_eq!(call["id"], "a");
}

#[tokio::test]
async fn seals_of_another_provider_stay_behind() {
    let foreign = json!({"api": "gemini.generate_content", "item": {"thoughtSignature": "x"}});
    let blocks = vec![
        Block::Reasoning { text: "mine alone".to_owned(), signature: Some(foreign.to_string()) },
        Block::Reasoning { text: "unsigned".to_owned(), signature: None },
        Block::Text { text: "said".to_owned() },
    ];
    for protocol in BOTH {
        let mut request = question();
        request.messages.push(Message::Assistant { blocks: blocks.clone() });
        request.messages.push(Message::User { text: "And?".to_owned() });
        let body = sent(protocol, request).await.to_string();
        for absent in ["mine alone", "thoughtSignature", "unsigned"] {
            assert!(!body.contains(absent), "{protocol:?} {absent}: {body}");
        }
        assert!(body.contains("said"));
    }
}

#[tokio::test]
async fn tools_are_not_left_out_without_a_word() {
    let fake = Fake::openai(vec![Answer::text("ok")]);
    let cfg =
        ProviderConfig { name: "perplexity".to_owned(), kind: ProviderKind::OpenAi, base_url: Some(fake.base_url()) };
    let client = models::connect(&cfg, None).unwrap();
    let items = all(&client, question()).await;
    let error = items.last().unwrap().as_ref().unwrap_err();
    assert!(error.message.contains("no tools"), "{error:?}");
    let mut request = question();
    request.tools.clear();
    let items = all(&client, request).await;
    assert!(matches!(items.last(), Some(Ok(ModelEvent::Done(_)))), "{items:?}");
}

#[tokio::test]
async fn a_conversation_without_a_user_is_refused_here() {
    for protocol in BOTH {
        let fake = Fake::scripted(protocol, vec![]);
        let mut request = question();
        request.messages.clear();
        let items = all(&client(&fake, protocol), request).await;
        assert!(items.last().unwrap().is_err());
        assert!(fake.requests().is_empty(), "{protocol:?}");
    }
}
