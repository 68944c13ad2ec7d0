//! What came back: read within bounds, and told apart from what is no answer of a Studio server.

use contract::wire::WireReply;
use contract::{Code, Result, StudioError};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use serde_json::Value;

/// The header by which our servers are known.
pub(super) const VERSION: &str = "x-astudio-version";
/// How much of a foreign answer is shown.
const WORDS: usize = 160;

/// An answer.
pub(super) enum Answer {
    /// One that is whole.
    Whole(Whole),
    /// A stream of events.
    Stream(Response),
}

/// A whole answer.
pub(super) struct Whole {
    /// Its status.
    pub status: u16,
    /// Whether it came from a server of ours.
    pub ours: bool,
    /// Its media type.
    kind: String,
    body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Stop {
    /// The connection; trying again may help.
    Broken(Broken),
    /// Something that will not change.
    Final(StudioError),
}

/// How a connection broke.
#[derive(Debug)]
pub(super) struct Broken {
    /// In words.
    pub why: String,
    /// Whether the request may have arrived.
    pub sent: bool,
    /// Whether it was taken and only the answer took too long.
    pub slow: bool,
}

impl From<StudioError> for Stop {
    fn from(error: StudioError) -> Self {
        Self::Final(error)
    }
}

impl Stop {
    /// A failure of the connection.
    pub fn broken(error: &reqwest::Error) -> Self {
        Self::Broken(Broken { why: reason(error), sent: !error.is_connect() && !error.is_builder(), slow: false })
    }
}

/// Reads an answer: a stream of events is left open, everything else is read whole.
pub(super) async fn read(mut response: Response, most: usize) -> std::result::Result<Answer, Stop> {
    let status = response.status();
    if status.is_redirection() {
        return Err(Stop::Final(redirected(response.headers())));
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    if status.is_success() && kind.starts_with("text/event-stream") {
        return Ok(Answer::Stream(response));
    }
    let ours = response.headers().contains_key(VERSION);
    let mut body = Vec::new();
    let told = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
    if told > most {
        return Err(Stop::Final(too_large(most)));
    }
    while let Some(chunk) = response.chunk().await.map_err(|error| Stop::broken(&error))? {
        if body.len() + chunk.len() > most {
            return Err(Stop::Final(too_large(most)));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer::Whole(Whole { status: status.as_u16(), ours, kind, body }))
}

impl Whole {
    /// Whether it is a success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Its JSON; null where nothing was sent.
    pub fn json(&self) -> Option<Value> {
        if self.body.is_empty() { Some(Value::Null) } else { serde_json::from_slice(&self.body).ok() }
    }

    /// Whether it is plain text.
    pub fn is_text(&self) -> bool {
        self.kind.starts_with("text/plain")
    }

    /// Its JSON, or its text as a JSON string.
    pub fn value(&self) -> Value {
        self.json().unwrap_or_else(|| String::from_utf8_lossy(&self.body).into_owned().into())
    }

    /// Whether something between here and the server answered in its place, which passes.
    pub fn is_of_a_gateway(&self) -> bool {
        matches!(self.status, 502..=504) && !self.is_refusal()
    }

    /// Whether it is a refusal of a Studio server.
    fn is_refusal(&self) -> bool {
        let Ok(Value::Object(body)) = serde_json::from_slice(&self.body) else { return false };
        body.get("message").is_some_and(Value::is_string) && (self.ours || body.contains_key("code"))
    }

    /// What it says.
    ///
    /// # Errors
    /// The server's refusal, or that this is no answer of a Studio server.
    pub fn meaning(self) -> Result<WireReply> {
        if !self.is_success() {
            return Err(if self.is_refusal() {
                StudioError::from_body(self.status, &self.body)
            } else {
                self.foreign()
            });
        }
        match self.json() {
            Some(value) => Ok(WireReply::Json(self.status, value)),
            None => Err(self.foreign()),
        }
    }

    /// That it is no answer of a Studio server.
    pub fn foreign(&self) -> StudioError {
        let status = reqwest::StatusCode::from_u16(self.status).ok();
        let name = status.and_then(|status| status.canonical_reason()).unwrap_or_default();
        let kind = if self.kind.is_empty() { "an unnamed type" } else { &self.kind };
        let words = words(&self.body);
        let words = if words.is_empty() { String::new() } else { format!(": \"{words}\"") };
        let message = format!(
            "This does not look like a Studio server: {} {name} with {kind}{words}. Check the address, and what stands before \
             the server.",
            self.status
        );
        // A success that means nothing is none.
        let status = if self.is_success() { 502 } else { self.status };
        StudioError::new(Code::InternalError, status, message)
    }
}

/// The first words of a page, without its tags.
fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]).into_owned();
    let mut plain = String::new();
    let mut tag = false;
    for c in text.chars() {
        match c {
            '<' => tag = true,
            '>' if tag => {
                tag = false;
                plain.push(' ');
            }
            c if !tag => plain.push(c),
            _ => {}
        }
    }
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = text::redact_text(&plain, &[]);
    let plain = text::Safe::clean(&plain);
    plain.truncate(WORDS).as_str().to_owned()
}

fn too_large(most: usize) -> StudioError {
    let mib = most.div_ceil(1 << 20);
    StudioError::new(
        Code::PayloadTooLarge,
        502,
        format!("The server's answer is larger than {mib} MiB and was not read. Ask for less, such as with a limit."),
    )
}

/// Nothing is sent to where a server points: the token is for the address that was named.
fn redirected(headers: &HeaderMap) -> StudioError {
    let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).and_then(|to| reqwest::Url::parse(to).ok());
    let to = to.map(|to| to.origin().ascii_serialization()).unwrap_or_else(|| "another address".to_owned());
    StudioError::new(
        Code::InvalidConfig,
        422,
        format!("The server points to {to}. Nothing was sent there; if it is the right one, name it as the server."),
    )
}

/// An error with its causes in one line, and without the address.
pub(super) fn reason(error: &reqwest::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        let text = error.to_string();
        // The library's own frame around the cause says nothing.
        if causes.last() != Some(&text) && !text.starts_with("client error") {
            causes.push(text);
        }
        cause = error.source();
    }
    if causes.is_empty() {
        causes.push(if error.is_timeout() { "timed out" } else { "the connection failed" }.to_owned());
    }
    causes.join(": ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn whole(status: u16, kind: &str, body: &str) -> Whole {
        Whole { status, ours: false, kind: kind.into(), body: body.into() }
    }

    #[test]
    fn refusals_are_the_servers_own() {
        let body = r#"{"message": "Agent 'x' not found.", "code": "not_found", "details": null}"#;
        let error = whole(404, "application/json", body).meaning().err().unwrap();
        assert_eq!(error, StudioError::not_found("Agent", "x"));
        let body = r#"{"message": "No answer.", "code": "query_failed", "details": {"turn": "t"}}"#;
        let answer = whole(502, "application/json", body);
        assert!(!answer.is_of_a_gateway(), "a refusal that says so");
        assert_eq!(answer.meaning().err().unwrap().code, Code::QueryFailed);
    }

    #[test]
    fn pages_of_others_are_told_in_their_first_words() {
        let page = "<html><head><title>502 Bad Gateway</title></head>\n<body><h1>nginx</h1>\u{1b}[31m token=sk-abcdefghijklmnopqrstuvwxyz</body>";
        let answer = whole(502, "text/html", page);
        assert!(answer.is_of_a_gateway());
        let error = answer.meaning().err().unwrap();
        assert_eq!((error.status, error.code), (502, Code::InternalError));
        for part in ["502 Bad Gateway", "text/html", "nginx"] {
            assert!(error.message.contains(part), "{}", error.message);
        }
        for part in ["<", "\u{1b}", "sk-abc"] {
            assert!(!error.message.contains(part), "{}", error.message);
        }
        let portal = whole(200, "text/html", "<h1>Please pay for the WLAN</h1>").meaning().err().unwrap();
        assert!(portal.status == 502 && portal.message.contains("Please pay"), "{portal:?}");
        let long = whole(500, "", &"word ".repeat(10_000)).meaning().err().unwrap();
        assert!(long.message.len() < 400, "{}", long.message);
        // JSON that is no refusal of ours.
        let other = whole(503, "application/json", r#"{"error": "no upstream"}"#);
        assert!(other.is_of_a_gateway() && other.foreign().message.contains("no upstream"));
    }

    #[test]
    fn an_empty_success_is_null() {
        assert!(matches!(whole(204, "", "").meaning(), Ok(WireReply::Json(204, Value::Null))));
    }
}
