//! `astudio migrate`: the schema of the home.

use super::ctx::{Bare, needs_home};
use super::exit::{Exit, Outcome};
use crate::app;
use serde_json::{Value, json};
use store::MigrateReport;
use store::migrate::Step;

/// Commands over the schema.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Say which steps are pending
    Plan,
    /// Apply what is pending
    Apply,
    /// Compare what was applied with this program
    Verify,
}

/// Runs a command.
pub async fn run(bare: &Bare, command: Command) -> Outcome {
    if bare.server.is_some() {
        return Err(needs_home("migrate"));
    }
    let store = app::open_store(&bare.places, false)?;
    let report = match command {
        Command::Plan | Command::Verify => store::migrate::plan(&store).await,
        Command::Apply => store::migrate::apply(&store).await,
    };
    let report = report.map_err(app::store_fault)?;
    bare.out.answer(&as_json(&report), |out| {
        out.line(&format!("Schema of this home: {}", report.from))?;
        for step in &report.applied {
            out.line(&format!("applied {} {}", step.version, step.name))?;
        }
        for step in &report.pending {
            out.line(&format!("pending {} {}", step.version, step.name))?;
        }
        if matches!(command, Command::Verify) {
            out.line("What was applied is what this program was built with.")?;
        } else if report.applied.is_empty() && report.pending.is_empty() {
            out.line("Nothing to do.")?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

fn as_json(report: &MigrateReport) -> Value {
    let steps = |steps: &[Step]| -> Vec<Value> {
        steps.iter().map(|step| json!({ "version": step.version, "name": step.name })).collect()
    };
    json!({ "from": report.from, "applied": steps(&report.applied), "pending": steps(&report.pending) })
}
