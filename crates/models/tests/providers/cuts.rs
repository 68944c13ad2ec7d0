//! A stream that ends early is never a short answer, wherever it is cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fakes::{Answer, Call, Cut, Fake, Protocol};
use futures_util::StreamExt;
use models::{ModelErrorKind, ModelEvent};

use crate::{BOTH, client, question};

/// An answer with everything in it.
fn rich() -> Answer {
    Answer::new()
        .then_reasoning(&["Denk ", "nach…"], Some("c2ln"))
        .then_text(&["Grüße ", "👋"])
        .then_calls(vec![
            Call::in_deltas("a", "search", &[r#"{"q":"#, r#""ü"}"#]),
            Call::in_deltas("b", "write", &["{}"]),
        ])
        .usage(10, 5, 3)
}

/// The length of the body that [`rich`] becomes: the shortest cut that changes nothing.
fn length(protocol: Protocol) -> usize {
    // The fake cuts by bytes, so the body is as long as the cut from which on all is sent.
    let body = raw_body(protocol, rich());
    body.len()
}

/// The body as it goes over the wire, read without any client of ours.
fn raw_body(protocol: Protocol, answer: Answer) -> Vec<u8> {
    use std::io::{Read, Write};
    let fake = Fake::scripted(protocol, vec![answer]);
    let path = match protocol {
        Protocol::OpenAi => "/v1/chat/completions",
        Protocol::Anthropic => "/v1/messages",
    };
    let body = r#"{"stream":true,"model":"test-model","stream_options":{"include_usage":true}}"#;
    let mut socket = std::net::TcpStream::connect(fake.address()).unwrap();
    // HTTP/1.0 has no chunks: the body is all that follows the head.
    write!(socket, "POST {path} HTTP/1.0\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).unwrap();
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    bytes.split_off(head + 4)
}

async fn every_cut(protocol: Protocol, cut: fn(usize) -> Cut) {
    let length = length(protocol);
    // The last line end only completes the end mark's event.
    let mark = match protocol {
        Protocol::OpenAi => "data: [DONE]\n\n",
        Protocol::Anthropic => "data: {\"type\":\"message_stop\"}\n\n",
    };
    let at = Arc::new(AtomicUsize::new(0));
    let next = Arc::clone(&at);
    let fake = Fake::answering(protocol, move |_| rich().cut(cut(next.load(Ordering::SeqCst))));
    let client = client(&fake, protocol);
    for offset in 0..=length {
        at.store(offset, Ordering::SeqCst);
        let items: Vec<_> = match client.stream(question()).await {
            Ok(stream) => stream.collect().await,
            Err(error) => vec![Err(error)],
        };
        let (last, before) = items.split_last().unwrap();
        assert!(
            before.iter().all(|item| matches!(item, Ok(event) if !matches!(event, ModelEvent::Done(_)))),
            "{protocol:?} at {offset}: {items:?}"
        );
        if offset == length {
            // Nothing was cut off.
            assert!(matches!(last, Ok(ModelEvent::Done(_))), "{protocol:?}: {last:?}");
            continue;
        }
        let error = last.as_ref().expect_err(&format!("{protocol:?} at {offset} of {length}"));
        // A connection that breaks before the head may never have shown an answer.
        let early = offset == 0 && error.kind == ModelErrorKind::Network;
        assert!(error.kind == ModelErrorKind::Truncated || early, "{protocol:?} at {offset}: {error:?}");
    }
    let body = raw_body(protocol, rich());
    assert!(String::from_utf8(body).unwrap().ends_with(mark), "{protocol:?}");
}

#[tokio::test]
async fn cut_at_every_byte_with_a_proper_end() {
    for protocol in BOTH {
        every_cut(protocol, Cut::Clean).await;
    }
}

#[tokio::test]
async fn cut_at_every_byte_by_closing_the_connection() {
    for protocol in BOTH {
        every_cut(protocol, Cut::Broken).await;
    }
}
