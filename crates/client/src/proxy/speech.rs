//! Which dialect a server speaks: ours, or the one of the original, whose addresses and shapes differ here and there.
//!
//! The one place where the two part.

use super::address::path_of;
use super::answer::Whole;
use contract::operation::Meta;
use contract::wire::{Raw, WireRequest};
use contract::{Result, StudioError};

/// What a server understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Ours. The server knows a request again by its key.
    Ours,
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
    /// The dialect of whoever gave this answer to the question who is asking.
    ///
    /// # Errors
    /// A refusal, or no answer of a Studio server.
    pub(super) fn of(whole: Whole) -> Result<Self> {
        if whole.ours {
            return Ok(Self::Ours);
        }
        whole.meaning()?;
        Err(StudioError::internal())
    }

    /// The request in this dialect.
    ///
    /// # Errors
    /// It cannot be said in it.
    pub(super) fn request(self, meta: &Meta, request: &WireRequest) -> Result<Sent> {
        let body = match &request.body {
            Raw::Absent => None,
            Raw::Bytes(bytes) => Some(bytes.clone()),
            Raw::Value(value) => Some(value.to_string().into_bytes()),
        };
        Ok(Sent { path: path_of(meta, request)?, query: request.query.clone(), body })
    }
}
