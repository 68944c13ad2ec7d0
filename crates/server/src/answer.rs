//! Answers and refusals as HTTP.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use contract::{Code, StudioError};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::Value;

/// A JSON answer.
pub fn json(status: u16, value: &Value) -> Response {
    bytes(status, serde_json::to_vec(value).unwrap_or_default().into())
}

/// A JSON answer that is written already.
pub fn bytes(status: u16, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // What one person may see is kept by nobody in between.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// A refusal.
pub fn refusal(error: &StudioError) -> Response {
    let mut response = json(error.status, &error.body());
    let headers = response.headers_mut();
    match error.code {
        Code::Unauthorized => _ = headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        Code::RateLimited => {
            let seconds = error.details.as_ref().and_then(|details| details["retry_after"].as_u64()).unwrap_or(1);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        _ => {}
    }
    response
}

/// 405 with the verbs that there are.
pub fn method_not_allowed(method: &http::Method, allowed: &str) -> Response {
    let message = format!("This address does not take {method}; it takes {allowed}.");
    let mut response = refusal(&StudioError::new(Code::MethodNotAllowed, 405, message));
    if let Ok(value) = HeaderValue::from_str(allowed) {
        response.headers_mut().insert(ALLOW, value);
    }
    response
}

/// An id as a header; ids are visible ASCII.
pub fn id(id: &str) -> HeaderValue {
    HeaderValue::from_str(id).unwrap_or(HeaderValue::from_static("none"))
}
