//! When something is tried again that a broken connection stopped.

use std::time::Duration;
use tokio::time::Instant;

/// Milliseconds between two tries; the last of them counts for all that follow.
const STEPS: [u64; 5] = [200, 500, 1_000, 2_000, 4_000];

/// A connection that lives so long was a good one.
pub(super) const GOOD: Duration = Duration::from_secs(5);

/// The tries of one undertaking.
#[derive(Debug)]
pub(super) struct Again {
    patience: Duration,
    since: Option<Instant>,
    tries: usize,
}

impl Again {
    /// For so long, counted from the first failure.
    pub fn within(patience: Duration) -> Self {
        Self { patience, since: None, tries: 0 }
    }

    /// How long to wait before the next try; none when the patience is at its end.
    pub fn next(&mut self) -> Option<Duration> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let left = self.patience.checked_sub(since.elapsed()).filter(|left| !left.is_zero())?;
        Some(self.step().min(left))
    }

    /// The same without an end, and slower when it takes long.
    pub fn next_of_many(&mut self) -> Duration {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() > self.patience { SELDOM } else { self.step() }
    }

    /// Whether it takes longer than anybody wants to wait.
    pub fn takes_long(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() > self.patience)
    }

    /// It works again.
    pub fn reset(&mut self) {
        (self.since, self.tries) = (None, 0);
    }

    fn step(&mut self) -> Duration {
        let step = STEPS[self.tries.min(STEPS.len() - 1)];
        self.tries += 1;
        Duration::from_millis(step)
    }
}

/// Between two tries when many have failed.
const SELDOM: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tries_grow_apart_and_end() {
        let mut again = Again::within(Duration::from_secs(30));
        let mut waits = Vec::new();
        while let Some(wait) = again.next() {
            waits.push(wait.as_millis());
            tokio::time::advance(wait).await;
        }
        assert_eq!(waits[..6], [200, 500, 1_000, 2_000, 4_000, 4_000]);
        assert_eq!(waits.iter().sum::<u128>(), 30_000);
        again.reset();
        assert_eq!(again.next(), Some(Duration::from_millis(200)));
    }

    #[tokio::test(start_paused = true)]
    async fn tries_without_an_end_become_seldom() {
        let mut again = Again::within(Duration::from_secs(2));
        for _ in 0..4 {
            let wait = again.next_of_many();
            tokio::time::advance(wait).await;
        }
        assert!(again.takes_long());
        assert_eq!(again.next_of_many(), SELDOM);
    }

    #[tokio::test]
    async fn without_patience_there_is_one_try() {
        assert_eq!(Again::within(Duration::ZERO).next(), None);
    }
}
