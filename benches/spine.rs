//! The budgets of the spine: how fast the parts are that everything else stands on.
//!
//! `cargo bench --bench spine` measures for about a minute and prints a table of figures against aims; it never fails for being
//! slow. `-- --only patch,audit` measures a part, `-- --markdown` prints the table for `docs/bench.md`. Everything runs against a
//! home on a real disk (below the target folder) with `synchronous = FULL`. Without `--bench`, as `cargo test` starts it, a
//! moment's run only shows that the measurements still work.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "spine/agents.rs"]
mod agents;
#[path = "spine/audit.rs"]
mod audit;
#[path = "spine/call.rs"]
mod call;
#[path = "spine/disk.rs"]
mod disk;
#[path = "spine/program.rs"]
mod program;
#[path = "common/report.rs"]
mod report;
#[path = "common/world.rs"]
mod world;

use astudio::app::Settings;
use report::Report;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Rounds of which the median counts.
    pub rounds: usize,
    /// Length of a round.
    pub round: Duration,
    /// Agents of the home that is read.
    pub agents: usize,
    /// Agents that are patched.
    pub patched: usize,
    /// Callers that patch at once.
    pub callers: usize,
    /// Links of the journal that is verified, at least.
    pub links: u64,
    /// Starts of the program.
    pub starts: usize,
}

const FULL: Plan = Plan {
    rounds: 5,
    round: Duration::from_secs(2),
    agents: 10_000,
    patched: 1_000,
    callers: 64,
    links: 200_000,
    starts: 41,
};

const SMOKE: Plan =
    Plan { rounds: 1, round: Duration::from_millis(20), agents: 150, patched: 8, callers: 4, links: 50, starts: 1 };

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let full = args.iter().any(|arg| arg == "--bench");
    let plan = if full { FULL } else { SMOKE };
    let only = args.iter().position(|arg| arg == "--only").and_then(|at| args.get(at + 1));
    let wanted = |name: &str| only.is_none_or(|names| names.split(',').any(|n| n == name));

    let mut report = Report::default();
    report.note(format!("A write of 4 KiB reaches this disk in {:.0} µs (median of fdatasync).", disk::micros()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if wanted("patch") || wanted("audit") {
        let world = runtime.block_on(world::World::new(plan.patched, &Settings::default()));
        if wanted("patch") {
            runtime.block_on(agents::patch(&world, &plan, &mut report));
        }
        if wanted("audit") {
            runtime.block_on(audit::verify(&world, &plan, &mut report));
        }
    }
    if wanted("get") || wanted("page") || wanted("start") {
        let world = runtime.block_on(world::World::new(plan.agents, &Settings::default()));
        if wanted("get") {
            runtime.block_on(agents::get(&world, &plan, &mut report));
        }
        if wanted("page") {
            runtime.block_on(agents::page(&world, &plan, &mut report));
        }
        if wanted("start") {
            program::start(world.close(), &plan, &mut report);
        }
    }
    if wanted("call") {
        runtime.block_on(call::gates(&plan, &mut report));
    }
    if wanted("size") {
        program::size(&mut report);
    }
    match () {
        () if !full => println!("{} measurements work; `cargo bench --bench spine` takes them.", report.len()),
        () if args.iter().any(|arg| arg == "--markdown") => report.markdown(),
        () => report.print(),
    }
}
