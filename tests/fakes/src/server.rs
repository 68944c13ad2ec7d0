//! The server itself: takes requests, sends scripted answers, keeps a record.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode};
use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;

use crate::answer::{Answer, Step, cut_off};
use crate::loopback::Loopback;
use crate::request::Request;
use crate::{anthropic, openai};

/// The wire format of a fake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's chat completions, below `/v1`.
    OpenAi,
    /// Anthropic's messages, at `/v1/messages`.
    Anthropic,
}

type Script = Box<dyn FnMut(&Request) -> Option<Answer> + Send>;

#[derive(Default)]
struct Record {
    requests: Vec<Request>,
    /// Answers that were sent to their end.
    finished: usize,
    /// Answers whose client left before the end.
    left: usize,
}

struct Shared {
    protocol: Protocol,
    script: Mutex<Script>,
    record: Mutex<Record>,
    changed: Condvar,
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model server on 127.0.0.1. It has a thread of its own, so that tests without a
/// runtime can use it too, and stops when it is dropped.
pub struct Fake {
    server: Loopback,
    shared: Arc<Shared>,
}

impl Fake {
    /// Gives `answers` one after the other, over OpenAI's protocol.
    pub fn openai(answers: Vec<Answer>) -> Self {
        Self::scripted(Protocol::OpenAi, answers)
    }

    /// Gives `answers` one after the other, over Anthropic's protocol.
    pub fn anthropic(answers: Vec<Answer>) -> Self {
        Self::scripted(Protocol::Anthropic, answers)
    }

    /// Gives `answers` one after the other; after the last one every request fails.
    pub fn scripted(protocol: Protocol, answers: Vec<Answer>) -> Self {
        let mut answers = VecDeque::from(answers);
        Self::start(protocol, Box::new(move |_| answers.pop_front()))
    }

    /// Answers each request by what was asked.
    pub fn answering<F>(protocol: Protocol, answer: F) -> Self
    where
        F: Fn(&Request) -> Answer + Send + Sync + 'static,
    {
        Self::start(protocol, Box::new(move |request| Some(answer(request))))
    }

    fn start(protocol: Protocol, script: Script) -> Self {
        let shared = Arc::new(Shared {
            protocol,
            script: Mutex::new(script),
            record: Mutex::default(),
            changed: Condvar::new(),
        });
        let served = Arc::clone(&shared);
        let app = axum::Router::new().fallback(move |request| handle(Arc::clone(&served), request));
        Self { server: Loopback::serve(app), shared }
    }

    /// The base URL to configure a client with.
    pub fn base_url(&self) -> String {
        match self.shared.protocol {
            Protocol::OpenAi => format!("http://{}/v1", self.server.address()),
            Protocol::Anthropic => format!("http://{}", self.server.address()),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.record().requests.clone()
    }

    /// The last request. Panics if there was none.
    pub fn last_request(&self) -> Request {
        self.requests().pop().expect("the fake was asked")
    }

    /// How many answers were sent to their end.
    pub fn finished(&self) -> usize {
        self.shared.record().finished
    }

    /// How many clients left before the end of their answer.
    pub fn left(&self) -> usize {
        self.shared.record().left
    }

    /// Waits until a client has left before the end of its answer; `false` if none has
    /// within `limit`.
    pub fn wait_until_left(&self, limit: Duration) -> bool {
        self.wait(limit, |record| record.left > 0)
    }

    /// Waits until `count` requests have arrived; `false` if they have not within `limit`.
    pub fn wait_for_requests(&self, count: usize, limit: Duration) -> bool {
        self.wait(limit, |record| record.requests.len() >= count)
    }

    fn wait(&self, limit: Duration, done: impl Fn(&Record) -> bool) -> bool {
        let until = Instant::now() + limit;
        let mut record = self.shared.record();
        while !done(&record) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            record = self.shared.changed.wait_timeout(record, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

async fn handle(shared: Arc<Shared>, request: axum::extract::Request) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let request = Request {
        path: parts.uri.to_string(),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                (name.as_str().to_owned(), value)
            })
            .collect(),
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
    };
    let path = match shared.protocol {
        Protocol::OpenAi => "/v1/chat/completions",
        Protocol::Anthropic => "/v1/messages",
    };
    if parts.method == "GET" && parts.uri.path() == "/v1/models" {
        return Ok(whole(
            200,
            "application/json",
            r#"{"object":"list","data":[{"id":"fake-model","object":"model"}]}"#,
        ));
    }
    shared.record().requests.push(request.clone());
    shared.changed.notify_all();
    let known = parts.method == "POST" && parts.uri.path() == path;
    if !known || request.body["stream"] != true {
        return Ok(whole(404, "application/json", r#"{"error":"not found"}"#));
    }
    let answer = {
        let mut script = shared.script.lock().unwrap_or_else(PoisonError::into_inner);
        script(&request)
    };
    Ok(respond(shared, &request, answer))
}

fn whole(status: u16, content_type: &str, body: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).expect("the script's status is valid");
    let value = content_type.parse().expect("the script's type is a header");
    response.headers_mut().insert("content-type", value);
    response
}

fn respond(shared: Arc<Shared>, request: &Request, answer: Option<Answer>) -> Response<Body> {
    let Some(answer) = answer else {
        let body = match shared.protocol {
            Protocol::OpenAi => openai::no_answer_left(),
            Protocol::Anthropic => anthropic::no_answer_left(),
        };
        return whole(500, "application/json", &body.to_string());
    };
    let status = answer.status.unwrap_or(200);
    let content_type = answer.content_type.as_deref().unwrap_or("text/event-stream; charset=utf-8");
    if let Some(body) = &answer.body {
        return whole(status, content_type, body);
    }
    let steps = match shared.protocol {
        Protocol::OpenAi => openai::steps(&answer, request),
        Protocol::Anthropic => anthropic::steps(&answer, request),
    };
    let steps = cut_off(steps, answer.cut);
    let mut response = whole(status, content_type, "");
    *response.body_mut() = Body::from_stream(Watched { steps: Box::pin(play(steps)), done: false, shared });
    response
}

fn play(steps: Vec<Step>) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send {
    stream::iter(steps).filter_map(|step| async move {
        match step {
            Step::Bytes(bytes) => Some(Ok(Bytes::from(bytes))),
            Step::Pause(pause) => {
                tokio::time::sleep(pause).await;
                None
            }
            Step::Break => {
                // What was sent has to leave first, or the client sees none of it.
                tokio::time::sleep(Duration::from_millis(1)).await;
                Some(Err(std::io::Error::other("cut by the script")))
            }
        }
    })
}

/// A body that notes how it ended.
struct Watched {
    steps: Pin<Box<dyn Stream<Item = Result<Bytes, std::io::Error>> + Send>>,
    done: bool,
    shared: Arc<Shared>,
}

impl Stream for Watched {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let step = self.steps.as_mut().poll_next(context);
        if matches!(step, Poll::Ready(None | Some(Err(_)))) {
            self.done = true;
        }
        step
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut record = self.shared.record();
        if self.done {
            record.finished += 1;
        } else {
            record.left += 1;
        }
        drop(record);
        self.shared.changed.notify_all();
    }
}
