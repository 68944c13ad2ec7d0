//! `astudio demo`.

use super::ctx::Ctx;
use super::exit::{Exit, Outcome};
use super::table::record;
use crate::app::demo::{self, Options};

/// Arguments of `astudio demo`.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Bring what the demo made back to its beginning
    #[arg(long)]
    reset: bool,
    /// Only fill the home, and say no more than what was made
    #[arg(long)]
    no_open: bool,
}

/// Runs the command.
pub async fn run(ctx: &Ctx, args: DemoArgs) -> Outcome {
    let report = demo::seed(&ctx.app.engine, Options { reset: args.reset }).await?;
    ctx.out.answer(&report, |out| {
        let people = report.people.iter().map(|p| format!("{} ({})", p.id, p.role)).collect::<Vec<_>>().join(", ");
        record(
            out,
            &[
                ("tenant", Some(report.tenant.clone())),
                ("you are", Some(format!("{}; --as USER@{} speaks for another", report.user, report.tenant))),
                ("you were", report.before.clone()),
                ("people", Some(people)),
                ("made", Some(report.agents_made.join(", "))),
                ("kept", Some(report.agents_kept.join(", "))),
                ("deleted", Some(report.agents_deleted.join(", "))),
                ("orders", Some(format!("{} written", report.orders_written))),
            ],
        )?;
        if args.no_open {
            return Ok(());
        }
        out.heading("Try:")?;
        report
            .tries
            .iter()
            .try_for_each(|step| out.line(&format!("  {} {}\n      {}", ctx.again, step.command, step.what)))
    })?;
    Ok(Exit::Done)
}
