//! A host with tools of its own: a lending library that puts the studio's engine into its program.
//!
//! It declares a toolkit (a read and a write) and a standalone tool, says who its people are with a scope resolver, plays
//! the model with a script, asks an agent for something that writes, approves exactly that call, and prints what came of it.
//!
//! `cargo run --example host`

#![allow(clippy::print_stdout)]

use astudio::app::{Models, Settings};
use astudio::contract::ops::agents::{AgentCreate, CreateAgent};
use astudio::contract::ops::approvals::{DecideApproval, Decision, DecisionBody, GetApproval};
use astudio::contract::ops::common::{IdPath, NamePath};
use astudio::contract::ops::test::{AskBody, AskStream, SessionQuery};
use astudio::contract::ops::turns::GetTurn;
use astudio::contract::turn::Watched;
use astudio::contract::wire::{Events, Json, NoBody, NoQuery};
use astudio::rules::policy::TenantToolingPolicy;
use astudio::rules::scope::RequestScope;
use astudio::tools::{Granted, HostTool, HostToolkit, HostTools, Look, Method, Registry, Tool, ToolError, async_trait};
use astudio::{Builder, Caller, Client, Request, ScopeResolver, SignIn, Store, StoreSettings};
use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

/// Who has which book, by tenant and title. A real host has a database here and opens it at the first call.
type Shelf = Arc<Mutex<BTreeMap<(String, String), Option<String>>>>;

/// The toolkit `lib_books` and the tool `lib_opening_hours`. One value serves every caller, so it takes the tenant from the
/// call.
struct Library {
    shelf: Shelf,
}

#[derive(Deserialize, JsonSchema)]
struct FindBook {
    /// The book's title.
    title: String,
}

#[derive(Deserialize, JsonSchema)]
struct LendBook {
    /// The book's title.
    title: String,
    /// Who takes it home.
    reader: String,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

impl Library {
    fn holder(&self, tenant: &str, title: &str) -> Result<Option<String>, ToolError> {
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let book = shelf.get(&(tenant.to_owned(), title.to_owned())).cloned();
        book.ok_or_else(|| ToolError::new(format!("There is no book '{title}'.")))
    }
}

#[async_trait]
impl Tool for Library {
    async fn run(&self, call: Granted<'_>) -> Result<Value, ToolError> {
        let tenant = call.tenant().unwrap_or_default();
        match call.method() {
            "find_book" => {
                let FindBook { title } = call.args()?;
                Ok(json!({ "title": title, "lent_to": self.holder(tenant, &title)? }))
            }
            "lend_book" => {
                let LendBook { title, reader } = call.args()?;
                if let Some(holder) = self.holder(tenant, &title)? {
                    return Err(ToolError::new(format!("'{title}' is with {holder}.")));
                }
                let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
                shelf.insert((tenant.to_owned(), title.clone()), Some(reader.clone()));
                Ok(json!({ "title": title, "lent_to": reader }))
            }
            _ => Ok(json!({ "open": "Tuesday to Saturday, 10 to 18" })),
        }
    }

    async fn preview(&self, look: Look<'_>) -> Result<Option<Value>, ToolError> {
        if look.method() != "lend_book" {
            return Ok(None);
        }
        let LendBook { title, reader } = look.args()?;
        let before = self.holder(look.tenant().unwrap_or_default(), &title)?;
        Ok(Some(json!({ "title": title, "changes": [{ "field": "lent_to", "before": before, "after": reader }] })))
    }
}

fn library(shelf: &Shelf) -> HostTools {
    let shelf = shelf.clone();
    let build = move || Ok(Arc::new(Library { shelf: shelf.clone() }) as Arc<dyn Tool>);
    HostTools::new("lib_")
        .toolkit(
            HostToolkit::new("lib_books", "lib", "The books of the library.", build.clone())
                .tenant_bound()
                .method(Method::read::<FindBook>("find_book", "Says where a book is."))
                .method(Method::write::<LendBook>("lend_book", "Lends a book to a reader.")),
        )
        .tool(HostTool::new(
            "lib_opening_hours",
            Method::read::<Nothing>("lib_opening_hours", "Says when the library is open."),
            build,
        ))
}

/// The people of this host: everybody who signed in works for the tenant of their sign-in and may author.
struct Staff;

#[async_trait]
impl ScopeResolver for Staff {
    async fn resolve(&self, sign_in: &SignIn) -> astudio::contract::Result<RequestScope> {
        let mut scope = RequestScope::new(Some(&sign_in.user_id), sign_in.tenant.as_deref());
        scope.may_author = true;
        scope.studio_enabled = true;
        Ok(scope)
    }
}

/// What plays the model: no provider, no network.
const SCRIPT: &str = r#"
name: librarian
about: I lend books.
rules:
  - when: {said: '^lend (?<title>.+) to (?<reader>\w+)$'}
    call: {tool: lib_lend_book, args: {title: '{{title}}', reader: '{{reader}}'}}
    then:
      - each_result:
          - {if: {ok: true}, say: "{{result.title}} is with {{result.lent_to}} now."}
          - say: "That did not work: {{why}}"
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    std::fs::create_dir(home.path().join("rehearsal"))?;
    std::fs::write(home.path().join("rehearsal/librarian.yaml"), SCRIPT)?;

    let emma = || ("north".to_owned(), "Emma".to_owned());
    let shelf: Shelf = Arc::new(Mutex::new(BTreeMap::from([(emma(), None)])));
    let mut registry = Registry::default();
    for rejected in registry.register(library(&shelf)) {
        println!("{rejected}");
    }
    let store = Store::open(&StoreSettings::new(home.path()))?;
    let engine = Builder::new(store, Arc::new(Models::new(&Settings::default(), home.path())))
        .registry(registry)
        .policy(TenantToolingPolicy::deny_all())
        .resolver(Arc::new(Staff))
        .build();
    let client = Client::local(engine.clone(), Caller::user("ann", Some("north")));

    let agent = AgentCreate {
        name: Some("librarian".into()),
        llm: Some("rehearsal:librarian".into()),
        config: json!({ "tools": ["lib_books", "lib_opening_hours"] }).as_object().cloned(),
        ..AgentCreate::default()
    };
    client.call::<CreateAgent>(Request { path: Default::default(), query: NoQuery, body: agent }).await?;

    let words = "lend Emma to Grete";
    println!("ann: {words}");
    let Events(mut turn) = client
        .call::<AskStream>(Request {
            path: NamePath { name: "librarian".into() },
            query: SessionQuery::default(),
            body: AskBody { query: words.into(), use_byok: true, ..AskBody::default() },
        })
        .await?;
    let mut turn_id = String::new();
    while let Some((_, seen)) = turn.next().await {
        match seen {
            Watched::Turn { turn, .. } => turn_id = turn,
            Watched::Waiting { approvals, .. } => {
                for id in approvals {
                    approve(&client, id).await?;
                }
            }
            _ => {}
        }
    }
    let path = IdPath { id: turn_id };
    let Json(answer) = client.call::<GetTurn>(Request { path, query: NoQuery, body: NoBody }).await?;
    println!("librarian: {}", answer.response);
    println!("on the shelf: {:?}", shelf.lock().unwrap_or_else(PoisonError::into_inner).get(&emma()));
    engine.runtime.shutdown().await;
    Ok(())
}

/// Looks at what is asked and says yes to exactly that.
async fn approve(client: &Client, id: String) -> Result<(), Box<dyn Error>> {
    let path = IdPath { id };
    let Json(asked) = client.call::<GetApproval>(Request { path: path.clone(), query: NoQuery, body: NoBody }).await?;
    println!("asked: {} {}", asked.tool, asked.args);
    println!("would change: {}", asked.preview.unwrap_or_default());
    let body = DecisionBody { decision: Decision::Approve, args: None, reason: None };
    let Json(decided) = client.call::<DecideApproval>(Request { path, query: NoQuery, body }).await?;
    println!("now: {}", decided.status.as_str());
    Ok(())
}
