//! A runtime over a store of its own whose commits can be made to fail, with a model and tools that wait until they are let go.

use crate::turn::state::State;
use crate::{Ask, KeyChoice, ModelSource, Runtime, RuntimeSettings, Standing};
use async_trait::async_trait;
use contract::ops::agents::ModelParams;
use contract::ops::approvals::ApprovalStatus;
use contract::turn::{LoggedEvent, TurnStatus};
use contract::{Micros, StudioError};
use models::{
    Block, Finish, Message, ModelCall, ModelClient, ModelError, ModelEvent, ModelRequest, ModelStream, Reply,
};
use rules::access::Visibility;
use rules::partition::Partition;
use rules::policy::TenantToolingPolicy;
use rules::scope::BoundRequest;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::repo::agents::{self, Agent, Definition, Head};
use store::repo::approvals as approval_rows;
use store::repo::turns::{self, TurnRow};
use store::{Store, StoreError, StoreSettings};
use tempfile::TempDir;
use text::Secret;
use tokio::sync::Semaphore;
use tools::{Granted, HostTool, HostTools, Method, Registry, Tool, ToolError};
use trust::approvals::life::{Act, Who};

/// How long anything is waited for that must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where somebody waits until they are let go.
pub struct Gate {
    arrived: Semaphore,
    open: Semaphore,
}

impl Gate {
    fn new() -> Self {
        Self { arrived: Semaphore::new(0), open: Semaphore::new(0) }
    }

    async fn pass(&self) {
        self.arrived.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }

    /// Waits until somebody waits there.
    pub async fn arrived(&self) {
        tokio::time::timeout(PATIENCE, self.arrived.acquire()).await.unwrap().unwrap().forget();
    }

    /// Lets one of them go.
    pub fn let_go(&self) {
        self.open.add_permits(1);
    }
}

/// `story` waits at the gate and tells one; `write` and `read` call the tool of this name once; anything else is answered.
struct Model(Arc<Gate>, Asked);

/// What the model was asked.
type Asked = Arc<Mutex<Vec<ModelRequest>>>;

#[async_trait]
impl ModelClient for Model {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let last = request.messages.last().cloned();
        self.1.lock().unwrap().push(request);
        let gate = self.0.clone();
        let answer = async move {
            let block = match last {
                Some(Message::User { text }) if text == "story" => {
                    gate.pass().await;
                    Block::Text { text: "Once.".into() }
                }
                Some(Message::User { text }) if text == "write" || text == "read" => {
                    Block::Call(ModelCall { id: "c".into(), name: format!("t_{text}"), args_text: "{}".into() })
                }
                _ => Block::Text { text: "Done.".into() },
            };
            Ok(ModelEvent::Done(Reply { blocks: vec![block], usage: None, finish: Finish::Stop }))
        };
        Ok(Box::pin(futures_util::stream::once(answer)))
    }
}

struct Models(Arc<Gate>, Asked);

#[async_trait]
impl ModelSource for Models {
    fn resolve(&self, llm: &str) -> Result<(String, String), String> {
        Ok((llm.to_owned(), "m".into()))
    }

    async fn connect(&self, _: &str, _: Option<&Secret>) -> Result<Arc<dyn ModelClient>, ModelError> {
        Ok(Arc::new(Model(self.0.clone(), self.1.clone())))
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

struct Waits {
    gate: Arc<Gate>,
    runs: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Waits {
    async fn run(&self, _: Granted<'_>) -> Result<Value, ToolError> {
        self.gate.pass().await;
        Ok(json!(self.runs.fetch_add(1, Ordering::SeqCst) + 1))
    }
}

/// A home with one agent, and a process that works on it.
pub struct Bench {
    pub runtime: Runtime,
    pub partition: Partition,
    /// Where the model and the tools wait.
    pub gate: Arc<Gate>,
    /// While it is set no commit that writes succeeds.
    pub fails: Arc<AtomicBool>,
    /// How often a tool came to its end.
    pub runs: Arc<AtomicUsize>,
    /// What the model was asked.
    pub asked: Asked,
    agent: String,
    home: TempDir,
}

impl Bench {
    pub async fn new() -> Self {
        Self::with(RuntimeSettings::default()).await
    }

    pub async fn with(settings: RuntimeSettings) -> Self {
        let home = TempDir::new().unwrap();
        let store = Store::open(&StoreSettings::new(home.path())).unwrap();
        let fails = Arc::new(AtomicBool::new(false));
        let failing = fails.clone();
        store.on_group_end(Box::new(move |_| match failing.load(Ordering::SeqCst) {
            true => Err(StoreError::Unavailable { detail: "the test's disk is full".into() }),
            false => Ok(()),
        }));
        let partition = Partition::tenant("acme").unwrap();
        let agent = agent();
        let id = agent.head.id.clone();
        let p = partition.clone();
        store.write(move |tx| agents::insert(tx, &p, &agent, "ann")).await.unwrap();
        let (gate, runs, asked) = (Arc::new(Gate::new()), Arc::default(), Asked::default());
        let policy = TenantToolingPolicy::own_machine();
        let runtime = runtime(store, &gate, &runs, &asked, policy, settings);
        Self { runtime, partition, gate, fails, runs, asked, agent: id, home }
    }

    /// Ends the process and begins another one, whose policy permits no tool.
    pub async fn restart_without_tools(&mut self) {
        self.runtime.shutdown().await;
        let (store, settings) = (self.runtime.store.clone(), self.runtime.settings.clone());
        let mut policy = TenantToolingPolicy::deny_all();
        policy.host_toolkits = false;
        self.runtime = runtime(store, &self.gate, &self.runs, &self.asked, policy, settings);
    }

    /// Stops a turn as ann.
    pub async fn interrupt(&self, turn: &str) -> Result<(), StudioError> {
        let stopped = self.runtime.interrupt(&self.partition, turn, "ann", standing());
        // Less than what an interrupt waits for a write.
        tokio::time::timeout(Duration::from_secs(5), stopped).await.expect("the turn rests")
    }

    /// Whether anybody holds the instance of the session.
    pub async fn holds_instance(&self, turn: &str) -> bool {
        let key = format!("session:{}", self.row(turn).await.session_id);
        let unused = || -> Result<_, StudioError> { panic!("the session has no instance") };
        let instance = self.runtime.instances.get(&key, unused).unwrap();
        // One is kept and one is in our hands.
        instance.users() > 2
    }

    /// Asks; answers the turn.
    pub async fn ask(&self, text: &str) -> String {
        let ask = Ask {
            partition: self.partition.clone(),
            user: "ann".into(),
            credential: "c".into(),
            agent_id: self.agent.clone(),
            session: Some("s".into()),
            text: text.into(),
            model: None,
            key: KeyChoice { use_byok: false, source: None },
            standing: standing(),
        };
        self.runtime.ask(ask).await.unwrap().0
    }

    pub async fn row(&self, turn: &str) -> TurnRow {
        let (partition, id) = (self.partition.clone(), turn.to_owned());
        self.runtime.store.read(move |tx| turns::get(tx, &partition, &id)).await.unwrap().unwrap()
    }

    pub async fn events(&self, turn: &str) -> Vec<LoggedEvent> {
        let id = turn.to_owned();
        self.runtime.store.read(move |tx| turns::events(tx, &id, 0)).await.unwrap()
    }

    pub async fn state(&self, turn: &str) -> State {
        State::of(&self.events(turn).await)
    }

    /// Looks until it is so.
    pub async fn until(&self, turn: &str, status: TurnStatus) {
        let comes = async {
            while self.row(turn).await.status != status {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let came = tokio::time::timeout(PATIENCE, comes).await;
        assert!(came.is_ok(), "never {status:?}: {:?}", self.events(turn).await);
    }

    /// Says yes to what the turn asks.
    pub async fn approve(&self, turn: &str) {
        let (partition, id) = (self.partition.clone(), turn.to_owned());
        let decide = move |tx: &mut dyn store::Tx| -> Result<usize, StoreError> {
            let open: Vec<_> = approval_rows::of_turn(tx, &id)?
                .into_iter()
                .filter(|row| row.status == ApprovalStatus::Pending)
                .collect();
            let who = Who { user: "ann", ..Who::default() };
            for row in &open {
                let now = Micros::now();
                trust::approvals::decide(tx, now, 600, &partition, &row.id, &who, Act::Approve, None, None)?;
            }
            Ok(open.len())
        };
        assert_eq!(self.runtime.store.write(decide).await.unwrap(), 1);
    }

    /// Changes the row of a turn, as another process would.
    pub async fn tamper(&self, turn: &str, set: &str) {
        let (sql, id) = (format!("update turns set {set} where id = $1"), turn.to_owned());
        let changed = self.runtime.store.write(move |tx| tx.exec(&sql, store::vals![&id])).await;
        assert_eq!(changed, Ok(1));
    }

    /// Makes the log of a turn unreadable.
    pub async fn spoil(&self, turn: &str) {
        let id = turn.to_owned();
        let sql = "update turn_events set body = 'x' where turn_id = $1";
        assert!(self.runtime.store.write(move |tx| tx.exec(sql, store::vals![&id])).await.unwrap() > 0);
    }

    /// Another living process on the home, as far as leases go.
    pub fn other_process(&self) -> Store {
        Store::open(&StoreSettings::new(self.home.path())).unwrap()
    }

    /// How a call of a turn ended or stands, in the words of the log.
    pub async fn kinds(&self, turn: &str) -> Vec<String> {
        let events = self.events(turn).await;
        events.iter().map(|e| json!(e.event)["kind"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// Of a person who may do anything.
pub fn standing() -> Standing {
    Arc::new(|| Box::pin(async { Ok(BoundRequest::default()) }))
}

fn runtime(
    store: Store,
    gate: &Arc<Gate>,
    runs: &Arc<AtomicUsize>,
    asked: &Asked,
    policy: TenantToolingPolicy,
    settings: RuntimeSettings,
) -> Runtime {
    let tool = |name: &str, reads: bool| {
        let method = Method::with_schema(name, "Waits at the gate.", json!({ "type": "object" }));
        let (gate, runs) = (gate.clone(), runs.clone());
        let build = move || Ok(Arc::new(Waits { gate: gate.clone(), runs: runs.clone() }) as Arc<dyn Tool>);
        HostTool::new(name, if reads { method.reads() } else { method }, build)
    };
    let mut registry = Registry::default();
    let rejected = registry.register(HostTools::new("t_").tool(tool("t_write", false)).tool(tool("t_read", true)));
    assert!(rejected.is_empty(), "{rejected:?}");
    Runtime::new(store, Arc::new(registry), Arc::new(Models(gate.clone(), asked.clone())), None, policy, settings)
}

fn agent() -> Agent {
    let head = Head {
        id: contract::ids::record_id(),
        name: "desk".into(),
        owner: "ann".into(),
        visibility: Visibility::Private,
        allowed_groups: Vec::new(),
        bot_class: "BasicBot".into(),
        llm: Some("scripted".into()),
        category: "general".into(),
        description: None,
        active: true,
        version: 1,
        created_at: Micros::now(),
        updated_at: Micros::now(),
    };
    let definition = Definition {
        schema_version: agents::SCHEMA_VERSION,
        bot_class: head.bot_class.clone(),
        llm: head.llm.clone(),
        model_params: ModelParams::default(),
        system_prompt: None,
        description: None,
        category: head.category.clone(),
        tools: vec!["t_write".into(), "t_read".into()],
        config: Map::new(),
    };
    Agent { head, definition }
}
