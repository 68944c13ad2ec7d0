//! What goes wrong in the runtime.

use contract::{Code, StudioError};
use store::StoreError;

/// A failure of the runtime.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// A refusal of the contract.
    #[error(transparent)]
    Refused(#[from] StudioError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This process is about to end. What was under way is begun again by whoever takes the turn up.
    #[error("this process is about to end")]
    Stopping,
    /// Another process has taken the turn over; nothing of ours was written.
    #[error("another process works on this turn")]
    LeaseLost,
}

impl From<RuntimeError> for StudioError {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Refused(refusal) => refusal,
            RuntimeError::Store(error) => store_refusal(error),
            RuntimeError::Stopping => StudioError::new(
                Code::Unavailable,
                503,
                "This program is about to end. The turn can be taken up again.",
            ),
            RuntimeError::LeaseLost => StudioError::new(
                Code::Unavailable,
                503,
                "Another process works on this turn. Look at it again in a moment.",
            ),
        }
    }
}

/// A storage error as a refusal: 503 when nothing could be written, else 500 without internals.
pub fn store_refusal(error: StoreError) -> StudioError {
    if error.is_temporary() {
        return StudioError::storage_unavailable();
    }
    tracing::error!(?error, "storage");
    StudioError::internal()
}
