//! `astudio --plain`: the workbench line by line, for screen readers and terminals that can do no more. Commands are typed
//! words; those of the command line work as they are. Nothing moves, nothing is drawn, and all is said on one stream.

mod input;
mod question;
mod talk;

use super::ctx::{Ctx, Reach};
use super::everyday::Everyday;
use super::exit::{Exit, Failure, Outcome, usage};
use super::{approvals, keys, sessions};
use clap::Parser as _;
use client::Dialect;
use contract::ops::agents::GetAgent;
use contract::ops::approvals::{ApprovalStatus, ApprovalsQuery, ListApprovals};
use contract::ops::common::NamePath;
use contract::ops::test::{AskBody, AskStream, SessionQuery, Transcript};
use contract::wire::{Json, NoBody, NoPath, NoQuery};
use contract::{Code, StudioError};
use input::Input;
use question::{Question, Said};
use talk::Ended;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What can be typed, first of all.
const HELP: &str = "\
agents [FILTER]        the agents you can see
chat AGENT [SESSION]   talk with one; then every line is a question to it
ask AGENT \"QUESTION\"   ask one thing
approvals              what waits for you
answer ID              hear one of them and decide it
help COMMAND           more about a command
quit                   leave

While an agent works: stop ends its turn, leave goes on with something else.
In a chat: /back leaves it, and / before any command does that command.
Also: sessions, turns, tools, catalog, keys, me, tokens, tenants, users, members, audit, as on the command line.";

/// A line that is a command.
#[derive(Debug, clap::Parser)]
#[command(no_binary_name = true, name = "plain", disable_version_flag = true)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Talk with an agent
    Chat {
        /// The agent
        agent: String,
        /// The session; without it your default session
        session: Option<String>,
    },
    /// Ask an agent one thing
    Ask {
        /// The agent
        agent: String,
        /// What to ask; in quotes where it has several words
        #[arg(required = true)]
        text: Vec<String>,
        /// In this session; without it in your default session with the agent
        #[arg(long)]
        session: Option<String>,
        /// Another model for this session
        #[arg(long, value_name = "P:M")]
        model: Option<String>,
    },
    /// Hear an approval, and decide it
    Answer {
        /// Its id
        id: String,
    },
    #[command(flatten)]
    Everyday(Everyday),
    /// Leave
    #[command(alias = "exit")]
    Quit,
}

/// The agent that lines are questions to.
struct Chat {
    agent: String,
    session: Option<String>,
}

/// The plain workbench.
pub(super) struct Plain<'a> {
    ctx: &'a Ctx,
    input: Input,
    /// Whether no more lines come.
    deaf: bool,
    interrupts: Signal,
    chat: Option<Chat>,
    /// What was told last of the approvals that wait.
    waiting: Waiting,
}

/// What waits for the person's approval.
#[derive(Clone, Debug, PartialEq)]
enum Waiting {
    /// So many.
    Count(usize),
    /// It cannot be known, and why.
    Unknown(String),
}

/// Runs it until the person leaves.
pub async fn run(ctx: &Ctx) -> Outcome {
    let interrupts = signal(SignalKind::interrupt())?;
    let mut plain = Plain { ctx, input: Input::new(), deaf: false, interrupts, chat: None, waiting: Waiting::Count(0) };
    ctx.out.line("astudio, line by line. Type help for what can be typed, quit to leave.")?;
    if let Reach::Server(proxy) = &ctx.reach {
        ctx.out.line(&format!("You work on the server {}.", proxy.host()))?;
    }
    loop {
        plain.tell_waiting().await?;
        let name = plain.chat.as_ref().map_or("", |chat| chat.agent.as_str());
        ctx.out.piece(&format!("{name}> "))?;
        let line = tokio::select! {
            line = plain.input.next() => line,
            _ = plain.interrupts.recv() => None,
        };
        let Some(line) = line else {
            ctx.out.line("")?;
            return Ok(Exit::Done);
        };
        match plain.line(line.text.trim()).await {
            Ok(Go::On) => {}
            Ok(Go::Quit(exit)) => return Ok(exit),
            Err(Failure::Output(error)) => return Err(error.into()),
            Err(failure) => ctx.out.failure(&failure, &ctx.way)?,
        }
    }
}

/// What comes after a line.
enum Go {
    On,
    Quit(Exit),
}

impl From<Ended> for Go {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Over | Ended::Left => Go::On,
            Ended::Alone => Go::Quit(Exit::Waiting),
        }
    }
}

impl Plain<'_> {
    /// Says how many approvals wait, when that is not what was said last.
    async fn tell_waiting(&mut self) -> Result<(), Failure> {
        let query = ApprovalsQuery { status: Some(ApprovalStatus::Pending), ..ApprovalsQuery::default() };
        let now = match self.ctx.call::<ListApprovals>(NoPath {}, query, NoBody).await {
            Ok(Json(list)) => Waiting::Count(list.approvals.iter().filter(|approval| approval.may_decide).count()),
            Err(Failure::Studio(error)) => Waiting::Unknown(error.message),
            Err(other) => return Err(other),
        };
        let before = std::mem::replace(&mut self.waiting, now.clone());
        match (now, before) {
            (Waiting::Count(now), Waiting::Count(before)) if now <= before => {}
            (Waiting::Count(0), _) => {}
            (Waiting::Count(now), _) => {
                self.ctx.out.line(&format!("{now} call(s) wait for your approval; type approvals."))?;
            }
            (now @ Waiting::Unknown(_), before) if now == before => {}
            (Waiting::Unknown(why), _) => {
                self.ctx.out.line(&format!("What waits for your approval is not known: {why}"))?;
            }
        }
        Ok(())
    }

    async fn line(&mut self, text: &str) -> Result<Go, Failure> {
        let command = match (&self.chat, text.strip_prefix('/')) {
            _ if text.is_empty() => return Ok(Go::On),
            (Some(_), Some("back")) => {
                self.chat = None;
                return Ok(Go::On);
            }
            (Some(chat), None) => {
                let (agent, session) = (chat.agent.clone(), chat.session.clone());
                return self.ask(agent, session, None, text.to_owned()).await;
            }
            // In a chat two of them begin a question with one.
            (Some(chat), Some(rest)) if rest.starts_with('/') => {
                let (agent, session) = (chat.agent.clone(), chat.session.clone());
                return self.ask(agent, session, None, rest.to_owned()).await;
            }
            (_, Some(rest)) => rest,
            (None, None) => text,
        };
        self.command(command).await
    }

    async fn command(&mut self, text: &str) -> Result<Go, Failure> {
        let mut words = shlex::split(text).ok_or_else(|| usage("A quotation mark has no end."))?;
        let first = words.first().map(String::as_str).unwrap_or_default().to_owned();
        match (first.as_str(), words.len()) {
            ("help", 1) => {
                self.ctx.out.line(HELP)?;
                return Ok(Go::On);
            }
            ("agents", 1) => words.push("list".into()),
            ("approvals", 1) => words.extend(["list", "--status", "pending"].map(str::to_owned)),
            _ => {}
        }
        // What is typed here are commands; a command that read from the same place would wait for ever.
        if words
            .iter()
            .any(|word| matches!(word.trim_start_matches('@'), "-") || word.ends_with("=-") || word.ends_with("=@-"))
        {
            return Err(usage("Nothing can be read from stdin here; name a file."));
        }
        match Line::try_parse_from(words) {
            Ok(line) => self.act(line.command).await,
            Err(error) => {
                self.ctx.out.line(error.render().to_string().trim_end())?;
                Ok(Go::On)
            }
        }
    }

    async fn act(&mut self, command: Command) -> Result<Go, Failure> {
        let ctx = self.ctx;
        match command {
            Command::Quit => return Ok(Go::Quit(Exit::Done)),
            Command::Chat { agent, session } => return self.begin_chat(agent, session).await,
            Command::Ask { agent, text, session, model } => {
                return self.ask(agent, session, model, text.join(" ")).await;
            }
            Command::Answer { id }
            | Command::Everyday(Everyday::Approvals(
                approvals::Command::Approve { id, args: None } | approvals::Command::Reject { id, .. },
            )) => {
                return self.answer(&id).await;
            }
            Command::Everyday(Everyday::Approvals(approvals::Command::Approve { .. })) => {
                return Err(usage("Other arguments are given outside: astudio approvals approve ID --args JSON"));
            }
            Command::Everyday(Everyday::Turns(
                sessions::Turns::Watch { id, .. } | sessions::Turns::Resume { id, .. },
            )) => {
                return Ok(self.follow(&id).await?.into());
            }
            Command::Everyday(Everyday::Keys(keys::Command::Set { env: None, .. })) => {
                return Err(usage("A key would be shown while it is typed. Name a variable with --env."));
            }
            Command::Everyday(command) => command.run(ctx).await?,
        };
        Ok(Go::On)
    }

    /// From now on lines are questions to this agent. A turn that is open there is heard first.
    async fn begin_chat(&mut self, agent: String, session: Option<String>) -> Result<Go, Failure> {
        let path = || NamePath { name: agent.clone() };
        let Json(item) = self.ctx.call::<GetAgent>(path(), NoQuery, NoBody).await?;
        let about = item.description.map(|about| format!(": {about}")).unwrap_or_default();
        self.ctx.out.line(&format!("You talk with {}{about} /back leaves, /help tells more.", item.name))?;
        let query = SessionQuery { session: session.clone() };
        let last = match self.ctx.call::<Transcript>(path(), query, NoBody).await {
            Ok(Json(transcript)) => transcript.turns.into_iter().next_back(),
            // A session that does not exist yet has nothing open.
            Err(Failure::Studio(error)) if error.code == Code::NotFound => None,
            Err(Failure::Studio(error)) => {
                self.ctx.out.line(&format!("Whether an answer is still open here is not known: {}", error.message))?;
                None
            }
            Err(other) => return Err(other),
        };
        self.chat = Some(Chat { agent, session });
        match last.filter(|turn| !turn.status.is_over()) {
            Some(turn) => {
                self.ctx.out.line("An answer is still open here; this goes on with it.")?;
                Ok(self.follow(&turn.turn).await?.into())
            }
            None => Ok(Go::On),
        }
    }

    async fn ask(
        &mut self,
        agent: String,
        session: Option<String>,
        model: Option<String>,
        query: String,
    ) -> Result<Go, Failure> {
        let body = AskBody { query, use_byok: true, session, model, ..AskBody::default() };
        let events = self.ctx.call::<AskStream>(NamePath { name: agent }, SessionQuery::default(), body).await?;
        Ok(self.listen(events).await?.into())
    }

    /// Asks about one approval, outside its turn.
    async fn answer(&mut self, id: &str) -> Result<Go, Failure> {
        if let Reach::Server(proxy) = &self.ctx.reach
            && proxy.dialect().await? == Dialect::Original
        {
            let message = "The server, a Python Agent Studio, shows its questions on its own web page only: this one cannot be heard \
                           here, and nothing is answered unheard. Whoever has read it there can answer it there, or outside \
                           this workbench with: astudio approvals approve ID (or reject ID)";
            return Err(StudioError::new(Code::Unavailable, 503, message).into());
        }
        let Some(question) = Question::ask(self.ctx, &mut self.input, id).await? else { return Ok(Go::On) };
        loop {
            let line = tokio::select! {
                line = self.input.next() => line,
                _ = self.interrupts.recv() => None,
            };
            let Some(line) = line else { return Ok(Go::Quit(Exit::Waiting)) };
            match question.hear(self.ctx, &line).await? {
                Said::Nothing => {}
                Said::Later => return Ok(Go::On),
                Said::Closed => {
                    let turn = question.turn();
                    self.ctx.out.line(&format!("If nobody watches its turn, it goes on with: turns resume {turn}"))?;
                    return Ok(Go::On);
                }
            }
        }
    }
}
