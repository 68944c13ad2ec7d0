//! Streams as server-sent events.

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use contract::wire::{WireEvent, WireRequest};
use futures_util::stream::{Stream, StreamExt as _};
use http::{HeaderMap, HeaderValue};
use std::convert::Infallible;
use std::time::Duration;

/// Seconds between comments that keep a silent stream open; a client may take three of them missing for a broken line.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Sends a stream until it ends or the client leaves.
pub fn stream(events: impl Stream<Item = WireEvent> + Send + 'static, open: crate::metrics::Open) -> Response {
    let events = events.map(move |event| {
        let _ = &open;
        let mut sent = Event::default().data(event.data.to_string());
        if let Some(id) = event.id {
            sent = sent.id(id);
        }
        Ok::<_, Infallible>(sent)
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT).text("hb")).into_response();
    // Gateways that gather answers would hold events back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The id of the last event that a client saw.
pub fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::trim).filter(|id| !id.is_empty())
}

/// Makes `Last-Event-ID` the place after which a stream goes on, if the address names none.
pub fn continue_after(request: &mut WireRequest, headers: &HeaderMap) {
    if let Some(id) = last_event_id(headers)
        && !request.query.iter().any(|(key, _)| key == "after")
    {
        request.query.push(("after".into(), id.to_owned()));
    }
}
