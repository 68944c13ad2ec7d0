//! Gemini's own wire format, against a server that sends what it is given.

use std::sync::Arc;

use models::{
    Block, Finish, Message, ModelClient, ModelErrorKind, ModelEvent, ProviderConfig, ProviderKind, ToolResultMessage,
    Usage,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::{all, key, question};

/// A client of a server that gives `bodies` one after the other, and what it is asked.
async fn server(bodies: Vec<String>) -> (Arc<dyn ModelClient>, mpsc::UnboundedReceiver<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for body in bodies {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut bytes = Vec::new();
            let request = loop {
                let mut piece = [0; 4096];
                let read = socket.read(&mut piece).await.unwrap();
                assert_ne!(read, 0);
                bytes.extend_from_slice(&piece[..read]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if let Some((head, rest)) = text.split_once("\r\n\r\n") {
                    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                    if rest.len() >= length.parse().unwrap() {
                        break text;
                    }
                }
            };
            asked.send(request).unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
            let response = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            socket.write_all(response.as_bytes()).await.unwrap();
            socket.shutdown().await.unwrap();
        }
    });
    let cfg = ProviderConfig { name: "google".to_owned(), kind: ProviderKind::Gemini, base_url: Some(base_url) };
    (models::connect(&cfg, Some(&key())).unwrap(), requests)
}

fn chunk(parts: Value, finish: Option<&str>) -> String {
    let mut chunk = json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}],
        "modelVersion": "test-model", "responseId": "r",
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4,
            "totalTokenCount": 13},
    });
    if let Some(finish) = finish {
        chunk["candidates"][0]["finishReason"] = finish.into();
    }
    format!("data: {chunk}\r\n\r\n")
}

#[tokio::test]
async fn a_call_and_its_signature_go_round() {
    let call = json!([{"functionCall": {"name": "search", "args": {"q": "x"}},
        "thoughtSignature": "c2ln"}]);
    let first =
        [chunk(json!([{"text": "Let me "}]), None), chunk(json!([{"text": "look."}]), None), chunk(call, Some("STOP"))];
    let second = chunk(json!([{"text": "ok"}]), Some("STOP"));
    let (client, mut requests) = server(vec![first.concat(), second]).await;
    let mut items = all(&client, question()).await;
    let Some(Ok(ModelEvent::Done(reply))) = items.pop() else {
        panic!("{items:?}");
    };
    assert_eq!(reply.finish, Finish::ToolCalls);
    let usage = Usage { input: 9, output: 4, cached: 0 };
    assert_eq!(reply.usage, Some(usage));
    let Some(Block::Call(made)) = reply.blocks.last() else {
        panic!("{reply:?}");
    };
    assert_eq!((made.name.as_str(), made.args_text.as_str()), ("search", r#"{"q":"x"}"#));
    assert_eq!(reply.blocks[0], Block::Text { text: "Let me look.".to_owned() });
    let asked = requests.recv().await.unwrap();
    assert!(asked.starts_with("POST /v1beta/models/test-model:streamGenerateContent"));

    let mut request = question();
    let results = vec![ToolResultMessage {
        call_id: made.id.clone(),
        name: made.name.clone(),
        content: "found".to_owned(),
        is_error: false,
    }];
    request.params.top_k = Some(3);
    request.messages.push(Message::Assistant { blocks: reply.blocks.clone() });
    request.messages.push(Message::ToolResults { results });
    let items = all(&client, request).await;
    assert!(matches!(items.last(), Some(Ok(ModelEvent::Done(_)))), "{items:?}");
    let asked = requests.recv().await.unwrap();
    let body: Value = serde_json::from_str(asked.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["generationConfig"]["topK"], 3, "{body}");
    let parts = body["contents"][1]["parts"].as_array().unwrap();
    let sent = parts.iter().find(|part| part.get("functionCall").is_some());
    assert_eq!(sent.unwrap()["thoughtSignature"], "c2ln", "{body}");
    let answer = &body["contents"][2]["parts"][0]["functionResponse"];
    assert_eq!(answer["name"], "search", "{body}");
    assert!(answer["response"].to_string().contains("found"), "{body}");
}

#[tokio::test]
async fn a_stream_without_an_end_is_cut() {
    let text = chunk(json!([{"text": "I was about"}]), None);
    let (client, _requests) = server(vec![text.clone(), format!("{text}data: {{\"cand")]).await;
    for _ in 0..2 {
        let error = all(&client, question()).await.pop().unwrap().unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Truncated, "{error:?}");
    }
}
