//! How one request of an operation is carried out: who calls, what is sent, whether it was sent before, and what comes back.

use crate::conditional::{self, Read};
use crate::repeat::{self, BOOT, BOOT_ID, Kept, Named};
use crate::shared::{Shared, owner};
use crate::{answer, ask, request, sse};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use contract::operation::Effect;
use contract::ops::approvals::{DecideApproval, WithdrawApproval};
use contract::ops::test::{Ask, AskDefer, AskStream};
use contract::ops::turns::SettleCall;
use contract::wire::{Method, Raw, WireReply, WireRequest};
use contract::{Code, Operation as _, Result, StudioError};
use engine::{Caller, Entry};
use futures_util::StreamExt as _;
use http::header::{ETAG, IF_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// What ends a turn's waiting. Its answer names the turn, which the process that asked may have left without a driver.
const ENDS_WAITING: [&str; 3] = [DecideApproval::ID, WithdrawApproval::ID, SettleCall::ID];

/// Carries a request of an operation out, and answers as HTTP does.
///
/// # Errors
/// What the transport refuses, and the operation.
pub async fn carry(
    shared: &Arc<Shared>,
    entry: &Entry,
    mut path: BTreeMap<String, String>,
    request: Request,
) -> Result<Response> {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    // `{tenant}` belongs to the prefix; no operation has a parameter of this name.
    let route_tenant = path.remove("tenant");
    let caller = shared.caller(&headers, route_tenant).await?;
    let query = request::query(&parts.uri);
    let bytes = request::body(entry.meta.method, &headers, body, shared).await?;
    let key = headers.get(IDEMPOTENCY_KEY).filter(|_| entry.meta.method != Method::Get);
    let named = match (key, &caller.sign_in) {
        (Some(_), _) if is_stream(entry) => {
            return Err(StudioError::invalid_request(
                "A stream takes no 'Idempotency-Key'. Continue one with 'Last-Event-ID', or ask with 'Prefer: respond-async'.",
            ));
        }
        (Some(key), Some(sign_in)) => {
            let uri = parts.uri.to_string();
            let session = caller.session.as_deref().unwrap_or_default();
            let matched = headers.get(IF_MATCH).map(HeaderValue::as_bytes).unwrap_or_default();
            let what = [entry.meta.id.as_bytes(), uri.as_bytes(), session.as_bytes(), matched, &bytes];
            Some(Named::new(&owner(sign_in), key.as_bytes(), &what)?)
        }
        _ => None,
    };
    let body = if bytes.is_empty() { Raw::Absent } else { Raw::Bytes(bytes.into()) };
    let request = WireRequest { path, query, body };
    if named.is_some() && headers.get(&BOOT).is_some_and(|boot| *boot != *BOOT_ID) {
        return Err(StudioError::new(
            Code::Unavailable,
            503,
            "The server was restarted since this was first sent. Whether it was done is not known: look before you do it again.",
        ));
    }
    // An answer that is kept is for whoever may still ask for it.
    if named.is_some() {
        shared.engine.admit(caller.clone(), &entry.meta.gates, entry.meta.effect).await?;
    }
    let Some(named) = named else {
        return call(shared, entry, caller, request, &headers).await;
    };
    let (work_shared, entry) = (shared.clone(), *entry);
    let work = async move {
        let (response, lasts) = match call(&work_shared, &entry, caller, request, &headers).await {
            Ok(response) => (response, true),
            // A turn may have begun for whom a stopping process sends away, and this process begins no other in its place.
            Err(error) => (answer::refusal(&error), repeat::lasts(&error) || *work_shared.stopping.borrow()),
        };
        keep(response, lasts).await
    };
    let (kept, repeated) = shared.repeats.once(named, work).await?;
    let mut response = answer::bytes(kept.status, kept.body);
    *response.headers_mut() = kept.headers;
    if repeated {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

async fn keep(response: Response, lasts: bool) -> Kept {
    use http_body_util::BodyExt as _;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    // It was written in this process, whole.
    let body = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Kept { status, headers, body, lasts }
}

fn is_stream(entry: &Entry) -> bool {
    entry.meta.id == AskStream::ID
}

async fn call(
    shared: &Arc<Shared>,
    entry: &Entry,
    caller: Caller,
    mut request: WireRequest,
    headers: &HeaderMap,
) -> Result<Response> {
    if is_stream(entry) {
        return ask::stream(shared, caller, request, headers).await;
    }
    if entry.meta.id == Ask::ID {
        return ask::wait(shared, entry, caller, request).await;
    }
    let seconds = Duration::from_secs(shared.settings.request_seconds);
    let in_time = |result: std::result::Result<Result<Response>, _>| {
        result.unwrap_or_else(|_| {
            Err(StudioError::new(Code::Unavailable, 503, "The server is too busy to answer in time. Try again later."))
        })
    };
    if entry.meta.effect == Effect::Read {
        if entry.meta.streams {
            sse::continue_after(&mut request, headers);
        }
        return in_time(tokio::time::timeout(seconds, read(shared, entry, caller, request, headers)).await);
    }
    let reworded = conditional::expect(shared, entry, &caller, &mut request, headers).await?;
    // Whatever was begun is done, whether or not somebody still waits for the answer.
    let (all, entry) = (shared, *entry);
    let shared = all.clone();
    let work = tokio::spawn(async move {
        let reply = (entry.call)(shared.engine.clone(), caller.clone(), request).await;
        let (status, value) = conditional::json_of(reply.map_err(|error| reworded.refusal(error))?)?;
        if ENDS_WAITING.contains(&entry.meta.id) {
            ask::go_on(&shared, caller, value["turn"].as_str().unwrap_or_default());
        }
        let mut response = answer::json(status, &value);
        if entry.meta.id.starts_with("agents.")
            && let Some(tag) = conditional::tag_of(&value)
        {
            tagged(&mut response, &tag);
        }
        if entry.meta.id == AskDefer::ID {
            response.headers_mut().insert("preference-applied", HeaderValue::from_static("respond-async"));
        }
        Ok(response)
    });
    let done = async { work.await.map_err(|_| StudioError::internal())? };
    if entry.meta.effect != Effect::Run {
        return done.await;
    }
    tokio::select! {
        done = done => done,
        () = ask::last_answer(all) => Err(ask::stopping()),
    }
}

async fn read(
    shared: &Arc<Shared>,
    entry: &Entry,
    caller: Caller,
    request: WireRequest,
    headers: &HeaderMap,
) -> Result<Response> {
    if entry.meta.streams {
        let ends = shared.ends(headers.clone(), caller.clone(), &entry.meta);
        let WireReply::Events(_, events) = (entry.call)(shared.engine.clone(), caller, request).await? else {
            return Err(StudioError::internal());
        };
        return Ok(sse::stream(events.take_until(Box::pin(ends)), shared.metrics.stream()));
    }
    Ok(match conditional::read(shared, entry, caller, request, headers).await? {
        Read::Same(tag) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = http::StatusCode::NOT_MODIFIED;
            tagged(&mut response, &tag);
            response
        }
        Read::Fresh(status, bytes, tag) => {
            let mut response = answer::bytes(status, bytes);
            if let Some(tag) = tag {
                tagged(&mut response, &tag);
            }
            response
        }
    })
}

fn tagged(response: &mut Response, tag: &str) {
    if let Ok(value) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(ETAG, value);
    }
}
