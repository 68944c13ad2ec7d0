//! A home with people and agents, made by the operations that everybody uses.

use astudio::app::{Models, Settings};
use astudio::{Caller, Engine, Store, StoreSettings};
use contract::Micros;
use contract::ops::agents::CreateAgent;
use contract::ops::people::{Member, Role, Tenant, User};
use contract::wire::{Raw, WireRequest};
use engine::Builder;
use engine::people::Memberships;
use serde_json::json;
use std::sync::Arc;
use store::StoreError;
use store::repo::{people, settings};
use tempfile::TempDir;

pub const TENANT: &str = "bench";
/// Builder; owns the agents.
pub const OWNER: &str = "owner";
/// Viewer; sees the agents because they are shared with the tenant.
pub const READER: &str = "reader";
/// Administers the platform; the home's own person.
pub const ROOT: &str = "root";

const CATEGORIES: [&str; 3] = ["sales", "support", "warehouse"];

/// An engine over a home of its own.
pub struct World {
    pub engine: Engine,
    home: TempDir,
}

impl World {
    /// A home with so many agents, whose models are those of the settings.
    pub async fn new(agents: usize, settings: &Settings) -> World {
        let home = folder();
        let store = Store::open(&StoreSettings::new(home.path())).unwrap();
        assert!(trust::journal::install(&store));
        store.write(settle).await.unwrap();
        let engine = Builder::new(store.clone(), Arc::new(Models::new(settings, home.path())))
            .resolver(Arc::new(Memberships(store)))
            .build();
        let world = World { engine, home };
        let makers = (0..64.min(agents)).map(|maker| {
            let engine = world.engine.clone();
            tokio::spawn(async move {
                for n in (maker..agents).step_by(64) {
                    create(&engine, n).await;
                }
            })
        });
        for maker in makers.collect::<Vec<_>>() {
            maker.await.unwrap();
        }
        world
    }

    /// Closes the store and leaves the home.
    pub fn close(self) -> TempDir {
        let World { engine, home } = self;
        drop(engine);
        home
    }
}

/// The name of an agent.
pub fn name(n: usize) -> String {
    format!("agent-{n:05}")
}

pub fn caller(user: &str) -> Caller {
    Caller::user(user, Some(TENANT))
}

/// An empty folder on the disk that holds the build, which is no memory file system as `/tmp` may be.
pub fn folder() -> TempDir {
    tempfile::Builder::new().prefix("bench-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn settle(tx: &mut dyn store::Tx) -> Result<(), StoreError> {
    let now = Micros::now();
    let tenant =
        Tenant { id: TENANT.into(), name: TENANT.into(), active: true, approvals: "asker".into(), created_at: now };
    people::insert_tenant(tx, &tenant)?;
    for (id, role) in [(OWNER, Role::Builder), (READER, Role::Viewer), (ROOT, Role::Admin)] {
        let user = User { id: id.into(), name: id.into(), email: None, active: true, created_at: now };
        people::insert_user(tx, &user, id == ROOT)?;
        let member = Member { user: id.into(), tenant: TENANT.into(), role, groups: vec!["sales".into()], since: now };
        people::put_member(tx, &member)?;
    }
    settings::set(tx, settings::DEFAULT_TENANT, TENANT)?;
    settings::set(tx, settings::DEFAULT_USER, ROOT)
}

/// Agents as people make them: a prompt of some lines, one in ten of its owner alone, one in ten for a group.
async fn create(engine: &Engine, n: usize) {
    let mut body = json!({
        "name": name(n),
        "llm": "rehearsal:greeter",
        "description": format!("Answers questions about region {} in a few words.", n % 97),
        "category": CATEGORIES[n % CATEGORIES.len()],
        "config": {
            "temperature": 0.2,
            "max_tokens": 2000,
            "system_prompt": "You answer questions about orders of one region. Look them up before you answer. ".repeat(6),
        },
    });
    let (visibility, groups) = match n % 10 {
        0 => ("private", json!([])),
        1 => ("groups", json!(["sales"])),
        _ => ("tenant", json!([])),
    };
    body["visibility"] = json!(visibility);
    body["allowed_groups"] = groups;
    let request = WireRequest { body: Raw::Bytes(body.to_string().into_bytes()), ..WireRequest::default() };
    engine.call::<CreateAgent>(caller(OWNER), request).await.unwrap();
}
