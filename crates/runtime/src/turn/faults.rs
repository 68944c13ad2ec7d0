//! A store that cannot write for a moment, and what a turn has in its hands meanwhile.

use crate::RuntimeSettings;
use crate::testing::Bench;
use crate::turn::state::CallState;
use contract::turn::TurnStatus;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// With a lease that is renewed every second.
async fn bench() -> Bench {
    Bench::with(RuntimeSettings { lease_seconds: 3, ..RuntimeSettings::default() }).await
}

/// As long as a renewal is tried in vain.
async fn a_renewal_fails(bench: &Bench) {
    bench.fails.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    bench.fails.store(false, Ordering::SeqCst);
}

async fn write_at_the_gate(bench: &Bench) -> String {
    let turn = bench.ask("write").await;
    bench.until(&turn, TurnStatus::Waiting).await;
    bench.approve(&turn).await;
    bench.gate.arrived().await;
    turn
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_fails_costs_no_outcome_of_a_write() {
    let bench = bench().await;
    let turn = write_at_the_gate(&bench).await;
    a_renewal_fails(&bench).await;
    bench.gate.let_go();
    bench.until(&turn, TurnStatus::Done).await;
    let state = bench.state(&turn).await;
    assert!(matches!(&state.calls[0].state, CallState::Ended(result) if result.ok), "{:?}", state.calls);
    assert_eq!(bench.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_cannot_be_written_at_once_is_written_later() {
    let bench = bench().await;
    let turn = write_at_the_gate(&bench).await;
    bench.fails.store(true, Ordering::SeqCst);
    bench.gate.let_go();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(bench.runs.load(Ordering::SeqCst), 1, "the tool has answered meanwhile");
    bench.fails.store(false, Ordering::SeqCst);
    bench.until(&turn, TurnStatus::Done).await;
    let state = bench.state(&turn).await;
    assert!(matches!(&state.calls[0].state, CallState::Ended(result) if result.ok), "{:?}", state.calls);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_took_the_turn_over_is_not_written_into() {
    let bench = bench().await;
    let turn = write_at_the_gate(&bench).await;
    let before = bench.kinds(&turn).await;
    // A process that lives nowhere any more, so that the next one here may take the turn from it.
    bench.tamper(&turn, "lease_epoch = lease_epoch + 1, lease_owner = '0'").await;
    bench.gate.let_go();
    bench.until(&turn, TurnStatus::Waiting).await;
    let after = bench.kinds(&turn).await;
    assert_eq!(after[before.len()..], ["call_unknown"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_fails_cuts_no_answer_of_a_model() {
    let bench = bench().await;
    let turn = bench.ask("story").await;
    bench.gate.arrived().await;
    a_renewal_fails(&bench).await;
    bench.gate.let_go();
    bench.until(&turn, TurnStatus::Done).await;
    assert_eq!(bench.kinds(&turn).await, ["started", "model_asked", "model_replied", "ended"]);
}
