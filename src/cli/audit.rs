//! `astudio audit`: the journal, and what only works where it is kept.

use super::ctx::{Ctx, read_text};
use super::exit::{Exit, Failure, Outcome, usage};
use super::table::{Table, record, when};
use contract::ops::audit::{AuditReport, ListAudit, VerifyAudit};
use contract::ops::common::Page;
use contract::ops::people::ListTenants;
use contract::wire::{Json, NoBody, NoPath, NoQuery};
use contract::{Micros, StudioError};
use serde_json::json;
use std::path::PathBuf;
use trust::journal::{ExportedRoot, newest_root, seal, verify};

/// Commands over the journal.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List what happened in your tenant, newest first
    List {
        /// Most entries, 1 to 1000
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
        /// Continue after the page before
        #[arg(long)]
        cursor: Option<String>,
        /// Only what fits
        #[arg(value_name = "FILTER")]
        q: Option<String>,
    },
    /// Check that nothing of the past was changed
    Verify {
        /// The whole journal of this home, against a root that `audit seal --export` wrote
        #[arg(long, value_name = "FILE")]
        root: Option<PathBuf>,
    },
    /// Seal what is not sealed yet
    Seal {
        /// Print the newest root, for keeping elsewhere
        #[arg(long)]
        export: bool,
    },
}

/// Runs a command.
pub async fn run(ctx: &Ctx, command: Command) -> Outcome {
    match command {
        Command::List { limit, cursor, q } => list(ctx, Page { limit: Some(limit), cursor, q, sort: None }).await,
        Command::Verify { root: None } => {
            let Json(report) = ctx.call::<VerifyAudit>(NoPath {}, NoQuery, NoBody).await?;
            show(ctx, &report)
        }
        Command::Verify { root: Some(file) } => {
            let store = &ctx.home("audit verify --root")?.engine.store;
            platform(ctx).await?;
            let kept: ExportedRoot = serde_json::from_str(&read_text(&file)?).map_err(|e| {
                usage(format!("{} holds no root as `astudio audit seal --export` writes it: {e}.", file.display()))
            })?;
            let report =
                store.read_long(move |tx| verify(tx, Some(&kept))).await.map_err(engine::errors::from_store)?;
            show(ctx, &report)
        }
        Command::Seal { export } => {
            let store = &ctx.home("audit seal")?.engine.store;
            platform(ctx).await?;
            let sealed = store.write(|tx| seal(tx, Micros::now())).await.map_err(engine::errors::from_store)?;
            let root = store.read(|tx| newest_root(tx)).await.map_err(engine::errors::from_store)?;
            if export {
                // A file for keeping: JSON in both modes.
                let root = root.ok_or_else(|| StudioError::not_found("Root", "newest"))?;
                ctx.out.json(&root)?;
            } else {
                ctx.out.answer(&json!({ "sealed": sealed, "root": root }), |out| {
                    out.line(&format!("Sealed {sealed} entries."))
                })?;
            }
            Ok(Exit::Done)
        }
    }
}

/// The whole journal is a matter of those who administer the platform: the gate of an operation that needs the same right
/// is asked.
async fn platform(ctx: &Ctx) -> Result<(), Failure> {
    ctx.call::<ListTenants>(NoPath {}, NoQuery, NoBody).await.map(drop)
}

async fn list(ctx: &Ctx, page: Page) -> Outcome {
    let Json(list) = ctx.call::<ListAudit>(NoPath {}, page, NoBody).await?;
    ctx.out.answer(&list, |out| {
        let mut table = Table::new(&["SEQ", "AT", "ACTOR", "ACTION", "SUBJECT"]);
        for entry in &list.entries {
            let seq = entry.seq.map_or_else(|| "-".to_owned(), |n| n.to_string());
            table.row([seq, when(entry.at), entry.actor.clone(), entry.action.clone(), entry.subject.clone()]);
        }
        table.write(out, "The journal is empty.")?;
        if let Some(cursor) = &list.next_cursor {
            out.note(&format!("there are more: --cursor {cursor}"));
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

fn show(ctx: &Ctx, report: &AuditReport) -> Outcome {
    ctx.out.answer(report, |out| {
        record(
            out,
            &[
                ("journal", Some(if report.ok { "everything fits" } else { "IT DOES NOT FIT" }.to_owned())),
                ("entries", Some(report.entries.to_string())),
                ("links", Some(report.links.to_string())),
                ("roots", Some(report.roots.to_string())),
                ("unsealed", Some(report.unsealed.to_string())),
                ("faults", Some(report.faults.join("\n"))),
            ],
        )
    })?;
    Ok(if report.ok { Exit::Done } else { Exit::Failed })
}
