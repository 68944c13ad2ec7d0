//! The command line: arguments, and one file per group of commands.
//!
//! Commands call typed operations through the client and show what they answer; they decide nothing. Every command knows
//! `--json`, and ends with an exit code of [`exit::Exit`].

mod agents;
mod api;
mod approvals;
mod ask;
mod audit;
mod completions;
pub mod coverage;
mod ctx;
mod demo;
mod doctor;
mod everyday;
pub mod exit;
mod keys;
mod me;
mod migrate;
mod output;
mod pages;
mod people;
mod plain;
mod reach;
mod serve;
mod sessions;
mod table;
mod terminal;
mod tokens;
mod tools;
mod watch;
mod workbench;

use crate::app::workbench::Log;
use crate::app::{self, LogFormat, LogSettings, Places, Settings, Whither};
use clap::Parser;
use clap::error::ErrorKind;
use client::{Client, Proxy};
use contract::{Code, StudioError};
use ctx::{Bare, Ctx, Reach};
use everyday::Everyday;
use exit::{Exit, Failure, Outcome, exit_of};
use output::Output;
use reach::Way;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// How long the end of the program waits for work that cannot be cut short, such as a running tool.
const LAST_WORK: Duration = Duration::from_secs(5);

/// What the workbench logs when the settings say nothing.
const WORKBENCH_FILTER: &str = "warn,astudio=info";

/// What the server logs when the settings say nothing.
const SERVER_FILTER: &str = "warn,astudio=info,astudio_server=info";

/// What to try first.
const FIRST_STEPS: &str = "\
A terminal workbench for LLM agents of many tenants.

Try:
  astudio                           open the workbench, on a terminal
  astudio demo                      fill this home with agents to play with, and open it
  astudio agents list               see them
  astudio ask AGENT \"a question\"    ask one; changes wait for your approval
  astudio approvals list            what waits for you
  astudio doctor                    check this home, its policy and its providers
  astudio --help                    all commands
";

/// The arguments of the program.
#[derive(Debug, Parser)]
#[command(
    name = "astudio",
    version,
    about = "A terminal workbench for LLM agents of many tenants",
    propagate_version = true
)]
pub struct Args {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Flags of every command.
#[derive(Debug, clap::Args)]
struct Global {
    /// Answer in JSON, errors too
    #[arg(long, global = true)]
    json: bool,
    /// The home folder: database, keys, scripts [env: ASTUDIO_HOME]
    #[arg(long, global = true, value_name = "FOLDER")]
    home: Option<PathBuf>,
    /// The settings file; else config.toml in the home or in the platform's folder for settings [env: ASTUDIO_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Work on this server instead of a home [env: ASTUDIO_SERVER]
    #[arg(long, global = true, value_name = "URL")]
    server: Option<String>,
    /// Your token for the server; ASTUDIO_TOKEN or a profile is a better place, for other users of this machine can read arguments
    #[arg(long, global = true, value_name = "TOKEN", value_parser = secret)]
    token: Option<text::Secret>,
    /// Whether the token was typed.
    #[arg(skip)]
    token_typed: bool,
    /// Use this profile of the settings: a home, or a server and who you are there [env: ASTUDIO_PROFILE]
    #[arg(long, global = true, value_name = "NAME")]
    profile: Option<String>,
    /// Speak for another user of this home [env: ASTUDIO_AS]
    #[arg(long = "as", global = true, value_name = "USER[@TENANT]")]
    speak_as: Option<String>,
    /// The workbench line by line, for screen readers and terminals that can do no more
    #[arg(long, global = true, conflicts_with = "json")]
    plain: bool,
    /// Change a setting for this call, such as turn.steps=4; may be repeated
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Global {
    /// What is not said on the command line is taken from the environment. Not left to the reader of arguments: in the usage
    /// line of an error it would show such a flag as if it had been typed.
    fn with_environment(mut self) -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        self.home = self.home.or_else(|| variable("ASTUDIO_HOME").map(PathBuf::from));
        self.config = self.config.or_else(|| variable("ASTUDIO_CONFIG").map(PathBuf::from));
        let word = |name| variable(name).and_then(|value| value.into_string().ok());
        self.server = self.server.or_else(|| word("ASTUDIO_SERVER"));
        self.token_typed = self.token.is_some();
        self.token = self.token.or_else(|| word("ASTUDIO_TOKEN").map(|token| text::Secret::new(token.trim().into())));
        self.profile = self.profile.or_else(|| word("ASTUDIO_PROFILE"));
        self.speak_as = self.speak_as.or_else(|| word("ASTUDIO_AS"));
        self
    }
}

/// Holds a secret argument so that nothing prints it. An empty one is refused: it comes from a variable that is not set, and
/// must not make the call somebody else's.
fn secret(text: &str) -> std::result::Result<text::Secret, &'static str> {
    let secret = text.trim();
    if secret.is_empty() { Err("it is empty") } else { Ok(text::Secret::new(secret.to_owned())) }
}

/// The commands.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Ask an agent, and watch it work
    Ask(ask::AskArgs),
    #[command(flatten)]
    Everyday(Everyday),
    /// Fill this home with agents to play with
    Demo(demo::DemoArgs),
    /// Serve this home over HTTP
    Serve(serve::ServeArgs),
    /// Check this home, its policies and its providers
    Doctor,
    /// The schema of this home
    #[command(subcommand)]
    Migrate(migrate::Command),
    /// List and call any operation of the contract
    Api(api::ApiArgs),
    /// Write completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write the manual page
    Man,
    /// Write a page of the documentation
    #[command(subcommand, hide = true)]
    Docs(pages::Docs),
    /// Bring a terminal back that a program left in a bad state
    ResetTerminal,
}

/// Reads the command line, does what it says, and ends.
pub fn main() -> ExitCode {
    let mut args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return misread(&error),
    };
    args.global = args.global.with_environment();
    let out = Output::new(args.global.json);
    let mut way = Way::default();
    let outcome = run(args, out, &mut way);
    let exit = match outcome {
        Ok(exit) => exit,
        // Whoever read the output has seen enough.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Done,
        Err(failure) => {
            let exit = match &failure {
                Failure::Studio(error) => exit_of(error),
                Failure::Output(_) => Exit::Failed,
            };
            // If even this cannot be written there is nobody to tell.
            let _ = out.failure(&failure, &way);
            exit
        }
    };
    exit.into()
}

/// Says what is wrong with the arguments, or gives the help that was asked for.
fn misread(error: &clap::Error) -> ExitCode {
    let help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    // The arguments could not be read, so the flag is looked for by hand.
    let json = std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if json {
        let out = Output::new(true);
        let text = error.render().to_string();
        let _ = if help {
            out.json(&serde_json::json!({ "help": text }))
        } else {
            let text = text.trim().trim_start_matches("error: ").to_owned();
            out.json(&StudioError::new(Code::InvalidRequest, 400, text).body())
        };
    } else {
        let _ = error.print();
    }
    if help { Exit::Done.into() } else { Exit::Usage.into() }
}

/// Does what the arguments say. Once it is known how this program is called again where they lead, `way` says it.
fn run(args: Args, out: Output, way: &mut Way) -> Outcome {
    let Args { global, command } = args;
    let terminal = workbench::has_terminal(&out);
    let plain = global.plain || workbench::has_plain_terminal(&out);
    match &command {
        None if !terminal && !plain => {
            out.answer(&serde_json::json!({ "help": FIRST_STEPS }), |out| out.piece(FIRST_STEPS))?;
            return Ok(Exit::Done);
        }
        // These need no home and no settings.
        Some(Command::Completions { shell }) => return completions::run(&out, *shell),
        Some(Command::Man) => return pages::man(&out),
        Some(Command::Docs(page)) => return pages::docs(&out, page),
        Some(Command::ResetTerminal) => return terminal::reset(&out),
        Some(Command::Api(api::ApiArgs { command: None | Some(api::Command::List) })) => return api::list(&out),
        _ => {}
    }
    let opens = match &command {
        None => true,
        Some(Command::Demo(args)) => (terminal || plain) && args.opens(),
        Some(_) => false,
    };
    let out = if opens && plain { out.together() } else { out };
    let mut places = Places::find(global.home.clone(), global.config.clone())?;
    let settings = Settings::load(places.config.as_deref(), variables(), &global.set)?;
    // What the workbench owns the terminal for, nothing else may write to.
    let log = (opens && !plain).then(Log::default);
    let face = match (&log, opens) {
        (Some(log), _) => Face::Screen(log.clone()),
        (None, true) => Face::Plain,
        (None, false) => Face::None,
    };
    let filter = match &command {
        Some(Command::Serve(_)) => SERVER_FILTER,
        // On a screen of its own the log disturbs nobody.
        _ if log.is_some() => WORKBENCH_FILTER,
        _ => &settings.log.filter,
    };
    start_log(&settings.log, filter, log)?;
    let whither = reach::whither(&global, &settings)?;
    let (speak_as, server) = match whither {
        Whither::Home { home, speak_as } => {
            // A home that is named wins over the profile's.
            places.home = home.filter(|_| global.home.is_none()).unwrap_or(places.home);
            (speak_as, None)
        }
        Whither::Server(server) => (None, Some(*server)),
    };
    *way = if opens && plain {
        Way::typed(server.is_some())
    } else {
        Way::of(&global, server.is_some(), places.config.as_deref())
    };
    let bare = Bare { out, places, settings, speak_as, server };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let runtime = Ending(Some(runtime));
    runtime.block_on(dispatch(bare, way.clone(), command, face))
}

/// Ends the runtime in bounded time on every way out, a panic too: a task that never yields would keep the process for ever.
struct Ending(Option<tokio::runtime::Runtime>);

impl std::ops::Deref for Ending {
    type Target = tokio::runtime::Runtime;
    fn deref(&self) -> &Self::Target {
        self.0.as_ref().expect("the runtime is taken out only when its holder is dropped")
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(LAST_WORK);
        }
    }
}

async fn dispatch(bare: Bare, way: Way, command: Option<Command>, face: Face) -> Outcome {
    let command = match command {
        Some(Command::Migrate(command)) => return migrate::run(&bare, command).await,
        Some(Command::Doctor) => return doctor::run(&bare).await,
        Some(Command::Serve(args)) => return serve::run(bare, args, &way).await,
        command => command,
    };
    let Bare { out, places, settings, speak_as, server } = bare;
    if let Some(server) = server {
        let proxy = Proxy::new(server)?;
        // On its screen the workbench says it itself.
        let _told = (!matches!(face, Face::Screen(_))).then(|| reach::tell_trouble(out, &proxy));
        let ctx = Ctx { out, client: Client::proxy(proxy.clone()), reach: Reach::Server(proxy), way };
        return act(&ctx, command, &places, &settings, face).await;
    }
    let app = app::open(&places, &settings).await?;
    let caller = app.caller(speak_as.as_deref())?;
    let ctx = Ctx { out, client: Client::local(app.engine.clone(), caller), reach: Reach::Home(app), way };
    let outcome = act(&ctx, command, &places, &settings, face).await;
    if let Reach::Home(app) = &ctx.reach {
        workbench::leave(&ctx.out, app).await;
    }
    outcome
}

async fn act(ctx: &Ctx, command: Option<Command>, places: &Places, settings: &Settings, face: Face) -> Outcome {
    let Some(command) = command else { return open(ctx, ctx.client.clone(), places, settings, face).await };
    match command {
        Command::Ask(args) => ask::run(ctx, args).await,
        Command::Everyday(command) => command.run(ctx).await,
        Command::Demo(args) => {
            let client = demo::run(ctx, args).await?;
            open(ctx, client, places, settings, face).await
        }
        Command::Api(api::ApiArgs { command: Some(api::Command::Call(args)) }) => api::call(ctx, args).await,
        Command::Api(api::ApiArgs { command: Some(api::Command::Batch) }) => api::batch(ctx).await,
        // Served before there was an engine.
        Command::Api(_) => api::list(&ctx.out),
        Command::Migrate(_) | Command::Doctor | Command::Serve(_) => Ok(Exit::Done),
        Command::Completions { shell } => completions::run(&ctx.out, shell),
        Command::Man => pages::man(&ctx.out),
        Command::Docs(page) => pages::docs(&ctx.out, &page),
        Command::ResetTerminal => terminal::reset(&ctx.out),
    }
}

/// What is opened, and how it looks.
enum Face {
    /// Nothing: a command says what it has to say.
    None,
    /// The workbench on the whole screen, with the log in it.
    Screen(Log),
    /// The workbench line by line.
    Plain,
}

/// Opens the workbench as this client.
async fn open(ctx: &Ctx, client: Client, places: &Places, settings: &Settings, face: Face) -> Outcome {
    if let Reach::Server(proxy) = &ctx.reach {
        // Afterwards the terminal belongs to the workbench.
        proxy.ask_password().await?;
    }
    match face {
        Face::None => Ok(Exit::Done),
        Face::Screen(log) => workbench::run(ctx, client, places, settings, log).await,
        Face::Plain => {
            let ctx = Ctx { out: ctx.out, client, reach: ctx.reach.clone(), way: ctx.way.clone() };
            plain::run(&ctx).await
        }
    }
}

/// The environment, without what is no text.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Begins the program's own log: on stderr, or in the workbench's. `usual` counts while the settings say nothing else.
fn start_log(settings: &LogSettings, usual: &str, log: Option<Log>) -> Result<(), StudioError> {
    let said = settings.filter != LogSettings::default().filter;
    let filter = EnvFilter::try_new(if said { &settings.filter } else { usual })
        .map_err(|e| StudioError::new(Code::InvalidConfig, 422, format!("log.filter: {e}")))?;
    let build = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
    // A second start in one process keeps the first log.
    let _ = match (log, settings.format) {
        (Some(log), _) => build.with_writer(log).try_init(),
        (None, LogFormat::Text) => build.with_writer(std::io::stderr).try_init(),
        (None, LogFormat::Json) => build.with_writer(std::io::stderr).json().flatten_event(true).try_init(),
    };
    Ok(())
}

#[cfg(test)]
mod tests;
