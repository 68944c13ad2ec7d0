//! `astudio demo`.

use super::ctx::Ctx;
use super::exit::Failure;
use super::table::record;
use crate::app::demo::{self, Options};
use client::{Caller, Client};
use std::collections::BTreeMap;

/// Arguments of `astudio demo`.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Bring what the demo made back to its beginning
    #[arg(long)]
    reset: bool,
    /// Only fill the home and say what was made; do not open the workbench
    #[arg(long)]
    no_open: bool,
}

impl DemoArgs {
    /// Whether the workbench is to be opened afterwards.
    pub fn opens(&self) -> bool {
        !self.no_open
    }
}

/// Runs the command. Answers a client of the demo's own person.
pub async fn run(ctx: &Ctx, args: DemoArgs) -> Result<Client, Failure> {
    let app = ctx.home("demo")?;
    let report = demo::seed(&app.engine, Options { reset: args.reset }).await?;
    let tokens = demo::tokens(&app.engine).await?;
    let mut said = serde_json::to_value(&report).unwrap_or_default();
    said["tokens"] = serde_json::json!(tokens.iter().cloned().collect::<BTreeMap<_, _>>());
    ctx.out.answer(&said, |out| {
        let people = report.people.iter().map(|p| format!("{} ({})", p.id, p.role)).collect::<Vec<_>>().join(", ");
        record(
            out,
            &[
                ("tenant", Some(report.tenant.clone())),
                ("you are", Some(format!("{}; --as USER@{} speaks for another", report.user, report.tenant))),
                ("you were", report.before.clone()),
                ("people", Some(people)),
                // In the order in which it was done.
                ("deleted", Some(report.agents_deleted.join(", "))),
                ("made", Some(report.agents_made.join(", "))),
                ("kept", Some(report.agents_kept.join(", "))),
                ("orders", Some(format!("{} written", report.orders_written))),
            ],
        )?;
        if tokens.is_empty() {
            let make = ctx.way.command("tokens create NAME");
            out.note(&format!("The tokens for `astudio serve` were shown when they were made; {make} makes another."));
        } else {
            out.heading("Tokens for `astudio serve`, shown once:")?;
            tokens.iter().try_for_each(|(user, secret)| out.line(&format!("  {user:5} {secret}")))?;
        }
        if args.no_open {
            return Ok(());
        }
        out.heading("Try:")?;
        report
            .tries
            .iter()
            .try_for_each(|step| out.line(&format!("  {} {}\n      {}", ctx.way, step.command, step.what)))
    })?;
    let caller = Caller::user(report.user.clone(), Some(&report.tenant));
    Ok(Client::local(app.engine.clone(), caller))
}
