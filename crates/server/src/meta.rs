//! What stands outside the contract: health, metrics, the document of the interface.

use crate::answer;
use crate::shared::Shared;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use contract::ops::me::GetMe;
use contract::{Code, Operation as _, StudioError};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};
use serde_json::json;
use std::sync::Arc;

/// The type that Prometheus expects.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The document, made from the declared operations; a test keeps it true.
const OPENAPI: &str = include_str!("../../../docs/openapi.json");

/// Routes that need no tenant.
pub fn router(shared: Arc<Shared>) -> Router {
    let refuse = |method: Method| async move { answer::method_not_allowed(&method, "GET") };
    let metrics = match shared.settings.metrics_listen.is_empty() {
        true => get(signed_metrics).fallback(refuse),
        false => get(elsewhere).fallback(refuse),
    };
    Router::new()
        .route("/healthz", get(healthy).fallback(refuse))
        .route("/readyz", get(ready).fallback(refuse))
        .route("/metrics", metrics)
        .route("/openapi.json", get(document).fallback(refuse))
        .with_state(shared)
}

/// Routes of the listener for metrics alone.
pub fn metrics_router(shared: Arc<Shared>) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(shared)
}

async fn healthy() -> Response {
    answer::json(200, &json!({ "status": "ok" }))
}

/// Ready = the storage answers and the server is not stopping.
async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if *shared.stopping.borrow() {
        return answer::refusal(&StudioError::new(Code::Unavailable, 503, "The server is stopping."));
    }
    match shared.engine.head(&rules::partition::Partition::GLOBAL).await {
        Ok(_) => answer::json(200, &json!({ "status": "ready" })),
        Err(error) => answer::refusal(&error),
    }
}

async fn signed_metrics(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let let_in = async {
        let caller = shared.caller(&headers, None).await?;
        shared.engine.admit(caller, &GetMe::GATES, GetMe::EFFECT).await
    };
    match let_in.await {
        Ok(_) => metrics(State(shared)).await,
        Err(error) => answer::refusal(&error),
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    ([(CONTENT_TYPE, METRICS_TYPE)], shared.metrics.text()).into_response()
}

async fn elsewhere() -> Response {
    answer::refusal(&StudioError::new(Code::RouteNotFound, 404, "Metrics have an address of their own here."))
}

async fn document() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}
