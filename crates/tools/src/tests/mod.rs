//! Tests of registration, arguments, the scope gate and clearing.
#![allow(clippy::unwrap_used)]

mod args;
mod clearing;
mod gate;
mod registration;

use crate::{Bound, Granted, HostTool, HostToolkit, HostTools, Look, Method, Registry, Tool, ToolError};
use rules::access::Visibility;
use rules::scope::{BoundRequest, RequestScope, ScopeAgent, ToolScope};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Answers with what it was given, and misbehaves where its method says so.
#[derive(Default)]
struct Probe {
    runs: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl Tool for Probe {
    async fn run(&self, call: Granted<'_>) -> Result<Value, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        match call.method() {
            "panics" => panic!("inside the tool"),
            "hangs" => std::future::pending().await,
            "fails" => Err(ToolError::new("no, in words")),
            "is_elsewhere" => Err(ToolError::Scope(rules::scope::ScopeReason::HostTenantMismatch)),
            method => Ok(json!({
                "method": method,
                "args": call.args::<Value>()?,
                "tenant": call.tenant(),
                "caller": call.caller(),
                "agent": call.agent().map(|a| a.name.clone()),
                "key": call.idempotency_key(),
            })),
        }
    }

    async fn preview(&self, look: Look<'_>) -> Result<Option<Value>, ToolError> {
        match look.method() {
            "panics" => panic!("inside the preview"),
            "hangs" => std::future::pending().await,
            "fails" => Err(ToolError::new("no preview")),
            _ => Ok(Some(look.args()?)),
        }
    }

    async fn did_run(&self, look: Look<'_>, key: &str) -> Option<bool> {
        match look.method() {
            "panics" => panic!("inside the question"),
            "hangs" => std::future::pending().await,
            _ => Some(key == "ran"),
        }
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "n": { "type": "integer", "minimum": 1 },
            "note": { "type": "string", "default": "none" },
            "deep": { "type": "object", "properties": { "on": { "type": "boolean", "default": true } } },
            "maybe": { "type": ["string", "null"], "default": null },
        },
        "required": ["n"],
    })
}

fn method(name: &str) -> Method {
    Method::with_schema(name, "does something", schema())
}

fn kit(methods: Vec<Method>, runs: &Arc<AtomicUsize>) -> HostToolkit {
    let runs = runs.clone();
    let build = move || Ok(Arc::new(Probe { runs: runs.clone() }) as Arc<dyn Tool>);
    methods.into_iter().fold(HostToolkit::new("my_kit", "my", "a kit", build), HostToolkit::method)
}

fn tool(slug: &str, method: Method) -> HostTool {
    HostTool::new(slug, method, || Ok(Arc::new(Probe::default())))
}

fn host(methods: Vec<Method>) -> HostTools {
    HostTools::new("my_").toolkit(kit(methods, &Arc::default()))
}

fn registry(host: HostTools) -> Registry {
    let mut registry = Registry::default();
    assert_eq!(registry.register(host), []);
    registry
}

/// The built tool of this name.
fn bound(registry: &Registry, name: &str) -> Bound {
    let tools = registry.entries().flat_map(|e| e.build().unwrap());
    tools.into_iter().find(|b| b.facts().name() == name).unwrap()
}

/// A request of `ann` of this tenant, through an agent of that one.
fn request(tenant: Option<&str>, agent: Option<&str>) -> BoundRequest {
    let agent = agent.map(|tenant| ScopeAgent {
        agent_id: "a1".into(),
        name: "clerk".into(),
        owner: Some("ben".into()),
        tenant: Some(tenant.to_owned()).filter(|t| !t.is_empty()),
        visibility: Visibility::Private,
    });
    BoundRequest { scope: Some(ToolScope { caller: RequestScope::new(Some("ann"), tenant), agent }) }
}
