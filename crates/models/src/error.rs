//! What went wrong with a model, in the provider's own words.

/// A request that did not end in a reply.
///
/// `status` and `body` are the provider's own, as it sent them, so that a person can
/// look them up; the API key has been removed from every text in here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// The HTTP status, if the provider answered.
    pub status: Option<u16>,
    /// What to tell a person, with the provider's own words in it.
    pub message: String,
    /// The provider's answer as it sent it.
    pub body: Option<String>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// The key is missing, wrong or not allowed to do this (401, 403).
    Auth,
    /// Too many requests or no quota left (429).
    RateLimited,
    /// The provider refused the request (another 4xx).
    Refused,
    /// The provider failed (5xx).
    Server,
    /// The provider reported an error inside the stream.
    Stream,
    /// The stream ended before the provider's own end.
    Truncated,
    /// The provider could not be reached, or the connection broke before an answer.
    Network,
    /// This provider cannot do what was asked.
    Unsupported,
    /// The conversation is too long for the model.
    ContextTooLong,
}

impl ModelError {
    /// An error that has no answer of a provider behind it.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into(), body: None }
    }
}
