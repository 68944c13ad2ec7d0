//! The budgets of the server: the program as it is built, over HTTP, with the load on the same machine.
//!
//! `cargo bench --bench http` measures for some two minutes and prints a table of figures against aims; it never fails for being
//! slow. `-- --only http` measures nothing else, `-- --part words` (or `reads`, `lists`, `streams`, `writes`) only a part of it,
//! `-- --markdown` prints the table for `docs/bench.md`. Without `--bench`, as `cargo test` starts it, a moment's run only shows
//! that the measurements still work.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "http/line.rs"]
mod line;
#[path = "http/load.rs"]
mod load;
#[path = "common/report.rs"]
mod report;
#[path = "http/served.rs"]
mod served;
#[path = "common/world.rs"]
mod world;

use astudio::app::Settings;
use astudio::{Client, Engine, Request};
use contract::ops::agents::{AgentCreate, CreateAgent, OptionalNamePath};
use contract::ops::tokens::{CreateToken, TokenCreate};
use contract::wire::{Json, NoPath, NoQuery};
use fakes::{Answer, Fake, Protocol};
use report::{Report, Unit};
use served::Served;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use world::{OWNER, World, caller};

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Rounds of which the median counts.
    pub rounds: usize,
    /// Length of a round.
    pub round: Duration,
    /// Agents of the large home.
    pub agents: usize,
    /// Clients that write at once.
    pub clients: usize,
    /// Streams at once.
    pub streams: usize,
    /// Words of each.
    pub words: usize,
    /// Asks whose first word is waited for.
    pub asks: usize,
    /// Starts of the server.
    pub starts: usize,
}

const FULL: Plan = Plan {
    rounds: 5,
    round: Duration::from_secs(2),
    agents: 10_000,
    clients: 64,
    streams: 500,
    words: 250,
    asks: 300,
    starts: 11,
};

const SMOKE: Plan = Plan {
    rounds: 1,
    round: Duration::from_millis(50),
    agents: 150,
    clients: 4,
    streams: 5,
    words: 10,
    asks: 3,
    starts: 1,
};

/// Tokens of people of the home.
pub struct Tokens {
    pub owner: String,
}

/// The words of a paced answer.
pub fn paced_words(count: usize) -> String {
    (0..count).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ")
}

/// A home with so many agents, one whose words are paced and one on the provider.
async fn home(agents: usize, provider: &str, words: usize) -> (TempDir, Tokens) {
    let config = format!("[providers.lab]\nbase_url = \"{provider}\"\nmodels = [\"fast\"]\n");
    let world = World::new(agents, &Settings::parse(&config).unwrap()).await;
    let client = Client::local(world.engine.clone(), caller(OWNER));
    script(&world.engine, words);
    for (name, llm) in [("paced", "rehearsal:paced"), ("direct", "lab:fast")] {
        let body = AgentCreate { name: Some(name.into()), llm: Some(llm.into()), ..AgentCreate::default() };
        client.call::<CreateAgent>(Request { path: OptionalNamePath::default(), query: NoQuery, body }).await.unwrap();
    }
    let body = TokenCreate { name: "bench".into(), scopes: Vec::new(), days: None };
    let Json(token) = client.call::<CreateToken>(Request { path: NoPath {}, query: NoQuery, body }).await.unwrap();
    drop(client);
    let folder = world.close();
    std::fs::write(folder.path().join("config.toml"), config).unwrap();
    (folder, Tokens { owner: token.secret.unwrap() })
}

/// A script that says its words fifty a second.
fn script(engine: &Engine, words: usize) {
    let folder = engine.store.home().path().join("rehearsal");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "name: paced\nabout: Says its words at a pace.\npace_ms: 20\nrules:\n  - say: \"{}\"\n",
        paced_words(words)
    );
    std::fs::write(folder.join("paced.yaml"), text).unwrap();
}

/// The time to the first good answer of a server over a home.
fn starts(home: &Path, plan: &Plan, report: &mut Report) {
    let took: Vec<f64> = (0..plan.starts).map(|_| Served::start(home).ready).collect();
    report.measure("start of the server to its first answer", Unit::Millis, &took, 150.0);
}

async fn all(plan: &Plan, part: Option<&str>, report: &mut Report) {
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let fake = Fake::answering(Protocol::OpenAi, |_| Answer::new().then_text(&["word ", "and ", "end"]));
    let provider = fake.address().to_string();
    for (agents, aim) in [(10, 5_000.0), (1_000.min(plan.agents), 240.0)].into_iter().filter(|_| wanted("lists")) {
        let (folder, tokens) = home(agents, &fake.base_url(), plan.words).await;
        let served = Served::start(folder.path());
        load::lists(&served, &tokens, agents, aim, plan, report).await;
    }
    let (folder, tokens) = home(plan.agents, &fake.base_url(), plan.words).await;
    if part.is_none() {
        starts(folder.path(), plan, report);
    }
    let served = Served::start(folder.path());
    tokio::time::sleep(plan.round).await;
    report.measure("memory of the idle server", Unit::Mebibytes, &[served.memory().0], 40.0);
    let mut told = Vec::new();
    let mut tell = |after: &str| {
        let (_, most, own) = served.memory();
        told.push(format!("{after} {most:.0} ({own:.0})"));
    };
    if wanted("reads") {
        load::reads(&served, &tokens, plan, report).await;
        tell("reads");
    }
    if wanted("lists") {
        load::lists(&served, &tokens, plan.agents, 20.0, plan, report).await;
        tell("lists");
    }
    if wanted("words") {
        load::first_word(&served, &tokens, &provider, plan, report).await;
        tell("first words");
    }
    if wanted("streams") {
        load::streams(&served, &tokens, plan, report).await;
        tell("streams");
    }
    if wanted("writes") {
        load::writes(&served, &tokens, plan, report).await;
        tell("writes");
    }
    report.note(format!("Memory in MiB, at most until after, and the process's own then: {}.", told.join(", ")));
    report.measure("memory of the server, at most", Unit::Mebibytes, &[served.memory().1], 100.0);
    report.note(
        "The Python original on such a machine: list of 10,000 0.64 to 1/s, of 1,000 10 to 12/s, get one 700 to 1,340/s, patch 170 \
         to 320/s, create 320 to 560/s, test ask 110/s, start 5.2 s, memory 316 to 597 MiB."
            .into(),
    );
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let full = args.iter().any(|arg| arg == "--bench");
    let plan = if full { FULL } else { SMOKE };
    let only = args.iter().position(|arg| arg == "--only").and_then(|at| args.get(at + 1));
    if only.is_some_and(|names| !names.split(',').any(|name| name == "http")) {
        return;
    }
    let part = args.iter().position(|arg| arg == "--part").and_then(|at| args.get(at + 1));
    let mut report = Report::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(all(&plan, part.map(String::as_str), &mut report));
    match () {
        () if !full => println!("{} measurements work; `cargo bench --bench http` takes them.", report.len()),
        () if args.iter().any(|arg| arg == "--markdown") => report.markdown(),
        () => report.print(),
    }
}
