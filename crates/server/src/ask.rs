//! Asks over HTTP: streamed as AG-UI events, or waited for.

use crate::agui::{AgUi, read_id};
use crate::shared::Shared;
use crate::{answer, sse};
use axum::response::Response;
use contract::operation::meta;
use contract::ops::test::AskStream;
use contract::ops::turns::{GetTurn, ResumeTurn, TurnEvents};
use contract::wire::{Events, WireRequest};
use contract::{Code, Result, StudioError};
use engine::{Caller, Entry};
use futures_util::stream::{self, StreamExt as _};
use http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a waiting ask may still be answered when the server stops.
const LAST_ANSWER: Duration = Duration::from_secs(1);

/// Begins a turn and streams it; with `Last-Event-ID` the turn that the id names is streamed on, and nothing new begins.
pub async fn stream(
    shared: &Arc<Shared>,
    caller: Caller,
    request: WireRequest,
    headers: &HeaderMap,
) -> Result<Response> {
    let ends = shared.ends(headers.clone(), caller.clone(), &meta::<AskStream>());
    let (Events(seen), after) = match sse::last_event_id(headers) {
        None => (shared.engine.call::<AskStream>(caller, request).await?, None),
        Some(id) => {
            let wrong = || StudioError::invalid_request("'Last-Event-ID' must be the id of an event of such a stream.");
            let (turn, after) = read_id(id).ok_or_else(wrong)?;
            let of_turn = WireRequest { path: [("id".to_owned(), turn.to_owned())].into(), ..WireRequest::default() };
            let turns = shared.engine.call::<GetTurn>(caller.clone(), of_turn.clone()).await?.0;
            if request.path.get("name") != Some(&turns.agent_name) {
                return Err(StudioError::not_found("Turn", turn));
            }
            let request = WireRequest { query: vec![("after".into(), after.to_string())], ..of_turn };
            (shared.engine.call::<TurnEvents>(caller, request).await?, Some(after))
        }
    };
    // However it ends, the run is closed.
    let seen = seen.take_until(Box::pin(ends)).boxed();
    let events = stream::unfold((seen, AgUi::new(after), false), |(mut seen, mut agui, over)| async move {
        if over {
            return None;
        }
        let (events, over) = match seen.next().await {
            Some((_, what)) => (agui.events(what), false),
            None => (agui.cut(), true),
        };
        Some((stream::iter(events), (seen, agui, over)))
    })
    .flatten();
    Ok(sse::stream(events, shared.metrics.stream()))
}

/// Begins a turn and waits for its answer. When the server stops, whoever waits is told so; the turn is taken up again later.
pub async fn wait(shared: &Arc<Shared>, entry: &Entry, caller: Caller, request: WireRequest) -> Result<Response> {
    let stopped = last_answer(shared);
    tokio::select! {
        reply = (entry.call)(shared.engine.clone(), caller, request) => {
            let (status, value) = crate::conditional::json_of(reply?)?;
            Ok(answer::json(status, &value))
        }
        () = stopped => Err(stopping()),
    }
}

/// The moment from which a stopping server keeps nobody waiting any more.
pub async fn last_answer(shared: &Shared) {
    let mut stopping = shared.stopping.clone();
    let _ = stopping.wait_for(|stop| *stop).await;
    tokio::time::sleep(LAST_ANSWER).await;
}

/// 503 for who waits while the server stops.
pub fn stopping() -> StudioError {
    StudioError::new(
        Code::Unavailable,
        503,
        "The server is stopping. The turn is kept: list your test sessions, and resume it.",
    )
}

/// Takes a turn up again once what it waited for is decided, withdrawn or settled: the process that asked may be gone, and a
/// client of this server need not come back for its turn to go on. Whoever decides for another person does not act for them.
pub fn go_on(shared: &Arc<Shared>, caller: Caller, turn: &str) {
    let (engine, turn) = (shared.engine.clone(), turn.to_owned());
    tokio::spawn(async move {
        let request = WireRequest { path: [("id".to_owned(), turn)].into(), ..WireRequest::default() };
        if let Err(error) = engine.call::<ResumeTurn>(caller, request).await {
            tracing::debug!(%error, "the turn that need not wait any more stays for who asked");
        }
    });
}
