//! Keeps the write-ahead log short without making callers wait for it.
//!
//! A thread copies the log back to the database while the writer goes on; that alone never lets the log
//! start anew under steady load, so the writer itself does the small rest between two groups once the
//! log is long.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::connect::{BUSY, batch, error, open_checkpointer, wait_when_busy};
use crate::StoreError;

/// Pages of new log after which the thread is called: about 4 MB.
const CALL: i64 = 1000;

/// Pages of log after which the writer starts it anew: about 16 MB.
const RESTART: i64 = 4000;

/// How long the writer waits for readers of the old log. A long reader may hold it; then the log grows
/// until that one is done, and the writer tries again after some more pages.
const PATIENCE: Duration = Duration::from_millis(20);

/// The writer's side.
pub(super) struct Checkpointer {
    pages: Arc<AtomicI64>,
    called_at: i64,
    tried_at: i64,
    calls: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Starts the thread and counts the log's pages at each commit of `conn`.
    pub(super) fn start(conn: &mut Connection, path: &Path) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicI64::new(0));
        let counter = pages.clone();
        conn.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, n| {
            counter.store(i64::from(n), Ordering::Relaxed);
            Ok(())
        }))
        .map_err(|e| error(e, "wal hook"))?;
        let own = open_checkpointer(path)?;
        let (calls, called) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("store-checkpoint".into())
            .spawn(move || serve(&own, &called))
            .map_err(|e| StoreError::home("a thread of the store cannot be started", &e))?;
        Ok(Checkpointer { pages, called_at: 0, tried_at: 0, calls: Some(calls), thread: Some(thread) })
    }

    /// Called by the writer between groups.
    pub(super) fn after_group(&mut self, conn: &mut Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.called_at || pages < self.tried_at {
            // The log was started anew.
            (self.called_at, self.tried_at) = (0, 0);
        }
        if pages >= RESTART && pages - self.tried_at >= CALL {
            self.tried_at = pages;
            if let Err(e) = restart(conn) {
                tracing::warn!(error = ?e, "the log of the database could not be started anew");
            }
        } else if pages - self.called_at >= CALL {
            self.called_at = pages;
            if let Some(calls) = &self.calls {
                // A full channel: the thread is about to look anyway.
                let _ = calls.try_send(());
            }
        }
    }

    /// Ends the thread and empties the log, as far as other processes let it.
    pub(super) fn finish(&mut self, conn: &mut Connection) {
        self.calls = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the checkpoint thread panicked");
        }
        let end = wait_when_busy(conn, PATIENCE).and_then(|()| batch(conn, "PRAGMA wal_checkpoint(TRUNCATE)"));
        if let Err(e) = end {
            tracing::debug!(error = ?e, "the log of the database stays for the next process");
        }
    }
}

fn serve(conn: &Connection, called: &Receiver<()>) {
    while called.recv().is_ok() {
        if let Err(e) = batch(conn, "PRAGMA wal_checkpoint(PASSIVE)") {
            tracing::warn!(error = ?e, "a checkpoint of the database failed");
        }
    }
}

/// "Busy" is an answer of the statement here, not an error: somebody else checkpoints, writes or reads.
fn restart(conn: &mut Connection) -> Result<(), StoreError> {
    wait_when_busy(conn, PATIENCE)?;
    let done = batch(conn, "PRAGMA wal_checkpoint(RESTART)");
    wait_when_busy(conn, BUSY)?;
    done
}
