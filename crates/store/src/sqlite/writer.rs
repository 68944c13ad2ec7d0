//! The writer: one thread that owns the only write connection and puts the calls that are queued into
//! one durable commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::checkpoint::Checkpointer;
use super::connect::step;
use super::tx::SqliteTx;
use crate::handle::GroupEnd;
use crate::{Bell, StoreError, Tx, fault};

/// A group ends after this many calls …
const MOST_CALLS: usize = 256;

/// … or after this long, so that the first caller of a group does not wait for all who come later.
pub(crate) const LONGEST: Duration = Duration::from_millis(4);

/// On a disk whose commits take longer than that, a group may take calls for as long as the last commit took, but never
/// longer than this: a short group there makes its callers wait for two commits instead of one.
const LONGEST_ON_SLOW_DISKS: Duration = Duration::from_millis(20);

/// A queued call.
pub(crate) trait Call: Send {
    /// Runs the function and keeps its answer; `true` if its changes shall stay. Never panics.
    fn run(&mut self, tx: &mut dyn Tx) -> bool;
    /// Replaces the kept answer.
    fn fail(&mut self, error: StoreError);
    /// Sends the kept answer, or the error that befell the whole group.
    fn settle(self: Box<Self>, group: Result<(), StoreError>);
}

/// What the writer does around a group.
pub(crate) struct Group {
    /// Runs inside the outer transaction at the end of each group that wrote anything.
    pub(crate) end: Arc<OnceLock<GroupEnd>>,
    /// Rings after each group that wrote anything.
    pub(crate) bell: Bell,
    /// How long a group may go on taking calls: [`LONGEST`], or whatever a test needs to be sure that
    /// its calls share one.
    pub(crate) longest: Duration,
}

/// The handle of the thread. Dropping it lets the thread finish what is queued, and waits for it.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: Option<Sender<Box<dyn Call>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(mut conn: Connection, path: &Path, group: Group) -> Result<Self, StoreError> {
        let checkpointer = Checkpointer::start(&mut conn, path)?;
        let (queue, calls) = channel();
        let work = Work { conn, calls, group, checkpointer, last_commit: Duration::ZERO };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || work.run())
            .map_err(|e| StoreError::home("a thread of the store cannot be started", &e))?;
        Ok(Writer { queue: Some(queue), thread: Some(thread) })
    }

    pub(crate) fn submit(&self, call: Box<dyn Call>) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(call).map_err(|_| StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        // The last handle may have been captured by a call, which the writer itself drops.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer panicked");
        }
    }
}

struct Work {
    conn: Connection,
    calls: Receiver<Box<dyn Call>>,
    group: Group,
    checkpointer: Checkpointer,
    last_commit: Duration,
}

impl Work {
    fn run(mut self) {
        while let Ok(first) = self.calls.recv() {
            self.serve(first);
            self.checkpointer.after_group(&mut self.conn);
        }
        self.checkpointer.finish(&mut self.conn);
    }

    fn serve(&mut self, first: Box<dyn Call>) {
        let mut calls = vec![first];
        let outcome = match step(&self.conn, "BEGIN IMMEDIATE") {
            Ok(()) => self.run_group(&mut calls),
            Err(e) => {
                // Whoever is queued has waited as long for the same lock.
                calls.extend(self.calls.try_iter());
                Err(e)
            }
        };
        if let Err(e) = &outcome {
            tracing::warn!(error = ?e, calls = calls.len(), "a group of writes failed");
            if !self.conn.is_autocommit()
                && let Err(e) = step(&self.conn, "ROLLBACK")
            {
                tracing::error!(error = ?e, "a failed group could not be rolled back");
            }
        }
        let outcome = outcome.map_err(for_all).map(|wrote| {
            if wrote {
                self.group.bell.ring();
            }
        });
        for call in calls {
            call.settle(outcome.clone());
        }
    }

    /// Runs the first call and those queued behind it, and commits; answers whether anything was written.
    fn run_group(&mut self, calls: &mut Vec<Box<dyn Call>>) -> Result<bool, StoreError> {
        let since = Instant::now();
        let longest = self.group.longest.max(self.last_commit.min(LONGEST_ON_SLOW_DISKS));
        let mut wrote = false;
        let mut at = 0;
        while let Some(call) = calls.get_mut(at) {
            wrote |= self.run_call(call.as_mut())?;
            at += 1;
            if at < MOST_CALLS
                && since.elapsed() < longest
                && let Ok(next) = self.calls.try_recv()
            {
                calls.push(next);
            }
        }
        if wrote {
            self.end_group()?;
        }
        if fault::point("before_commit") {
            return Err(StoreError::Unavailable { detail: "injected".into() });
        }
        let committing = Instant::now();
        step(&self.conn, "COMMIT")?;
        self.last_commit = committing.elapsed();
        fault::point("after_commit");
        Ok(wrote)
    }

    /// One call in a savepoint; answers whether it wrote. An error is one of the whole group: a full or
    /// failing disk ends the outer transaction, and with it what the calls before have done.
    fn run_call(&self, call: &mut dyn Call) -> Result<bool, StoreError> {
        step(&self.conn, "SAVEPOINT call")?;
        let before = self.conn.total_changes();
        let mut tx = SqliteTx::new(&self.conn);
        let mut keep = call.run(&mut tx);
        if let Some(failure) = tx.failure() {
            if is_fatal(failure) {
                return Err(failure.clone());
            }
            if keep {
                keep = false;
                call.fail(StoreError::Poisoned);
            }
        }
        if self.conn.is_autocommit() {
            return Err(StoreError::Unavailable { detail: "the outer transaction was ended within a call".into() });
        }
        if !keep {
            step(&self.conn, "ROLLBACK TO call")?;
        }
        step(&self.conn, "RELEASE call")?;
        Ok(keep && self.conn.total_changes() != before)
    }

    fn end_group(&self) -> Result<(), StoreError> {
        let Some(end) = self.group.end.get() else {
            return Ok(());
        };
        let mut tx = SqliteTx::new(&self.conn);
        let done = catch_unwind(AssertUnwindSafe(|| end(&mut tx)));
        let done = done.unwrap_or(Err(StoreError::Panicked));
        match tx.failure() {
            Some(failure) => Err(failure.clone()),
            None => done,
        }
        .inspect_err(|e| tracing::error!(error = ?e, "the end of a group of writes failed"))
    }
}

fn is_fatal(e: &StoreError) -> bool {
    matches!(e, StoreError::Unavailable { .. } | StoreError::Damaged { .. })
}

/// What every caller of a failed group is told: none of them is the cause of a failed commit, so an
/// error that would blame one (a unique key, say) becomes "not now".
fn for_all(e: StoreError) -> StoreError {
    if is_fatal(&e) {
        return e;
    }
    StoreError::Unavailable { detail: format!("{e:?}") }
}
