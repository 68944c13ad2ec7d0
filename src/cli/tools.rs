//! `astudio tools` and `astudio catalog`.

use super::ctx::{Ctx, json_object};
use super::exit::{Exit, Outcome};
use super::output::Output;
use super::table::{Table, pretty};
use contract::ops::catalog::{CatalogQuery, GetCatalog, KindPath};
use contract::ops::tools::{ExecuteBody, ExecuteTool, SlugPath};
use contract::wire::{Json, NoBody, NoQuery};
use serde_json::Value;
use std::io;

/// Commands over tools.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the tools and toolkits that agents can use here
    List,
    /// Run a tool that only reads
    Execute {
        /// Its slug
        slug: String,
        /// Its arguments
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
    },
}

/// Arguments of `astudio catalog`.
#[derive(Debug, clap::Args)]
pub struct CatalogArgs {
    /// Which: base-classes, llm-clients, tools, vector-stores, model-params
    kind: String,
    /// Of this provider, for model-params
    #[arg(long)]
    provider: Option<String>,
    /// Of this model, for model-params
    #[arg(long)]
    model: Option<String>,
}

/// Runs a command.
pub async fn run(ctx: &Ctx, command: Command) -> Outcome {
    match command {
        Command::List => {
            let path = KindPath { kind: "tools".to_owned() };
            let Json(rows) = ctx.call::<GetCatalog>(path, CatalogQuery::default(), NoBody).await?;
            ctx.out.answer(&rows, |out| tool_table(out, &rows))?;
            Ok(Exit::Done)
        }
        Command::Execute { slug, args } => {
            let body = ExecuteBody { args: json_object("--args", &args)? };
            let Json(result) = ctx.call::<ExecuteTool>(SlugPath { slug }, NoQuery, body).await?;
            ctx.out.answer(&result, |out| match &result.error {
                Some(error) => {
                    out.note(&format!("{}: {error}", result.status));
                    Ok(())
                }
                None => out.line(&result.result.as_str().map_or_else(|| pretty(&result.result), str::to_owned)),
            })?;
            Ok(if result.success { Exit::Done } else { Exit::Failed })
        }
    }
}

/// Runs `astudio catalog`.
pub async fn catalog(ctx: &Ctx, args: CatalogArgs) -> Outcome {
    let tools = args.kind == "tools";
    let query = CatalogQuery { provider: args.provider, model: args.model };
    let Json(answer) = ctx.call::<GetCatalog>(KindPath { kind: args.kind }, query, NoBody).await?;
    ctx.out.answer(&answer, |out| if tools { tool_table(out, &answer) } else { out.line(&pretty(&answer)) })?;
    Ok(Exit::Done)
}

/// The rows of an answer: the answer itself, or its only list.
fn rows(answer: &Value) -> &[Value] {
    let list = match answer {
        Value::Object(map) => map.values().find_map(Value::as_array),
        other => other.as_array(),
    };
    list.map(Vec::as_slice).unwrap_or_default()
}

fn tool_table(out: &Output, answer: &Value) -> io::Result<()> {
    let mut table = Table::new(&["SLUG", "SOURCE", "ACCESS", "DESCRIPTION"]);
    for row in rows(answer) {
        let text = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
        let access = match &row["access"] {
            Value::Object(by) => {
                let count = |key: &str| by.get(key).and_then(Value::as_array).map_or(0, Vec::len);
                format!("{} read, {} write", count("read"), count("write"))
            }
            other => other.as_str().unwrap_or("-").to_owned(),
        };
        table.row([text("slug"), text("source"), access, text("description")]);
    }
    table.write(out, "There are no tools here.")
}
