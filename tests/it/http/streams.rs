//! Streams over HTTP: asks as AG-UI events, turns, changes; and who may leave without ending anything.

use super::{Stream, Web, of_type, token};
use crate::binary::{Desk, text, until};
use reqwest::Method;
use serde_json::{Value, json};

const ASK: &str = "/agents/orders-desk/test/ask";

fn ask(web: &Web, token: &str, query: &str) -> Stream {
    let request = web.request(Method::POST, ASK, token).header("accept", "text/event-stream");
    web.stream(request.json(&json!({ "query": query, "session": "s" })))
}

fn custom(name: &'static str) -> impl Fn(&Value) -> bool {
    move |data| data["type"] == "CUSTOM" && data["name"] == name
}

#[test]
fn a_streamed_ask_waits_for_a_person_and_ends_with_the_answer() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    let mut stream = ask(&web, &ben, "cancel order 1007");
    let before = stream.until(&web, custom("approval.requested"));
    assert_eq!(before[0].data["type"], "RUN_STARTED");
    let approval = text(&before.last().unwrap().data["value"]["approval"]);
    assert_eq!(desk.changes(1007), 0);
    web.post(&format!("/approvals/{approval}/decision"), &ben, &json!({ "decision": "approve" })).ok(200);
    let after = stream.rest(&web);
    assert_eq!(after.last().unwrap().data["type"], "RUN_FINISHED", "{after:#?}");
    let said: String =
        of_type(&after, "TEXT_MESSAGE_CONTENT").iter().map(|data| data["delta"].as_str().unwrap()).collect();
    assert!(said.contains("order 1007 is now cancelled"), "{said}");
    assert_eq!((of_type(&after, "TOOL_CALL_RESULT").len(), desk.changes(1007)), (1, 1));
}

#[test]
fn a_stream_is_continued_from_any_of_its_events() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    let whole = ask(&web, &ben, "what's up with order 1020?").rest(&web);
    let ids: Vec<&String> = whole.iter().filter_map(|event| event.id.as_ref()).collect();
    assert!(ids.len() > 3, "{whole:#?}");
    for id in &ids {
        let request = web.request(Method::POST, ASK, &ben).header("accept", "text/event-stream");
        let rest = web.stream(request.header("last-event-id", *id).json(&json!({ "query": "ignored" }))).rest(&web);
        let at = whole.iter().position(|event| event.id.as_ref() == Some(id)).unwrap();
        assert_eq!(rest[0].data["type"], "RUN_STARTED");
        let logged = |events: &[super::Event]| -> Vec<String> { events.iter().filter_map(|e| e.id.clone()).collect() };
        assert_eq!(logged(&rest), logged(&whole[at + 1..]));
    }
    let sessions = web.get("/agents/orders-desk/test/sessions", &ben).ok(200);
    assert_eq!(sessions["sessions"][0]["turns"], 1, "nothing new began");
    let turn = ids[0].split(':').next().unwrap();
    let olga = token(&desk, "olga", &[]);
    web.get(&format!("/turns/{turn}/events"), &olga).refused(404, "not_found");
    let foreign = web.request(Method::POST, ASK, &olga).header("accept", "text/event-stream");
    web.send(foreign.header("last-event-id", ids[0]).json(&json!({}))).refused(404, "not_found");
    let other = web.request(Method::POST, &ASK.replace("orders-desk", "greeter"), &ben);
    let other = other.header("accept", "text/event-stream").header("last-event-id", ids[0]);
    web.send(other.json(&json!({}))).refused(404, "not_found");
    let native = web.stream(web.request(Method::GET, &format!("/turns/{turn}/events"), &ben)).rest(&web);
    assert_eq!(native[0].data["type"], "turn");
    let later = web.request(Method::GET, &format!("/turns/{turn}/events"), &ben).header("last-event-id", "2");
    let later = web.stream(later).rest(&web);
    assert_eq!(later[1].data["entry"]["seq"], 3);
    web.get(&format!("/turns/{turn}/events?after=x"), &ben).refused(400, "invalid_request");
}

#[test]
fn a_stream_of_a_turn_whose_server_died_says_that_nobody_works_on_it() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    let asks = |web: &Web| {
        let path = ASK.replace("orders-desk", "slow-teller");
        let request = web.request(Method::POST, &path, &ben).header("accept", "text/event-stream");
        request.json(&json!({ "query": "tell me a story", "session": "s" }))
    };
    let seen = web.stream(asks(&web)).until(&web, |data| data["type"] == "TEXT_MESSAGE_CONTENT");
    let turn = text(&seen[0].data["runId"]);
    drop(web);
    let web = Web::start(&desk, &[]);
    let rest = web.stream(asks(&web).header("last-event-id", format!("{turn}:1"))).rest(&web);
    let end = &rest.last().unwrap().data;
    assert_eq!((&end["type"], &end["code"]), (&json!("RUN_ERROR"), &json!("unavailable")), "{rest:#?}");
    assert_eq!(web.get(&format!("/turns/{turn}"), &ben).ok(200)["status"], "running", "it can be taken up");
}

#[test]
fn a_client_that_leaves_ends_nothing_and_an_interrupt_does() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    let mut stream = ask(&web, &ben, "cancel order 1007");
    let seen = stream.until(&web, custom("approval.requested"));
    let turn = text(&seen[0].data["runId"]);
    drop(stream);
    let approval = desk.wait_pending(1).remove(0);
    web.post(&format!("/approvals/{approval}/decision"), &ben, &json!({ "decision": "approve" })).ok(200);
    until("the end of the turn", || web.get(&format!("/turns/{turn}"), &ben).ok(200)["status"] == "done");
    assert_eq!(desk.changes(1007), 1);

    let mut stream = ask(&web, &ben, "cancel order 1008");
    let turn = text(&stream.until(&web, custom("approval.requested"))[0].data["runId"]);
    web.post(&format!("/turns/{turn}/interrupt"), &ben, &json!({})).ok(200);
    let end = stream.rest(&web);
    assert_eq!(end.last().unwrap().data["outcome"]["type"], "cancelled", "{end:#?}");
    assert_eq!(desk.changes(1008), 0);
}

#[test]
fn a_deferred_ask_is_answered_at_once_and_read_later() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    let request = web.request(Method::POST, ASK, &ben).header("prefer", "respond-async, wait=10");
    let answer = web.send(request.json(&json!({ "query": "cancel order 1007", "session": "s" })));
    assert_eq!(answer.header("preference-applied"), "respond-async");
    let begun = answer.ok(202);
    assert_eq!((&begun["session"], &begun["approvals"]), (&json!("s"), &json!([])));
    let turn = text(&begun["turn"]);
    desk.wait_pending(1);
    // The question is open a moment before its turn rests.
    until("the turn to wait", || web.get(&format!("/turns/{turn}"), &ben).ok(200)["status"] == "waiting");
}

/// Whoever comes second of an ask and an end: either the turn is stopped with its session, or it is in a session that lives.
#[test]
fn no_turn_stays_open_in_a_session_that_has_ended() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    for round in 0..20 {
        let session = format!("r{round}");
        web.post(ASK, &ben, &json!({ "query": "what's up with order 1020?", "session": session })).ok(200);
        let end = web.request(Method::DELETE, &format!("/agents/orders-desk/test?session={session}"), &ben);
        let ask = web.request(Method::POST, ASK, &ben).header("prefer", "respond-async");
        let ask = ask.json(&json!({ "query": "cancel order 1007", "session": session }));
        let later = std::time::Duration::from_micros(150 * round);
        let (ended, asked) = web.runtime.block_on(async {
            let end = async {
                tokio::time::sleep(later).await;
                end.send().await
            };
            tokio::join!(end, ask.send())
        });
        assert_eq!(ended.unwrap().status(), 200);
        let asked: Value = web.runtime.block_on(async { asked.unwrap().json().await.unwrap() });
        let Some(turn) = asked["turn"].as_str() else { continue };
        let mut status = Value::Null;
        until("the turn to rest", || {
            status = web.get(&format!("/turns/{turn}"), &ben).ok(200)["status"].clone();
            status != "running"
        });
        if status == "waiting" {
            // Ended anew, it was alive; and what waited in it is stopped.
            let path = format!("/agents/orders-desk/test?session={session}");
            let again = web.send(web.request(Method::DELETE, &path, &ben)).ok(200);
            assert!(text(&again["message"]).contains("has ended"), "{session}: {again}");
            assert_eq!(web.get(&format!("/turns/{turn}"), &ben).ok(200)["status"], "interrupted");
        } else {
            assert_eq!(status, "interrupted");
        }
    }
    let pending = web.get("/approvals?status=pending", &ben).ok(200);
    assert_eq!(pending["count"], 0, "{pending}");
}

#[test]
fn the_answer_channel_of_the_original_takes_the_askers_word_only() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let (ben, ada, vic) = (token(&desk, "ben", &[]), token(&desk, "ada", &[]), token(&desk, "vic", &[]));
    let mut stream = ask(&web, &ben, "cancel order 1007");
    let seen = stream.until(&web, custom("approval.requested"));
    let approval = text(&seen.last().unwrap().data["value"]["approval"]);
    let respond = |token: &str, value: Value| {
        let body = json!({ "interaction_id": approval, "value": value });
        web.send(web.anywhere(Method::POST, "/api/v1/agents/hitl/respond").bearer_auth(token).json(&body))
    };
    respond(&vic, json!(true)).refused(404, "not_found");
    let by_ada = respond(&ada, json!(true));
    assert!([403, 404].contains(&by_ada.status), "{by_ada:?}");
    respond(&ben, json!("perhaps")).refused(400, "invalid_request");
    assert_eq!(desk.changes(1007), 0);
    assert_eq!(respond(&ben, json!(true)).ok(200), json!({ "ok": true, "interaction_id": approval }));
    assert_eq!(stream.rest(&web).last().unwrap().data["type"], "RUN_FINISHED");
    assert_eq!(desk.changes(1007), 1);
    respond(&ben, json!(true)).refused(409, "already_decided");
    let counted = web.send(web.anywhere(Method::GET, "/metrics").bearer_auth(&ben)).ok(200).to_string();
    assert!(counted.contains("hitl.respond"), "{counted}");
}

#[test]
fn changes_of_other_processes_are_told() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    let mut all = web.stream(web.request(Method::GET, "/events", &ben));
    let mut members = web.stream(web.request(Method::GET, "/events?topics=user", &ben));
    desk.done(&["agents", "edit", "orders-desk", "--description", "Other words"]);
    let first = all.next(&web).unwrap();
    assert_eq!(first.data["topics"], json!(["agent"]));
    desk.done(&["--as", "ada@demo", "members", "set", "vic", "--role", "viewer"]);
    assert_eq!(members.next(&web).unwrap().data["topics"], json!(["user"]));
    // Who was away is told what was missed.
    let later = web.request(Method::GET, "/events", &ben).header("last-event-id", first.id.unwrap());
    assert_eq!(web.stream(later).next(&web).unwrap().data["topics"], json!(["user"]));
    web.get("/events?after=-1", &ben).refused(400, "invalid_request");
}

#[test]
fn whoever_loses_their_right_loses_their_streams() {
    let desk = Desk::with("[server]\nrecheck_seconds = 1\n");
    let web = Web::start(&desk, &[]);
    let (ben, vic) = (token(&desk, "ben", &[]), token(&desk, "vic", &[]));
    let mut asked = ask(&web, &ben, "cancel order 1007");
    asked.until(&web, custom("approval.requested"));
    let mut changes = web.stream(web.request(Method::GET, "/events?topics=nothing", &vic));
    desk.done(&["--as", "ada@demo", "members", "remove", "vic"]);
    changes.rest(&web);
    for row in desk.done(&["tokens", "list"])["tokens"].as_array().unwrap() {
        desk.done(&["tokens", "revoke", &text(&row["id"])]);
    }
    let end = asked.rest(&web);
    assert_eq!(end.last().unwrap().data["type"], "RUN_ERROR", "the run is closed: {end:#?}");
    assert_eq!(desk.pending().len(), 1, "the question stays");
}
