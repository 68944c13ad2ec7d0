//! `astudio keys`. A key comes from stdin or from a variable, never from an argument, which every process could read.

use super::ctx::Ctx;
use super::exit::{Exit, Failure, Outcome, usage};
use super::table::{Table, when};
use contract::ops::keys::{DeleteKey, KeyStore, ListKeys, OptionalProviderPath, StoreKey};
use contract::wire::{Json, NoBody, NoPath, NoQuery};
use std::io::IsTerminal as _;

/// Commands over your provider keys.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List your provider keys, masked
    List,
    /// Store a provider key, sealed; it is read from stdin
    Set {
        /// The provider
        provider: String,
        /// Read it from this environment variable instead
        #[arg(long, value_name = "VARIABLE")]
        env: Option<String>,
    },
    /// Delete a provider key
    Delete {
        /// The provider
        provider: String,
    },
}

/// Runs a command.
pub async fn run(ctx: &Ctx, command: Command) -> Outcome {
    match command {
        Command::List => {
            let Json(list) = ctx.call::<ListKeys>(NoPath {}, NoQuery, NoBody).await?;
            ctx.out.answer(&list, |out| {
                let mut table = Table::new(&["PROVIDER", "KEY", "STORED"]);
                for key in &list.keys {
                    table.row([key.provider.clone(), key.masked.clone(), when(key.created_at)]);
                }
                let set = ctx.way.command("keys set PROVIDER");
                table.write(out, &format!("You have stored no keys. {set} stores one."))
            })?;
        }
        Command::Set { provider, env } => {
            let body = KeyStore { provider, api_key: key(env)? };
            let Json(stored) = ctx.call::<StoreKey>(OptionalProviderPath::default(), NoQuery, body).await?;
            ctx.out
                .answer(&stored, |out| out.line(&format!("Stored a key for {}: {}", stored.provider, stored.masked)))?;
        }
        Command::Delete { provider } => {
            let path = OptionalProviderPath { provider: Some(provider) };
            let Json(deleted) = ctx.call::<DeleteKey>(path, NoQuery, NoBody).await?;
            ctx.out.answer(&deleted, |out| {
                out.line(&format!("There is no key of yours for {} any more.", deleted.provider))
            })?;
        }
    }
    Ok(Exit::Done)
}

fn key(variable: Option<String>) -> Result<String, Failure> {
    let key = match variable {
        Some(name) => std::env::var(&name).map_err(|_| usage(format!("The variable {name} is not set.")))?,
        // A terminal would show the key while it is typed.
        None if std::io::stdin().is_terminal() => {
            return Err(usage(
                "Pipe the key in, as in `astudio keys set PROVIDER < FILE`, or name a variable with --env.",
            ));
        }
        None => std::io::read_to_string(std::io::stdin())
            .map_err(|e| usage(format!("stdin cannot be read as text ({}).", e.kind())))?,
    };
    let key = key.trim();
    if key.is_empty() {
        return Err(usage("The key is empty."));
    }
    Ok(key.to_owned())
}
