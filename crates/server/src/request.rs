//! From an HTTP request to a request of the contract.

use crate::shared::Shared;
use crate::{ServerSettings, ask};
use axum::body::Body;
use bytes::Bytes;
use contract::wire::Method;
use contract::{Code, Result, StudioError};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use std::time::Duration;
use tokio::sync::Semaphore;

const KIB: u64 = 1024;
/// Kibibytes of bodies that may arrive at a time.
const ROOM_KIB: usize = 64 * 1024;

/// Room for the bodies that arrive at a time.
pub fn room() -> Semaphore {
    Semaphore::new(ROOM_KIB)
}

/// The pairs of a query, in their order.
pub fn query(uri: &http::Uri) -> Vec<(String, String)> {
    let query = uri.query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
}

/// The body of a request that may have one; it is opened later, by the engine.
///
/// # Errors
/// 413 for one that is too long, 415 for one that does not claim to be JSON, 400 for one that breaks off, 408 for one that
/// does not come, 503 for one that a stopping server would have to wait for.
pub async fn body(method: Method, headers: &HeaderMap, body: Body, shared: &Shared) -> Result<Bytes> {
    let stopped = async {
        ask::last_answer(shared).await;
        let message = "The server is stopping, and the body did not arrive before. Nothing was done; send it again.";
        Err(StudioError::new(Code::Unavailable, 503, message))
    };
    tokio::select! {
        read = read(method, headers, body, &shared.settings, &shared.bodies) => read,
        stopped = stopped => stopped,
    }
}

async fn read(
    method: Method,
    headers: &HeaderMap,
    body: Body,
    settings: &ServerSettings,
    room: &Semaphore,
) -> Result<Bytes> {
    if matches!(method, Method::Get | Method::Delete) {
        return Ok(Bytes::new());
    }
    let most = settings.body_bytes;
    let too_long = || {
        StudioError::new(
            Code::PayloadTooLarge,
            413,
            format!("The body is longer than the {most} bytes that are taken."),
        )
    };
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > most as u64) {
        return Err(too_long());
    }
    let time = Duration::from_secs(settings.body_seconds);
    // Room for all that may come is taken first: many long bodies at once wait for each other, and do not fill the memory.
    let wanted = announced.unwrap_or(most as u64).div_ceil(KIB).min(ROOM_KIB as u64);
    let room = tokio::time::timeout(time, room.acquire_many(u32::try_from(wanted).unwrap_or(u32::MAX))).await;
    let Ok(Ok(_held)) = room else {
        let message = "Too many long bodies arrive at once. Try again later.";
        return Err(StudioError::new(Code::Unavailable, 503, message));
    };
    let bytes = match tokio::time::timeout(time, Limited::new(body, most).collect()).await {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_long()),
        Ok(Err(_)) => return Err(StudioError::invalid_request("The body broke off. Send it again, whole.")),
        Err(_) => {
            let message = "The body did not arrive in time. Send it again.";
            return Err(StudioError::new(Code::InvalidRequest, 408, message));
        }
    };
    if !bytes.is_empty() && !claims_json(headers) {
        return Err(StudioError::new(
            Code::UnsupportedMediaType,
            415,
            "The body must be JSON. Send it with 'Content-Type: application/json'.",
        ));
    }
    Ok(bytes)
}

/// Whether a body may be JSON by its type; one without a type may.
fn claims_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return true };
    let Ok(text) = value.to_str() else { return false };
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Whether a header that is a list names this word before any parameters.
pub fn names(headers: &HeaderMap, header: http::HeaderName, word: &str) -> bool {
    let values = headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
    let mut words =
        values.flat_map(|text| text.split(',')).map(|part| part.split(';').next().unwrap_or_default().trim());
    words.any(|found| found.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http::HeaderValue;
    use http::header::ACCEPT;

    fn typed(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_str(value).unwrap())])
    }

    async fn read(method: Method, headers: &HeaderMap, sent: &str) -> Result<Bytes> {
        let settings = ServerSettings { body_bytes: 10, ..ServerSettings::default() };
        super::read(method, headers, Body::from(sent.to_owned()), &settings, &room()).await
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_wait_for_room() {
        let (settings, full) = (ServerSettings::default(), Semaphore::new(0));
        let refused = super::read(Method::Post, &HeaderMap::new(), Body::from("{}"), &settings, &full).await;
        assert_eq!(refused.unwrap_err().status, 503);
    }

    #[tokio::test]
    async fn bodies_have_a_size_and_a_type() {
        let none = HeaderMap::new();
        assert_eq!(read(Method::Post, &none, "{}").await.unwrap(), "{}");
        assert_eq!(read(Method::Post, &none, "12345678901").await.unwrap_err().status, 413);
        for good in ["application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"] {
            assert!(read(Method::Patch, &typed(good), "{}").await.is_ok(), "{good}");
        }
        for wrong in ["text/plain", "application/x-www-form-urlencoded", "json", ""] {
            assert_eq!(read(Method::Patch, &typed(wrong), "{}").await.unwrap_err().status, 415, "{wrong}");
            assert!(read(Method::Patch, &typed(wrong), "").await.is_ok(), "nothing has no type");
        }
        assert_eq!(read(Method::Get, &typed("text/plain"), "whatever it is").await.unwrap(), "");
    }

    #[tokio::test]
    async fn an_announced_length_is_believed() {
        let headers = HeaderMap::from_iter([(CONTENT_LENGTH, HeaderValue::from_static("11"))]);
        assert_eq!(read(Method::Post, &headers, "").await.unwrap_err().status, 413);
    }

    #[test]
    fn words_of_list_headers() {
        let accept = |value| HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(value))]);
        assert!(names(&accept("application/json;q=0.1, text/event-stream"), ACCEPT, "text/event-stream"));
        assert!(!names(&accept("text/event-stream-not"), ACCEPT, "text/event-stream"));
        assert!(!names(&HeaderMap::new(), ACCEPT, "text/event-stream"));
    }

    #[test]
    fn queries_keep_their_order_and_repeats() {
        let uri = "/agents?q=a%20b&limit=1&limit=2&=x".parse().unwrap();
        let pairs = query(&uri);
        let of = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(pairs, [of("q", "a b"), of("limit", "1"), of("limit", "2"), of("", "x")]);
    }
}
