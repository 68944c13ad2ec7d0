//! What the person behind a turn may do, asked anew whenever it matters: a turn can wait for a day, and by then a membership
//! may be gone.

use contract::{Code, StudioError};
use futures_util::future::BoxFuture;
use rules::scope::BoundRequest;
use std::sync::Arc;

/// Asks what the person may do now: the scope that tools run in, or why there is none any more.
pub type Standing = Arc<dyn Fn() -> BoxFuture<'static, Result<BoundRequest, StudioError>> + Send + Sync>;

/// Asks. That nobody could say, for the storage failed, is no answer: it must not cost an approval.
pub(crate) async fn ask(standing: &Standing) -> Result<Result<BoundRequest, StudioError>, StudioError> {
    match standing().await {
        Err(error) if error.status >= 500 => Err(error),
        answer => Ok(answer),
    }
}

/// Of somebody who only stops a turn: no tool runs for them.
pub(crate) fn nobody() -> Standing {
    Arc::new(|| {
        Box::pin(async {
            Err(StudioError::new(Code::AccessDenied, 403, "This turn is only being stopped; no tool runs."))
        })
    })
}
