//! The demo and the example host.

use crate::behind::Behind;
use crate::place::Where;
use astudio::app::demo::{self, Options, Report, USER};
use astudio::app::{App, Places, Settings, open};
use astudio::contract::ops::agents::{
    AgentItem, DeleteAgent, GetAgent, ListAgents, SetAgentVisibility, VisibilityPatch,
};
use astudio::contract::ops::approvals::{
    ApprovalStatus, ApprovalView, ApprovalsQuery, DecideApproval, DecisionBody, ListApprovals,
};
use astudio::contract::ops::common::{IdPath, NamePath, Page, VersionQuery};
use astudio::contract::ops::test::{Ask, AskAnswer, AskBody, SessionQuery};
use astudio::contract::ops::tools::{ExecuteBody, ExecuteTool, SlugPath};
use astudio::contract::ops::turns::GetTurn;
use astudio::contract::turn::TurnStatus;
use astudio::contract::wire::{Json, NoBody, NoPath, NoQuery};
use astudio::{Caller, Client, Request};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A home with the demo in it.
pub struct Demo {
    pub app: App,
    home: TempDir,
    server: Option<Behind>,
}

impl Demo {
    pub async fn new() -> (Self, Report) {
        let home = TempDir::new().unwrap();
        let app = open(&places(&home), &Settings::default()).await.unwrap();
        let demo = Self { app, home, server: None };
        let report = demo.seed(false).await;
        (demo, report)
    }

    /// The demo with people who speak to the engine, or to a server before it.
    pub async fn on(place: Where) -> Self {
        let (mut demo, _) = Self::new().await;
        if place == Where::Server {
            let server = Behind::start(&demo.app.engine).await;
            for user in ["ada", "ben", "olga", "root", "vic"] {
                server.knows(user, Some(demo::TENANT)).await;
            }
            server.knows(&demo.app.user, Some(&demo.app.tenant)).await;
            demo.server = Some(server);
        }
        demo
    }

    pub async fn seed(&self, reset: bool) -> Report {
        demo::seed(&self.app.engine, Options { reset }).await.unwrap()
    }

    pub fn of(&self, user: &str) -> Person {
        self.at(demo::TENANT, user)
    }

    pub fn at(&self, tenant: &str, user: &str) -> Person {
        Person(match &self.server {
            Some(server) => server.client(user, Some(tenant)),
            None => Client::local(self.app.engine.clone(), Caller::user(user, Some(tenant))),
        })
    }
}

fn places(home: &TempDir) -> Places {
    Places { home: home.path().to_owned(), config: None }
}

/// Somebody who uses the demo.
pub struct Person(pub Client);

impl Person {
    pub async fn agents(&self) -> Vec<AgentItem> {
        let request = Request { path: NoPath {}, query: Page::default(), body: NoBody };
        self.0.call::<ListAgents>(request).await.unwrap().0.agents
    }

    pub async fn names(&self) -> Vec<String> {
        self.agents().await.into_iter().map(|agent| agent.name).collect()
    }

    /// Asks and does not wait for people.
    pub async fn ask(&self, agent: &str, words: &str) -> AskAnswer {
        let body = AskBody { query: words.into(), use_byok: true, wait: Some(0), ..AskBody::default() };
        let request = Request { path: NamePath { name: agent.into() }, query: SessionQuery::default(), body };
        self.0.call::<Ask>(request).await.unwrap().0
    }

    pub async fn pending(&self) -> Vec<ApprovalView> {
        let query = ApprovalsQuery { status: Some(ApprovalStatus::Pending), ..ApprovalsQuery::default() };
        self.0.call::<ListApprovals>(Request { path: NoPath {}, query, body: NoBody }).await.unwrap().0.approvals
    }

    pub async fn decide(&self, id: &str, body: Value) -> Result<ApprovalView, astudio::contract::StudioError> {
        let body: DecisionBody = serde_json::from_value(body).unwrap();
        let request = Request { path: IdPath { id: id.into() }, query: NoQuery, body };
        self.0.call::<DecideApproval>(request).await.map(|Json(view)| view)
    }

    /// The answer of a turn once it is over.
    pub async fn end_of(&self, turn: &str) -> AskAnswer {
        let start = Instant::now();
        loop {
            let request = Request { path: IdPath { id: turn.into() }, query: NoQuery, body: NoBody };
            let Json(answer) = self.0.call::<GetTurn>(request).await.unwrap();
            if answer.status.is_over() {
                return answer;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "the turn does not end: {answer:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// An order, read by the desk's own tool; null when there is none.
    pub async fn order(&self, id: i64) -> Value {
        let args = json!({ "order_id": id }).as_object().unwrap().clone();
        let request =
            Request { path: SlugPath { slug: "desk_get_order".into() }, query: NoQuery, body: ExecuteBody { args } };
        self.0.call::<ExecuteTool>(request).await.unwrap().0.result
    }
}

#[tokio::test]
async fn the_demo_is_made_once_and_found_again() {
    let (demo, report) = Demo::new().await;
    assert_eq!((report.agents_made.len(), report.orders_written), (14, 40));
    assert_eq!((report.agents_kept.len(), report.agents_deleted.len()), (0, 0));
    assert_eq!(report.before.as_deref(), Some(&*format!("{}@{}", demo.app.user, demo.app.tenant)));
    let again = demo.seed(false).await;
    assert_eq!((again.agents_made.len(), again.agents_kept.len(), again.orders_written), (0, 14, 0));
    assert_eq!(again.before, None);
    let tries: Vec<&str> = report.tries.iter().map(|step| step.command).collect();
    for part in ["ask orders-desk", "approvals list", "approvals approve"] {
        assert!(tries.iter().any(|command| command.starts_with(part)), "{part}: {tries:?}");
    }
    let home = open(&places(&demo.home), &Settings::default()).await.unwrap();
    assert_eq!((home.user.as_str(), home.tenant.as_str()), (USER, demo::TENANT), "commands speak as ben from now on");
}

#[tokio::test]
async fn everybody_sees_what_is_theirs() {
    let (demo, _) = Demo::new().await;
    let ada = demo.of("ada").names().await;
    assert_eq!(ada.len(), 14, "an administrator sees all: {ada:?}");
    let ben = demo.of("ben").names().await;
    for (name, seen) in
        [("orders-desk", true), ("chaos", true), ("night-watch", true), ("support", false), ("sales-notes", false)]
    {
        assert_eq!(ben.contains(&name.to_owned()), seen, "ben and {name}");
    }
    let vic = demo.of("vic").names().await;
    for (name, seen) in [("orders-desk", true), ("support", true), ("chaos", false), ("stock-clerk", false)] {
        assert_eq!(vic.contains(&name.to_owned()), seen, "vic and {name}");
    }
    for agent in demo.of("ada").agents().await {
        assert!(agent.llm.unwrap_or_default().starts_with("rehearsal:"), "{}", agent.name);
    }
    let desk = demo.of("ben").agents().await.into_iter().find(|a| a.name == "orders-desk").unwrap();
    assert_eq!((desk.owner.as_deref(), desk.visibility.as_str()), (Some("ben"), "tenant"));
}

#[tokio::test]
async fn every_agent_of_the_demo_answers() {
    let (demo, _) = Demo::new().await;
    let ada = demo.of("ada");
    for name in ada.names().await {
        let answer = ada.ask(&name, "hello").await;
        let answer = ada.end_of(&answer.turn).await;
        assert!(!answer.response.is_empty(), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn a_reset_brings_agents_and_orders_back() {
    let (demo, _) = Demo::new().await;
    let ben = demo.of("ben");
    let asked = ben.ask("orders-desk", "cancel order 1007").await;
    let open = ben.pending().await;
    ben.decide(&open[0].id, json!({ "decision": "approve" })).await.unwrap();
    ben.end_of(&asked.turn).await;
    assert_eq!(ben.order(1007).await["status"], "cancelled");
    let path = || NamePath { name: "orders-desk".into() };
    let private = VisibilityPatch { visibility: "private".into(), allowed_groups: Vec::new() };
    ben.0.call::<SetAgentVisibility>(Request { path: path(), query: NoQuery, body: private }).await.unwrap();
    let greeter = Request { path: NamePath { name: "greeter".into() }, query: VersionQuery::default(), body: NoBody };
    ben.0.call::<DeleteAgent>(greeter).await.unwrap();

    let kept = demo.seed(false).await;
    assert_eq!(kept.agents_made, ["greeter"], "without a reset only what is missing is made");
    assert_eq!(ben.order(1007).await["status"], "cancelled");
    let waiting = ben.ask("orders-desk", "cancel order 1003").await;
    assert_eq!(ben.pending().await.len(), 1);
    let report = demo.seed(true).await;
    assert_eq!(report.sessions_ended, 1);
    assert_eq!(ben.pending().await.len(), 0, "no question outlives the agent that asked it");
    assert_eq!(ben.end_of(&waiting.turn).await.status, TurnStatus::Interrupted);
    assert_eq!((report.agents_made.len(), report.agents_deleted.len(), report.orders_written), (14, 14, 40));
    assert_eq!(ben.order(1007).await["status"], "open");
    let desk = ben.0.call::<GetAgent>(Request { path: path(), query: NoQuery, body: NoBody }).await.unwrap().0;
    assert_eq!(desk.visibility, "tenant");
    let again = ben.ask("orders-desk", "what's up with order 1007?").await;
    assert!(ben.end_of(&again.turn).await.response.contains("open"));
}

#[test]
fn the_example_host_runs() {
    let tests = std::env::current_exe().unwrap();
    let host = tests.parent().unwrap().parent().unwrap().join("examples/host");
    assert!(host.is_file(), "build it with `cargo build --example host`");
    let out = std::process::Command::new(host).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    for line in [
        r#"asked: lib_lend_book {"reader":"Grete","title":"Emma"}"#,
        r#""before":null"#,
        "now: approved",
        "librarian: Emma is with Grete now.",
        r#"on the shelf: Some(Some("Grete"))"#,
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
}
