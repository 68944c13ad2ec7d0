//! The budgets of the workbench: the program as it is built, in a terminal of its own, over a home with 10,000 agents.
//!
//! `cargo bench --bench workbench` measures for some two minutes and prints a table of figures against aims; it never fails for
//! being slow. A time runs from the moment before keys are written to the moment at which the bytes were read that brought the
//! wanted picture; the terminal is read by a thread of its own. `-- --only open,keys` measures a part, `-- --markdown` prints
//! the table for `docs/bench.md`, `-- --peer FOLDER` runs another terminal program in turn. Without
//! `--bench`, as `cargo test` starts it, a moment's run only shows that the measurements still work.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "workbench/home.rs"]
mod home;
#[path = "workbench/keys.rs"]
mod keys;
#[path = "workbench/peer.rs"]
mod peer;
#[path = "common/report.rs"]
mod report;
#[path = "workbench/rest.rs"]
mod rest;
#[path = "workbench/screen.rs"]
mod screen;
#[path = "common/world.rs"]
mod world;

use home::Home;
use report::Report;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Agents of the home.
    pub agents: usize,
    /// Turns of the long conversation; each is two messages.
    pub turns: usize,
    /// Starts of the program.
    pub starts: usize,
    /// How long it is left alone.
    pub idle: Duration,
    /// Keys that are pressed.
    pub keys: usize,
    /// Pastes.
    pub pastes: usize,
    /// Lines of a paste.
    pub lines: usize,
    /// Words of the fast answer.
    pub tokens: usize,
}

const FULL: Plan = Plan {
    agents: 10_000,
    turns: 2_500,
    starts: 41,
    idle: Duration::from_secs(10),
    keys: 300,
    pastes: 11,
    lines: 10_000,
    tokens: 100_000,
};

const SMOKE: Plan = Plan {
    agents: 150,
    turns: 12,
    starts: 1,
    idle: Duration::from_millis(100),
    keys: 3,
    pastes: 1,
    lines: 100,
    tokens: 5_000,
};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let full = args.iter().any(|arg| arg == "--bench");
    let plan = if full { FULL } else { SMOKE };
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    let only = value("--only");
    let wanted = |name: &str| only.is_none_or(|names| names.split(',').any(|n| n == name));

    let peer = value("--peer");
    if peer.is_none() && !["open", "idle", "keys", "paste", "stream"].into_iter().any(wanted) {
        return;
    }

    let mut report = Report::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let home = runtime.block_on(Home::new(&plan));
    if wanted("open") {
        rest::start(&home, &plan, &mut report);
    }
    if wanted("idle") {
        rest::idle(&home, &plan, &mut report);
    }
    if wanted("keys") {
        keys::list(&home, &plan, &mut report);
        keys::chats(&home, &plan, &mut report);
    }
    if wanted("paste") {
        keys::paste(&home, &plan, &mut report);
    }
    if wanted("stream") {
        keys::stream(&home, &plan, &mut report);
    }
    match peer {
        Some(folder) => peer::beside(folder.as_ref(), &home, &plan, &mut report),
        None => report.note("No other program was run beside this one; `scripts/bench --peers` does that.".into()),
    }
    match () {
        () if !full => println!("{} measurements work; `cargo bench --bench workbench` takes them.", report.len()),
        () if args.iter().any(|arg| arg == "--markdown") => report.markdown(),
        () => report.print(),
    }
}
