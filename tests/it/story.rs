//! The whole job as people do it in their terminals: ask in one, decide in another, and everything that comes between.

use crate::binary::{Desk, Running, text, until};
use crate::place::{Where, everywhere};
use serde_json::{Value, json};

// What is not in this list holds in a home only. A server drives a turn on as soon as its call is approved, so nothing waits
// there for an `ask --resume`; a fault that is armed in a command does not reach it; and it has read its settings already.
everywhere! {
    an_approved_call_runs_once_and_the_answer_says_so,
    a_rejected_call_changes_nothing_and_the_model_hears_why,
    edited_arguments_run_in_place_of_the_models,
    phrasings_that_nobody_wrote_down,
    a_script_of_ones_own_plays_the_model,
    an_interrupt_takes_the_question_back,
    ctrl_c_in_the_asking_terminal_is_an_interrupt,
    editing_the_agent_while_a_question_waits_voids_nothing,
    a_busy_default_session_leaves_room_for_another,
    others_neither_see_nor_decide_a_question,
    where_administrators_decide_the_asker_cannot,
    two_tenants_share_a_home_and_nothing_else,
}

const CANCEL: &[&str] = &["ask", "orders-desk", "cancel order 1007"];

/// An ask in one terminal whose question has arrived in another.
fn asked(desk: &Desk, words: &str) -> (Running, String) {
    let running = desk.start(&["ask", "orders-desk", words, "--session", "mine"]);
    let id = desk.wait_pending(1).remove(0);
    (running, id)
}

fn approve(desk: &Desk, id: &str) -> Value {
    desk.done(&["approvals", "approve", id])
}

fn response(answer: &Value) -> String {
    text(&answer["response"])
}

fn status(desk: &Desk, order: i64) -> String {
    text(&desk.order(order)["status"])
}

fn an_approved_call_runs_once_and_the_answer_says_so(place: Where) {
    let desk = Desk::on(place);
    let (asking, id) = asked(&desk, "cancel order 1007");
    let shown = desk.approval(&id);
    assert_eq!((&shown["tool"], &shown["args"]), (&json!("desk_cancel_order"), &json!({ "order_id": 1007 })));
    assert_eq!((status(&desk, 1007).as_str(), desk.changes(1007)), ("open", 0), "nothing happens before the yes");
    assert_eq!(approve(&desk, &id)["decided_by"], "ben");
    let (code, answer) = asking.end();
    assert_eq!((code, &answer["status"]), (0, &json!("done")), "{answer}");
    assert!(response(&answer).contains("order 1007 is now cancelled"), "{answer}");
    assert_eq!((status(&desk, 1007).as_str(), desk.changes(1007)), ("cancelled", 1));
    assert_eq!(desk.effects()[0].key, id, "the desk knows the change by its approval");
    let again = desk.ends(&["approvals", "approve", &id], 6);
    assert_eq!(
        (&again["code"], &again["details"]["approval"]["status"]),
        (&json!("already_decided"), &json!("consumed"))
    );
    assert_eq!((desk.changes(1007), desk.approval(&id)["status"].as_str()), (1, Some("consumed")));
}

fn a_rejected_call_changes_nothing_and_the_model_hears_why(place: Where) {
    let desk = Desk::on(place);
    let (asking, id) = asked(&desk, "please refund order 1012, it came broken");
    desk.done(&["approvals", "reject", &id, "--reason", "ask for a photo first"]);
    let (code, answer) = asking.end();
    assert_eq!(code, 0, "{answer}");
    assert!(response(&answer).contains("ask for a photo first"), "{answer}");
    assert_eq!((desk.order(1012)["refunded"].clone(), desk.effects().len()), (json!(0), 0));
}

fn edited_arguments_run_in_place_of_the_models(place: Where) {
    let desk = Desk::on(place);
    let (asking, id) = asked(&desk, "refund 20 euro of order 1011");
    let wrong = desk.ends(&["approvals", "approve", &id, "--args", r#"{"order_id":1011,"amount":-5}"#], 2);
    assert_eq!(wrong["code"], "invalid_args");
    assert_eq!((desk.effects().len(), desk.pending().len()), (0, 1), "a wrong edit decides nothing");
    desk.done(&["approvals", "approve", &id, "--args", r#"{"order_id":1011,"amount":7.5}"#]);
    let (code, answer) = asking.end();
    assert_eq!(code, 0, "{answer}");
    assert_eq!((desk.order(1011)["refunded"].clone(), desk.changes(1011)), (json!(7.5), 1));
    let shown = desk.approval(&id);
    assert_eq!((&shown["args"]["amount"], &shown["edited_args"]["amount"]), (&json!(20), &json!(7.5)), "{shown}");
}

#[test]
fn without_waiting_it_says_what_is_open_and_ends_with_3() {
    let desk = Desk::new();
    let (code, answer) = desk.json(&[CANCEL, &["--no-wait"]].concat());
    assert_eq!((code, &answer["status"]), (3, &json!("waiting")), "{answer}");
    let open = desk.wait_pending(1);
    assert_eq!(answer["metadata"]["approvals"], json!(open));
    assert_eq!(desk.effects().len(), 0);
    approve(&desk, &open[0]);
    assert_eq!(desk.effects().len(), 0, "a yes alone runs nothing: a turn does");
    let done = desk.done(&["ask", "--resume", &text(&answer["session"])]);
    assert!(response(&done).contains("cancelled") && desk.changes(1007) == 1, "{done}");
}

#[test]
fn a_killed_asker_loses_nothing() {
    let desk = Desk::new();
    let (asking, id) = asked(&desk, "cancel order 1007");
    asking.kill();
    assert_eq!(desk.wait_pending(1)[0], id, "it waits on without the asker");
    approve(&desk, &id);
    assert_eq!(desk.changes(1007), 0);
    let done = desk.done(&["ask", "--resume", "mine"]);
    assert!(response(&done).contains("cancelled"), "{done}");
    assert_eq!(desk.changes(1007), 1);
    let over = desk.done(&["ask", "--resume", "mine"]);
    assert_eq!((response(&over), desk.changes(1007)), (response(&done), 1), "a finished turn says its answer again");
    assert_eq!(desk.ends(&["approvals", "approve", &id], 6)["code"], "already_decided");
}

fn phrasings_that_nobody_wrote_down(place: Where) {
    let desk = Desk::on(place);
    for (words, order) in [
        ("hey could you pls call off order #1003 for me, changed my mind", 1003),
        ("I no longer want 1009. Get rid of that order and cancel it!", 1009),
        ("Kill order no. 1013 because the customer moved away", 1013),
    ] {
        let answer = desk.ends(&["ask", "orders-desk", words, "--no-wait"], 3);
        let id = desk.wait_pending(1).remove(0);
        assert_eq!(desk.approval(&id)["args"]["order_id"], order, "{words}");
        approve(&desk, &id);
        desk.done(&["turns", "resume", &text(&answer["turn"])]);
        assert_eq!((status(&desk, order).as_str(), desk.changes(order)), ("cancelled", 1), "{words}");
    }
    // Reading needs nobody.
    let read = desk.done(&["ask", "orders-desk", "tell me about 1020 would you"]);
    assert!(response(&read).contains("1020") && desk.pending().is_empty(), "{read}");
}

fn a_script_of_ones_own_plays_the_model(place: Where) {
    let desk = Desk::on(place);
    let folder = desk.home().join("rehearsal");
    std::fs::create_dir_all(&folder).unwrap();
    let script = "name: mine\nabout: I cancel what is named.\nexamples: [drop 1007]\ntypes: {order_id: int}\nrules:\n\
        \x20 - when: {said: '(?<order_id>\\d{4})'}\n\
        \x20   call: {tool: desk_cancel_order, args: {order_id: '{{order_id}}', reason: mine}}\n\
        \x20   then:\n\
        \x20     - when: {result: {ok: true}}\n\
        \x20       say: 'My own words: {{result.message}}'\n\
        \x20     - say: 'It did not work: {{why}}'\n";
    std::fs::write(folder.join("mine.yaml"), script).unwrap();
    let asking = desk.start(&["ask", "orders-desk", "away with 1007", "--model", "rehearsal:mine"]);
    let id = desk.wait_pending(1).remove(0);
    assert_eq!(desk.approval(&id)["model"], "rehearsal:mine");
    approve(&desk, &id);
    let (code, answer) = asking.end();
    assert!(code == 0 && response(&answer).starts_with("My own words: Order 1007 is cancelled."), "{answer}");
    assert_eq!(desk.changes(1007), 1);
}

/// An approved call whose process is killed at a place; answers the turn.
#[cfg(feature = "failpoints")]
fn killed_at(desk: &Desk, place: &str) -> (String, String) {
    let answer = desk.ends(&[CANCEL, &["--no-wait", "--session", "mine"]].concat(), 3);
    let id = desk.wait_pending(1).remove(0);
    approve(desk, &id);
    let ended = desk.faulty(&format!("{place}=kill"), &["ask", "--resume", "mine"]);
    use std::os::unix::process::ExitStatusExt as _;
    assert_eq!(ended.status.signal(), Some(9), "{place}: {ended:?}");
    (text(&answer["turn"]), id)
}

#[cfg(feature = "failpoints")]
#[test]
fn a_call_that_was_cut_before_it_ran_is_told_by_the_tool_and_not_run_again() {
    let desk = Desk::new();
    let (turn, id) = killed_at(&desk, "call_started");
    assert_eq!((desk.changes(1007), desk.approval(&id)["status"].as_str()), (0, Some("consumed")));
    let done = desk.done(&["ask", "--resume", "mine"]);
    assert_eq!(done["tool_calls"][0]["state"], "settled", "{done}");
    assert_eq!((desk.changes(1007), status(&desk, 1007).as_str()), (0, "open"), "never run again by itself");
    assert!(response(&done).contains("nothing was changed"), "{done}");
    assert_eq!(desk.done(&["turns", "show", &turn])["status"], "done");
}

#[cfg(feature = "failpoints")]
#[test]
fn a_call_that_was_cut_after_it_ran_is_told_by_the_tool_and_not_run_again() {
    let desk = Desk::new();
    let (_, id) = killed_at(&desk, "effect_done");
    assert_eq!((desk.changes(1007), desk.approval(&id)["status"].as_str()), (1, Some("consumed")));
    let done = desk.done(&["ask", "--resume", "mine"]);
    assert_eq!(done["tool_calls"][0]["state"], "settled", "{done}");
    assert!(response(&done).contains("did happen"), "{done}");
    assert_eq!((desk.changes(1007), status(&desk, 1007).as_str()), (1, "cancelled"));
}

/// The desk's book is away, so that the tool cannot say what became of the call.
#[cfg(feature = "failpoints")]
#[test]
fn an_outcome_that_nobody_knows_is_settled_by_a_person() {
    let desk = Desk::new();
    let (turn, id) = killed_at(&desk, "effect_done");
    let (book, away) = (desk.home().join("desk.db"), desk.home().join("desk.away"));
    std::fs::rename(&book, &away).unwrap();
    std::fs::create_dir(&book).unwrap();
    let waits = desk.ends(&["ask", "--resume", "mine", "--no-wait"], 3);
    assert_eq!(
        (&waits["metadata"]["unknown_calls"], &waits["tool_calls"][0]["state"]),
        (&json!([0]), &json!("unknown")),
        "{waits}"
    );
    std::fs::remove_dir(&book).unwrap();
    std::fs::rename(&away, &book).unwrap();
    // It stays unknown: what was asked once is not asked behind a person's back, and never run.
    let waits = desk.ends(&["ask", "--resume", "mine", "--no-wait"], 3);
    assert_eq!(waits["tool_calls"][0]["state"], "unknown", "{waits}");
    assert_eq!(desk.changes(1007), 1);
    assert_eq!(desk.ends(&["approvals", "approve", &id], 6)["code"], "already_decided");
    desk.ends(&["turns", "settle", &turn, "7", "--ran", "yes"], 5);
    desk.done(&["turns", "settle", &turn, "0", "--ran", "yes", "--note", "I looked at the order"]);
    let again = desk.ends(&["turns", "settle", &turn, "0", "--ran", "no"], 6);
    assert_eq!(again["code"], "already_decided");
    let done = desk.done(&["ask", "--resume", "mine"]);
    assert!(response(&done).contains("did happen"), "{done}");
    assert_eq!(desk.changes(1007), 1);
}

/// Settling through the process that waits with the turn, as a server or a screen does.
#[cfg(feature = "failpoints")]
#[test]
fn an_unknown_outcome_is_settled_where_the_turn_waits() {
    use crate::binary::line;
    let desk = Desk::new();
    let (turn, _) = killed_at(&desk, "effect_done");
    let (book, away) = (desk.home().join("desk.db"), desk.home().join("desk.away"));
    std::fs::rename(&book, &away).unwrap();
    std::fs::create_dir(&book).unwrap();
    let mut process = desk.batch();
    let waits = process.call(&line::of("turns.resume", &turn)).ok();
    assert_eq!(waits["metadata"]["unknown_calls"], json!([0]), "{waits}");
    std::fs::remove_dir(&book).unwrap();
    std::fs::rename(&away, &book).unwrap();
    process.call(&line::settle(&turn, 0, true)).ok();
    until("the end of the turn", || process.call(&line::of("turns.get", &turn)).ok()["status"] == "done");
    assert_eq!(desk.changes(1007), 1);
}

/// Nobody drives the turn when it is settled: a server goes on with it by itself, a command says what does.
#[cfg(feature = "failpoints")]
#[test]
fn a_settled_turn_goes_on_though_nobody_drove_it() {
    let unknown = || {
        let desk = Desk::new();
        let (turn, _) = killed_at(&desk, "effect_done");
        let (book, away) = (desk.home().join("desk.db"), desk.home().join("desk.away"));
        std::fs::rename(&book, &away).unwrap();
        std::fs::create_dir(&book).unwrap();
        desk.ends(&["ask", "--resume", "mine", "--no-wait"], 3);
        std::fs::remove_dir(&book).unwrap();
        std::fs::rename(&away, &book).unwrap();
        (desk, turn)
    };
    let (desk, turn) = unknown();
    let web = crate::http::Web::start(&desk, &[]);
    let ben = crate::http::token(&desk, "ben", &[]);
    web.post(&format!("/turns/{turn}/calls/0/settle"), &ben, &json!({ "ran": true })).ok(200);
    until("the end of the turn", || web.get(&format!("/turns/{turn}"), &ben).ok(200)["status"] == "done");
    let (desk, turn) = unknown();
    let settled = desk.command(&["turns", "settle", &turn, "0", "--ran", "yes"]).output().unwrap();
    let told = String::from_utf8(settled.stderr).unwrap();
    assert!(settled.status.success() && told.contains(&format!("turns resume {turn}")), "{told}");
    assert_eq!(desk.done(&["turns", "resume", &turn])["status"], "done");
}

/// An approval outlives the process that asked; taken back through a server, its turn comes to its end there.
#[test]
fn a_withdrawn_approval_ends_the_waiting_of_a_turn_that_nobody_drives() {
    let desk = Desk::new();
    let turn = text(&desk.ends(&[CANCEL, &["--no-wait"]].concat(), 3)["turn"]);
    let id = desk.wait_pending(1).remove(0);
    let web = crate::http::Web::start(&desk, &[]);
    let ben = crate::http::token(&desk, "ben", &[]);
    web.post(&format!("/approvals/{id}/withdraw"), &ben, &json!({})).ok(200);
    until("the end of the turn", || web.get(&format!("/turns/{turn}"), &ben).ok(200)["status"] == "done");
    assert_eq!(desk.changes(1007), 0);
}

#[cfg(feature = "failpoints")]
#[test]
fn of_many_who_settle_at_once_one_does_and_the_others_hear_that_it_is_known() {
    use crate::binary::line;
    let desk = Desk::new();
    let (turn, _) = killed_at(&desk, "effect_done");
    let book = desk.home().join("desk.db");
    std::fs::rename(&book, desk.home().join("desk.away")).unwrap();
    std::fs::create_dir(&book).unwrap();
    desk.ends(&["ask", "--resume", "mine", "--no-wait"], 3);
    let web = crate::http::Web::start(&desk, &[]);
    let ben = crate::http::token(&desk, "ben", &[]);
    let path = format!("/turns/{turn}/calls/0/settle");
    let statuses: Vec<u16> = std::thread::scope(|threads| {
        let by_server = || web.post(&path, &ben, &json!({ "ran": true })).status;
        let by_process = || desk.batch().call(&line::settle(&turn, 0, true)).status;
        let asked: Vec<_> = (0..4).flat_map(|_| [threads.spawn(by_server), threads.spawn(by_process)]).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    assert_eq!((count(200), count(409)), (1, 7), "{statuses:?}");
}

fn an_interrupt_takes_the_question_back(place: Where) {
    let desk = Desk::on(place);
    let (asking, id) = asked(&desk, "cancel order 1007");
    let turn = text(&desk.approval(&id)["turn"]);
    let stopped = desk.done(&["turns", "interrupt", &turn]);
    assert_eq!(stopped["status"], "interrupted");
    let (code, answer) = asking.end();
    assert_eq!((code, &answer["status"]), (1, &json!("interrupted")), "{answer}");
    assert_eq!(desk.approval(&id)["status"], "withdrawn");
    assert_eq!(desk.ends(&["approvals", "approve", &id], 6)["code"], "already_decided");
    assert_eq!(desk.effects().len(), 0);
    // The session goes on.
    desk.ends(&["ask", "orders-desk", "cancel order 1007", "--session", "mine", "--no-wait"], 3);
}

fn ctrl_c_in_the_asking_terminal_is_an_interrupt(place: Where) {
    let desk = Desk::on(place);
    let (asking, id) = asked(&desk, "cancel order 1007");
    asking.ctrl_c();
    let (code, answer) = asking.end();
    assert_eq!((code, &answer["status"]), (1, &json!("interrupted")), "{answer}");
    assert_eq!((desk.approval(&id)["status"].as_str(), desk.effects().len()), (Some("withdrawn"), 0));
}

#[test]
fn an_expired_question_is_told_and_can_be_asked_again() {
    let desk = Desk::with("[turn]\napproval_seconds = 1\n");
    let asking = desk.start(&[CANCEL, &["--session", "mine"]].concat());
    let (code, answer) = asking.end();
    assert_eq!((code, &answer["tool_calls"][0]["state"]), (0, &json!("expired")), "{answer}");
    assert!(response(&answer).contains("Nobody approved") && response(&answer).contains("asked for again"), "{answer}");
    let id = text(&answer["tool_calls"][0]["approval"]);
    let late = desk.ends(&["approvals", "approve", &id], 6);
    assert!(late["code"] == "approval_expired" || late["code"] == "already_decided", "{late}");
    assert_eq!(desk.effects().len(), 0);
    desk.configure("");
    let new = desk.done(&["approvals", "reask", &id]);
    assert_eq!((&new["status"], &new["args"]), (&json!("pending"), &json!({ "order_id": 1007 })), "{new}");
    let new_id = text(&new["id"]);
    assert_ne!(new_id, id);
    assert_eq!(desk.approval(&id)["replaced_by"], json!(new_id));
    assert_eq!(desk.ends(&["approvals", "reask", &id], 6)["code"], "already_decided", "once");
    approve(&desk, &new_id);
    let done = desk.done(&["ask", "--resume", "mine"]);
    assert!(response(&done).contains("cancelled") && desk.changes(1007) == 1, "{done}");
    assert_eq!(desk.effects()[0].key, new_id);
}

#[test]
fn a_late_answer_to_an_open_question_is_refused() {
    let desk = Desk::with("[turn]\napproval_seconds = 1\n");
    let (asking, id) = asked(&desk, "cancel order 1007");
    asking.kill();
    until("the end of the question", || desk.approval(&id)["status"] == "expired");
    assert_eq!(desk.ends(&["approvals", "approve", &id], 6)["code"], "approval_expired");
    let done = desk.done(&["ask", "--resume", "mine"]);
    assert_eq!((&done["tool_calls"][0]["state"], desk.effects().len()), (&json!("expired"), 0), "{done}");
}

#[test]
fn a_yes_that_is_too_old_runs_nothing() {
    let desk = Desk::with("[turn]\nvoid_seconds = 1\n");
    desk.ends(&[CANCEL, &["--no-wait", "--session", "mine"]].concat(), 3);
    let id = desk.wait_pending(1).remove(0);
    approve(&desk, &id);
    until("the yes to be too old", || desk.approval(&id)["status"] == "void");
    let done = desk.done(&["ask", "--resume", "mine"]);
    assert_eq!((&done["tool_calls"][0]["state"], desk.effects().len()), (&json!("void"), 0), "{done}");
    desk.configure("");
    let new = text(&desk.done(&["approvals", "reask", &id])["id"]);
    approve(&desk, &new);
    desk.done(&["ask", "--resume", "mine"]);
    assert_eq!(desk.changes(1007), 1);
}

fn editing_the_agent_while_a_question_waits_voids_nothing(place: Where) {
    let desk = Desk::on(place);
    let answer = desk.ends(&[CANCEL, &["--no-wait", "--session", "mine"]].concat(), 3);
    let id = desk.wait_pending(1).remove(0);
    let patched = json!({ "description": "Other words.", "system_prompt": "Never cancel anything." }).to_string();
    desk.done(&["api", "call", "agents.patch", "--path", "name=orders-desk", "--json-body", &patched]);
    approve(&desk, &id);
    let done = desk.done(&["ask", "--resume", "mine"]);
    assert!(response(&done).contains("cancelled") && desk.changes(1007) == 1, "{done}");
    assert_eq!((&done["agent_version"], &done["stale"]), (&answer["agent_version"], &json!(true)), "{done}");
    // A new session runs on the new version.
    let new = desk.done(&["ask", "orders-desk", "what about 1020?", "--session", "other"]);
    assert_eq!(
        (new["agent_version"].as_i64(), &new["stale"]),
        (answer["agent_version"].as_i64().map(|v| v + 1), &json!(false)),
        "{new}"
    );
}

fn a_busy_default_session_leaves_room_for_another(place: Where) {
    let desk = Desk::on(place);
    let first = desk.ends(&[CANCEL, &["--no-wait"]].concat(), 3);
    let second = desk.done(&["ask", "orders-desk", "what about order 1020?"]);
    assert_ne!(first["session"], second["session"], "what waits goes on waiting");
    let named = text(&first["session"]);
    let busy = desk.ends(&["ask", "orders-desk", "what about order 1020?", "--session", &named], 6);
    assert_eq!(
        (&busy["code"], &busy["details"]["approvals"]),
        (&json!("turn_open"), &first["metadata"]["approvals"]),
        "{busy}"
    );
    let id = text(&first["metadata"]["approvals"][0]);
    approve(&desk, &id);
    desk.done(&["ask", "--resume", &named]);
    assert_eq!(desk.changes(1007), 1);
}

fn others_neither_see_nor_decide_a_question(place: Where) {
    let desk = Desk::on(place);
    let (asking, id) = asked(&desk, "cancel order 1007");
    for other in ["vic", "olga", "ada", "root"] {
        let list = desk.done(&["approvals", "list", "--as", other]);
        assert_eq!(list["count"], 0, "{other}: {list}");
        let absent = desk.ends(&["approvals", "show", "0190a0a0-0000-7000-8000-000000000000", "--as", other], 5);
        for act in ["show", "approve", "reject", "withdraw", "reask"] {
            let refused = desk.ends(&["approvals", act, &id, "--as", other], 5);
            assert_eq!(refused["code"], absent["code"], "{other} {act}: the same as for what is not there");
        }
        let turn = text(&desk.approval(&id)["turn"]);
        for act in ["show", "resume", "interrupt"] {
            desk.ends(&["turns", act, &turn, "--as", other], 5);
        }
    }
    assert_eq!(desk.pending().len(), 1);
    // A viewer may ask, and decides what they asked for themselves.
    let mine = desk.ends(&["ask", "orders-desk", "cancel order 1003", "--no-wait", "--as", "vic"], 3);
    let theirs = text(&mine["metadata"]["approvals"][0]);
    desk.ends(&["approvals", "approve", &theirs], 5);
    desk.done(&["approvals", "approve", &theirs, "--as", "vic"]);
    desk.done(&["turns", "resume", &text(&mine["turn"]), "--as", "vic"]);
    assert_eq!((desk.changes(1003), desk.changes(1007)), (1, 0));
    approve(&desk, &id);
    assert_eq!(asking.end().0, 0);
}

fn where_administrators_decide_the_asker_cannot(place: Where) {
    let desk = Desk::on(place);
    desk.done(&["tenants", "edit", "demo", "--approvals", "admins", "--as", "root"]);
    let asking = desk.start(CANCEL);
    let id = desk.wait_pending(1).remove(0);
    assert_eq!(desk.approval(&id)["may_decide"], false);
    desk.ends(&["approvals", "approve", &id], 5);
    assert_eq!(desk.ends(&["approvals", "approve", &id, "--as", "vic"], 5)["code"], "not_found");
    desk.done(&["approvals", "approve", &id, "--as", "ada"]);
    assert_eq!(asking.end().0, 0);
    assert_eq!((desk.changes(1007), desk.approval(&id)["decided_by"].as_str()), (1, Some("ada")));
}

fn two_tenants_share_a_home_and_nothing_else(place: Where) {
    let desk = Desk::on(place);
    // The home's own person has a tenant of their own beside the demo's.
    let gil = "ann-example@local";
    let desk_of_theirs = json!({ "name": "orders-desk", "llm": "rehearsal:orders-desk",
        "config": { "tools": ["desk_orders", "desk_get_order"] } });
    desk.done(&["api", "call", "agents.create", "--json-body", &desk_of_theirs.to_string(), "--as", gil]);
    let (asking, id) = asked(&desk, "cancel order 1007");
    assert_eq!(desk.done(&["approvals", "list", "--as", gil])["count"], 0);
    desk.ends(&["approvals", "approve", &id, "--as", gil], 5);
    // The same number is another tenant's order, which is not there.
    let theirs = desk.ends(&["ask", "orders-desk", "cancel order 1007", "--no-wait", "--as", gil], 3);
    let their_id = text(&theirs["metadata"]["approvals"][0]);
    desk.ends(&["approvals", "approve", &their_id], 5);
    desk.done(&["approvals", "approve", &their_id, "--as", gil]);
    let done = desk.done(&["turns", "resume", &text(&theirs["turn"]), "--as", gil]);
    assert!(response(&done).contains("There is no order 1007"), "{done}");
    assert_eq!((desk.effects().len(), status(&desk, 1007).as_str()), (0, "open"));
    approve(&desk, &id);
    assert_eq!(asking.end().0, 0);
    assert_eq!(desk.effects().iter().map(|e| e.tenant.as_str()).collect::<Vec<_>>(), ["demo"]);
}
