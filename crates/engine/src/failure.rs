//! What a function over a transaction may fail with: a refusal of ours, or the store.

use crate::errors::from_store;
use contract::StudioError;
use store::StoreError;

/// The error type of a call of the store that may also refuse. As a [`StudioError`] it is the answer.
#[derive(Debug)]
pub enum Failure {
    /// A refusal.
    Refused(StudioError),
    /// The store.
    Store(StoreError),
}

impl From<StudioError> for Failure {
    fn from(error: StudioError) -> Self {
        Self::Refused(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for StudioError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => error,
            Failure::Store(error) => from_store(error),
        }
    }
}
