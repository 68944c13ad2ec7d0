//! Asking agents from the command line: answers, failures, what waits for a person, Ctrl-C.

use crate::cli::{CONFLICT, DONE, FAILED, NOT_FOUND, WAITING};
use crate::place::{Cli, Where, everywhere, words};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

everywhere! {
    asking_and_being_answered,
    a_model_that_cannot_answer_is_a_failure_with_its_reason,
    a_write_waits_for_a_person_and_goes_on_after_the_decision,
    a_waiting_ask_hears_a_decision_made_elsewhere,
    ctrl_c_stops_the_turn_and_takes_its_questions_back,
    an_open_question_can_be_taken_back_and_a_turn_stopped,
}

fn asking_and_being_answered(place: Where) {
    let cli = Cli::on(place);
    cli.done(&["agents", "create", "hello", "--llm", "rehearsal:greeter"]);
    let answer = cli.done(&["ask", "hello", "Hello", "--session", "s1"]);
    assert_eq!((answer["status"].as_str(), answer["session"].as_str()), (Some("done"), Some("s1")));
    let response = answer["response"].as_str().unwrap();
    assert!(!response.is_empty());
    let output = cli.run(&["ask", "hello", "Hello"]);
    assert_eq!(output.status.code(), Some(DONE));
    assert_eq!(words(&output).0.trim_end(), response.trim_end());
    let output = cli.fed(&["ask", "hello", "-", "--json"], "Hello");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["query"], "Hello");
    cli.fails(&["ask", "nobody", "Hello"], NOT_FOUND, "not_found");

    let sessions = cli.done(&["sessions", "list", "hello"]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2);
    let transcript = cli.done(&["sessions", "show", "hello", "s1"]);
    assert_eq!(transcript["turns"].as_array().unwrap().len(), 1);
    assert!(words(&cli.run(&["sessions", "show", "hello", "s1"])).0.contains("you: Hello"));
    let turn = answer["turn"].as_str().unwrap();
    assert_eq!(cli.done(&["turns", "show", turn])["response"], answer["response"]);
    assert_eq!(cli.done(&["turns", "watch", turn])["turn"], answer["turn"]);
    // A finished turn says its answer again, found by the session's name alone.
    assert_eq!(cli.done(&["ask", "--resume", "s1"])["turn"], answer["turn"]);
    assert_eq!(words(&cli.run(&["ask", "--resume", "s1", "--agent", "hello"])).0.trim_end(), response.trim_end());
    cli.fails(&["ask", "--resume", "nothing"], NOT_FOUND, "not_found");
    cli.done(&["sessions", "end", "hello", "s1"]);
}

fn a_model_that_cannot_answer_is_a_failure_with_its_reason(place: Where) {
    let cli = Cli::on(place);
    cli.done(&["agents", "create", "broken", "--llm", "rehearsal:no-such-script"]);
    let (code, answer) = cli.json(&["ask", "broken", "Hello"]);
    assert_eq!((code, answer["status"].as_str()), (FAILED, Some("failed")), "{answer}");
    let told = words(&cli.run(&["ask", "broken", "Hello"])).1;
    assert_eq!(told.matches("there is no such script").count(), 1, "the cause is told once: {told}");
}

/// An agent that asks for a cancellation, over the demo's orders.
pub fn desk() -> Cli {
    let cli = Cli::new();
    cli.done(&["demo", "--no-open"]);
    cli
}

/// The same, with commands that go there.
pub fn desk_on(place: Where) -> Cli {
    let mut cli = desk();
    if place == Where::Server {
        cli.serve();
    }
    cli
}

fn pending(cli: &Cli) -> String {
    let list = cli.done(&["approvals", "list", "--status", "pending"]);
    assert_eq!(list["count"], 1, "{list}");
    list["approvals"][0]["id"].as_str().unwrap().to_owned()
}

fn a_write_waits_for_a_person_and_goes_on_after_the_decision(place: Where) {
    let cli = desk_on(place);
    let output = cli.run(&["ask", "orders-desk", "cancel order 1007", "--session", "s", "--no-wait"]);
    assert_eq!(output.status.code(), Some(WAITING), "{:?}", words(&output));
    let (_, told) = words(&output);
    let id = pending(&cli);
    assert!(
        told.contains(&format!("astudio approvals approve {id}")) || told.contains(&format!("approvals approve {id}")),
        "{told}"
    );
    assert!(told.contains("1007"), "{told}");
    let (code, answer) = cli.json(&["ask", "--resume", "s", "--no-wait"]);
    assert_eq!((code, answer["status"].as_str()), (WAITING, Some("waiting")), "{answer}");
    assert_eq!(cli.done(&["approvals", "approve", &id])["decided_by"], "ben");
    cli.fails(&["approvals", "approve", &id], CONFLICT, "already_decided");
    let answer = cli.done(&["ask", "--resume", "s"]);
    assert_eq!(
        (answer["status"].as_str(), answer["tool_calls"][0]["state"].as_str()),
        (Some("done"), Some("done")),
        "{answer}"
    );
    assert_eq!(cli.done(&["approvals", "show", &id])["status"], "consumed");
}

fn a_waiting_ask_hears_a_decision_made_elsewhere(place: Where) {
    let cli = desk_on(place);
    let mut asking = cli
        .command(&["ask", "orders-desk", "cancel order 1007", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = std::time::Instant::now();
    let id = loop {
        let list = cli.done(&["approvals", "list", "--status", "pending"]);
        if let Some(id) = list["approvals"][0]["id"].as_str() {
            break id.to_owned();
        }
        assert!(started.elapsed().as_secs() < 30, "no approval was asked for");
        assert!(asking.try_wait().unwrap().is_none(), "it did not wait");
    };
    assert_eq!(cli.done(&["approvals", "reject", &id, "--reason", "not today"])["status"], "rejected");
    let output = asking.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(DONE), "{:?}", words(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["tool_calls"][0]["state"], "rejected", "{answer}");
}

fn ctrl_c_stops_the_turn_and_takes_its_questions_back(place: Where) {
    let cli = desk_on(place);
    let mut asking = cli
        .command(&["ask", "orders-desk", "cancel order 1007"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The words on stderr say that it watches, so that the signal cannot come before it listens.
    let mut told = BufReader::new(asking.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("or reject:") {
        line.clear();
        assert_ne!(told.read_line(&mut line).unwrap(), 0, "it ended without a question");
    }
    let sent = Command::new("kill").args(["-INT", &asking.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = asking.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(FAILED));
    let list = cli.done(&["approvals", "list"]);
    assert_eq!(list["approvals"][0]["status"], "withdrawn", "{list}");
}

fn an_open_question_can_be_taken_back_and_a_turn_stopped(place: Where) {
    let cli = desk_on(place);
    assert_eq!(cli.json(&["ask", "orders-desk", "cancel order 1007", "--no-wait"]).0, WAITING);
    let id = pending(&cli);
    assert_eq!(cli.done(&["approvals", "withdraw", &id])["status"], "withdrawn");
    let (code, answer) = cli.json(&["ask", "orders-desk", "cancel order 1003", "--session", "other", "--no-wait"]);
    assert_eq!(code, WAITING);
    let turn = answer["turn"].as_str().unwrap();
    assert_eq!(cli.done(&["turns", "interrupt", turn])["status"], "interrupted");
    assert_eq!(cli.done(&["approvals", "list", "--status", "pending"])["count"], 0);
}
