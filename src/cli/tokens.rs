//! `astudio tokens`.

use super::ctx::Ctx;
use super::exit::{Exit, Outcome};
use super::table::{Table, record, when};
use contract::ops::common::IdPath;
use contract::ops::tokens::{CreateToken, ListTenantTokens, ListTokens, RevokeTenantToken, RevokeToken, TokenCreate};
use contract::wire::{Json, NoBody, NoPath, NoQuery};

/// Commands over personal tokens.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List your tokens
    List {
        /// All tokens of your tenant, for administrators
        #[arg(long)]
        all: bool,
    },
    /// Make a token; its secret is shown once
    Create {
        /// Its name
        name: String,
        /// Limit it: run, read, author:agents, author:tools, manage:tools, analysis; may be repeated
        #[arg(long = "scope", value_name = "SCOPE")]
        scopes: Vec<String>,
        /// Days until it ends, 1 to 3650
        #[arg(long, value_name = "N")]
        days: Option<u32>,
    },
    /// Revoke a token
    Revoke {
        /// Its id
        id: String,
        /// Somebody else's of your tenant, for administrators
        #[arg(long)]
        all: bool,
    },
}

/// Runs a command.
pub async fn run(ctx: &Ctx, command: Command) -> Outcome {
    match command {
        Command::List { all } => {
            let Json(list) = if all {
                ctx.call::<ListTenantTokens>(NoPath {}, NoQuery, NoBody).await?
            } else {
                ctx.call::<ListTokens>(NoPath {}, NoQuery, NoBody).await?
            };
            ctx.out.answer(&list, |out| {
                let mut table =
                    Table::new(&["ID", "NAME", "PREFIX", "USER", "SCOPES", "CREATED", "EXPIRES", "LAST USED"]);
                for token in &list.tokens {
                    let scopes = if token.scopes.is_empty() { "all".to_owned() } else { token.scopes.join(", ") };
                    table.row([
                        token.id.clone(),
                        token.name.clone(),
                        token.prefix.clone(),
                        token.user.clone(),
                        scopes,
                        when(token.created_at),
                        token.expires_at.map_or_else(|| "never".to_owned(), when),
                        token.last_used_at.map_or_else(|| "never".to_owned(), when),
                    ]);
                }
                table.write(out, "There are no tokens.")
            })?;
        }
        Command::Create { name, scopes, days } => {
            let Json(token) = ctx.call::<CreateToken>(NoPath {}, NoQuery, TokenCreate { name, scopes, days }).await?;
            ctx.out.answer(&token, |out| {
                out.note("Keep the secret now: it is not shown again.");
                record(
                    out,
                    &[
                        ("token", Some(token.id.clone())),
                        ("name", Some(token.name.clone())),
                        ("scopes", Some(token.scopes.join(", "))),
                        ("expires", token.expires_at.map(when)),
                        ("secret", token.secret.clone()),
                    ],
                )
            })?;
        }
        Command::Revoke { id, all } => {
            let Json(revoked) = if all {
                ctx.call::<RevokeTenantToken>(IdPath { id }, NoQuery, NoBody).await?
            } else {
                ctx.call::<RevokeToken>(IdPath { id }, NoQuery, NoBody).await?
            };
            ctx.out.answer(&revoked, |out| out.line(&format!("Revoked {}.", revoked.id)))?;
        }
    }
    Ok(Exit::Done)
}
