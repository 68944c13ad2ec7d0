//! The provider as a `ModelClient`: events, usage, failures, pace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;

use super::super::{RehearsalClient, Scripts};
use super::{Talk, user};
use crate::{Block, Finish, ModelClient, ModelError, ModelErrorKind, ModelEvent, ModelRequest, Reply};

fn request(script: &str, said: &str) -> ModelRequest {
    let mut request = Talk::with("greeter").request;
    request.model = script.to_owned();
    request.messages.push(user(said));
    request
}

async fn events(request: ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
    let client = RehearsalClient::new(Arc::new(Scripts::default()));
    client.stream(request).await.unwrap().collect().await
}

fn done(events: &[Result<ModelEvent, ModelError>]) -> &Reply {
    match events.last() {
        Some(Ok(ModelEvent::Done(reply))) => reply,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn text_comes_in_words_and_adds_up() {
    let events = events(request("greeter", "hello")).await;
    let pieces: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Ok(ModelEvent::Text(text)) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(pieces.len() > 10);
    let reply = done(&events);
    assert_eq!(reply.finish, Finish::Stop);
    assert_eq!(reply.blocks, [Block::Text { text: pieces.concat() }]);
    let usage = reply.usage.unwrap();
    assert_eq!(usage.output, (pieces.concat().chars().count() as u64).div_ceil(4));
    assert!(usage.input > 0 && usage.cached == 0);
}

#[tokio::test]
async fn usage_grows_with_every_part_of_the_request() {
    let mut request = request("greeter", "hello");
    request.tools.clear();
    request.system = Some("x".repeat(35));
    assert_eq!(done(&events(request).await).usage.unwrap().input, 10);
}

#[tokio::test]
async fn calls_come_in_parts() {
    let events = events(request("orders-desk", "cancel 1003 and 1007")).await;
    let mut args = [String::new(), String::new()];
    let mut ready = Vec::new();
    for event in events.iter().flatten() {
        match event {
            ModelEvent::CallStarted { name, .. } => assert_eq!(name, "desk_cancel_order"),
            ModelEvent::CallArguments { part, json } => args[*part].push_str(json),
            ModelEvent::CallReady { part } => ready.push(*part),
            _ => {}
        }
    }
    assert_eq!(ready, [0, 1]);
    assert_eq!(args, [r#"{"order_id":1003}"#, r#"{"order_id":1007}"#]);
    let reply = done(&events);
    assert_eq!(reply.finish, Finish::ToolCalls);
    let ids: Vec<_> = reply
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Call(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["rehearsal_1", "rehearsal_2"]);
}

#[tokio::test]
async fn failures_come_as_they_are_written() {
    for (said, kind, status) in [
        ("rate limit", ModelErrorKind::RateLimited, Some(429)),
        ("bad key", ModelErrorKind::Auth, Some(401)),
        ("server error", ModelErrorKind::Server, Some(503)),
        ("network", ModelErrorKind::Network, None),
        ("context", ModelErrorKind::ContextTooLong, Some(400)),
        ("cut the stream", ModelErrorKind::Truncated, None),
        ("stream error", ModelErrorKind::Stream, None),
    ] {
        let events = events(request("chaos", said)).await;
        let error = events.last().unwrap().as_ref().unwrap_err();
        assert_eq!((error.kind, error.status), (kind, status), "{said}");
        assert!(error.message.contains("(rehearsed)"), "{said}");
    }
    let cut = events(request("chaos", "cut the stream")).await;
    assert!(matches!(cut[0], Ok(ModelEvent::Reasoning(_))));
    assert!(cut.iter().any(|event| matches!(event, Ok(ModelEvent::Text(_)))));
}

#[tokio::test]
async fn odd_calls_come_as_they_are_written() {
    let of = |said: &'static str| async move {
        let events = events(request("chaos", said)).await;
        done(&events)
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Call(call) => Some((call.id.clone(), call.name.clone(), call.args_text.clone())),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(of("broken arguments").await[0].2, r#"{"order_id": 10"#);
    assert_eq!(of("unknown tool").await[0].1, "no_such_tool");
    let ids = |calls: Vec<(String, String, String)>| calls.into_iter().map(|call| call.0).collect::<Vec<_>>();
    assert_eq!(ids(of("same id twice").await), ["twice", "twice"]);
    assert_eq!(ids(of("empty id").await), ["", ""]);
}

#[tokio::test]
async fn pace_is_kept_and_a_dropped_stream_ends() {
    let client = RehearsalClient::new(Arc::new(Scripts::default()));
    let start = Instant::now();
    let mut stream = client.stream(request("slow-teller", "a story")).await.unwrap();
    let before = start.elapsed();
    for _ in 0..4 {
        stream.next().await.unwrap().unwrap();
    }
    assert!(start.elapsed() - before >= Duration::from_millis(240));
    drop(stream);
}

#[tokio::test]
async fn a_script_that_is_not_there_is_an_error_that_helps() {
    let client = RehearsalClient::new(Arc::new(Scripts::default()));
    let Err(error) = client.stream(request("nobody", "hello")).await else {
        panic!("found a script that is not there");
    };
    assert_eq!(error.kind, ModelErrorKind::Unsupported);
    assert!(error.message.contains("`nobody`") && error.message.contains("greeter"));
}
