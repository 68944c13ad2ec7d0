//! `astudio api`: every operation by its id, from the declarations alone.

use super::coverage::command_of;
use super::ctx::{Ctx, Reach};
use super::exit::{Exit, Failure, Outcome, usage};
use super::output::Output;
use super::table::{Table, pretty};
use crate::app;
use client::Client;
use contract::operation::Meta;
use contract::wire::{Raw, WireReply, WireRequest};
use contract::{Result, StudioError};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Arguments of `astudio api`.
#[derive(Debug, clap::Args)]
pub struct ApiArgs {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// Commands over operations.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the operations
    List,
    /// Call an operation
    Call(CallArgs),
    /// Call one operation per line of stdin: {id, path, query, body, as}; answers {status, body}, a line each
    Batch,
}

/// A call.
#[derive(Debug, clap::Args)]
pub struct CallArgs {
    /// Its id, such as agents.get
    id: String,
    /// A path parameter; may be repeated
    #[arg(long = "path", value_name = "KEY=VALUE", value_parser = pair)]
    path: Vec<(String, String)>,
    /// A query parameter; may be repeated
    #[arg(long = "query", value_name = "KEY=VALUE", value_parser = pair)]
    query: Vec<(String, String)>,
    /// The body
    #[arg(long, value_name = "JSON", conflicts_with = "body")]
    json_body: Option<String>,
    /// The body from a file; `-` is stdin
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
}

fn pair(text: &str) -> std::result::Result<(String, String), String> {
    text.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())).ok_or_else(|| "write KEY=VALUE".to_owned())
}

/// Lists the operations; needs no home.
pub fn list(out: &Output) -> Outcome {
    let rows: Vec<Value> = contract::ops::ALL.iter().map(row).collect();
    out.answer(&json!({ "count": rows.len(), "operations": rows }), |out| {
        let mut table = Table::new(&["ID", "METHOD", "PATH", "COMMAND", "ABOUT"]);
        for meta in contract::ops::ALL {
            table.row([
                meta.id.to_owned(),
                meta.method.as_str().to_owned(),
                meta.routes[0].to_owned(),
                command_of(meta.id).unwrap_or("-").to_owned(),
                meta.about.to_owned(),
            ]);
        }
        table.write(out, "")
    })?;
    Ok(Exit::Done)
}

fn row(meta: &Meta) -> Value {
    let refusals: Vec<Value> =
        meta.refusals.iter().map(|(code, status)| json!({ "code": code, "status": status })).collect();
    json!({
        "id": meta.id,
        "about": meta.about,
        "method": meta.method.as_str(),
        "routes": meta.routes,
        "effect": format!("{:?}", meta.effect).to_lowercase(),
        "ok": meta.ok,
        "refusals": refusals,
        "command": command_of(meta.id),
    })
}

/// Calls one operation.
pub async fn call(ctx: &Ctx, args: CallArgs) -> Outcome {
    let body = match (args.json_body, args.body) {
        (Some(text), _) => Raw::Bytes(text.into_bytes()),
        (None, Some(file)) => Raw::Bytes(bytes(&file)?),
        (None, None) => Raw::Absent,
    };
    let request = WireRequest { path: args.path.into_iter().collect(), query: args.query, body };
    match ctx.client.call_by_id(&args.id, request).await? {
        WireReply::Json(_, value) if ctx.out.is_json() => ctx.out.json(&value)?,
        WireReply::Json(_, value) => ctx.out.line(&pretty(&value))?,
        WireReply::Events(_, mut events) => {
            while let Some(event) = events.next().await {
                ctx.out.json(&json!({ "id": event.id, "data": event.data }))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn bytes(file: &std::path::Path) -> std::result::Result<Vec<u8>, Failure> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let read = if file == std::path::Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|mut f| f.read_to_end(&mut bytes))
    };
    read.map_err(|e| usage(format!("{} cannot be read ({}).", file.display(), e.kind())))?;
    Ok(bytes)
}

/// A line of a batch. The body stays text, so that the engine sees it as it was written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    #[serde(default)]
    path: BTreeMap<String, String>,
    #[serde(default)]
    query: Map<String, Value>,
    #[serde(default)]
    body: Option<Box<RawValue>>,
    #[serde(default, rename = "as")]
    speak_as: Option<String>,
}

/// Answers line by line, in the order of the lines, until stdin ends.
pub async fn batch(ctx: &Ctx) -> Outcome {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    // Text that is no UTF-8 ends the batch: where the next line begins is not known.
    while let Some(line) =
        lines.next_line().await.map_err(|e| usage(format!("stdin cannot be read as text ({}).", e.kind())))?
    {
        if line.trim().is_empty() {
            continue;
        }
        let (status, body) = match answer(ctx, &line).await {
            Ok(answer) => answer,
            Err(error) => (error.status, error.body()),
        };
        ctx.out.json(&json!({ "status": status, "body": body }))?;
    }
    Ok(Exit::Done)
}

async fn answer(ctx: &Ctx, line: &str) -> Result<(u16, Value)> {
    let line: Line = serde_json::from_str(line).map_err(|e| {
        StudioError::invalid_request(format!("A line must be one object {{id, path, query, body, as}}: {e}."))
    })?;
    let client = match (&line.speak_as, &ctx.reach) {
        (Some(who), Reach::Home(app)) => Client::local(app.engine.clone(), app::speak_as(who, &app.tenant)?),
        (Some(_), Reach::Server(_)) => {
            return Err(StudioError::invalid_request(
                "A server knows who you are by your token; 'as' speaks for users of a home. Leave it out.",
            ));
        }
        (None, _) => ctx.client.clone(),
    };
    let request = WireRequest {
        path: line.path,
        query: pairs(line.query),
        body: line.body.map_or(Raw::Absent, |raw| Raw::Bytes(raw.get().as_bytes().to_vec())),
    };
    match client.call_by_id(&line.id, request).await? {
        WireReply::Json(status, value) => Ok((status, value)),
        WireReply::Events(status, mut events) => {
            let mut seen = Vec::new();
            while let Some(event) = events.next().await {
                // The next line may be the decision it waits for.
                let open = |key: &str| event.data[key].as_array().is_some_and(|list| !list.is_empty());
                let waits = event.data["type"] == "waiting" && (open("approvals") || open("unknown"));
                seen.push(json!({ "id": event.id, "data": event.data }));
                if waits {
                    break;
                }
            }
            Ok((status, json!({ "events": seen })))
        }
    }
}

/// Query values as texts; an array repeats its key.
fn pairs(query: Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let mut pairs = Vec::new();
    for (key, value) in query {
        match value {
            Value::Null => {}
            Value::Array(values) => pairs.extend(values.into_iter().map(|v| (key.clone(), text(v)))),
            one => pairs.push((key, text(one))),
        }
    }
    pairs
}
