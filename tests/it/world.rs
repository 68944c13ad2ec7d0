//! The fixture world of the behaviour cases, in this process: an opted-in host and a plain one over one database.
//!
//! `acme` has `u1` (owner), `u2` (peer), `g1u` (in group `g1`), `adm` (administrator), `sup` (superuser) and `u1-reader` (`u1`
//! without the right to author); `globex` has `u9`; `nt` has no tenant. The plain host knows `p1`, `p2` and the superuser
//! `ps`. Who calls is named by user; a request is answered as HTTP would answer it, with a status and JSON.

use async_trait::async_trait;
use contract::wire::{Body, Query, Raw, Reply, WireReply, WireRequest};
use contract::{Operation, Result, StudioError, ops::agents};
use engine::{Builder, Caller, Engine, EngineSettings, Pbac, ScopeResolver, Serve, SignIn};
use models::{ModelClient, ModelError, ModelErrorKind};
use rules::policy::TenantToolingPolicy;
use rules::scope::RequestScope;
use runtime::ModelSource;
use serde_json::{Value, json};
use std::sync::Arc;
use store::{Store, StoreSettings};
use tempfile::TempDir;
use text::Secret;
use tools::{Granted, HostTool, HostToolkit, HostTools, Method, Registry, Tool, ToolError};

/// One home with both hosts.
pub struct World {
    /// The opted-in host.
    pub tenants: Engine,
    /// The plain host.
    pub plain: Engine,
    /// The database of both.
    pub store: Store,
    _home: TempDir,
}

/// What a host of the world can be given.
#[derive(Clone, Default)]
pub struct Setup {
    pub settings: EngineSettings,
    pub pbac: Option<Arc<dyn Pbac>>,
    /// Without one, nothing but what the hosts bring.
    pub policy: Option<TenantToolingPolicy>,
}

/// An answer, as HTTP would carry it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    /// The code of a refusal.
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// Fails unless it is this refusal.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code()), (status, code), "{self:?}");
    }

    /// The body of a success; fails otherwise.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{self:?}");
        self.body
    }
}

/// A request under construction.
#[derive(Clone, Default)]
pub struct Ask {
    wire: WireRequest,
    route_tenant: Option<String>,
}

/// A request without parameters.
pub fn ask() -> Ask {
    Ask::default()
}

/// A request to the record of this name.
pub fn at(name: &str) -> Ask {
    ask().path("name", name)
}

impl Ask {
    pub fn path(mut self, key: &str, value: &str) -> Self {
        self.wire.path.insert(key.into(), value.into());
        self
    }

    pub fn query(mut self, key: &str, value: &str) -> Self {
        self.wire.query.push((key.into(), value.into()));
        self
    }

    /// With a JSON body, sent as bytes.
    pub fn json(self, body: Value) -> Self {
        self.bytes(body.to_string().as_bytes())
    }

    /// With exactly these bytes as body.
    pub fn bytes(mut self, body: &[u8]) -> Self {
        self.wire.body = Raw::Bytes(body.to_vec());
        self
    }

    /// On the mount of this tenant.
    pub fn on(mut self, tenant: &str) -> Self {
        self.route_tenant = Some(tenant.into());
        self
    }
}

/// Whom a user name stands for, on the opted-in host.
fn scope(user: &str) -> Value {
    let (id, tenant) = match user {
        "u1" | "u2" | "g1u" | "adm" | "sup" => (user, Some("acme")),
        "u1-reader" => ("u1", Some("acme")),
        "u2-reader" => ("u2", Some("acme")),
        "u9" => (user, Some("globex")),
        "nt" => (user, None),
        other => panic!("nobody is called {other}"),
    };
    json!({
        "user_id": id,
        "tenant": tenant,
        "groups": if user == "g1u" { json!(["g1"]) } else { json!([]) },
        "is_superuser": user == "sup",
        "may_author": !user.ends_with("-reader"),
        "may_administer": user == "adm",
        "studio_enabled": true,
    })
}

/// The caller of this name. On the plain host the name itself is the user, and `ps` is superuser.
pub fn caller(user: &str, plain: bool) -> Caller {
    let sign_in = SignIn {
        user_id: user.into(),
        credential: user.into(),
        superuser: user == "ps",
        claims: if plain { Value::Null } else { scope(user) },
        ..SignIn::default()
    };
    Caller { sign_in: Some(sign_in), ..Caller::default() }
}

struct Claims;

#[async_trait]
impl ScopeResolver for Claims {
    async fn resolve(&self, sign_in: &SignIn) -> Result<RequestScope> {
        serde_json::from_value(sign_in.claims.clone()).map_err(|_| StudioError::internal())
    }
}

/// Knows every model's name and reaches none.
pub struct NoModels;

#[async_trait]
impl ModelSource for NoModels {
    fn resolve(&self, llm: &str) -> std::result::Result<(String, String), String> {
        let (provider, model) = llm.split_once(':').unwrap_or((llm, "default"));
        Ok((provider.into(), model.into()))
    }

    async fn connect(&self, _: &str, _: Option<&Secret>) -> std::result::Result<Arc<dyn ModelClient>, ModelError> {
        Err(ModelError::new(ModelErrorKind::Unsupported, "This world has no models."))
    }

    fn needs_key(&self, _: &str) -> bool {
        false
    }

    fn server_key(&self, _: &str) -> Option<Secret> {
        None
    }

    fn window(&self, _: &str, _: &str) -> Option<u64> {
        None
    }

    fn catalog(&self) -> Vec<Value> {
        Vec::new()
    }
}

struct Notes;

#[async_trait]
impl Tool for Notes {
    async fn run(&self, call: Granted<'_>) -> std::result::Result<Value, ToolError> {
        Ok(json!({ "ran": call.method() }))
    }
}

/// Cannot give back what it holds.
struct Stuck;

#[async_trait]
impl Tool for Stuck {
    async fn run(&self, _: Granted<'_>) -> std::result::Result<Value, ToolError> {
        Ok(Value::Null)
    }

    async fn close(&self) -> std::result::Result<(), String> {
        Err("it does not close".into())
    }
}

fn registry() -> Registry {
    let object = || json!({ "type": "object" });
    let stuck = Method::with_schema("stuck", "Reads nothing.", object()).reads();
    let stuck = HostTool::new("hx_stuck", stuck, || Ok(Arc::new(Stuck)));
    let notes = HostToolkit::new("hx_notes", "hx", "Notes of the host.", || Ok(Arc::new(Notes)))
        .method(Method::with_schema("list_notes", "Lists notes.", object()).reads())
        .method(Method::with_schema("add_note", "Adds a note.", object()));
    let mut registry = Registry::default();
    let rejected = registry.register(HostTools::new("hx_").toolkit(notes).tool(stuck));
    assert!(rejected.is_empty(), "{rejected:?}");
    registry
}

impl World {
    /// The world with its rows: `a-private`, `a-tenant`, `a-groups` of `u1`, `b-agent` of `u9`, and GLOBAL `g-agent` of `p1`.
    pub async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    /// The same, set up otherwise.
    pub async fn with(setup: Setup) -> Self {
        let world = Self::empty(setup);
        let create = async |user: &str, name: &str, more: Value| {
            let mut body = json!({ "name": name, "llm": "anthropic:x", "description": format!("About {name}.") });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            world.call::<agents::CreateAgent>(user, ask().json(body)).await.ok();
        };
        create("u1", "a-private", json!({})).await;
        create("u1", "a-tenant", json!({ "visibility": "tenant" })).await;
        create("u1", "a-groups", json!({})).await;
        let groups = json!({ "visibility": "groups", "allowed_groups": ["g1"] });
        world.call::<agents::SetAgentVisibility>("adm", at("a-groups").json(groups)).await.ok();
        create("u9", "b-agent", json!({})).await;
        create("p1", "g-agent", json!({})).await;
        world
    }

    /// The world without rows.
    pub fn empty(setup: Setup) -> Self {
        let home = TempDir::new().unwrap();
        let store = Store::open(&StoreSettings::new(home.path())).unwrap();
        let builder = || {
            Builder::new(store.clone(), Arc::new(NoModels))
                .registry(registry())
                .policy(setup.policy.clone().unwrap_or_default())
                .settings(setup.settings.clone())
        };
        let mut tenants = builder().resolver(Arc::new(Claims));
        if let Some(pbac) = setup.pbac.clone() {
            tenants = tenants.pbac(pbac);
        }
        Self { tenants: tenants.build(), plain: builder().build(), store, _home: home }
    }

    /// The host on which this user is known, and the user as its caller.
    pub fn host(&self, user: &str) -> (&Engine, Caller) {
        let plain = user.starts_with('p');
        (if plain { &self.plain } else { &self.tenants }, caller(user, plain))
    }

    /// Calls an operation as this user.
    pub async fn call<O: Operation>(&self, user: &str, ask: Ask) -> Answer
    where
        Engine: Serve<O>,
    {
        let (engine, caller) = self.host(user);
        let caller = Caller { route_tenant: ask.route_tenant, ..caller };
        answer::<O>(engine.call::<O>(caller, ask.wire).await)
    }

    /// The single number that a query finds.
    pub async fn count(&self, sql: &str) -> i64 {
        let found = self.store.read(|tx| tx.query_one(sql, &[])).await.unwrap();
        found.unwrap().int(0).unwrap()
    }

    /// Everything that a refused write must leave as it was.
    pub async fn records(&self) -> Vec<store::Row> {
        let mut rows = Vec::new();
        for table in ["agents", "agent_versions", "agent_tooling", "audit"] {
            let sql = format!("select '{table}', * from {table} order by 1, 2, 3");
            rows.extend(self.store.read::<_, store::StoreError, _>(|tx| tx.query(&sql, &[])).await.unwrap());
        }
        rows
    }
}

/// A reply as HTTP would carry it.
pub fn answer<O: Operation>(reply: Result<O::Reply>) -> Answer {
    match reply.map(|reply| reply.into_wire(O::OK)) {
        Ok(WireReply::Json(status, body)) => Answer { status, body },
        Ok(WireReply::Events(..)) => panic!("{} answers with a stream", O::ID),
        Err(refusal) => Answer { status: refusal.status, body: refusal.body() },
    }
}

/// The query and body of an operation, opened from what was asked.
pub fn opened<O: Operation>(ask: Ask) -> (Result<O::Query>, Result<O::Body>) {
    (O::Query::open(ask.wire.query), O::Body::open(ask.wire.body))
}
