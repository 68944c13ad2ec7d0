//! Turns that wait, are stopped, or are left: who is told, and what is held meanwhile.

use crate::testing::{Bench, standing};
use crate::turn::state::CallState;
use contract::turn::{TurnStatus, Watched};
use contract::{Code, StudioError};
use futures_util::StreamExt as _;
use models::Message;
use std::time::Duration;

async fn waiting(bench: &Bench) -> String {
    let turn = bench.ask("write").await;
    bench.until(&turn, TurnStatus::Waiting).await;
    turn
}

/// A turn that rests over a call whose outcome nobody knows.
async fn unknown(bench: &Bench) -> String {
    let turn = waiting(bench).await;
    bench.approve(&turn).await;
    bench.gate.arrived().await;
    bench.tamper(&turn, "lease_epoch = lease_epoch + 1, lease_owner = '0'").await;
    bench.gate.let_go();
    bench.until(&turn, TurnStatus::Waiting).await;
    assert_eq!(bench.state(&turn).await.calls[0].state, CallState::Unknown);
    turn
}

/// All that a watcher is told before the stream ends.
async fn watched(bench: &Bench, turn: &str) -> Vec<Watched> {
    let stream = bench.runtime.watch(bench.partition.clone(), turn.to_owned(), "s".into(), 0);
    let told = stream.map(|(_, seen)| seen).collect();
    tokio::time::timeout(Duration::from_secs(10), told).await.expect("the stream ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_nobody_works_on_is_watched_no_longer() {
    let bench = Bench::new().await;
    let turn = waiting(&bench).await;
    bench.runtime.shutdown().await;
    // Its process died while it worked.
    bench.tamper(&turn, "status = 'running', lease_owner = '0'").await;
    let told = watched(&bench, &turn).await;
    assert!(matches!(told.last(), Some(Watched::Event { entry }) if entry.seq == bench.row(&turn).await.last_seq));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_the_past_ends_no_watch_of_a_turn_that_another_process_drives() {
    let bench = Bench::new().await;
    let turn = waiting(&bench).await;
    bench.runtime.shutdown().await;
    bench.runtime.watchers.enter(&turn).expect("nobody drives it").failed(StudioError::internal());
    let watch = || bench.runtime.watch(bench.partition.clone(), turn.clone(), "s".into(), 0);
    // Nobody goes on with it: all of its log is told, and the end.
    let told: Vec<_> = watch().collect().await;
    assert!(told.len() > 2);
    let other = bench.other_process();
    let owner = other.home().process_id();
    bench.tamper(&turn, &format!("status = 'running', lease_owner = '{owner}', lease_until = 9000000000000000")).await;
    let mut stream = watch().skip(told.len());
    // Longer than between two looks.
    let next = tokio::time::timeout(Duration::from_millis(2_500), stream.next()).await;
    assert!(next.is_err(), "{next:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_a_turn_that_waits_for_nobodys_answer_answers_at_once() {
    let bench = Bench::new().await;
    let turn = unknown(&bench).await;
    bench.interrupt(&turn).await.unwrap();
    let state = bench.state(&turn).await;
    assert!(state.interrupted, "it was told when the wish had been seen: {:?}", bench.kinds(&turn).await);
    assert_eq!(bench.row(&turn).await.status, TurnStatus::Waiting);
    // And one that only asked is over by then.
    bench.runtime.settle(&bench.partition, &turn, 0, "ann", true, None).await.unwrap();
    bench.until(&turn, TurnStatus::Interrupted).await;
    let turn = waiting(&bench).await;
    bench.interrupt(&turn).await.unwrap();
    assert_eq!(bench.row(&turn).await.status, TurnStatus::Interrupted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_agent_no_longer_builds_can_be_stopped() {
    let mut bench = Bench::new().await;
    let turn = waiting(&bench).await;
    bench.restart_without_tools().await;
    bench.approve(&turn).await;
    bench.runtime.resume(&bench.partition, &turn, standing());
    let refused = bench.runtime.settled(&bench.partition, &turn, Duration::ZERO).await.unwrap_err();
    assert_eq!(refused.code, Code::ToolingNotPermitted);
    bench.interrupt(&turn).await.unwrap();
    let row = bench.row(&turn).await;
    assert_eq!((row.status, row.lease_owner), (TurnStatus::Interrupted, None));
    let kinds = bench.kinds(&turn).await;
    assert_eq!(kinds[kinds.len() - 2..], ["interrupted", "ended"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_even_if_its_turn_cannot_be_worked_on() {
    let mut bench = Bench::new().await;
    let turn = waiting(&bench).await;
    let session = bench.row(&turn).await.session_id;
    bench.restart_without_tools().await;
    assert_eq!(bench.runtime.end_session(&bench.partition, &session, "ann").await, Ok(true));
    assert_eq!(bench.row(&turn).await.status, TurnStatus::Interrupted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_may_have_run_is_not_swept_under_a_stop() {
    let mut bench = Bench::new().await;
    let turn = unknown(&bench).await;
    bench.restart_without_tools().await;
    bench.interrupt(&turn).await.unwrap_err();
    assert!(!bench.row(&turn).await.status.is_over());
    bench.runtime.settle(&bench.partition, &turn, 0, "ann", false, None).await.unwrap();
    bench.interrupt(&turn).await.unwrap();
    assert_eq!(bench.row(&turn).await.status, TurnStatus::Interrupted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_waits_holds_no_instance() {
    let bench = Bench::new().await;
    let turn = bench.ask("read").await;
    bench.gate.arrived().await;
    assert!(bench.holds_instance(&turn).await, "it works");
    bench.gate.let_go();
    bench.until(&turn, TurnStatus::Done).await;
    let turn = waiting(&bench).await;
    // It is dropped before the row says that the turn waits.
    assert!(!bench.holds_instance(&turn).await);
    bench.approve(&turn).await;
    bench.gate.arrived().await;
    bench.gate.let_go();
    bench.until(&turn, TurnStatus::Done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_turns_are_read_once() {
    let bench = Bench::new().await;
    let first = bench.ask("hello").await;
    bench.until(&first, TurnStatus::Done).await;
    let second = bench.ask("read").await;
    bench.gate.arrived().await;
    // Whoever reads it again fails.
    bench.spoil(&first).await;
    bench.gate.let_go();
    bench.until(&second, TurnStatus::Done).await;
    let asked = bench.asked.lock().unwrap();
    let firsts: Vec<&Message> = asked[1..].iter().map(|request| &request.messages[0]).collect();
    let hello = Message::User { text: "hello".into() };
    assert_eq!(firsts, [&hello, &hello]);
}
