//! Writing and reading agents through `Engine::call`, as every transport does.

use super::Plan;
use super::report::{Report, Unit, quantile, thousands};
use super::world::{OWNER, READER, World, caller, name};
use contract::ops::agents::{GetAgent, ListAgents, PatchAgent};
use contract::wire::{Json, Raw, WireRequest};
use engine::Engine;
use std::future::Future;
use std::time::{Duration, Instant};

fn request(name: String) -> WireRequest {
    WireRequest { path: [("name".to_owned(), name)].into(), ..WireRequest::default() }
}

/// Lets so many tasks do something over and over for the length of a round. Answers how often a second it was done, and how
/// long each time took, in milliseconds.
async fn round<F: Future<Output = ()> + Send + 'static>(
    tasks: usize,
    length: Duration,
    start: impl Fn(usize) -> Box<dyn FnMut() -> F + Send>,
) -> (f64, Vec<f64>) {
    let since = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let mut once = start(task);
            tokio::spawn(async move {
                let mut took = Vec::new();
                while since.elapsed() < length {
                    let at = Instant::now();
                    once().await;
                    took.push(at.elapsed().as_secs_f64() * 1e3);
                }
                took
            })
        })
        .collect();
    let mut took = Vec::new();
    for task in running {
        took.extend(task.await.unwrap());
    }
    (took.len() as f64 / since.elapsed().as_secs_f64(), took)
}

/// Durable PATCHes: the membership, the row as it is now, the access rule, the merged record, policy, the row, its history, a
/// journal entry and its link, one answer after the COMMIT that is on the disk.
pub async fn patch(world: &World, plan: &Plan, report: &mut Report) {
    let (mut rates, mut slowest) = (Vec::new(), Vec::new());
    for n in 0..plan.rounds {
        let (rate, took) = round(plan.callers, plan.round, |task| {
            let engine = world.engine.clone();
            // Each caller has agents of its own, so that none waits for, or collides with, another.
            let own = (plan.patched / plan.callers).max(1);
            let mut at = 0;
            Box::new(move || {
                at += 1;
                patch_one(engine.clone(), task * own + at % own, format!("Round {n}, change {at}."))
            })
        })
        .await;
        rates.push(rate);
        slowest.push(quantile(&took, 0.99));
    }
    let name = format!("durable PATCH, {} callers", plan.callers);
    report.measure(&name, Unit::PerSecond, &rates, 5_000.0);
    report.measure(&format!("{name}: 99 of 100 within"), Unit::Millis, &slowest, 25.0);
}

async fn patch_one(engine: Engine, n: usize, description: String) {
    let body = serde_json::json!({ "description": description }).to_string();
    let request = WireRequest { body: Raw::Bytes(body.into_bytes()), ..request(name(n)) };
    let Json(agent) = engine.call::<PatchAgent>(caller(OWNER), request).await.unwrap();
    assert_eq!(agent.description.as_deref(), Some(description.as_str()));
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Reads of one agent by a member of the tenant: the membership, the row, the access rule.
pub async fn get(world: &World, plan: &Plan, report: &mut Report) {
    let mut rates = Vec::new();
    for _ in 0..plan.rounds {
        let (rate, _) = round(cores(), plan.round, |task| {
            let engine = world.engine.clone();
            let (agents, mut at) = (plan.agents, task);
            Box::new(move || {
                at += 7919;
                // One in ten is private; those are passed over.
                let n = at % agents;
                get_one(engine.clone(), if n.is_multiple_of(10) { n + 1 } else { n })
            })
        })
        .await;
        rates.push(rate);
    }
    report.measure(&format!("get one of {} agents", thousands(plan.agents as f64)), Unit::PerSecond, &rates, 20_000.0);
}

async fn get_one(engine: Engine, n: usize) {
    let Json(agent) = engine.call::<GetAgent>(caller(READER), request(name(n))).await.unwrap();
    assert_eq!(agent.name, name(n));
}

/// Pages of a hundred, page after page, as a member of the tenant who sees nine in ten. Typed values, no JSON text.
pub async fn page(world: &World, plan: &Plan, report: &mut Report) {
    let mut rates = Vec::new();
    for _ in 0..plan.rounds {
        let since = Instant::now();
        let readers: Vec<_> = (0..cores())
            .map(|_| {
                let (engine, length) = (world.engine.clone(), plan.round);
                tokio::spawn(async move {
                    let (mut pages, mut cursor) = (0, None);
                    while since.elapsed() < length {
                        cursor = page_one(&engine, cursor).await;
                        pages += 1;
                    }
                    pages
                })
            })
            .collect();
        let mut pages = 0;
        for reader in readers {
            pages += reader.await.unwrap();
        }
        rates.push(f64::from(pages) / since.elapsed().as_secs_f64());
    }
    let name = format!("page of 100 of {} agents", thousands(plan.agents as f64));
    report.measure(&name, Unit::PerSecond, &rates, 3_000.0);
}

async fn page_one(engine: &Engine, cursor: Option<String>) -> Option<String> {
    let mut query = vec![("limit".to_owned(), "100".to_owned())];
    query.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor)));
    let request = WireRequest { query, ..WireRequest::default() };
    let Json(list) = engine.call::<ListAgents>(caller(READER), request).await.unwrap();
    assert!(list.count == 100 || list.next_cursor == Some(None));
    list.next_cursor.flatten()
}
