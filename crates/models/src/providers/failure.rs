//! Turning what went wrong into a [`ModelError`]: the provider's own words, without our key.

use std::sync::{Arc, Mutex, PoisonError};

use rig_core::ProviderError;
use serde_json::Value;
use text::Secret;

use crate::error::{ModelError, ModelErrorKind};

/// How much of a body that is not JSON goes into the message; the body is kept besides.
const EXCERPT: usize = 600;

/// What stands in the place of a key.
const REMOVED: &str = "[key removed]";

/// Where the failure of one request is noted, so that the transport's knowledge of it
/// (status, body, cut or refused) does not have to pass through the decoder's errors.
#[derive(Clone)]
pub(super) struct Fault {
    provider: String,
    key: Arc<Secret>,
    noted: Arc<Mutex<Option<ModelError>>>,
}

impl Fault {
    pub(super) fn new(provider: &str, key: Arc<Secret>) -> Self {
        Self { provider: provider.to_owned(), key, noted: Arc::default() }
    }

    /// Notes a failure and gives the error that ends the stream at the decoder.
    pub(super) fn note(
        &self,
        kind: ModelErrorKind,
        status: Option<u16>,
        what: String,
        body: Option<String>,
    ) -> ProviderError {
        let error = self.error(kind, status, what, body);
        *self.noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        ProviderError::Truncated
    }

    /// Notes an answer that is not a success.
    pub(super) fn answer(&self, status: reqwest::StatusCode, body: String) -> ProviderError {
        let body = self.without_key(body);
        let kind = match status.as_u16() {
            400 | 413 | 422 if too_long(&body) => ModelErrorKind::ContextTooLong,
            401 | 403 => ModelErrorKind::Auth,
            429 => ModelErrorKind::RateLimited,
            500.. => ModelErrorKind::Server,
            _ => ModelErrorKind::Refused,
        };
        let what = match words(&body) {
            Some(words) => format!("answered {status}: {words}"),
            None => format!("answered {status}"),
        };
        self.note(kind, Some(status.as_u16()), what, Some(body))
    }

    /// The error to show for `error`: the one noted, or what the decoder found.
    pub(super) fn explain(&self, error: &ProviderError) -> ModelError {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(noted) = noted {
            return noted;
        }
        if let Some(body) = error.provider_response_body() {
            let body = self.without_key(body.to_owned());
            let kind = if too_long(&body) { ModelErrorKind::ContextTooLong } else { ModelErrorKind::Stream };
            let words = words(&body).unwrap_or_else(|| "no reason given".to_owned());
            let what = format!("reported an error in the middle of the reply: {words}");
            return self.error(kind, None, what, Some(body));
        }
        let (kind, what) = match error {
            ProviderError::Truncated => {
                (ModelErrorKind::Truncated, "ended the stream before the reply ended".to_owned())
            }
            ProviderError::Provider(words) => {
                (ModelErrorKind::Stream, format!("reported an error in the middle of the reply: {words}"))
            }
            ProviderError::Request(_) | ProviderError::UnsupportedOption(_) => {
                (ModelErrorKind::Unsupported, format!("cannot be sent this request: {error}"))
            }
            _ => (ModelErrorKind::Stream, format!("sent something that is not a reply: {error}")),
        };
        self.error(kind, None, what, None)
    }

    fn error(&self, kind: ModelErrorKind, status: Option<u16>, what: String, body: Option<String>) -> ModelError {
        ModelError {
            kind,
            status,
            message: self.without_key(format!("{} {what}", self.provider)),
            body: body.map(|body| self.without_key(body)),
        }
    }

    /// `text` without the key: a provider may repeat it, and addresses may carry it.
    fn without_key(&self, text: String) -> String {
        let key = self.key.expose();
        if key.is_empty() {
            return text;
        }
        let mut text = text.replace(key, REMOVED);
        // In JSON the key may be written with escapes.
        let escaped = Value::from(key).to_string();
        let escaped = escaped.trim_matches('"');
        if escaped != key {
            text = text.replace(escaped, REMOVED);
        }
        // A body is kept only up to a limit, which may cut through the key.
        let cut = (4..key.len()).rev().find(|n| text.ends_with(&key[..*n]));
        if let Some(length) = cut {
            text.truncate(text.len() - length);
            text.push_str(REMOVED);
        }
        text
    }
}

/// The provider's own words in `body`: the message of a JSON error, or the text itself.
fn words(body: &str) -> Option<String> {
    let text = serde_json::from_str::<Value>(body)
        .ok()
        .and_then(|json| {
            ["/error/message", "/message", "/error", "/detail", "/0/error/message"]
                .iter()
                .find_map(|at| json.pointer(at).and_then(Value::as_str).map(str::to_owned))
        })
        .unwrap_or_else(|| body.trim().to_owned());
    if text.is_empty() {
        return None;
    }
    let mut cut: String = text.chars().take(EXCERPT).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    Some(cut)
}

/// Whether `body` says that the conversation does not fit the model.
fn too_long(body: &str) -> bool {
    let body = body.to_ascii_lowercase();
    [
        "context_length_exceeded",
        "prompt is too long",
        "maximum context length",
        "exceed_context_size",
        "exceeds the available context size",
        "exceed context limit",
        "input token count exceeds",
        "exceeds the maximum number of tokens",
    ]
    .iter()
    .any(|words| body.contains(words))
}
