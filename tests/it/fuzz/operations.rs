//! In this process: the engine, with what a transport would hand to it.

use super::check::Judge;
use super::town::{Sent, Town, caller, user};
use crate::binary::note;
use crate::interleave::{Dice, number};
use contract::operation::Effect;
use contract::wire::{Raw, WireReply, WireRequest};
use engine::{Caller, Entry};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Requests that a home gets before it is replaced by a fresh one.
const PER_HOME: u64 = 250;
/// An answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Homes, one after the other.
#[derive(Default)]
struct Homes {
    town: Option<Town>,
    used: u64,
}

impl Homes {
    /// The home for the next request; a fresh one when it is asked for, or when much has happened in the last.
    async fn next(&mut self, fresh: bool) -> &Town {
        if fresh || self.used == PER_HOME {
            // Turns that wait for people would keep all of it.
            if let Some(town) = self.town.take() {
                town.app.engine.runtime.shutdown().await;
            }
            self.used = 0;
        }
        self.used += 1;
        match &mut self.town {
            Some(town) => town,
            none => none.insert(Town::new().await),
        }
    }
}

/// What came back.
enum Came {
    Answer(u16, Value),
    Stream(Vec<Value>),
    Panic(String),
    Nothing,
}

async fn send(town: &Town, entry: &Entry, caller: Caller, sent: Sent) -> Came {
    let body = sent.body.map_or(Raw::Absent, Raw::Bytes);
    let request = WireRequest { path: sent.path, query: sent.query, body };
    let call = (entry.call)(town.app.engine.clone(), caller, request);
    // A task of its own, so that a panic is seen and does not end the test.
    let answer = tokio::spawn(async move {
        match call.await {
            Ok(WireReply::Json(status, value)) => Came::Answer(status, value),
            Ok(WireReply::Events(_, events)) => {
                // Streams without an end are looked at for a moment.
                let mut events = std::pin::pin!(events.take(50));
                let mut seen = Vec::new();
                while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(5), events.next()).await {
                    seen.push(event.data);
                }
                Came::Stream(seen)
            }
            Err(error) => Came::Answer(error.status, error.body()),
        }
    });
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(came)) => came,
        Ok(Err(error)) => Came::Panic(error.to_string()),
        Err(_) => Came::Nothing,
    }
}

/// What an operation was seen to do.
#[derive(Default)]
struct Seen {
    statuses: BTreeMap<u16, u64>,
    faults: Vec<String>,
}

fn shown(sent: &Sent) -> String {
    let body = sent.body.as_ref().map(|body| String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned());
    let query = format!("{:?}", sent.query);
    let path = format!("{:?}", sent.path);
    let cut = |text: String| text.chars().take(300).collect::<String>();
    format!("path {}, query {}, body {body:?}", cut(path), cut(query))
}

async fn fuzz(judge: &mut Judge, homes: &mut Homes, entry: &Entry, count: u64, seed: u64) -> Seen {
    let meta = entry.meta;
    let mut seen = Seen::default();
    let mut dice = Dice::new(seed);
    let item = judge.item(&meta).clone();
    for n in 0..count {
        let town = homes.next(n == 0 && meta.effect != Effect::Read).await;
        let sent = town.request(&judge.document, &item, &meta, &mut dice);
        let said = shown(&sent);
        // What the document does not allow must not be done.
        let body = sent.body.as_ref().and_then(|body| contract::json::parse(body).ok());
        let barred = item["requestBody"].is_object() && !body.as_ref().is_some_and(|body| judge.allows(&meta, body));
        assert!(!(barred && sent.valid), "{}: the example is none: {said}", meta.id);
        let fault = match send(town, entry, caller(&mut dice), sent).await {
            Came::Answer(status, body) => {
                *seen.statuses.entry(status).or_default() += 1;
                let fault = judge.answer(&meta, status, &body);
                let done = (200..300).contains(&status) && barred;
                fault
                    .or_else(|| done.then(|| format!("{status}, which the document bars")))
                    .map(|fault| format!("{fault}: {}", body.to_string().chars().take(300).collect::<String>()))
            }
            Came::Stream(events) => {
                *seen.statuses.entry(meta.ok).or_default() += 1;
                let name = if meta.id == "events.watch" { "Change" } else { "Watched" };
                let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
                let fault = events.iter().find_map(|event| judge.event(&schema, event));
                fault.or_else(|| barred.then(|| "a stream, which the document bars".to_owned()))
            }
            Came::Panic(what) => Some(format!("panic: {what}")),
            Came::Nothing => Some("no answer".to_owned()),
        };
        seen.faults.extend(fault.map(|fault| format!("{fault} <- {said}")));
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_breaks_an_operation() {
    let seed = number("ASTUDIO_SEED", 1);
    let count = number("ASTUDIO_FUZZ", 200);
    let (mut judge, mut homes) = (Judge::new(), Homes::default());
    let mut faults = Vec::new();
    let since = Instant::now();
    let mut entries = engine::entries();
    // Reads leave a home as it is, so they share one.
    entries.sort_by_key(|entry| entry.meta.effect != Effect::Read);
    for (n, entry) in entries.into_iter().enumerate() {
        let began = Instant::now();
        let seen = fuzz(&mut judge, &mut homes, &entry, count, seed + n as u64).await;
        let id = entry.meta.id;
        if std::env::var_os("ASTUDIO_FUZZ").is_some() {
            note(&format!("{id}: {:?} in {:?}", seen.statuses, began.elapsed()));
        }
        // These answer with a success for a call of unknown outcome, and for an approval that came to nothing.
        let rare = ["turns.settle", "approvals.reask"].contains(&id);
        if count >= 100 && !rare && !seen.statuses.contains_key(&entry.meta.ok) {
            faults.push(format!("{id}: never done: {:?}", seen.statuses));
        }
        faults.extend(seen.faults.into_iter().map(|fault| format!("{id}: {fault}")));
    }
    let shown = faults.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "ASTUDIO_SEED={seed}: {} faults\n{shown}", faults.len());
    note(&format!("{count} requests to each operation in {:?}", since.elapsed()));
}

#[tokio::test]
async fn a_nul_names_nothing_and_is_no_query() {
    let town = Town::new().await;
    let refused = async |entry: &Entry, path: &str, query: &str| {
        let names = entry.meta.routes[0].split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let path = names.map(|name| (name.to_owned(), path.to_owned())).collect();
        let query = ["after", "agent", "session", "q"].map(|key| (key.to_owned(), query.to_owned())).into();
        let sent = Sent { path, query, body: Some(b"{}".to_vec()), valid: false };
        match send(&town, entry, user("root"), sent).await {
            Came::Answer(status, body) => (status, body["code"].as_str().unwrap_or_default().to_owned()),
            _ => panic!("{} did not answer at once", entry.meta.id),
        }
    };
    for entry in engine::entries().iter().filter(|entry| entry.meta.routes[0].contains('{')) {
        assert_eq!(refused(entry, "a\0b", "1").await, (404, "route_not_found".into()), "{}", entry.meta.id);
    }
    for entry in engine::entries() {
        if ["agents.list", "approvals.list", "audit.list", "events.watch"].contains(&entry.meta.id) {
            assert_eq!(refused(&entry, "", "\0").await, (400, "invalid_request".into()), "{}", entry.meta.id);
        }
    }
}
