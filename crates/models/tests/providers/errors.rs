//! What goes wrong, and what the person is told of it.

use std::time::Duration;

use fakes::{Answer, Fake, Protocol};
use models::{ModelErrorKind, ModelEvent, ProviderConfig, ProviderKind};
use serde_json::json;

use text::Secret;

use crate::{BOTH, KEY, all, client, failure, key, question};

const HTML: &str = "<html><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>";

#[tokio::test]
async fn an_error_answer_keeps_status_and_body() {
    let error =
        |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}}).to_string();
    let cases = [
        (401, ModelErrorKind::Auth, error("auth", "invalid x-api-key"), "invalid x-api-key"),
        (403, ModelErrorKind::Auth, error("auth", "not for you"), "not for you"),
        (429, ModelErrorKind::RateLimited, error("rate", "slow down"), "slow down"),
        (400, ModelErrorKind::Refused, error("bad", "unknown field"), "unknown field"),
        (404, ModelErrorKind::Refused, error("gone", "no such model"), "no such model"),
        (500, ModelErrorKind::Server, error("api", "oh no"), "oh no"),
        (529, ModelErrorKind::Server, error("overloaded", "Overloaded"), "Overloaded"),
        (502, ModelErrorKind::Server, HTML.to_owned(), "Bad Gateway"),
        (401, ModelErrorKind::Auth, HTML.to_owned(), "Bad Gateway"),
        (429, ModelErrorKind::RateLimited, HTML.to_owned(), "nginx"),
        (503, ModelErrorKind::Server, String::new(), "503"),
        (302, ModelErrorKind::Refused, "moved".to_owned(), "moved"),
        (204, ModelErrorKind::Refused, String::new(), "204"),
    ];
    for protocol in BOTH {
        for (status, kind, body, words) in &cases {
            let content_type = if body.starts_with('<') { "text/html" } else { "application/json" };
            let error = failure(protocol, Answer::status(*status, content_type, body)).await;
            assert_eq!(error.kind, *kind, "{protocol:?} {status}");
            assert_eq!(error.status, Some(*status));
            assert_eq!(error.body.as_deref(), Some(body.as_str()));
            assert!(error.message.contains(words), "{}", error.message);
            assert!(error.message.contains(&status.to_string()), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_its_own_kind() {
    let cases = [
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
    ];
    for protocol in BOTH {
        for body in cases {
            let error = failure(protocol, Answer::status(400, "application/json", body)).await;
            assert_eq!(error.kind, ModelErrorKind::ContextTooLong, "{body}");
        }
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_is_the_providers_own() {
    for protocol in BOTH {
        let answer = Answer::text("I was about to")
            .then_error(json!({"type": "overloaded_error", "message": "Overloaded, sorry"}));
        let error = failure(protocol, answer).await;
        assert_eq!(error.kind, ModelErrorKind::Stream, "{protocol:?}: {error:?}");
        assert!(error.message.contains("Overloaded, sorry"), "{}", error.message);
        assert!(error.body.unwrap().contains("overloaded_error"));
    }
}

#[tokio::test]
async fn an_end_mark_without_a_reason_is_no_end() {
    let answer = Answer::text("I was about to").then_raw("data: [DONE]\n\n");
    let error = failure(Protocol::OpenAi, answer).await;
    assert_eq!(error.kind, ModelErrorKind::Truncated, "{error:?}");
    let answer = Answer::text("so").then_raw("data: {\"type\":\"message_stop\"}\n\n");
    let error = failure(Protocol::Anthropic, answer).await;
    assert_eq!(error.kind, ModelErrorKind::Truncated, "{error:?}");
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_shown() {
    for protocol in BOTH {
        let answer = Answer::status(200, "text/html", "<p>Please log in to the Wi-Fi</p>");
        let error = failure(protocol, answer).await;
        assert_eq!(error.kind, ModelErrorKind::Unsupported, "{protocol:?}");
        assert!(error.body.unwrap().contains("Wi-Fi"));
        assert!(error.message.contains("text/html"), "{}", error.message);
    }
}

#[tokio::test]
async fn rubbish_in_the_stream_is_an_error_or_ignored_but_never_a_panic() {
    let rubbish = [
        "data: {\n\n",
        "data: null\n\n",
        "data: []\n\n",
        "data: {\"choices\":{}}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1}]}}]}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":99,\"delta\":{\"type\":\"text_delta\"}}\n\n",
        "data: {\"type\":\"content_block_stop\",\"index\":7}\n\n",
        "data: \u{0}\n\n",
    ];
    for protocol in BOTH {
        for raw in rubbish {
            let fake = Fake::scripted(protocol, vec![Answer::text("a").then_raw(raw)]);
            let items = all(&client(&fake, protocol), question()).await;
            let done = matches!(items.last(), Some(Ok(ModelEvent::Done(_)) | Err(_)));
            assert!(done, "{protocol:?} {raw:?} {items:?}");
        }
    }
}

#[tokio::test]
async fn the_key_is_in_no_error() {
    // A server that repeats the key in every place it can, also in a long body.
    let long = format!("{}{KEY}", "x".repeat(595));
    let very_long = format!("{}{KEY}", "y".repeat(256 * 1024 - 9));
    let bodies = [
        json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}}).to_string(),
        format!("<html>Authorization: Bearer {KEY}</html>"),
        long,
        very_long,
    ];
    for protocol in BOTH {
        for body in &bodies {
            for status in [401, 200] {
                let answer = Answer::status(status, "text/plain", body);
                let error = failure(protocol, answer).await;
                let shown = format!("{error:?} {error}");
                assert!(!shown.contains(&KEY[..8]), "{protocol:?} {status}");
            }
        }
        let answer = Answer::new().then_error(json!({"message": format!("bad key {KEY}")}));
        let error = failure(protocol, answer).await;
        assert!(!format!("{error:?}").contains(&KEY[..8]), "{protocol:?}");
        assert!(error.message.contains("[key removed]"));
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error() {
    models::init();
    // A port that was free a moment ago and is not listened on.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (kind, name) in
        [(ProviderKind::OpenAi, "vllm"), (ProviderKind::Anthropic, "anthropic"), (ProviderKind::Gemini, "google")]
    {
        let cfg = ProviderConfig { name: name.to_owned(), kind, base_url: Some(format!("http://127.0.0.1:{port}/v1")) };
        let client = models::connect(&cfg, Some(&key())).unwrap();
        let error = all(&client, question()).await.pop().unwrap().unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Network, "{error:?}");
        assert_eq!(error.status, None);
        assert!(error.message.starts_with(name), "{}", error.message);
        // Gemini's address carries the key.
        assert!(!format!("{error:?}").contains(KEY));
    }
}

#[tokio::test]
async fn a_connection_closed_without_an_answer_is_a_network_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            drop(socket);
        }
    });
    let cfg = ProviderConfig {
        name: "vllm".to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: Some(format!("http://{address}/v1")),
    };
    let client = models::connect(&cfg, None).unwrap();
    let error = all(&client, question()).await.pop().unwrap().unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Network, "{error:?}");
}

#[test]
fn a_wrong_configuration_says_what_is_wrong() {
    models::init();
    let connect = |name: &str, kind, base_url: Option<&str>, key: Option<&str>| {
        let key = key.map(|key| Secret::new(key.to_owned()));
        let cfg = ProviderConfig { name: name.to_owned(), kind, base_url: base_url.map(str::to_owned) };
        models::connect(&cfg, key.as_ref()).map(|_| ())
    };
    let openai = ProviderKind::OpenAi;
    let cases = [
        (connect("mine", openai, None, None), "is missing"),
        (connect("mine", openai, Some("localhost:80/v1"), None), "http"),
        (connect("mine", openai, Some("ftp://x/"), None), "http"),
        (connect("mine", openai, Some("not a url"), None), "not a URL"),
        (connect("mine", openai, Some("http://x/?a=b"), None), "`?`"),
        (connect("openai", openai, None, Some("sk-\nx")), "characters"),
        (connect("rehearsal", ProviderKind::Rehearsal, None, None), "script"),
    ];
    for (result, words) in cases {
        let error = result.unwrap_err();
        assert!(error.message.contains(words), "{} / {words}", error.message);
    }
    assert!(connect("openai", openai, None, Some(KEY)).is_ok());
    for info in models::providers() {
        if let Some(cfg) = ProviderConfig::known(info.name)
            && cfg.kind != ProviderKind::Rehearsal
        {
            assert!(models::connect(&cfg, Some(&key())).is_ok(), "{}", info.name);
        }
    }
}

#[tokio::test]
async fn a_slow_start_is_waited_for() {
    for protocol in BOTH {
        let answer = Answer::new().then_pause(Duration::from_millis(300)).then_text(&["late"]);
        let fake = Fake::scripted(protocol, vec![answer]);
        let items = all(&client(&fake, protocol), question()).await;
        assert!(matches!(items.last(), Some(Ok(ModelEvent::Done(_)))), "{items:?}");
    }
    // The fake without an answer left fails loudly.
    let fake = Fake::scripted(Protocol::OpenAi, Vec::new());
    let items = all(&client(&fake, Protocol::OpenAi), question()).await;
    assert!(items.last().unwrap().is_err());
}
