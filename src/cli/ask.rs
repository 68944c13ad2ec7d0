//! `astudio ask`: a question to an agent, watched to its end.

use super::ctx::{Ctx, read_text};
use super::exit::{Failure, Outcome, usage};
use super::watch::{finish, watch};
use contract::StudioError;
use contract::ops::agents::ListAgents;
use contract::ops::common::{AfterQuery, IdPath, NamePath, Page};
use contract::ops::test::{AskBody, AskStream, ListTestSessions, SessionQuery, Transcript};
use contract::ops::turns::{GetTurn, ResumeTurn, TurnEvents};
use contract::wire::{Json, NoBody, NoPath, NoQuery};
use std::path::Path;

/// Arguments of `astudio ask`.
#[derive(Debug, clap::Args)]
pub struct AskArgs {
    /// The agent
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    agent: Option<String>,
    /// What to ask; `-` reads it from stdin
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    text: Option<String>,
    /// In this session; without it in your default session with the agent
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    session: Option<String>,
    /// Do not wait for a person: say what has to be approved and end with exit code 3
    #[arg(long)]
    no_wait: bool,
    /// Another model for this session
    #[arg(long, value_name = "P:M", conflicts_with = "resume")]
    model: Option<String>,
    /// Whose key pays
    #[arg(long, value_parser = ["server", "byok"], conflicts_with = "resume")]
    key_source: Option<String>,
    /// Take the last turn of your session with this name up again
    #[arg(long, value_name = "SESSION")]
    resume: Option<String>,
    /// The agent of the session to resume, where two have one of this name
    #[arg(long = "agent", value_name = "AGENT", requires = "resume", id = "of_agent")]
    of_agent: Option<String>,
}

/// Runs the command.
pub async fn run(ctx: &Ctx, args: AskArgs) -> Outcome {
    if let Some(session) = args.resume {
        let turn = last_turn(ctx, &session, args.of_agent).await?;
        return resume(ctx, &turn, args.no_wait).await;
    }
    let (Some(name), Some(text)) = (args.agent, args.text) else {
        return Err(usage("Name an agent and what to ask it."));
    };
    let query = if text == "-" { read_text(Path::new("-"))? } else { text };
    let body = AskBody {
        query,
        use_byok: args.key_source.as_deref() != Some("server"),
        key_source: args.key_source,
        session: args.session,
        model: args.model,
        wait: None,
    };
    let events = ctx.call::<AskStream>(NamePath { name }, SessionQuery::default(), body).await?;
    watch(ctx, events, args.no_wait).await
}

/// Takes a turn up again and watches it to its end; a finished one says its answer.
pub async fn resume(ctx: &Ctx, turn: &str, no_wait: bool) -> Outcome {
    let path = || IdPath { id: turn.to_owned() };
    let Json(answer) = ctx.call::<GetTurn>(path(), NoQuery, NoBody).await?;
    if answer.status.is_over() {
        return finish(ctx, turn, true).await;
    }
    let events = ctx.call::<TurnEvents>(path(), AfterQuery::default(), NoBody).await?;
    let mut watching = std::pin::pin!(watch(ctx, events, no_wait));
    // Answers only when the turn rests, so it runs beside the watching; a refusal ends both.
    tokio::select! {
        outcome = &mut watching => outcome,
        resumed = ctx.call::<ResumeTurn>(path(), NoQuery, NoBody) => {
            match resumed {
                Err(Failure::Studio(error)) if ctx.is_away(&error) => {}
                other => _ = other?,
            }
            watching.await
        }
    }
}

/// Id of the last turn of the caller's session with this name.
async fn last_turn(ctx: &Ctx, session: &str, agent: Option<String>) -> Result<String, Failure> {
    let agent = match agent {
        Some(agent) => agent,
        None => agent_of(ctx, session).await?,
    };
    let query = SessionQuery { session: Some(session.to_owned()) };
    let Json(transcript) = ctx.call::<Transcript>(NamePath { name: agent }, query, NoBody).await?;
    Ok(transcript.turns.into_iter().next_back().ok_or_else(|| StudioError::not_found("Session", session))?.turn)
}

/// The one agent with which the caller has a session of this name.
async fn agent_of(ctx: &Ctx, session: &str) -> Result<String, Failure> {
    let Json(list) = ctx.call::<ListAgents>(NoPath {}, Page::default(), NoBody).await?;
    let mut found = Vec::new();
    for agent in list.agents {
        let Json(own) = ctx.call::<ListTestSessions>(NamePath { name: agent.name.clone() }, NoQuery, NoBody).await?;
        if own.sessions.iter().any(|s| s.session == session) {
            found.push(agent.name);
        }
    }
    match found.as_slice() {
        [] => Err(StudioError::not_found("Session", session).into()),
        [_] => Ok(found.remove(0)),
        _ => Err(usage(format!("Sessions called '{session}' exist with {}. Name one with --agent.", found.join(", ")))),
    }
}
