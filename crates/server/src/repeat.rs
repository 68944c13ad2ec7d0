//! Requests that are sent again with the same `Idempotency-Key` are done once.
//!
//! A client whose line broke cannot know whether its write was done. It sends the write again under the same key, and gets
//! the answer of the first. The answers live in memory and end with the process: a client that names the run it first sent to
//! is refused by another one, and looks. One that names none is taken for new, and versions and names keep most writes from being
//! done twice.

use crate::answer;
use bytes::Bytes;
use contract::{Code, Result, StudioError};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Names this run of the process, in every answer. Keys end with it; a repeat that names another run is refused.
pub const BOOT: HeaderName = HeaderName::from_static("x-astudio-boot");
/// This run.
pub static BOOT_ID: LazyLock<HeaderValue> = LazyLock::new(|| crate::answer::id(&contract::ids::record_id()));
/// Longest key.
const MOST_KEY: usize = 255;
/// Answers kept of one credential.
const MOST_KEYS: usize = 1_000;
/// Bytes of them.
const MOST_BYTES: usize = 2 * 1024 * 1024;
/// Answers beyond this are not kept: what a model or a tool said can be long. That it was said is kept.
const MOST_ANSWER: usize = 256 * 1024;
/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(600);

/// What is kept of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Whether a repeat gets it; else a repeat is there to try again.
    pub lasts: bool,
}

/// Whether a refusal answers repeats, too. A failure of the moment does not, unless a turn has begun: a repeat would begin a
/// second one.
pub fn lasts(error: &StudioError) -> bool {
    let of_the_moment = error.status >= 500 || error.status == 429;
    !of_the_moment || error.details.as_ref().is_some_and(|details| details["turn"].is_string())
}

type Slot = watch::Receiver<Option<Kept>>;

struct One {
    request: [u8; 32],
    slot: Slot,
    /// Tells this use of the key from an earlier one that was forgotten.
    id: u64,
    /// Bytes of the answer, once there is one.
    bytes: usize,
}

/// The answers by credential and key. One credential does not push out what another one sent.
#[derive(Clone, Default)]
pub struct Repeats(Arc<Mutex<HashMap<String, Owner>>>);

#[derive(Default)]
struct Owner {
    by_key: HashMap<String, One>,
    /// Those that are answered, oldest first. What still runs is never forgotten.
    answered: VecDeque<(Instant, String, u64)>,
    bytes: usize,
    uses: u64,
}

/// What names a request.
pub struct Named {
    owner: String,
    key: String,
    request: [u8; 32],
}

impl Named {
    /// From who sent it, the key, and everything that it says.
    ///
    /// # Errors
    /// 400 for a key that is none.
    pub fn new(owner: &str, key: &[u8], what: &[&[u8]]) -> Result<Self> {
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
        let key = String::from_utf8_lossy(key).into_owned();
        Ok(Self { owner: owner.to_owned(), key, request: hash.finalize().into() })
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
        let id = match self.enter(&named, slot)? {
            Entered::Before(first) => return wait(first).await.map(|kept| (kept, true)),
            Entered::Now(id) => id,
        };
        let answer = sender.subscribe();
        let repeats = self.clone();
        tokio::spawn(async move {
            let kept = work.await;
            repeats.keep(&named, id, &kept);
            sender.send_replace(Some(kept));
        });
        wait(answer).await.map(|kept| (kept, false))
    }

    fn enter(&self, named: &Named, slot: Slot) -> Result<Entered> {
        let mut owners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|_, owner| {
            owner.sweep();
            !owner.by_key.is_empty()
        });
        let owner = owners.entry(named.owner.clone()).or_default();
        if let Some(one) = owner.by_key.get(&named.key) {
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
                return Ok(Entered::Before(one.slot.clone()));
            }
        }
        owner.uses += 1;
        let id = owner.uses;
        owner.by_key.insert(named.key.clone(), One { request: named.request, slot, id, bytes: 0 });
        Ok(Entered::Now(id))
    }

    fn keep(&self, named: &Named, id: u64, kept: &Kept) {
        let short = (kept.body.len() > MOST_ANSWER).then(|| too_long(kept));
        let mut owners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(owner) = owners.get_mut(&named.owner) else { return };
        if !kept.lasts {
            owner.forget(&named.key, id);
        } else if let Some(one) = owner.by_key.get_mut(&named.key).filter(|one| one.id == id) {
            one.bytes = short.as_ref().unwrap_or(kept).body.len();
            owner.bytes += one.bytes;
            if let Some(short) = short {
                // Whoever waits already hears the answer itself.
                one.slot = watch::channel(Some(short)).1;
            }
            owner.shorten();
            owner.answered.push_back((Instant::now(), named.key.clone(), id));
        }
    }
}

enum Entered {
    /// It was sent before.
    Before(Slot),
    /// It is new.
    Now(u64),
}

impl Owner {
    fn sweep(&mut self) {
        while let Some((since, ..)) = self.answered.front() {
            if since.elapsed() < KEPT && self.answered.len() <= MOST_KEYS && self.bytes <= MOST_BYTES {
                break;
            }
            if let Some((_, key, id)) = self.answered.pop_front() {
                self.forget(&key, id);
            }
        }
    }

    /// Makes the oldest answers short until all fit: for want of room an answer is lost, but not that it was given.
    fn shorten(&mut self) {
        for (_, key, id) in &self.answered {
            if self.bytes <= MOST_BYTES {
                return;
            }
            let Some(one) = self.by_key.get_mut(key).filter(|one| one.id == *id) else { continue };
            let Some(short) = one.slot.borrow().as_ref().map(too_long) else { continue };
            if short.body.len() < one.bytes {
                self.bytes -= one.bytes - short.body.len();
                one.bytes = short.body.len();
                one.slot = watch::channel(Some(short)).1;
            }
        }
    }

    fn forget(&mut self, key: &str, id: u64) {
        if self.by_key.get(key).is_some_and(|one| one.id == id)
            && let Some(one) = self.by_key.remove(key)
        {
            self.bytes -= one.bytes;
        }
    }
}

/// What repeats get in place of an answer that would fill the memory.
fn too_long(kept: &Kept) -> Kept {
    #[derive(Deserialize)]
    struct Begun {
        turn: Option<String>,
    }
    let mut error = StudioError::new(
        Code::Unavailable,
        503,
        "This was done before, and its answer is too long to be kept for repeats. Read what there is now.",
    );
    if let Ok(Begun { turn: Some(turn) }) = serde_json::from_slice(&kept.body) {
        error = error.with(json!({ "turn": turn }));
    }
    let headers = answer::refusal(&error).into_parts().0.headers;
    let body = serde_json::to_vec(&error.body()).unwrap_or_default().into();
    Kept { status: error.status, headers, body, lasts: true }
}

async fn wait(mut answer: Slot) -> Result<Kept> {
    let kept = answer.wait_for(Option::is_some).await.ok().and_then(|kept| kept.clone());
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
        let lasts = lasts(&StudioError::new(Code::InternalError, status, "x"));
        Kept { status, headers: HeaderMap::new(), body: Bytes::copy_from_slice(body.as_bytes()), lasts }
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

    #[test]
    fn a_failure_after_a_turn_has_begun_lasts() {
        let error = |status: u16| StudioError::new(Code::QueryFailed, status, "x");
        assert!(lasts(&error(404)) && !lasts(&error(502)) && !lasts(&error(429)));
        assert!(lasts(&error(503).with(json!({ "turn": "t-1", "session": "s" }))));
        assert!(!lasts(&error(503).with(json!({ "turn": null }))));
    }

    #[tokio::test]
    async fn what_was_answered_at_length_is_not_done_again() {
        let (repeats, count) = (Repeats::default(), Arc::new(AtomicU32::new(0)));
        let long = json!({ "turn": "t-1", "response": "x".repeat(MOST_ANSWER) }).to_string();
        let first = repeats.once(named("a", "k", "x"), std::future::ready(kept(200, &long))).await.unwrap();
        assert_eq!(first, (kept(200, &long), false), "the first is told everything");
        let (again, repeated) = repeats.once(named("a", "k", "x"), work(&count, 200)).await.unwrap();
        let said: serde_json::Value = serde_json::from_slice(&again.body).unwrap();
        assert_eq!((again.status, repeated, &said["details"]["turn"]), (503, true, &json!("t-1")), "{said}");
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn want_of_room_costs_the_oldest_answers_and_does_nothing_again() {
        let (repeats, count) = (Repeats::default(), Arc::new(AtomicU32::new(0)));
        let long = "x".repeat(MOST_ANSWER - 1024);
        let many = MOST_BYTES / MOST_ANSWER + 2;
        for n in 0..many {
            repeats.once(named("a", &n.to_string(), "x"), std::future::ready(kept(200, &long))).await.unwrap();
        }
        let again = async |n: usize| repeats.once(named("a", &n.to_string(), "x"), work(&count, 200)).await.unwrap().0;
        assert_eq!((again(0).await.status, again(1).await.status, again(2).await.status), (503, 503, 200));
        assert_eq!(again(many - 1).await.body.len(), long.len());
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn work_that_panicked_can_be_sent_again() {
        let repeats = Repeats::default();
        let lost = repeats.once(named("a", "k", "x"), async { panic!("on purpose") }).await;
        assert_eq!(lost.unwrap_err().status, 500);
        let again = repeats.once(named("a", "k", "x"), async { kept(200, "x") }).await.unwrap();
        assert_eq!(again, (kept(200, "x"), false));
    }

    #[tokio::test]
    async fn what_runs_is_not_forgotten_and_nobody_pushes_out_anothers() {
        let (repeats, count) = (Repeats::default(), Arc::new(AtomicU32::new(0)));
        let (done, waits) = tokio::sync::oneshot::channel::<()>();
        let slow = tokio::spawn({
            let (repeats, named) = (repeats.clone(), named("a", "slow", "x"));
            async move {
                let work = async move {
                    let _ = waits.await;
                    kept(200, "slow")
                };
                repeats.once(named, work).await
            }
        });
        repeats.once(named("b", "other", "x"), work(&count, 200)).await.unwrap();
        for n in 0..MOST_KEYS + 10 {
            repeats.once(named("a", &format!("k-{n}"), "x"), async { kept(200, "y") }).await.unwrap();
        }
        done.send(()).unwrap();
        assert_eq!(slow.await.unwrap().unwrap(), (kept(200, "slow"), false));
        assert_eq!(repeats.once(named("a", "slow", "x"), work(&count, 200)).await.unwrap(), (kept(200, "slow"), true));
        assert_eq!(repeats.once(named("b", "other", "x"), work(&count, 200)).await.unwrap(), (kept(200, "0"), true));
        let again = repeats.once(named("a", "k-0", "x"), async { kept(200, "z") }).await.unwrap();
        assert_eq!(again, (kept(200, "z"), false), "the oldest answers go first");
    }

    #[test]
    fn keys_that_are_none() {
        for wrong in ["", "a b", "ä", &"x".repeat(256)] {
            assert_eq!(Named::new("a", wrong.as_bytes(), &[]).err().unwrap().status, 400, "{wrong}");
        }
    }
}
