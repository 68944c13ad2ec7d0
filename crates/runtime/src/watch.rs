//! Watching a turn: its log from the database, and between the entries what passes by in this process.

use crate::Runtime;
use crate::talk::{Listener, Speaker};
use contract::ops::approvals::ApprovalStatus;
use contract::turn::{TurnEvent, TurnStatus, Watched};
use contract::{Micros, StudioError};
use futures_util::stream::{self, BoxStream, StreamExt};
use rules::partition::Partition;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::repo::approvals;
use store::repo::turns::{self, TurnRow};

/// Who drives and who watches which turn in this process.
#[derive(Clone, Default)]
pub(crate) struct Watchers(Arc<Mutex<HashMap<String, Channel>>>);

struct Channel {
    driven: bool,
    failure: Option<Failure>,
    speaker: Speaker,
}

/// Why the last driver stopped before it should, and when.
struct Failure {
    why: StudioError,
    at: tokio::time::Instant,
}

/// How long a failure is kept for those who wait for the turn. They look every few seconds; who comes later reads from the row
/// that nobody works on it.
const FAILURE_KEPT: Duration = Duration::from_secs(60);

impl Channel {
    fn forget(&mut self) {
        if self.failure.as_ref().is_some_and(|failure| failure.at.elapsed() >= FAILURE_KEPT) {
            self.failure = None;
        }
    }
}

impl Watchers {
    fn with<T>(&self, turn: &str, act: impl FnOnce(&mut Channel) -> T) -> T {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.retain(|id, channel| {
            channel.forget();
            channel.driven || channel.failure.is_some() || channel.speaker.is_heard() || id == turn
        });
        let new = || Channel { driven: false, failure: None, speaker: Speaker::default() };
        act(map.entry(turn.to_owned()).or_insert_with(new))
    }

    /// Whether this process drives the turn.
    pub fn is_driven(&self, turn: &str) -> bool {
        self.with(turn, |channel| channel.driven)
    }

    /// Why this process no longer drives the turn, if its driver failed.
    pub fn failure(&self, turn: &str) -> Option<StudioError> {
        self.with(turn, |channel| channel.failure.as_ref().map(|failure| failure.why.clone()))
    }

    /// The driver's end; none when somebody in this process drives the turn already.
    pub fn enter(&self, turn: &str) -> Option<Live> {
        let speaker = self.with(turn, |channel| {
            channel.failure = None;
            (!std::mem::replace(&mut channel.driven, true)).then(|| channel.speaker.clone())
        })?;
        Some(Live(Arc::new(Driving { turn: turn.to_owned(), watchers: self.clone(), speaker })))
    }

    fn listen(&self, turn: &str, after: i64) -> Listener {
        self.with(turn, |channel| channel.speaker.listen(after))
    }
}

/// Where a driver says what passes by.
#[derive(Clone)]
pub(crate) struct Live(Arc<Driving>);

struct Driving {
    turn: String,
    watchers: Watchers,
    speaker: Speaker,
}

impl Drop for Driving {
    fn drop(&mut self) {
        self.watchers.with(&self.turn, |channel| channel.driven = false);
    }
}

impl Live {
    /// Says why the driver stops before it should.
    pub fn failed(&self, why: StudioError) {
        self.0
            .watchers
            .with(&self.0.turn, |channel| channel.failure = Some(Failure { why, at: tokio::time::Instant::now() }));
    }

    /// Says a piece of the answer to the question at this place of the log.
    pub fn text(&self, question: i64, text: &str) {
        self.0.speaker.say(question, text, false);
    }

    /// The same of what the model thinks.
    pub fn reasoning(&self, question: i64, text: &str) {
        self.0.speaker.say(question, text, true);
    }
}

/// How long an answer that no driver here has come to yet keeps a turn from being told as waiting, and how long a turn that
/// nobody works on is watched all the same: whoever watches may be taking it up at the same moment.
const TAKING_UP: Duration = Duration::from_secs(2);

type Item = (Option<String>, Watched);

struct Watching {
    runtime: Runtime,
    partition: Partition,
    turn: String,
    bell: store::bell::Waiter,
    listener: Listener,
    /// Whether the log may hold more than was read.
    stale: bool,
    ready: VecDeque<Item>,
    last: i64,
    since: Instant,
    told_waiting: i64,
    /// Since when nobody works on the turn, though it waits for nobody.
    left: Option<Instant>,
    over: bool,
}

impl Runtime {
    /// Watches a turn from a place in its log to its end, or until nobody works on it any more. Each entry of the log has its
    /// place as id.
    pub fn watch(&self, partition: Partition, turn: String, session: String, after: i64) -> BoxStream<'static, Item> {
        let first = (None, Watched::Turn { turn: turn.clone(), session });
        let watching = Watching {
            bell: self.store.bell().subscribe(),
            listener: self.watchers.listen(&turn, after),
            stale: true,
            runtime: self.clone(),
            partition,
            turn,
            ready: VecDeque::from([first]),
            last: after,
            since: Instant::now(),
            told_waiting: -1,
            left: None,
            over: false,
        };
        stream::unfold(watching, |mut watching| async move {
            let item = watching.next().await?;
            Some((item, watching))
        })
        .boxed()
    }
}

impl Watching {
    async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if self.over {
                return None;
            }
            if std::mem::take(&mut self.stale) {
                if let Err(error) = self.read().await {
                    tracing::error!(?error, "watching a turn");
                    return None;
                }
            } else {
                self.wait().await;
            }
        }
    }

    async fn wait(&mut self) {
        tokio::select! {
            question = self.listener.more() => match question {
                Some(question) => {
                    self.hear();
                    // The question itself has not been told yet.
                    self.stale = question > self.last;
                }
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            // A ring can be lost when its sender is killed between the commit and the ring.
            () = async { let _ = tokio::time::timeout(Duration::from_secs(2), self.bell.rung()).await; } => self.stale = true,
        }
    }

    /// Takes what is said to the question that was told last.
    fn hear(&mut self) {
        for piece in self.listener.take(self.last) {
            let seen = match piece.is_reasoning {
                true => Watched::Reasoning { text: piece.text },
                false => Watched::Text { text: piece.text },
            };
            self.ready.push_back((None, seen));
        }
    }

    async fn read(&mut self) -> Result<(), StudioError> {
        let (partition, turn, after) = (self.partition.clone(), self.turn.clone(), self.last);
        // Asked before the log is read: what a driver wrote before it failed is told.
        let failed = self.runtime.watchers.failure(&self.turn).is_some();
        let driven = self.runtime.watchers.is_driven(&self.turn);
        let read = self
            .runtime
            .store
            .read(move |tx| -> Result<_, store::StoreError> {
                let row = turns::get(tx, &partition, &turn)?;
                let events = turns::events(tx, &turn, after)?;
                let waiting = row.as_ref().is_some_and(|row| row.status == TurnStatus::Waiting);
                let rows = if waiting { approvals::of_turn(tx, &turn)? } else { Vec::new() };
                Ok((row, events, rows))
            })
            .await
            .map_err(crate::error::store_refusal)?;
        let (row, events, rows) = read;
        for entry in events {
            // Pieces come before the entry that ends their question.
            self.hear();
            self.last = entry.seq;
            let ends = matches!(entry.event, TurnEvent::Ended { .. });
            self.ready.push_back((Some(entry.seq.to_string()), Watched::Event { entry }));
            self.over |= ends;
        }
        self.hear();
        let Some(row) = row else {
            self.over = true;
            return Ok(());
        };
        // Whoever has seen the end already waits for nothing.
        self.over |= row.status.is_over() && row.last_seq <= self.last;
        let elsewhere = self.runtime.holder_lives(&row);
        // Nobody here goes on with the turn; how it stands is read from its row.
        self.over |= failed && !elsewhere;
        if row.status == TurnStatus::Running && !driven && !elsewhere {
            self.over |= self.left.get_or_insert_with(Instant::now).elapsed() >= TAKING_UP;
        } else {
            self.left = None;
        }
        let rests = row.status == TurnStatus::Waiting && row.last_seq == self.last && self.told_waiting != self.last;
        if rests && !self.goes_on(&row).await? {
            self.told_waiting = self.last;
            let now = Micros::now();
            let approvals = rows
                .iter()
                .filter(|a| a.status == ApprovalStatus::Pending && a.expires_at > now)
                .map(|a| a.id.clone())
                .collect();
            let unknown = self.runtime.unknown_calls(&self.turn).await?;
            self.ready.push_back((None, Watched::Waiting { approvals, unknown }));
        }
        Ok(())
    }

    /// Whether a turn that rests is about to go on by itself.
    async fn goes_on(&self, row: &TurnRow) -> Result<bool, StudioError> {
        let somebody = self.runtime.watchers.is_driven(&self.turn) || self.since.elapsed() < TAKING_UP;
        Ok(somebody && self.runtime.is_answered(row).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::{FAILURE_KEPT, Watchers};
    use contract::StudioError;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_kept_for_those_who_wait_and_no_longer() {
        let watchers = Watchers::default();
        watchers.enter("t").unwrap().failed(StudioError::internal());
        tokio::time::sleep(FAILURE_KEPT - Duration::from_secs(1)).await;
        assert!(!watchers.is_driven("another") && watchers.failure("t").is_some());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!watchers.is_driven("another"));
        assert!(!watchers.0.lock().unwrap().contains_key("t"), "nothing of it is left");
        assert!(watchers.failure("t").is_none());
    }
}
