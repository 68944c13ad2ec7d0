//! Changes as they happen, read from the journal whenever the bell rings.

use crate::failure::Failure;
use crate::{Admitted, Engine, Serve};
use contract::Result;
use contract::ops::events::{Change, ChangesQuery, WatchChanges};
use contract::wire::{Events, Late, NoBody, NoPath};
use futures_util::StreamExt as _;
use futures_util::stream;
use rules::partition::Partition;
use std::collections::BTreeSet;
use std::time::Duration;
use store::bell::Waiter;
use store::repo::audit;

/// Entries read at once.
const PAGE: i64 = 1_000;
/// Changes that come faster are told together.
const PACE: Duration = Duration::from_millis(50);
/// A ring is lost when its sender is killed between the commit and the ring.
const LOOK_ANYWAY: Duration = Duration::from_secs(10);

impl Engine {
    /// The newest place in the journal of a partition, and the hash of its link. Every change of a record moves it, in the transaction of the change.
    ///
    /// # Errors
    /// 503 when the storage cannot be used.
    pub async fn head(&self, partition: &Partition) -> Result<(i64, String)> {
        let read = |tx: &mut dyn store::Tx| Ok(audit::head(tx, partition.as_str())?.unwrap_or_default());
        Ok(self.store.read::<_, Failure, _>(read).await?)
    }
}

impl Serve<WatchChanges> for Engine {
    async fn serve(
        &self,
        who: Admitted,
        _: NoPath,
        query: Late<ChangesQuery>,
        _: Late<NoBody>,
    ) -> Result<Events<Change>> {
        let partition = who.partition()?.clone();
        let ChangesQuery { topics, after } = query.open()?;
        let bell = self.store.bell().subscribe();
        let (head, _) = self.head(&partition).await?;
        // A place of another journal, or from before a restored backup, is no place here.
        let seen = after.filter(|after| *after <= head).unwrap_or(head);
        let watching = Watching { engine: self.clone(), partition, topics, bell, seen, first: true };
        let stream = stream::unfold(watching, |mut watching| async move { Some((watching.next().await?, watching)) });
        Ok(Events(stream.boxed()))
    }
}

struct Watching {
    engine: Engine,
    partition: Partition,
    topics: Vec<String>,
    bell: Waiter,
    seen: i64,
    first: bool,
}

impl Watching {
    /// The next change; none when the store is closed or cannot be read, and then the client connects again.
    async fn next(&mut self) -> Option<(Option<String>, Change)> {
        loop {
            if !std::mem::take(&mut self.first) {
                match tokio::time::timeout(LOOK_ANYWAY, self.bell.rung()).await {
                    Ok(Err(_)) => return None,
                    Ok(Ok(())) => tokio::time::sleep(PACE).await,
                    Err(_) => {}
                }
            }
            let mut topics = BTreeSet::new();
            loop {
                let (partition, seen) = (&self.partition, self.seen);
                let read = |tx: &mut dyn store::Tx| Ok(audit::subjects_after(tx, partition.as_str(), seen, PAGE)?);
                let page = self.engine.store.read::<_, Failure, _>(read).await.ok()?;
                let whole = page.len() == PAGE as usize;
                for (seq, subject) in page {
                    self.seen = seq;
                    topics.insert(subject.split(':').next().unwrap_or_default().to_owned());
                }
                if !whole {
                    break;
                }
            }
            topics.retain(|topic| self.topics.is_empty() || self.topics.contains(topic));
            if !topics.is_empty() {
                return Some((Some(self.seen.to_string()), Change { topics: topics.into_iter().collect() }));
            }
        }
    }
}
