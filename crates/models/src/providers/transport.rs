//! Sending a request and reading the stream of events that answers it.
//!
//! This is where a reply's end is judged: the last frames of a reply reach the decoder
//! only once the provider's own end mark has arrived, so that a stream that was cut can
//! never pass for a short answer.

use std::collections::VecDeque;

use futures_util::stream;
use rig_core::ProviderError;
use rig_core::driver::{Exchange, Opened, Opening, Transport};
use rig_core::http_client::Request;
use rig_core::http_client::framing::SseFramer;
use rig_core::wire::{Body, Encoded, Wire, WireFrame};
use serde_json::Value;

use super::failure::Fault;
use super::reason;
use crate::error::ModelErrorKind;

/// How much of an answer that is not a stream is kept.
const BODY_LIMIT: usize = 256 * 1024;
/// The largest single event; a stream without line ends must not fill the memory.
const EVENT_LIMIT: usize = 64 * 1024 * 1024;

/// What marks the end of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The line `data: [DONE]`.
    DoneLine,
    /// Anthropic's event `message_stop`.
    MessageStop,
    /// The end of the body; the decoder knows by itself whether the reply is complete.
    Body,
}

/// One line to a provider, for one request.
#[derive(Clone)]
pub(super) struct Line {
    http: reqwest::Client,
    end: End,
    fault: Fault,
}

impl Line {
    pub(super) fn new(http: reqwest::Client, end: End, fault: Fault) -> Self {
        Self { http, end, fault }
    }

    /// Sends `request` and gives the response if it is a stream of events. Any other
    /// outcome is noted in `fault`, in the provider's own words.
    async fn open(&self, request: reqwest::Request) -> Result<reqwest::Response, ProviderError> {
        let response = match self.http.execute(request).await {
            Ok(response) => response,
            Err(error) => {
                let what = if error.is_connect() {
                    "cannot be reached"
                } else if error.is_timeout() {
                    "did not answer in time"
                } else {
                    "broke the connection before an answer"
                };
                let text = format!("{what} ({})", reason(&error));
                return Err(self.fault.note(ModelErrorKind::Network, None, text, None));
            }
        };
        let status = response.status();
        let streams = response.headers().get("content-type").is_none_or(|kind| {
            kind.to_str().is_ok_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
        });
        if status.as_u16() == 200 && streams {
            return Ok(response);
        }
        let kind = response
            .headers()
            .get("content-type")
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or("an unnamed type")
            .to_owned();
        let body = read_body(response).await;
        if status.as_u16() == 200 {
            let text = format!("answered with {kind} instead of a stream of events");
            return Err(self.fault.note(ModelErrorKind::Unsupported, Some(200), text, Some(body)));
        }
        Err(self.fault.answer(status, body))
    }
}

/// The body as text, as far as it came.
async fn read_body(mut response: reqwest::Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = BODY_LIMIT - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if bytes.len() == BODY_LIMIT {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl<W: Wire<Payload = Encoded, Frame = WireFrame>> Transport<W> for Line {
    fn send(&self, payload: Encoded, _: Exchange) -> Opening<WireFrame> {
        let line = self.clone();
        Opening::new(async move {
            let (mut parts, body) = payload.request.into_parts();
            let Body::Bytes(mut body) = body else {
                return Err(ProviderError::request("a request with files cannot stream"));
            };
            if line.end != End::MessageStop {
                body = plain_system(body);
            }
            for (name, value) in [("accept", "text/event-stream"), ("content-type", "application/json")] {
                if !parts.headers.contains_key(name)
                    && let Ok(value) = value.parse()
                {
                    parts.headers.insert(name, value);
                }
            }
            let request = reqwest::Request::try_from(Request::from_parts(parts, body)).map_err(|error| {
                line.fault.note(
                    ModelErrorKind::Unsupported,
                    None,
                    format!("cannot be sent this request ({})", reason(&error)),
                    None,
                )
            })?;
            let response = line.open(request).await?;
            Ok(Opened::new(Frames::new(response, line.end, line.fault).stream()))
        })
    }
}

/// `body` with system messages as plain text. Every server takes a string there; some
/// take nothing else, and the encoder writes a list of parts.
fn plain_system(body: Vec<u8>) -> Vec<u8> {
    let Ok(mut json) = serde_json::from_slice::<Value>(&body) else {
        return body;
    };
    let messages = json.get_mut("messages").and_then(Value::as_array_mut);
    let mut changed = false;
    for message in messages.into_iter().flatten() {
        if message.get("role").and_then(Value::as_str) != Some("system") {
            continue;
        }
        let Some(Value::Array(parts)) = message.get("content") else {
            continue;
        };
        let texts: Option<Vec<&str>> = parts.iter().map(|part| part.get("text").and_then(Value::as_str)).collect();
        if let Some(texts) = texts {
            let text = texts.join("\n");
            message["content"] = Value::String(text);
            changed = true;
        }
    }
    if changed { json.to_string().into_bytes() } else { body }
}

/// The frames of one reply.
struct Frames {
    response: reqwest::Response,
    framer: SseFramer,
    ready: VecDeque<WireFrame>,
    /// Frames that would end the reply, kept until the end mark.
    held: Vec<WireFrame>,
    end: End,
    ended: bool,
    over: bool,
    fault: Fault,
}

impl Frames {
    fn new(response: reqwest::Response, end: End, fault: Fault) -> Self {
        Self {
            response,
            framer: SseFramer::new(),
            ready: VecDeque::new(),
            held: Vec::new(),
            end,
            ended: false,
            over: false,
            fault,
        }
    }

    fn stream(self) -> impl stream::Stream<Item = Result<WireFrame, ProviderError>> + Send {
        stream::unfold(self, |mut frames| async move {
            let item = frames.next().await?;
            Some((item, frames))
        })
    }

    async fn next(&mut self) -> Option<Result<WireFrame, ProviderError>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(Ok(frame));
            }
            if self.over {
                return None;
            }
            let chunk = self.response.chunk().await;
            match chunk {
                Ok(Some(chunk)) => {
                    let events: Vec<_> = self.framer.push(&chunk).collect();
                    for event in events {
                        self.take(event.data);
                    }
                    if self.framer.pending() > EVENT_LIMIT {
                        return Some(Err(self.cut("sent an event that is too large")));
                    }
                }
                Ok(None) if self.ended || self.end == End::Body => {
                    self.over = true;
                    return None;
                }
                Ok(None) => return Some(Err(self.cut("ended the stream before the reply ended"))),
                // The reply is whole; how the connection closes no longer matters.
                Err(_) if self.ended => {
                    self.over = true;
                    return None;
                }
                Err(error) if error.is_timeout() => {
                    return Some(Err(self.cut("stopped sending in the middle of the reply")));
                }
                Err(error) => {
                    let text = format!("broke the connection in the middle of the reply ({})", reason(&error));
                    return Some(Err(self.cut(&text)));
                }
            }
        }
    }

    fn cut(&mut self, text: &str) -> ProviderError {
        self.over = true;
        self.fault.note(ModelErrorKind::Truncated, None, text.to_owned(), None)
    }

    fn take(&mut self, data: String) {
        if self.ended || data.trim().is_empty() {
            return;
        }
        match self.end {
            End::DoneLine => {
                self.ended = data.trim() == "[DONE]";
                let data = if self.ended { "[DONE]".to_owned() } else { data };
                self.ready.push_back(WireFrame::Text(data));
            }
            End::Body => self.ready.push_back(WireFrame::Text(data)),
            End::MessageStop => match event_type(&data).as_deref() {
                Some("message_stop") => {
                    self.ended = true;
                    self.ready.extend(self.held.drain(..));
                    self.ready.push_back(WireFrame::Text(data));
                }
                // The decoder takes this event for the end, which comes one event later.
                Some("message_delta") => self.held.push(WireFrame::Text(data)),
                _ => self.ready.push_back(WireFrame::Text(data)),
            },
        }
    }
}

/// The `type` of an Anthropic event.
fn event_type(data: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Tagged {
        r#type: String,
    }
    serde_json::from_str::<Tagged>(data).ok().map(|tagged| tagged.r#type)
}
