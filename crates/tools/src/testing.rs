//! For authors of host tools: calls a tool through the same gate as an agent's turn does.
//!
//! A read runs at once. A write is refused without an approval; [`Harness::approve`] asks for one, decides it and consumes
//! it, in a database of its own in a temporary folder.
//!
//! ```
//! # use astudio_tools as tools;
//! use std::sync::Arc;
//! use tools::testing::Harness;
//! use tools::{Granted, HostTool, HostTools, Method, Tool, ToolError};
//!
//! struct Door;
//! #[tools::async_trait]
//! impl Tool for Door {
//!     async fn run(&self, call: Granted<'_>) -> Result<serde_json::Value, ToolError> {
//!         Ok(serde_json::json!({ "opened_for": call.tenant() }))
//!     }
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
//! # runtime.block_on(async {
//! let method = Method::with_schema("my_door", "Opens the door.", serde_json::json!({ "type": "object" }));
//! let door = HostTool::new("my_door", method, || Ok(Arc::new(Door))).tenant_bound();
//! let harness = Harness::new(HostTools::new("my_").tool(door)).scope("acme", "ann");
//! let nobody_asked = harness.call("my_door", serde_json::json!({})).await;
//! assert_eq!(nobody_asked.code.as_deref(), Some("confirmation_required"));
//! let approved = harness.approve_and_call("my_door", serde_json::json!({})).await;
//! assert_eq!(approved.value["opened_for"], "acme");
//! # });
//! ```

use crate::{ArgFault, Args, Bound, Cleared, Facts, HostTools, InScope, NotCleared, Registry, Rejected, enter};
use contract::ops::approvals::ApprovalStatus;
use contract::turn::CallResult;
use contract::{Code, Micros, ids};
use rules::access::Visibility;
use rules::partition::Partition;
use rules::scope::{BoundRequest, RequestScope, ScopeAgent, ToolScope};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Store, StoreError, StoreSettings};
use tokio::sync::OnceCell;
use trust::approvals::life::{Act, Who};
use trust::approvals::{self, Approval, ApprovalRow, Consume, Decided, Request};
use trust::vault::Vault;

/// How long a call may take.
const WITHIN: Duration = Duration::from_secs(60);
const AGENT: &str = "agent-under-test";

/// A host's tools behind the gate. A tool is built at its first call and kept, as it is for an agent.
pub struct Harness {
    registry: Registry,
    rejected: Vec<Rejected>,
    built: Mutex<BTreeMap<String, Vec<Bound>>>,
    request: BoundRequest,
    user: String,
    // The database goes before its folder.
    trust: OnceCell<Trust>,
    folder: Folder,
}

struct Trust {
    store: Store,
    vault: Option<Arc<Vault>>,
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A call that passed the gates before the question.
struct Passed {
    bound: Bound,
    scope: InScope,
    args: Args,
}

fn failed(code: Option<Code>, message: impl Into<String>) -> CallResult {
    CallResult { ok: false, value: Value::Null, error: Some(message.into()), code: code.map(|c| c.as_str().to_owned()) }
}

fn internal(error: impl std::fmt::Display) -> CallResult {
    failed(Some(Code::InternalError), format!("The harness failed: {error}."))
}

impl Harness {
    /// Registers the tools. Without [`Harness::scope`] calls come from a plain host, where tenant-bound tools refuse.
    pub fn new(host: HostTools) -> Self {
        let mut registry = Registry::default();
        let rejected = registry.register(host);
        Self {
            registry,
            rejected,
            built: Mutex::default(),
            request: BoundRequest::default(),
            user: "user".into(),
            trust: OnceCell::new(),
            folder: Folder(std::env::temp_dir().join(format!("astudio-harness-{}", ids::record_id()))),
        }
    }

    /// Calls as this user of this tenant, through an agent of the tenant. Tools that were built stay built.
    #[must_use]
    pub fn scope(mut self, tenant: &str, user: &str) -> Self {
        let agent = ScopeAgent {
            agent_id: AGENT.into(),
            name: AGENT.into(),
            owner: Some(user.into()),
            tenant: Some(tenant.into()),
            visibility: Visibility::Private,
        };
        let mut caller = RequestScope::new(Some(user), Some(tenant));
        caller.studio_enabled = true;
        self.request = BoundRequest { scope: Some(ToolScope { caller, agent: Some(agent) }) };
        self.user = user.to_owned();
        self
    }

    /// Entries that broke a rule of registration, and which.
    pub fn rejected(&self) -> &[Rejected] {
        &self.rejected
    }

    /// Registered facts of a tool, by the name that models use.
    pub fn facts(&self, name: &str) -> Option<&Facts> {
        self.registry.entries().flat_map(|entry| entry.facts()).find(|facts| facts.name() == name)
    }

    /// Calls a tool as a model would. A write without an approval is refused with `confirmation_required`.
    pub async fn call(&self, name: &str, args: Value) -> CallResult {
        match self.pass(name, args) {
            Ok(Passed { bound, scope, args }) => match Cleared::unenforced(&bound, scope, args) {
                Ok(cleared) => cleared.execute(WITHIN).await.unwrap_or_else(crate::Unanswered::into_result),
                Err(why) => not_cleared(&why),
            },
            Err(refused) => *refused,
        }
    }

    /// What a person is shown before they decide.
    ///
    /// # Errors
    /// The refusal of a gate.
    pub async fn preview(&self, name: &str, args: Value) -> Result<Option<Value>, CallResult> {
        let Passed { bound, scope, args } = self.pass(name, args).map_err(|refused| *refused)?;
        Ok(bound.preview(&scope, &args, WITHIN).await)
    }

    /// Asks for an approval of this call, says yes to it as a person and consumes it. Its id is the idempotency key that
    /// the tool will see.
    ///
    /// # Errors
    /// The refusal of a gate; nobody is asked about such a call.
    pub async fn approve(&self, name: &str, args: Value) -> Result<Approval, CallResult> {
        let Passed { bound, args, .. } = self.pass(name, args).map_err(|refused| *refused)?;
        let trust = self.trust().await.map_err(internal)?;
        let partition = self.partition();
        let facts = bound.facts();
        let row = self.row(facts, &partition);
        let (turn_id, tool, digest) = (row.turn_id.clone(), row.tool.clone(), row.digest.clone());
        let request = Request::new(trust.vault.as_deref(), row, args.value()).map_err(internal)?;
        let id = request.id().to_owned();

        let (asked, user) = ((partition.clone(), id.clone(), request), self.user.clone());
        let four_eyes = facts.four_eyes();
        let decided = trust
            .store
            .write(move |tx| -> Result<Decided, StoreError> {
                let (partition, id, request) = &asked;
                let now = Micros::now();
                approvals::request(tx, now, request)?;
                let who =
                    Who { user: if four_eyes { "second-person" } else { &user }, administers: four_eyes, groups: None };
                approvals::decide(tx, now, 600, partition, id, &who, Act::Approve, None, None)
            })
            .await
            .map_err(internal)?;
        if let Decided::Not(why, _) = decided {
            return Err(internal(format!("the approval could not be decided ({why:?})")));
        }
        let want = Consume { partition, id, turn_id, ordinal: 0, tool, digest, agent_version: 1, void_seconds: 600 };
        approvals::consume(&trust.store, trust.vault.clone(), want, |_, _| Ok(())).await.map_err(internal)
    }

    /// Runs a call with its approval, which is used up.
    pub async fn run(&self, approval: Approval) -> CallResult {
        let (bound, scope) = match self.bound(approval.tool()) {
            Ok(found) => found,
            Err(refused) => return *refused,
        };
        match Cleared::approved(&bound, scope, approval) {
            Ok(cleared) => cleared.execute(WITHIN).await.unwrap_or_else(crate::Unanswered::into_result),
            Err(why) => not_cleared(&why),
        }
    }

    /// [`Harness::approve`], then [`Harness::run`].
    pub async fn approve_and_call(&self, name: &str, args: Value) -> CallResult {
        match self.approve(name, args).await {
            Ok(approval) => self.run(approval).await,
            Err(refused) => refused,
        }
    }

    /// What the tool says about a call with this idempotency key, as it is asked after a crash.
    pub async fn did_run(&self, name: &str, args: Value, key: &str) -> Option<bool> {
        let Passed { bound, scope, args } = self.pass(name, args).ok()?;
        bound.did_run(&scope, args.value(), key, WITHIN).await
    }

    /// The tool, built behind the scope gate.
    fn bound(&self, name: &str) -> Result<(Bound, InScope), Box<CallResult>> {
        let Some(entry) = self.registry.entries().find(|entry| entry.facts().any(|facts| facts.name() == name)) else {
            let why: Vec<String> = self.rejected.iter().map(ToString::to_string).collect();
            let why = if why.is_empty() { String::new() } else { format!(" {}.", why.join("; ")) };
            return Err(Box::new(failed(Some(Code::NotFound), format!("There is no tool '{name}'.{why}"))));
        };
        let facts = entry.facts().find(|facts| facts.name() == name);
        let scope = facts.map(|facts| enter(facts, Some(&self.request))).transpose().map_err(|reason| {
            let refused =
                failed(Some(Code::ToolScopeUnavailable), format!("The tool cannot be used in this scope ({reason})."));
            CallResult { value: json!({ "reason": reason.as_str() }), ..refused }
        })?;
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if !built.contains_key(entry.slug()) {
            let tools = entry.build().map_err(|why| failed(Some(Code::InstantiationFailed), why))?;
            built.insert(entry.slug().to_owned(), tools);
        }
        let bound = built.get(entry.slug()).and_then(|tools| tools.iter().find(|bound| bound.facts().name() == name));
        Ok(bound.cloned().zip(scope).ok_or_else(|| internal("the tool was not built"))?)
    }

    fn pass(&self, name: &str, args: Value) -> Result<Passed, Box<CallResult>> {
        let (bound, scope) = self.bound(name)?;
        let args = Args::check(bound.facts(), args).map_err(|fault| {
            let code =
                if matches!(fault, ArgFault::ServerManaged(_)) { Code::ServerManaged } else { Code::InvalidArgs };
            Box::new(failed(Some(code), fault.to_string()))
        })?;
        Ok(Passed { bound, scope, args })
    }

    async fn trust(&self) -> Result<&Trust, String> {
        self.trust
            .get_or_try_init(|| async {
                let store = Store::open(&StoreSettings::new(&self.folder.0)).map_err(|e| e.to_string())?;
                let vault = Vault::load(&|_| None, Some(&self.folder.0)).map_err(|e| e.to_string())?;
                Ok(Trust { store, vault: vault.map(Arc::new) })
            })
            .await
    }

    fn partition(&self) -> Partition {
        let tenant = self.request.scope.as_ref().and_then(|scope| scope.caller.partition().ok().flatten());
        tenant.unwrap_or(Partition::GLOBAL)
    }

    fn row(&self, facts: &Facts, partition: &Partition) -> ApprovalRow {
        let now = Micros::now();
        ApprovalRow {
            id: String::new(),
            partition: partition.as_str().to_owned(),
            requested_by: self.user.clone(),
            agent_id: AGENT.into(),
            agent_name: AGENT.into(),
            agent_version: 1,
            model: "none".into(),
            session_id: ids::record_id(),
            session_name: "harness".into(),
            turn_id: ids::record_id(),
            ordinal: 0,
            tool: facts.name().to_owned(),
            slug: facts.slug().to_owned(),
            method: facts.method().to_owned(),
            source: facts.source().as_str().to_owned(),
            digest: facts.digest().to_owned(),
            instance_id: ids::record_id(),
            args: String::new(),
            args_sealed: None,
            args_hash: String::new(),
            schema: facts.schema().to_string(),
            preview: None,
            rule: facts.rule().unwrap_or_default().to_owned(),
            deciders: "asker".into(),
            four_eyes: facts.four_eyes(),
            editable: facts.editable(),
            status: ApprovalStatus::Pending,
            created_at: now,
            expires_at: now.plus_seconds(facts.approval_seconds().unwrap_or(600)),
            decided_by: None,
            decided_at: None,
            reason: None,
            edited_args: None,
            edited_sealed: None,
            edited_hash: None,
            consumed_at: None,
            replaced_by: None,
        }
    }
}

fn not_cleared(why: &NotCleared) -> CallResult {
    failed(Some(Code::ConfirmationRequired), format!("Nothing was run: {why}."))
}
