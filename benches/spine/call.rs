//! What stands between a model's wish and a tool's run, in memory.

use super::Plan;
use super::report::{Report, Unit, median};
use super::world::{OWNER, TENANT, caller, folder};
use astudio::app::{Models, Settings};
use astudio::{Engine, ScopeResolver, SignIn, Store, StoreSettings};
use async_trait::async_trait;
use contract::ops::approvals::ApprovalStatus;
use contract::ops::tools::ExecuteTool;
use contract::{Micros, Operation, Result};
use engine::Builder;
use rules::Visibility;
use rules::scope::{BoundRequest, RequestScope, ScopeAgent, ToolScope};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use toolkits::desk;
use tools::{Args, Facts, Registry};
use trust::approvals::life::{Act, Life, Who};

/// A resolver that has its answer ready: reading a membership is measured by the reads of agents.
struct Ready;

#[async_trait]
impl ScopeResolver for Ready {
    async fn resolve(&self, sign_in: &SignIn) -> Result<RequestScope> {
        Ok(scope(&sign_in.user_id))
    }
}

fn scope(user: &str) -> RequestScope {
    let mut scope = RequestScope::new(Some(user), Some(TENANT));
    scope.may_author = true;
    scope.studio_enabled = true;
    scope
}

/// Admission of the caller (tenant, role, authoring, PBAC), look-up of the tool and its facts, scope gate, the arguments parsed,
/// checked against the schema and hashed, and the step `approved → consumed` in the life of an approval.
pub async fn gates(plan: &Plan, report: &mut Report) {
    let home = folder();
    let store = Store::open(&StoreSettings::new(home.path())).unwrap();
    let mut registry = Registry::default();
    assert!(registry.register(desk::host_tools(home.path().join("desk.db"))).is_empty());
    let engine = Builder::new(store, Arc::new(Models::new(&Settings::default(), home.path())))
        .registry(registry)
        .resolver(Arc::new(Ready))
        .build();
    let request = bound();
    let life = Life {
        status: ApprovalStatus::Approved,
        asker: OWNER.into(),
        deciders: "asker".into(),
        four_eyes: false,
        expires_at: Micros(i64::MAX),
        decided_at: Some(Micros::now()),
    };
    let write =
        engine.registry.lookup(desk::TOOLKIT).unwrap().facts().find(|f| f.needs_approval()).unwrap().name().to_owned();

    let mut parts = [const { Vec::new() }; 4];
    let mut whole = Vec::new();
    for _ in 0..plan.rounds {
        let mut spent = [0.0; 4];
        let (mut calls, since) = (0.0, Instant::now());
        while since.elapsed() < plan.round / 2 {
            let times = once(&engine, &request, &life, &write).await;
            spent.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
            calls += 1.0;
        }
        whole.push(spent.iter().sum::<f64>() / calls);
        parts.iter_mut().zip(spent).for_each(|(part, sum)| part.push(sum / calls));
    }
    report.measure("gates and approval check of a call, in memory", Unit::Micros, &whole, 50.0);
    let [admit, look_up, args, life] = parts.map(|part: Vec<f64>| median(&part));
    report.note(format!(
        "Gates of a call: admission {admit:.1} µs; registry and scope gate {look_up:.1} µs; arguments parsed, checked and hashed \
         {args:.1} µs; step of the approval {life:.1} µs."
    ));
}

/// One call; answers the microseconds of its four parts.
async fn once(engine: &Engine, request: &BoundRequest, life: &Life, tool: &str) -> [f64; 4] {
    let start = Instant::now();
    black_box(engine.admit(caller(OWNER), &ExecuteTool::GATES, ExecuteTool::EFFECT).await.unwrap());
    let admitted = Instant::now();
    let entry = engine.registry.lookup(desk::TOOLKIT).unwrap();
    let facts: &Facts = entry.facts().find(|facts| facts.name() == tool).unwrap();
    black_box(tools::enter(facts, Some(request)).unwrap());
    let entered = Instant::now();
    let args = Args::parse(facts, r#"{"order_id": 1007, "reason": "The customer changed their mind."}"#).unwrap();
    black_box(args.hash());
    let checked = Instant::now();
    let who = Who { user: OWNER, ..Who::default() };
    black_box(life.after(Act::Consume, &who, Micros::now(), 600).unwrap());
    let end = Instant::now();
    [admitted - start, entered - admitted, checked - entered, end - checked].map(|part| part.as_secs_f64() * 1e6)
}

/// What the runtime binds for the tools of a turn.
fn bound() -> BoundRequest {
    let agent = ScopeAgent {
        agent_id: "00000000-0000-4000-8000-000000000000".into(),
        name: "orders-desk".into(),
        owner: Some(OWNER.into()),
        tenant: Some(TENANT.into()),
        visibility: Visibility::Tenant,
    };
    BoundRequest { scope: Some(ToolScope { caller: scope(OWNER), agent: Some(agent) }) }
}
