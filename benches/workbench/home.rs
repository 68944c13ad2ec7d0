//! The home that the workbench is opened over: many agents, a long conversation, a short one, and a model that talks fast.

use super::Plan;
use super::screen::Screen;
use super::world::{ROOT, TENANT, World};
use astudio::app::Settings;
use astudio::{Caller, Client, Request};
use contract::ops::agents::{AgentCreate, CreateAgent, OptionalNamePath};
use contract::ops::common::NamePath;
use contract::ops::test::{Ask, AskBody, SessionQuery};
use contract::turn::TurnStatus;
use contract::wire::{Json, NoQuery};
use fakes::{Answer, Fake, Protocol};
use portable_pty::CommandBuilder;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// The agent with the long conversation.
pub const LONG: &str = "long-talker";
/// The one with the short conversation.
pub const SHORT: &str = "short-talker";
/// The one whose model talks fast.
pub const FAST: &str = "fast-talker";
/// The one nobody has spoken with.
pub const NEW: &str = "new-talker";
/// The first row of the list.
const FIRST: &str = "agent-00000";
/// What says that a conversation was read.
const READY: [&str; 2] = ["· version", "Nothing was said yet."];
/// Turns of the short conversation.
const FEW: usize = 20;
/// Tokens between two pauses of the fast model, and how long it pauses. A pause is a little longer than it says.
const BURST: usize = 75;
const PAUSE: Duration = Duration::from_millis(10);

/// A home, and the server that its fast model is on.
pub struct Home {
    folder: TempDir,
    _fake: Fake,
}

impl Home {
    /// Makes it.
    pub async fn new(plan: &Plan) -> Self {
        let answer = stream(plan.tokens);
        let fake = Fake::answering(Protocol::OpenAi, move |_| answer.clone());
        let config = format!("[providers.lab]\nbase_url = \"{}\"\nmodels = [\"fast\"]\n", fake.base_url());
        let settings = Settings::parse(&config).unwrap();
        let world = World::new(plan.agents, &settings).await;
        let client = Client::local(world.engine.clone(), Caller::user(ROOT, Some(TENANT)));
        for (name, llm) in
            [(LONG, "rehearsal:manual"), (SHORT, "rehearsal:manual"), (FAST, "lab:fast"), (NEW, "rehearsal:manual")]
        {
            let body = AgentCreate { name: Some(name.into()), llm: Some(llm.into()), ..AgentCreate::default() };
            client
                .call::<CreateAgent>(Request { path: OptionalNamePath::default(), query: NoQuery, body })
                .await
                .unwrap();
        }
        for (name, turns) in [(LONG, plan.turns), (SHORT, FEW.min(plan.turns))] {
            for n in 0..turns {
                ask(&client, name, n).await;
            }
        }
        drop(client);
        let folder = world.close();
        std::fs::write(folder.path().join("config.toml"), config).unwrap();
        Self { folder, _fake: fake }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The workbench over it, with its rows on screen.
    pub fn open(&self) -> Screen {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_astudio"));
        command.env_clear();
        command.env("PATH", "/usr/bin:/bin");
        command.env("HOME", self.path());
        command.env("ASTUDIO_HOME", self.path());
        Screen::start(command, FIRST)
    }

    /// The workbench with the chat with an agent on screen.
    pub fn chat(&self, agent: &str) -> Screen {
        // What was typed before the last one was ended would come back.
        let _ = std::fs::remove_dir_all(self.path().join("unsaved"));
        let screen = self.open();
        screen.answer("/", "the filter", |screen| screen.contents().contains("Esc close"));
        screen.answer(agent, "the agent", |screen| screen.contents().contains(&format!("›{agent}")));
        screen.send("\r");
        let read = |screen: &vt100::Screen| READY.iter().any(|text| screen.contents().contains(text));
        screen.answer("c", "the chat", read);
        screen
    }
}

/// A question and an answer as people and models write them: some Markdown, some lines.
async fn ask(client: &Client, name: &str, n: usize) {
    let said = match n % 5 {
        0 => format!("say Order {n} was sent **today**. It holds:\n\n- two cups\n- a `teapot`\n\nAnything else?"),
        1 => format!("say ```rust\nfn order_{n}() -> u32 {{\n    {n} // as booked\n}}\n```\nThat is all of it."),
        2 => format!("say | order | state |\n|---|---|\n| {n} | open |\n| {} | sent |", n + 1),
        _ => format!("say {}", format!("Order {n} waits for the warehouse, which counts again on Monday. ").repeat(4)),
    };
    let path = NamePath { name: name.into() };
    let body = AskBody { query: said, ..AskBody::default() };
    let Json(answer) = client.call::<Ask>(Request { path, query: SessionQuery::default(), body }).await.unwrap();
    assert_eq!(answer.status, TurnStatus::Done);
}

/// Numbered words in paragraphs, lists and code, sent in bursts.
fn stream(tokens: usize) -> Answer {
    let words: Vec<String> = (0..tokens)
        .map(|n| match n % 120 {
            60 => format!("\n\n- w{n} "),
            70 => format!("\n\n```\nw{n} "),
            90 => format!("\n```\n\nw{n} "),
            0 => format!("\n\nw{n} "),
            _ => format!("w{n} "),
        })
        .collect();
    words.chunks(BURST).fold(Answer::new(), |answer, burst| {
        let pieces: Vec<&str> = burst.iter().map(String::as_str).collect();
        answer.then_text(&pieces).then_pause(PAUSE)
    })
}
