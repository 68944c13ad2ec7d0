//! `astudio sessions` and `astudio turns`.

use super::ctx::Ctx;
use super::exit::{Exit, Outcome};
use super::table::{Table, pretty, record, when};
use super::{ask, watch};
use contract::ops::common::{AfterQuery, IdPath, NamePath};
use contract::ops::test::{AskAnswer, EndTest, ListTestSessions, SessionQuery, Transcript};
use contract::ops::turns::{CallPath, GetTurn, InterruptTurn, SettleBody, SettleCall, TurnEvents};
use contract::turn::{TurnEvent, TurnStatus};
use contract::wire::{Json, NoBody, NoQuery};

/// Commands over your test sessions.
#[derive(Debug, clap::Subcommand)]
pub enum Sessions {
    /// List your test sessions with an agent
    List {
        /// The agent
        agent: String,
    },
    /// Show the turns of a session
    Show {
        /// The agent
        agent: String,
        /// Its name; without it your default session
        session: Option<String>,
    },
    /// End a session
    End {
        /// The agent
        agent: String,
        /// Its name; without it your default session
        session: Option<String>,
    },
}

/// Commands over turns.
#[derive(Debug, clap::Subcommand)]
pub enum Turns {
    /// Show where a turn stands
    Show {
        /// Its id
        id: String,
    },
    /// Watch a turn to its end
    Watch {
        /// Its id
        id: String,
        /// Stop when it needs a person, with exit code 3
        #[arg(long)]
        no_wait: bool,
    },
    /// Take a turn up again whose process is gone, or whose approvals have been decided
    Resume {
        /// Its id
        id: String,
        /// Stop when it needs a person, with exit code 3
        #[arg(long)]
        no_wait: bool,
    },
    /// Stop a turn; its open approvals are withdrawn
    Interrupt {
        /// Its id
        id: String,
    },
    /// Say what became of a call whose outcome is unknown
    Settle {
        /// Id of the turn
        id: String,
        /// Number of the call
        ordinal: u32,
        /// Whether it had run
        #[arg(long, value_parser = ["yes", "no"])]
        ran: String,
        /// A note for the model
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
}

/// Runs a command over sessions.
pub async fn sessions(ctx: &Ctx, command: Sessions) -> Outcome {
    match command {
        Sessions::List { agent } => {
            let Json(list) = ctx.call::<ListTestSessions>(NamePath { name: agent }, NoQuery, NoBody).await?;
            ctx.out.answer(&list, |out| {
                let mut table = Table::new(&["SESSION", "TURNS", "AGENT VERSION", "STARTED", "LAST USED"]);
                for s in list.sessions.iter().filter(|s| !s.is_comparison()) {
                    let version = format!("{}{}", s.agent_version, if s.stale { " (changed since)" } else { "" });
                    table.row([s.session.clone(), s.turns.to_string(), version, when(s.started_at), when(s.last_at)]);
                }
                table.write(out, "You have no sessions with this agent.")
            })?;
        }
        Sessions::Show { agent, session } => {
            let query = SessionQuery { session };
            let Json(transcript) = ctx.call::<Transcript>(NamePath { name: agent }, query, NoBody).await?;
            ctx.out.answer(&transcript, |out| {
                for turn in &transcript.turns {
                    out.heading(&format!("turn {} ({})", turn.turn, turn.status.as_str()))?;
                    for entry in &turn.events {
                        if let Some(line) = told(&entry.event) {
                            out.line(&format!("{}  {line}", when(entry.at)))?;
                        }
                    }
                }
                Ok(())
            })?;
        }
        Sessions::End { agent, session } => {
            let query = SessionQuery { session };
            let Json(ended) = ctx.call::<EndTest>(NamePath { name: agent }, query, NoBody).await?;
            ctx.out.answer(&ended, |out| out.line(&ended.message))?;
        }
    }
    Ok(Exit::Done)
}

/// An entry of a turn's log in words; none for those that only matter to the machine.
fn told(event: &TurnEvent) -> Option<String> {
    use contract::chat::Block;
    Some(match event {
        TurnEvent::Started { text, .. } => format!("you: {text}"),
        TurnEvent::ModelReplied { blocks, .. } => {
            let words: Vec<&str> = blocks
                .iter()
                .filter_map(|block| match block {
                    Block::Text { text } => Some(text.as_str()),
                    _ => None,
                })
                .filter(|text| !text.is_empty())
                .collect();
            (!words.is_empty()).then(|| format!("agent: {}", words.join("\n")))?
        }
        TurnEvent::ModelFailed { message, .. } => format!("model failed: {message}"),
        TurnEvent::CallRefused { ordinal, message, .. } => format!("call {ordinal} refused: {message}"),
        TurnEvent::CallChecked { ordinal, tool, args, .. } => format!("call {ordinal}: {tool} {args}"),
        TurnEvent::ApprovalAsked { ordinal, approval } => format!("call {ordinal} waits for approval {approval}"),
        TurnEvent::ApprovalSettled { ordinal, how, .. } => {
            format!("call {ordinal} not run: {}", serde_json::to_value(how).unwrap_or_default())
        }
        TurnEvent::CallStarted { ordinal, .. } => format!("call {ordinal} started"),
        TurnEvent::CallEnded { ordinal, result } => match &result.error {
            Some(error) => format!("call {ordinal} failed: {error}"),
            None => format!("call {ordinal} answered: {}", result.value),
        },
        TurnEvent::CallUnknown { ordinal } => format!("call {ordinal}: outcome unknown"),
        TurnEvent::UnknownSettled { ordinal, by, ran, .. } => {
            format!("call {ordinal}: {by} says it had {}run", if *ran { "" } else { "not " })
        }
        TurnEvent::Interrupted { by } => format!("interrupted by {by}"),
        TurnEvent::LimitHit { limit } => format!("limit reached: {limit:?}"),
        TurnEvent::Ended { status, text } if *status != TurnStatus::Done => format!("{}: {text}", status.as_str()),
        TurnEvent::ModelAsked { .. } | TurnEvent::Ended { .. } => return None,
    })
}

/// Runs a command over turns.
pub async fn turns(ctx: &Ctx, command: Turns) -> Outcome {
    let Json(answer) = match command {
        Turns::Show { id } => ctx.call::<GetTurn>(IdPath { id }, NoQuery, NoBody).await?,
        Turns::Watch { id, no_wait } => {
            let events = ctx.call::<TurnEvents>(IdPath { id }, AfterQuery::default(), NoBody).await?;
            return watch::watch(ctx, events, no_wait).await;
        }
        Turns::Resume { id, no_wait } => return ask::resume(ctx, &id, no_wait).await,
        Turns::Interrupt { id } => ctx.call::<InterruptTurn>(IdPath { id }, NoQuery, NoBody).await?,
        Turns::Settle { id, ordinal, ran, note } => {
            let path = CallPath { id, ordinal: ordinal.to_string() };
            let Json(answer) = ctx.call::<SettleCall>(path, NoQuery, SettleBody { ran: ran == "yes", note }).await?;
            ctx.out.answer(&answer, |out| show(out, &answer))?;
            // A server drives the turn on by itself. This process ends now, so whoever wants the answer has to.
            if !answer.status.is_over() && !ctx.out.is_json() && !ctx.way.is_server() {
                ctx.out.note(&format!("The turn can go on. Take it up with: {} turns resume {}", ctx.way, answer.turn));
            }
            return Ok(Exit::Done);
        }
    };
    ctx.out.answer(&answer, |out| show(out, &answer))?;
    Ok(Exit::Done)
}

fn show(out: &super::output::Output, answer: &AskAnswer) -> std::io::Result<()> {
    let usage = &answer.usage;
    record(
        out,
        &[
            ("turn", Some(answer.turn.clone())),
            ("status", Some(answer.status.as_str().to_owned())),
            ("agent", Some(format!("{}, version {}", answer.agent_name, answer.agent_version))),
            ("session", Some(answer.session.clone())),
            ("asked", Some(answer.query.clone())),
            ("answer", Some(answer.response.clone())),
            ("key", Some(answer.key_source.clone())),
            ("tokens", Some(format!("{} in, {} out, {} cached", usage.input, usage.output, usage.cached))),
        ],
    )?;
    let mut table = Table::new(&["CALL", "TOOL", "STATE", "ARGUMENTS", "APPROVAL"]);
    for call in &answer.tool_calls {
        let approval = call.approval.clone().unwrap_or_else(|| "-".to_owned());
        table.row([call.ordinal.to_string(), call.tool.clone(), call.state.clone(), call.args.to_string(), approval]);
    }
    if !answer.tool_calls.is_empty() {
        table.write(out, "")?;
    }
    if answer.metadata.as_object().is_some_and(|map| !map.is_empty()) {
        out.line(&pretty(&answer.metadata))?;
    }
    Ok(())
}
