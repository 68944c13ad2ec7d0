//! The whole job over the wire: agents on servers that speak OpenAI's and Anthropic's protocol, on loopback.

use crate::binary::{Desk, text, until};
use fakes::{Answer, Call, Cut, Fake, Protocol, Request};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;

const KEY: &str = "sk-live-5b1c3e7f9a2d4c6e8f0a";
const BOTH: [Protocol; 2] = [Protocol::OpenAi, Protocol::Anthropic];
const PATIENCE: Duration = Duration::from_secs(20);

/// A demo home with the agent `clerk`, whose model is this fake.
fn clerk(fake: &Fake, protocol: Protocol, more: &str) -> Desk {
    let kind = if protocol == Protocol::OpenAi { "openai" } else { "anthropic" };
    let url = fake.base_url();
    let settings = format!(
        "[log]\nfilter = \"trace\"\n[providers.lab]\nkind = \"{kind}\"\nbase_url = \"{url}\"\nkey_env = \"LAB_KEY\"\nmodels = [\"m1\"]\n{more}"
    );
    let mut desk = Desk::with(&settings);
    desk.set_env("LAB_KEY", KEY);
    let config = json!({ "system_prompt": "You work at the order desk.", "tools": ["desk_orders", "desk_get_order"] });
    let agent = json!({ "name": "clerk", "llm": "lab:m1", "config": config });
    desk.done(&["api", "call", "agents.create", "--json-body", &agent.to_string()]);
    desk
}

fn orders(words: &str) -> Vec<i64> {
    words.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

/// What a model with a head on its shoulders would answer.
fn smart(request: &Request) -> Answer {
    let results = request.tool_results();
    let words = request.user_text();
    if let Some((_, result)) = results.last()
        && result.contains("call again")
    {
        return Answer::call("second", "desk_cancel_order", &json!({ "order_id": orders(&words)[0] }));
    }
    if !results.is_empty() {
        let said: Vec<String> = results.into_iter().map(|(_, text)| text).collect();
        return Answer::text(&format!("The desk said: {}", said.join(" | ")));
    }
    let named = orders(&words);
    let call = |id: &str, tool: &str, order: i64| Call::new(id, tool, &json!({ "order_id": order }).to_string());
    match named.as_slice() {
        [] => Answer::new().then_text(&["Hel", "lo."]),
        [order] if words.contains("badly") => {
            Answer::calls(vec![Call::new("first", "desk_cancel_order", &format!("{{\"order_id\": {order}"))])
        }
        [order] if words.contains("cancel") => {
            Answer::text("One moment.").then_calls(vec![call("one", "desk_cancel_order", *order)])
        }
        [order] => Answer::calls(vec![call("one", "desk_get_order", *order)]),
        [a, b, read, ..] => Answer::calls(vec![
            call("w1", "desk_cancel_order", *a),
            call("r1", "desk_get_order", *read),
            call("w2", "desk_cancel_order", *b),
        ]),
        [..] => Answer::text("Too many."),
    }
}

fn response(answer: &Value) -> String {
    text(&answer["response"])
}

fn ask<'a>(words: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["ask", "clerk", words], more].concat()
}

#[test]
fn a_cancellation_over_the_wire_runs_once() {
    for protocol in BOTH {
        let fake = Fake::answering(protocol, smart);
        let desk = clerk(&fake, protocol, "");
        let asking = desk.start(&ask("please cancel 1007", &[]));
        let id = desk.wait_pending(1).remove(0);
        assert_eq!(desk.approval(&id)["model"], "lab:m1");
        assert_eq!(desk.effects().len(), 0);
        desk.done(&["approvals", "approve", &id]);
        let (code, answer) = asking.end();
        assert_eq!(code, 0, "{protocol:?}: {answer}");
        assert!(response(&answer).contains("Order 1007 is cancelled."), "{protocol:?}: {answer}");
        assert_eq!(desk.changes(1007), 1);
        let asked = fake.requests();
        assert_eq!(asked.len(), 2, "{protocol:?}: a resumed turn is not asked twice");
        assert_eq!(asked[0].system().as_deref(), Some("You work at the order desk."));
        assert!(asked[0].tool_names().contains(&"desk_cancel_order".to_owned()));
        assert_eq!(asked[1].tool_results()[0].0, "one", "the result goes to the call of this id");
    }
}

#[test]
fn a_turn_is_taken_up_by_another_process_over_the_wire() {
    for protocol in BOTH {
        let fake = Fake::answering(protocol, smart);
        let desk = clerk(&fake, protocol, "");
        desk.ends(&ask("cancel 1003", &["--session", "s", "--no-wait"]), 3);
        let id = desk.wait_pending(1).remove(0);
        desk.done(&["approvals", "reject", &id, "--reason", "wrong customer"]);
        let done = desk.done(&["ask", "--resume", "s"]);
        assert!(response(&done).contains("wrong customer"), "{protocol:?}: {done}");
        assert_eq!((desk.effects().len(), fake.requests().len()), (0, 2));
    }
}

#[test]
fn broken_arguments_go_back_to_the_model_and_run_nothing() {
    for protocol in BOTH {
        let fake = Fake::answering(protocol, smart);
        let desk = clerk(&fake, protocol, "");
        let asking = desk.start(&ask("cancel 1009 badly", &[]));
        // The broken call asks nobody; the one that follows it does.
        let id = desk.wait_pending(1).remove(0);
        let shown = desk.approval(&id);
        assert_eq!((&shown["ordinal"], &shown["args"]), (&json!(1), &json!({ "order_id": 1009 })), "{protocol:?}");
        assert_eq!(desk.effects().len(), 0);
        let told = fake.last_request().tool_results();
        assert!(told[0].1.contains("JSON"), "{protocol:?}: {told:?}");
        desk.done(&["approvals", "approve", &id]);
        let (code, answer) = asking.end();
        assert_eq!((code, &answer["tool_calls"][0]["state"]), (0, &json!("refused")), "{protocol:?}: {answer}");
        assert_eq!(desk.changes(1009), 1);
    }
}

#[test]
fn parallel_calls_are_decided_one_by_one_and_answered_in_order() {
    for protocol in BOTH {
        let fake = Fake::answering(protocol, smart);
        let desk = clerk(&fake, protocol, "");
        let waits = desk.ends(&ask("cancel 1003 and 1007, and show 1020", &["--session", "s", "--no-wait"]), 3);
        let states: Vec<&str> =
            waits["tool_calls"].as_array().unwrap().iter().filter_map(|c| c["state"].as_str()).collect();
        assert_eq!(states, ["waiting", "done", "waiting"], "{protocol:?}: the read runs at once");
        let of = |n: usize| text(&waits["tool_calls"][n]["approval"]);
        desk.wait_pending(2);
        desk.done(&["approvals", "reject", &of(0), "--reason", "not this one"]);
        let waits = desk.ends(&["ask", "--resume", "s", "--no-wait"], 3);
        assert_eq!(
            (&waits["tool_calls"][0]["state"], fake.requests().len()),
            (&json!("rejected"), 1),
            "{protocol:?}: {waits}"
        );
        desk.done(&["approvals", "approve", &of(2)]);
        let done = desk.done(&["ask", "--resume", "s"]);
        let told = fake.last_request().tool_results();
        let ids: Vec<&str> = told.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["w1", "r1", "w2"], "{protocol:?}: the order of the calls");
        assert!(
            told[0].1.contains("not this one") && told[1].1.contains("1020") && told[2].1.contains("is cancelled"),
            "{told:?}"
        );
        assert_eq!((desk.changes(1003), desk.changes(1007)), (0, 1), "{protocol:?}: {done}");
    }
}

/// Every file of the home, for what must not be in any.
fn files(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

fn nowhere(desk: &Desk, secret: &str) {
    let mut all = Vec::new();
    files(&desk.home(), &mut all);
    assert!(all.len() >= 3, "{all:?}");
    for path in all {
        let bytes = std::fs::read(&path).unwrap_or_default();
        assert!(!bytes.windows(secret.len()).any(|w| w == secret.as_bytes()), "the key is in {}", path.display());
    }
}

#[test]
fn refusals_of_the_provider_reach_the_person_without_the_key() {
    for protocol in BOTH {
        for (status, words) in [
            (401, "Incorrect API key provided"),
            (429, "Rate limit reached for requests"),
            (500, "The server had an error"),
        ] {
            // Some providers send the key back.
            let error = json!({ "type": "some_error", "message": format!("{words}: {KEY}") });
            let body = json!({ "type": "error", "error": error }).to_string();
            let fake = Fake::answering(protocol, move |_| Answer::status(status, "application/json", &body));
            let desk = clerk(&fake, protocol, "");
            let output = desk.command(&ask("hello", &["--json"])).output().unwrap();
            let (out, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.code(), Some(1), "{protocol:?} {status}: {out}");
            let answer: Value = serde_json::from_str(&out).unwrap();
            let said = text(&answer["metadata"]["error"]);
            assert!(
                answer["status"] == "failed" && said.contains(words) && said.contains(&status.to_string()),
                "{answer}"
            );
            assert!(
                !log.is_empty() && !out.contains(KEY) && !log.contains(KEY),
                "{protocol:?} {status}: the key is shown"
            );
            let plain = desk.command(&ask("hello", &[])).output().unwrap();
            let plain = format!("{}{}", String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&plain.stderr));
            assert!(plain.contains(words) && !plain.contains(KEY), "{protocol:?} {status}");
            nowhere(&desk, KEY);
        }
    }
}

#[test]
fn a_stored_key_is_used_and_seen_nowhere() {
    const OWN: &str = "sk-own-0f9e8d7c6b5a49382716";
    let fake = Fake::answering(Protocol::OpenAi, smart);
    let desk = clerk(&fake, Protocol::OpenAi, "");
    let mut storing = desk
        .command(&["keys", "set", "lab"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut storing.stdin.take().unwrap(), OWN.as_bytes()).unwrap();
    let stored = storing.wait_with_output().unwrap();
    assert!(stored.status.success(), "{}", String::from_utf8_lossy(&stored.stderr));
    let asked = desk.command(&ask("hello", &["--json"])).output().unwrap();
    assert!(asked.status.success());
    assert_eq!(fake.last_request().header("authorization"), Some(format!("Bearer {OWN}").as_str()));
    for output in [&stored, &asked] {
        let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!all.contains(OWN) && !all.contains(KEY), "a key is shown");
    }
    nowhere(&desk, OWN);
    nowhere(&desk, KEY);
}

#[test]
fn a_stream_that_is_cut_fails_the_turn_and_says_so() {
    for protocol in BOTH {
        for cut in [Cut::Broken(700), Cut::Clean(700)] {
            let long = ["word "; 200];
            let fake = Fake::answering(protocol, move |request| {
                let answer = Answer::new().then_text(&long);
                if request.user_text().contains("again") { Answer::text("Whole.") } else { answer.cut(cut) }
            });
            let desk = clerk(&fake, protocol, "");
            let answer = desk.ends(&ask("tell me", &["--session", "s"]), 1);
            let said = text(&answer["metadata"]["error"]);
            assert!(answer["status"] == "failed" && said.len() > 20, "{protocol:?} {cut:?}: {answer}");
            assert!(
                ["end", "cut", "broke", "clos"].iter().any(|word| said.contains(word)),
                "{protocol:?} {cut:?}: {said}"
            );
            let next = desk.done(&ask("and again", &["--session", "s"]));
            assert_eq!(response(&next), "Whole.", "{protocol:?} {cut:?}: the session goes on");
        }
    }
}

#[test]
fn an_interrupt_hangs_up_on_the_provider() {
    for (n, protocol) in BOTH.into_iter().enumerate() {
        let slow = |_: &Request| {
            Answer::new().then_text(&["Once upon"]).then_pause(Duration::from_secs(50)).then_text(&[" a time"])
        };
        let fake = Fake::answering(protocol, slow);
        let desk = clerk(&fake, protocol, "");
        let asking = desk.start(&ask("tell me", &["--session", "s"]));
        assert!(fake.wait_for_requests(1, PATIENCE));
        if n == 0 {
            asking.ctrl_c();
        } else {
            // From another terminal.
            let shown = desk.done(&["sessions", "show", "clerk", "s"]);
            desk.done(&["turns", "interrupt", &text(&shown["turns"][0]["turn"])]);
        }
        assert!(fake.wait_until_left(PATIENCE), "{protocol:?}: the connection stays open");
        let (code, answer) = asking.end();
        assert_eq!((code, &answer["status"]), (1, &json!("interrupted")), "{protocol:?}: {answer}");
    }
}

#[test]
fn a_conversation_that_is_too_long_is_cut_in_the_open() {
    for protocol in BOTH {
        let fake = Fake::answering(protocol, smart);
        let desk = clerk(&fake, protocol, "window_tokens = 6000\n");
        let long = format!("hello {}", "blah ".repeat(1200));
        let mut cut = Vec::new();
        for _ in 0..5 {
            let answer = desk.done(&ask(&long, &["--session", "s"]));
            cut.push(answer["metadata"]["turns_left_out"].as_u64().unwrap_or_default());
        }
        assert!(cut[0] == 0 && cut[4] > 0 && cut.is_sorted(), "{protocol:?}: {cut:?}");
        let turns = fake.last_request().messages().iter().filter(|m| m["role"] == "user").count() as u64;
        assert_eq!(turns, 5 - cut[4], "{protocol:?}: what was left out was not sent");
    }
}

#[test]
fn a_provider_that_counts_otherwise_is_believed() {
    for protocol in BOTH {
        let fake = Fake::answering(protocol, |request| {
            if request.body.to_string().len() > 12_000 {
                let error = json!({ "type": "invalid_request_error", "code": "context_length_exceeded",
                    "message": "prompt is too long: maximum context length exceeded" });
                return Answer::status(
                    400,
                    "application/json",
                    &json!({ "type": "error", "error": error }).to_string(),
                );
            }
            smart(request)
        });
        let desk = clerk(&fake, protocol, "");
        let long = format!("hello {}", "blah ".repeat(800));
        for _ in 0..2 {
            desk.done(&ask(&long, &["--session", "s"]));
        }
        let before = fake.requests().len();
        let answer = desk.done(&ask(&long, &["--session", "s"]));
        assert!(answer["metadata"]["turns_left_out"].as_u64() > Some(0), "{protocol:?}: {answer}");
        assert!(fake.requests().len() > before + 1, "{protocol:?}: it was asked again, with less");
    }
}

#[test]
fn a_process_killed_in_mid_answer_asks_the_model_again() {
    for protocol in BOTH {
        let fake = Fake::answering(protocol, |request| {
            let first = request.user_text().contains("slowly") && request.tool_results().is_empty();
            if first && SLOW.fetch_add(1, std::sync::atomic::Ordering::SeqCst).is_multiple_of(2) {
                return Answer::new().then_text(&["One"]).then_pause(Duration::from_secs(50)).then_text(&["."]);
            }
            smart(request)
        });
        let desk = clerk(&fake, protocol, "");
        let asking = desk.start(&ask("cancel 1007 slowly", &["--session", "s"]));
        assert!(fake.wait_for_requests(1, PATIENCE));
        asking.kill();
        assert!(fake.wait_until_left(PATIENCE));
        let waits = desk.ends(&["ask", "--resume", "s", "--no-wait"], 3);
        let id = text(&waits["metadata"]["approvals"][0]);
        desk.done(&["approvals", "approve", &id]);
        let mut done = Value::Null;
        until("the end", || {
            done = desk.done(&["ask", "--resume", "s"]);
            done["status"] == "done"
        });
        assert_eq!(desk.changes(1007), 1, "{protocol:?}: {done}");
    }
}

static SLOW: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
