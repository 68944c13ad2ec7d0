//! Requests that are sent again with the same `Idempotency-Key` are done once.
//!
//! A client whose line broke cannot know whether its write was done. It sends the write again under the same key, and gets
//! the answer of the first. The answers live in memory: after a restart of the server a repeat counts as new, and then
//! versions and names keep most writes from being done twice.

use bytes::Bytes;
use contract::{Code, Result, StudioError};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Longest key.
const MOST_KEY: usize = 255;
/// Keys kept at a time.
const MOST_KEYS: usize = 10_000;
/// Answers beyond this are not kept; no write answers with more than a record.
const MOST_ANSWER: usize = 256 * 1024;
/// Bytes of answers kept at a time.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(600);

/// What is kept of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Bytes,
}

type Slot = watch::Receiver<Option<Kept>>;

struct One {
    request: [u8; 32],
    slot: Slot,
    /// Bytes of the answer, once there is one.
    bytes: usize,
}

/// The answers by credential and key.
#[derive(Clone, Default)]
pub struct Repeats(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    by_key: HashMap<String, One>,
    order: VecDeque<(Instant, String)>,
    bytes: usize,
}

/// What names a request.
pub struct Named {
    key: String,
    request: [u8; 32],
}

impl Named {
    /// From what the client sent.
    ///
    /// # Errors
    /// 400 for a key that is none.
    pub fn new(credential: &str, key: &[u8], what: &[&[u8]]) -> Result<Self> {
        if key.is_empty() || key.len() > MOST_KEY || !key.iter().all(u8::is_ascii_graphic) {
            return Err(StudioError::invalid_request(format!(
                "'Idempotency-Key' has 1 to {MOST_KEY} visible ASCII characters."
            )));
        }
        let mut hash = Sha256::new();
        for part in what {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Ok(Self { key: format!("{credential} {}", String::from_utf8_lossy(key)), request: hash.finalize().into() })
    }
}

impl Repeats {
    /// Does the work, or gives the answer of the same request that was sent before. The work goes on when the client leaves.
    /// Answers whether it is a repeat, too.
    ///
    /// # Errors
    /// 422 for the key of another request.
    pub async fn once(&self, named: Named, work: impl Future<Output = Kept> + Send + 'static) -> Result<(Kept, bool)> {
        let (sender, slot) = watch::channel(None);
        let mut slot = match self.enter(&named, slot)? {
            Some(first) => return wait(first).await.map(|kept| (kept, true)),
            None => sender.subscribe(),
        };
        let (repeats, key) = (self.clone(), named.key);
        tokio::spawn(async move {
            let kept = work.await;
            repeats.keep(&key, &kept);
            sender.send_replace(Some(kept));
        });
        let answer = slot.wait_for(Option::is_some).await.ok().and_then(|kept| kept.clone());
        answer.map(|kept| (kept, false)).ok_or_else(StudioError::internal)
    }

    fn enter(&self, named: &Named, slot: Slot) -> Result<Option<Slot>> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.sweep();
        if let Some(one) = inner.by_key.get(&named.key) {
            // The sender is gone without an answer: the work panicked.
            let lost = one.slot.has_changed().is_err() && one.slot.borrow().is_none();
            if one.request != named.request {
                return Err(StudioError::new(
                    Code::InvalidRequest,
                    422,
                    "This 'Idempotency-Key' belongs to another request. Use a new key for each request.",
                ));
            }
            if !lost {
                return Ok(Some(one.slot.clone()));
            }
        }
        inner.order.push_back((Instant::now(), named.key.clone()));
        inner.by_key.insert(named.key.clone(), One { request: named.request, slot, bytes: 0 });
        Ok(None)
    }

    fn keep(&self, key: &str, kept: &Kept) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A failure of the moment is not kept: the repeat is there to try again. Nor is what would fill the memory.
        if kept.status >= 500 || kept.status == 429 || kept.body.len() > MOST_ANSWER {
            inner.forget(key);
        } else if let Some(one) = inner.by_key.get_mut(key) {
            one.bytes = kept.body.len();
            inner.bytes += kept.body.len();
        }
    }
}

impl Inner {
    fn sweep(&mut self) {
        while let Some((since, key)) = self.order.front() {
            if since.elapsed() < KEPT && self.order.len() < MOST_KEYS && self.bytes < MOST_BYTES {
                break;
            }
            let key = key.clone();
            self.forget(&key);
            self.order.pop_front();
        }
    }

    fn forget(&mut self, key: &str) {
        if let Some(one) = self.by_key.remove(key) {
            self.bytes -= one.bytes;
        }
    }
}

async fn wait(mut first: Slot) -> Result<Kept> {
    let kept = first.wait_for(Option::is_some).await.ok().and_then(|kept| kept.clone());
    kept.ok_or_else(StudioError::internal)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn named(credential: &str, key: &str, body: &str) -> Named {
        Named::new(credential, key.as_bytes(), &[b"POST", body.as_bytes()]).unwrap()
    }

    fn kept(status: u16, body: &str) -> Kept {
        Kept { status, body: Bytes::copy_from_slice(body.as_bytes()) }
    }

    /// Work that counts how often it is done.
    fn work(count: &Arc<AtomicU32>, status: u16) -> impl Future<Output = Kept> + Send + 'static {
        let count = count.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            kept(status, &count.fetch_add(1, Ordering::SeqCst).to_string())
        }
    }

    #[tokio::test]
    async fn the_same_request_is_done_once_also_while_it_runs() {
        let (repeats, count) = (Repeats::default(), Arc::new(AtomicU32::new(0)));
        let both = tokio::join!(
            repeats.once(named("a", "k", "x"), work(&count, 200)),
            repeats.once(named("a", "k", "x"), work(&count, 200)),
        );
        assert_eq!(both.0.unwrap(), (kept(200, "0"), false));
        assert_eq!(both.1.unwrap(), (kept(200, "0"), true));
        assert_eq!(repeats.once(named("a", "k", "x"), work(&count, 200)).await.unwrap(), (kept(200, "0"), true));
        // Another person's key, and another key, are other requests.
        repeats.once(named("b", "k", "x"), work(&count, 200)).await.unwrap();
        repeats.once(named("a", "l", "x"), work(&count, 200)).await.unwrap();
        assert_eq!(count.load(Ordering::SeqCst), 3);
        let other = repeats.once(named("a", "k", "y"), work(&count, 200)).await.unwrap_err();
        assert_eq!(other.status, 422);
    }

    #[tokio::test]
    async fn a_client_that_leaves_does_not_stop_the_work() {
        let (repeats, count) = (Repeats::default(), Arc::new(AtomicU32::new(0)));
        let short = Duration::from_millis(1);
        let left = tokio::time::timeout(short, repeats.once(named("a", "k", "x"), work(&count, 200))).await;
        assert!(left.is_err());
        assert_eq!(repeats.once(named("a", "k", "x"), work(&count, 200)).await.unwrap(), (kept(200, "0"), true));
    }

    #[tokio::test]
    async fn failures_of_the_moment_are_tried_again_and_refusals_kept() {
        let (repeats, count) = (Repeats::default(), Arc::new(AtomicU32::new(0)));
        repeats.once(named("a", "k", "x"), work(&count, 503)).await.unwrap();
        assert_eq!(repeats.once(named("a", "k", "x"), work(&count, 409)).await.unwrap(), (kept(409, "1"), false));
        assert_eq!(repeats.once(named("a", "k", "x"), work(&count, 200)).await.unwrap(), (kept(409, "1"), true));
    }

    #[tokio::test]
    async fn work_that_panicked_can_be_sent_again() {
        let repeats = Repeats::default();
        let lost = repeats.once(named("a", "k", "x"), async { panic!("on purpose") }).await;
        assert_eq!(lost.unwrap_err().status, 500);
        let again = repeats.once(named("a", "k", "x"), async { kept(200, "x") }).await.unwrap();
        assert_eq!(again, (kept(200, "x"), false));
    }

    #[test]
    fn keys_that_are_none() {
        for wrong in ["", "a b", "ä", &"x".repeat(256)] {
            assert_eq!(Named::new("a", wrong.as_bytes(), &[]).err().unwrap().status, 400, "{wrong}");
        }
    }
}
