//! `astudio tools` and `astudio catalog`.

use super::ctx::{Ctx, json_object};
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::table::{Table, pretty};
use contract::ops::catalog::{CatalogQuery, GetCatalog, KindPath};
use contract::ops::tools::{ExecuteBody, ExecuteTool, SlugPath};
use contract::wire::{Json, NoBody, NoQuery};
use contract::{Code, StudioError};
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
            let result = match ctx.call::<ExecuteTool>(SlugPath { slug: slug.clone() }, NoQuery, body).await {
                Ok(Json(result)) => result,
                Err(Failure::Studio(error)) if error.code == Code::NotFound => {
                    return Err(explained(ctx, &slug, error).await.into());
                }
                Err(other) => return Err(other),
            };
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

/// Says of a slug that is a toolkit, or a tool of one, why it cannot be run by itself; the refusal stays the same.
async fn explained(ctx: &Ctx, slug: &str, mut error: StudioError) -> StudioError {
    let path = KindPath { kind: "tools".to_owned() };
    let catalogue = ctx.call::<GetCatalog>(path, CatalogQuery::default(), NoBody).await;
    if let Ok(Json(answer)) = catalogue
        && let Some(why) = rows(&answer).iter().find_map(|row| of_toolkit(row, slug, &ctx.way.command("ask AGENT …")))
    {
        error.message = format!("There is no tool '{slug}' that runs by itself: {why}");
    }
    error
}

/// What a toolkit's row of the catalogue says of a slug.
fn of_toolkit(row: &Value, slug: &str, ask: &str) -> Option<String> {
    let own = row["slug"].as_str()?;
    let names = |access: &str| row["access"][access].as_array().into_iter().flatten().filter_map(Value::as_str);
    let all: Vec<&str> = row["access"].as_object().map(|_| names("read").chain(names("write")).collect())?;
    if own == slug {
        let names = all.join(", ");
        return Some(format!("it is a toolkit, of the tools {names}. An agent that has it calls them: {ask}."));
    }
    all.contains(&slug).then(|| {
        let asks = if names("write").any(|name| name == slug) { ", after a person's approval" } else { "" };
        format!("it belongs to the toolkit {own}. An agent that has that calls it{asks}: {ask}.")
    })
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
