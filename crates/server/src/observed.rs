//! Work on a request with everything that is the same for all of it: a panic is an answer, and each answer is counted and logged.

use crate::answer;
use crate::shared::Shared;
use axum::response::Response;
use contract::{Result, StudioError};
use futures_util::FutureExt as _;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// Answers with what the work gives. `operation` names it in metrics and in the access log.
pub async fn observed(
    shared: &Shared,
    operation: &'static str,
    work: impl Future<Output = Result<Response>>,
) -> Response {
    let begun = Instant::now();
    let response = match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => answer::refusal(&error),
        Err(_) => {
            tracing::error!(operation, "the operation panicked");
            answer::refusal(&StudioError::internal())
        }
    };
    let (status, took) = (response.status().as_u16(), begun.elapsed());
    shared.metrics.answered(operation, status, took);
    let ms = took.as_micros() as f64 / 1e3;
    tracing::info!(target: "astudio_server::access", operation, status, ms);
    response
}
