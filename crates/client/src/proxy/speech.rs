//! Which dialect a server speaks: ours, or the one of the original, whose addresses and shapes differ here and there.
//!
//! How the original is spoken to is the affair of [`crate::dialect`].

use super::address::path_of;
use super::answer::Whole;
use contract::operation::Meta;
use contract::ops::me::GetMe;
use contract::wire::{Raw, WireReply, WireRequest};
use contract::{Code, Operation as _, Result};

/// What a server understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Ours. The server knows a request again by its key.
    Ours,
    /// That of the Python Agent Studio, which does what is sent twice two times.
    Original,
}

/// A request as a server understands it.
pub(super) struct Sent {
    /// The path below the base, encoded.
    pub path: String,
    /// The query.
    pub query: Vec<(String, String)>,
    /// The body, JSON.
    pub body: Option<Vec<u8>>,
}

impl Dialect {
    /// The dialect of whoever gave this answer to the question who is asking. Our servers are known by a header; where
    /// something took it away, ours and the original answer this question alike.
    ///
    /// # Errors
    /// A refusal, or no answer of a Studio server.
    pub(super) fn of(whole: Whole) -> Result<Self> {
        if whole.ours {
            return Ok(Self::Ours);
        }
        // The framework around the original refuses in plain text, before any word of a Studio.
        if whole.is_text() && matches!(whole.status, 400 | 401 | 403) {
            return Err(crate::dialect::refusal(whole.status, &whole.value()));
        }
        let foreign = whole.foreign();
        match whole.meaning()? {
            WireReply::Json(status, me) => crate::dialect::answer(GetMe::ID, &WireRequest::default(), status, me)
                .map(|_| Self::Original)
                .map_err(|_| foreign),
            WireReply::Events(..) => Err(foreign),
        }
    }
}

/// Whether this answer to the question what waits for a person is one of ours: the original has nothing at that address.
pub(super) fn lists_approvals(whole: &Whole) -> bool {
    match whole.json() {
        Some(body) if whole.is_success() => body["approvals"].is_array(),
        // A refusal with one of our codes, such as that of a token that is limited.
        Some(body) => whole.status != 404 && body["code"].as_str().is_some_and(|code| Code::parse(code).is_some()),
        None => false,
    }
}

/// The request in our dialect.
///
/// # Errors
/// The parameters of its path do not fit.
pub(super) fn ours(meta: &Meta, request: &WireRequest) -> Result<Sent> {
    let body = match &request.body {
        Raw::Absent => None,
        Raw::Bytes(bytes) => Some(bytes.clone()),
        Raw::Value(value) => Some(value.to_string().into_bytes()),
    };
    Ok(Sent { path: path_of(meta, request)?, query: request.query.clone(), body })
}
