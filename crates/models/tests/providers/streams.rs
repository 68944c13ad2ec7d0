//! What a good stream becomes.

use std::time::Duration;

use fakes::{Answer, Call, Fake, Protocol};
use futures_util::StreamExt;
use models::{Block, Finish, ModelCall, ModelEvent, Usage};
use serde_json::json;

use crate::{BOTH, client, question, reply};

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

fn call(id: &str, name: &str, args_text: &str) -> Block {
    Block::Call(ModelCall { id: id.to_owned(), name: name.to_owned(), args_text: args_text.to_owned() })
}

#[tokio::test]
async fn text_arrives_piece_by_piece_and_whole() {
    for protocol in BOTH {
        let answer = Answer::new().then_text(&["Grü", "ß ", "dich 👋\n"]);
        let (reply, events) = reply(protocol, answer.usage(120, 7, 100)).await;
        let pieces: Vec<_> = ["Grü", "ß ", "dich 👋\n"].map(|piece| ModelEvent::Text(piece.to_owned())).into();
        assert_eq!(events, pieces, "{protocol:?}");
        assert_eq!(reply.blocks, [text("Grüß dich 👋\n")], "{protocol:?}");
        assert_eq!(reply.finish, Finish::Stop);
        // Each provider's own way to count: Anthropic's input leaves out what was cached.
        let input = if protocol == Protocol::OpenAi { 120 } else { 20 };
        let usage = Usage { input, output: 7, cached: 100 };
        assert_eq!(reply.usage, Some(usage), "{protocol:?}");
    }
}

#[tokio::test]
async fn no_usage_is_none_and_not_zero() {
    for protocol in BOTH {
        let (reply, _) = reply(protocol, Answer::text("hi")).await;
        assert_eq!(reply.usage, None, "{protocol:?}");
    }
}

#[tokio::test]
async fn an_empty_reply_is_a_reply() {
    for protocol in BOTH {
        let (reply, events) = reply(protocol, Answer::new()).await;
        assert_eq!((reply.blocks.len(), events.len()), (0, 0), "{protocol:?}");
        assert_eq!(reply.finish, Finish::Stop);
    }
}

#[tokio::test]
async fn finish_reasons_are_told_apart() {
    let cases = [
        (Protocol::OpenAi, "length", Finish::Length),
        (Protocol::OpenAi, "content_filter", Finish::ContentFilter),
        (Protocol::OpenAi, "odd", Finish::Other("odd".to_owned())),
        (Protocol::Anthropic, "max_tokens", Finish::Length),
        (Protocol::Anthropic, "stop_sequence", Finish::Stop),
        (Protocol::Anthropic, "refusal", Finish::ContentFilter),
        (Protocol::Anthropic, "odd", Finish::Other("odd".to_owned())),
    ];
    for (protocol, word, finish) in cases {
        let (reply, _) = reply(protocol, Answer::text("cut sh").finish(word)).await;
        assert_eq!(reply.finish, finish, "{protocol:?} {word}");
        assert_eq!(reply.blocks, [text("cut sh")]);
    }
}

#[tokio::test]
async fn arguments_arrive_as_deltas() {
    for protocol in BOTH {
        let deltas = [r#"{"q": "#, r#""a"#, r#"b"}"#];
        let answer = Answer::text("Let me look.").then_calls(vec![Call::in_deltas("call_1", "search", &deltas)]);
        let (reply, events) = reply(protocol, answer).await;
        let mut expected = vec![
            ModelEvent::Text("Let me look.".to_owned()),
            ModelEvent::CallStarted { part: 0, name: "search".to_owned() },
        ];
        expected.extend(deltas.map(|json| ModelEvent::CallArguments { part: 0, json: json.to_owned() }));
        expected.push(ModelEvent::CallReady { part: 0 });
        assert_eq!(events, expected, "{protocol:?}");
        let blocks = [text("Let me look."), call("call_1", "search", r#"{"q": "ab"}"#)];
        assert_eq!(reply.blocks, blocks, "{protocol:?}");
        assert_eq!(reply.finish, Finish::ToolCalls);
    }
}

#[tokio::test]
async fn parallel_calls_are_told_apart() {
    for protocol in BOTH {
        let answer = Answer::calls(vec![
            Call::in_deltas("a", "search", &[r#"{"q":"#, r#""one"}"#]),
            Call::in_deltas("b", "search", &[r#"{"q":"#, r#""two"}"#]),
            Call::in_deltas("c", "write", &[r#"{"q":"#, r#""three"}"#]),
        ]);
        let (reply, events) = reply(protocol, answer).await;
        let blocks = [
            call("a", "search", r#"{"q":"one"}"#),
            call("b", "search", r#"{"q":"two"}"#),
            call("c", "write", r#"{"q":"three"}"#),
        ];
        assert_eq!(reply.blocks, blocks, "{protocol:?}");
        let mut arguments = vec![String::new(); 3];
        let (mut started, mut ready) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                ModelEvent::CallStarted { part, name } => started.push((part, name)),
                ModelEvent::CallArguments { part, json } => arguments[part].push_str(&json),
                ModelEvent::CallReady { part } => ready.push(part),
                other => panic!("{protocol:?}: {other:?}"),
            }
        }
        let names = ["search", "search", "write"].map(str::to_owned);
        assert_eq!(started, (0..3).zip(names).collect::<Vec<_>>());
        ready.sort_unstable();
        assert_eq!(ready, [0, 1, 2]);
        let whole = ["one", "two", "three"].map(|word| format!(r#"{{"q":"{word}"}}"#));
        assert_eq!(arguments, whole, "{protocol:?}");
    }
}

#[tokio::test]
async fn arguments_that_are_not_json_pass_through_as_text() {
    for protocol in BOTH {
        for broken in [r#"{"q": "a"#, "not json", "[1,2]", r#"{"q":1}}"#, "\"x\"", "{'q': 1}"] {
            let answer = Answer::calls(vec![Call::new("c", "search", broken)]);
            let (reply, events) = reply(protocol, answer).await;
            assert_eq!(reply.blocks, [call("c", "search", broken)], "{protocol:?}");
            assert_eq!(reply.finish, Finish::ToolCalls, "{protocol:?} {broken}");
            let sent =
                events.iter().any(|event| matches!(event, ModelEvent::CallArguments { json, .. } if json == broken));
            assert!(sent, "{protocol:?} {broken}");
        }
    }
}

#[tokio::test]
async fn a_call_that_the_limit_cut_is_kept_as_far_as_it_came() {
    for (protocol, word) in [(Protocol::OpenAi, "length"), (Protocol::Anthropic, "max_tokens")] {
        let answer = Answer::calls(vec![Call::new("c", "write", r#"{"q": "lo"#)]).finish(word);
        let (reply, _) = reply(protocol, answer).await;
        assert_eq!(reply.finish, Finish::Length, "{protocol:?}");
        assert_eq!(reply.blocks, [call("c", "write", r#"{"q": "lo"#)]);
    }
}

#[tokio::test]
async fn a_call_without_arguments_has_an_empty_object() {
    for protocol in BOTH {
        let answer = Answer::calls(vec![Call::in_deltas("c", "search", &[])]);
        let (reply, _) = reply(protocol, answer).await;
        assert_eq!(reply.blocks, [call("c", "search", "{}")], "{protocol:?}");
    }
}

#[tokio::test]
async fn calls_without_ids_or_with_one_id_are_still_two_calls() {
    for protocol in BOTH {
        for (first, second) in [("", ""), ("same", "same")] {
            let answer = Answer::calls(vec![
                Call::new(first, "search", r#"{"q":"one"}"#),
                Call::new(second, "search", r#"{"q":"two"}"#),
            ]);
            let (reply, _) = reply(protocol, answer).await;
            let arguments: Vec<_> = reply
                .blocks
                .iter()
                .map(|block| match block {
                    Block::Call(call) => call.args_text.as_str(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(arguments, [r#"{"q":"one"}"#, r#"{"q":"two"}"#], "{protocol:?}");
        }
    }
}

#[tokio::test]
async fn reasoning_comes_apart_from_text_and_with_its_signature() {
    let answer = Answer::new()
        .then_reasoning(&["Hm, ", "yes."], Some("c2lnbmVk"))
        .then_redacted("b3BhcXVl")
        .then_text(&["Yes."]);
    let (reply, events) = reply(Protocol::Anthropic, answer).await;
    let expected = [
        ModelEvent::Reasoning("Hm, ".to_owned()),
        ModelEvent::Reasoning("yes.".to_owned()),
        ModelEvent::Text("Yes.".to_owned()),
    ];
    assert_eq!(events, expected);
    let Block::Reasoning { text: said, signature } = &reply.blocks[0] else {
        panic!("{reply:?}");
    };
    assert_eq!((said.as_str(), signature.as_deref()), ("Hm, yes.", Some("c2lnbmVk")));
    assert!(matches!(&reply.blocks[1], Block::Reasoning { text, signature: Some(_) } if text.is_empty()));
    assert_eq!(reply.blocks[2], text("Yes."));
}

#[tokio::test]
async fn events_come_while_the_model_still_writes() {
    for protocol in BOTH {
        let answer = Answer::text("first").then_pause(Duration::from_secs(30)).then_text(&["second"]);
        let fake = Fake::scripted(protocol, vec![answer]);
        let mut stream = client(&fake, protocol).stream(question()).await.unwrap();
        let first = tokio::time::timeout(Duration::from_secs(5), stream.next()).await;
        let event = first.unwrap().unwrap().unwrap();
        assert_eq!(event, ModelEvent::Text("first".to_owned()), "{protocol:?}");
        assert_eq!(fake.left(), 0);
        drop(stream);
        let left = tokio::task::spawn_blocking(move || fake.wait_until_left(Duration::from_secs(5)));
        assert!(left.await.unwrap(), "{protocol:?}: the server sees that nobody listens");
    }
}

#[tokio::test]
async fn a_client_that_reads_to_the_end_has_not_left() {
    for protocol in BOTH {
        let fake = Fake::scripted(protocol, vec![Answer::text("a"), Answer::text("b")]);
        let client = client(&fake, protocol);
        for _ in 0..2 {
            let items = crate::all(&client, question()).await;
            assert!(matches!(items.last(), Some(Ok(ModelEvent::Done(_)))));
        }
        assert_eq!((fake.requests().len(), fake.left()), (2, 0), "{protocol:?}");
    }
}

#[tokio::test]
async fn lines_that_other_servers_add_do_no_harm() {
    // Comments, line ends of another kind, and events of kinds nobody knows.
    let odd = Answer::new()
        .then_raw(": keep-alive\r\n\r\n")
        .then_text(&["ok"])
        .then_raw("event: new_thing\ndata: {\"type\":\"new_thing\",\"x\":1}\n\n");
    let (answered, _) = reply(Protocol::Anthropic, odd).await;
    assert_eq!(answered.blocks, [text("ok")]);
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "ok"}}]});
    let odd = Answer::new().then_raw(": keep-alive\n\n").then_raw(&format!("data:{chunk}\r\n\r\n"));
    let (answered, _) = reply(Protocol::OpenAi, odd).await;
    assert_eq!(answered.blocks, [text("ok")]);
}
