//! What people do every day: the commands that the command line and the plain workbench have in common.

use super::ctx::Ctx;
use super::exit::Outcome;
use super::{agents, approvals, audit, keys, me, people, sessions, tokens, tools};

/// The commands.
#[derive(Debug, clap::Subcommand)]
pub enum Everyday {
    /// List, read, create, change and delete agents
    #[command(subcommand)]
    Agents(agents::Command),
    /// See and decide what waits for a person
    #[command(subcommand)]
    Approvals(approvals::Command),
    /// Your test sessions with agents
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    /// Turns: where they stand, watch, resume, stop, settle
    #[command(subcommand)]
    Turns(sessions::Turns),
    /// Tools that agents can use
    #[command(subcommand)]
    Tools(tools::Command),
    /// Read a catalogue: what agents can be made of
    Catalog(tools::CatalogArgs),
    /// Your provider keys
    #[command(subcommand)]
    Keys(keys::Command),
    /// Who you are here and what you may do
    Me,
    /// Your personal tokens
    #[command(subcommand)]
    Tokens(tokens::Command),
    /// Tenants of this installation
    #[command(subcommand)]
    Tenants(people::Tenants),
    /// Users of your tenant
    #[command(subcommand)]
    Users(people::Users),
    /// Roles and groups in your tenant
    #[command(subcommand)]
    Members(people::Members),
    /// The journal of what happened
    #[command(subcommand)]
    Audit(audit::Command),
}

impl Everyday {
    /// Runs the command.
    pub async fn run(self, ctx: &Ctx) -> Outcome {
        match self {
            Self::Agents(command) => agents::run(ctx, command).await,
            Self::Approvals(command) => approvals::run(ctx, command).await,
            Self::Sessions(command) => sessions::sessions(ctx, command).await,
            Self::Turns(command) => sessions::turns(ctx, command).await,
            Self::Tools(command) => tools::run(ctx, command).await,
            Self::Catalog(args) => tools::catalog(ctx, args).await,
            Self::Keys(command) => keys::run(ctx, command).await,
            Self::Me => me::run(ctx).await,
            Self::Tokens(command) => tokens::run(ctx, command).await,
            Self::Tenants(command) => people::tenants(ctx, command).await,
            Self::Users(command) => people::users(ctx, command).await,
            Self::Members(command) => people::members(ctx, command).await,
            Self::Audit(command) => audit::run(ctx, command).await,
        }
    }
}
