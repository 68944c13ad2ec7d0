//! An installation with its own people, for the cases that need one.

use crate::behind::Behind;
use crate::place::Where;
use crate::world::answer;
use crate::world::{Answer, NoModels};
use contract::ops::people::{Member, Role, Tenant, User};
use contract::wire::{Raw, WireReply, WireRequest};
use contract::{Micros, Operation};
use engine::people::Memberships;
use engine::tokens::sign_in;
use engine::{Builder, Caller, Engine, Serve};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use store::repo::people;
use store::vals;
use store::{Store, StoreError, StoreSettings};
use tempfile::TempDir;
use trust::journal;
use trust::vault::Vault;

/// An installation: `acme` with `ana` (Admin), `bo` (Builder, in `sales`) and `vic` (Viewer); `globex` with `gus` (Admin) and
/// `bo` (Viewer); `root` administers the platform and is Viewer of `acme`; `nt` is nowhere a member.
pub struct Town {
    pub engine: Engine,
    pub store: Store,
    pub home: TempDir,
    server: Option<Behind>,
}

impl Town {
    pub async fn new() -> Self {
        let home = TempDir::new().unwrap();
        let vault = Vault::load(&|_| None, Some(home.path())).unwrap();
        Self::with(home, vault).await
    }

    pub async fn with(home: TempDir, vault: Option<Vault>) -> Self {
        let store = Store::open(&StoreSettings::new(home.path())).unwrap();
        assert!(journal::install(&store));
        store.write::<_, StoreError, _>(seed).await.unwrap();
        let engine = Self::engine(&store, vault);
        Self { engine, store, home, server: None }
    }

    /// The installation, asked itself or over a server.
    pub async fn on(place: Where) -> Self {
        let mut town = Self::new().await;
        if place == Where::Server {
            town.server = Some(Behind::start(&town.engine).await);
        }
        town
    }

    /// An engine over this database.
    pub fn engine(store: &Store, vault: Option<Vault>) -> Engine {
        Builder::new(store.clone(), Arc::new(NoModels))
            .vault(vault.map(Arc::new))
            .resolver(Arc::new(Memberships(store.clone())))
            .build()
    }

    /// Calls an operation as `user@tenant`, or as a user without a tenant.
    pub async fn call<O: Operation>(&self, who: &str, path: &[(&str, &str)], body: Value) -> Answer
    where
        Engine: Serve<O>,
    {
        let (user, tenant) = who.split_once('@').map_or((who, None), |(user, tenant)| (user, Some(tenant)));
        let Some(server) = &self.server else {
            return call_as::<O>(&self.engine, Caller::user(user, tenant), path, body).await;
        };
        match server.call(O::ID, user, tenant, asked(path, body)).await {
            Ok(WireReply::Json(status, body)) => Answer { status, body },
            Ok(WireReply::Events(..)) => panic!("{} answers with a stream", O::ID),
            Err(refusal) => Answer { status: refusal.status, body: refusal.body() },
        }
    }

    /// Calls an operation with a token.
    pub async fn with_token<O: Operation>(&self, secret: &str, body: Value) -> Answer
    where
        Engine: Serve<O>,
    {
        match sign_in(&self.store, secret).await {
            Ok(sign_in) => {
                call_as::<O>(&self.engine, Caller { sign_in: Some(sign_in), ..Caller::default() }, &[], body).await
            }
            Err(refusal) => Answer { status: refusal.status, body: refusal.body() },
        }
    }

    pub async fn count(&self, sql: &str) -> i64 {
        self.store.read(|tx| tx.query_one(sql, &[])).await.unwrap().unwrap().int(0).unwrap()
    }

    pub async fn sql(&self, sql: &'static str) -> u64 {
        self.store.write::<_, StoreError, _>(move |tx| tx.exec(sql, vals![])).await.unwrap()
    }
}

pub async fn call_as<O: Operation>(engine: &Engine, caller: Caller, path: &[(&str, &str)], body: Value) -> Answer
where
    Engine: Serve<O>,
{
    answer::<O>(engine.call::<O>(caller, asked(path, body)).await)
}

fn asked(path: &[(&str, &str)], body: Value) -> WireRequest {
    let path = path.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let body = if body.is_null() { Raw::Absent } else { Raw::Bytes(body.to_string().into_bytes()) };
    WireRequest { path, query: Vec::new(), body }
}

fn seed(tx: &mut dyn store::Tx) -> Result<(), StoreError> {
    let at = Micros(1_790_000_000_000_000);
    for id in ["acme", "globex"] {
        let tenant = Tenant { id: id.into(), name: id.into(), active: true, approvals: "asker".into(), created_at: at };
        assert!(people::insert_tenant(tx, &tenant)?);
    }
    for id in ["ana", "bo", "vic", "gus", "root", "nt"] {
        let user = User { id: id.into(), name: id.into(), email: None, active: true, created_at: at };
        assert!(people::insert_user(tx, &user, id == "root")?);
    }
    for (tenant, user, role, groups) in [
        ("acme", "ana", Role::Admin, vec![]),
        ("acme", "bo", Role::Builder, vec!["sales".to_owned()]),
        ("acme", "vic", Role::Viewer, vec![]),
        ("acme", "root", Role::Viewer, vec![]),
        ("globex", "gus", Role::Admin, vec![]),
        ("globex", "bo", Role::Viewer, vec![]),
    ] {
        people::put_member(tx, &Member { user: user.into(), tenant: tenant.into(), role, groups, since: at })?;
    }
    Ok(())
}

/// Whether any file of a folder holds the text.
pub fn found_in(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return found_in(&path, text);
        }
        std::fs::read(&path).is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
    })
}

/// No body.
pub const NOTHING: Value = Value::Null;
