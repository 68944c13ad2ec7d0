//! Something that many want at once and one of them gets for all.

use contract::{Result, StudioError};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// What is got once and kept; a failure is shared by all who waited for it.
#[derive(Debug)]
pub(super) struct Joint<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    kept: Option<T>,
    failed: Option<(Instant, StudioError)>,
}

impl<T: Clone> Joint<T> {
    /// Nothing was tried yet.
    pub fn new() -> Self {
        Self(Mutex::new(State { kept: None, failed: None }))
    }

    /// What is kept, if it is `good`; else what `get` gets in the time that is left to it. The patience counts from this call,
    /// not from the moment at which others are done: else each of many would wait for all before it and then as long again.
    ///
    /// # Errors
    /// Those of `get`, its own or of the one it waited for. One that is `final_` is the answer to everybody from then on,
    /// and nothing is sent any more.
    pub async fn get(
        &self,
        patience: Duration,
        good: impl Fn(&T) -> bool,
        final_: impl Fn(&StudioError) -> bool,
        get: impl AsyncFnOnce(Duration) -> Result<T>,
    ) -> Result<T> {
        let began = Instant::now();
        let mut state = self.0.lock().await;
        if let Some(kept) = state.kept.as_ref().filter(|kept| good(kept)) {
            return Ok(kept.clone());
        }
        let left = patience.saturating_sub(began.elapsed());
        if let Some((at, error)) = &state.failed
            && (final_(error) || (*at >= began && left.is_zero()))
        {
            return Err(error.clone());
        }
        state.kept = None;
        let got = get(left).await;
        match &got {
            Ok(got) => *state = State { kept: Some(got.clone()), failed: None },
            Err(error) => state.failed = Some((Instant::now(), error.clone())),
        }
        got
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use contract::Code;
    use futures_util::future::join_all;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::sleep;

    fn away() -> StudioError {
        StudioError::new(Code::Unavailable, 503, "away")
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_wait_for_a_failure_share_it() {
        let (joint, tries) = (Joint::<()>::new(), AtomicUsize::new(0));
        let patience = Duration::from_secs(30);
        let one = || {
            joint.get(
                patience,
                |()| true,
                |_| false,
                async |left: Duration| {
                    tries.fetch_add(1, Ordering::Relaxed);
                    sleep(left).await;
                    Err(away())
                },
            )
        };
        let began = Instant::now();
        let all = join_all((0..8).map(|_| one())).await;
        assert!(all.iter().all(|got| *got == Err(away())));
        assert_eq!((tries.load(Ordering::Relaxed), began.elapsed()), (1, patience));
        assert!(one().await.is_err());
        assert_eq!(tries.load(Ordering::Relaxed), 2, "who comes later tries");
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_patience_left_does_not_share_the_failure_of_who_had_none() {
        let joint = Joint::<u8>::new();
        let hasty = joint.get(
            Duration::ZERO,
            |_| true,
            |_| false,
            async |_| {
                sleep(Duration::from_secs(1)).await;
                Err(away())
            },
        );
        let patient = joint.get(
            Duration::from_secs(30),
            |_| true,
            |_| false,
            async |left| {
                assert_eq!(left, Duration::from_secs(29));
                Ok(7)
            },
        );
        assert_eq!(tokio::join!(hasty, patient), (Err(away()), Ok(7)));
    }

    #[tokio::test]
    async fn a_final_failure_is_kept() {
        let joint = Joint::<u8>::new();
        let of = |code: Code| StudioError::new(code, 401, "no");
        let once = |result: Result<u8>| {
            joint.get(Duration::ZERO, |_| true, |e| e.code == Code::Unauthorized, async move |_| result)
        };
        assert!(once(Err(of(Code::Unavailable))).await.is_err());
        assert_eq!(once(Err(of(Code::Unauthorized))).await.unwrap_err().code, Code::Unauthorized);
        assert_eq!(once(Ok(1)).await.unwrap_err().code, Code::Unauthorized);
    }
}
