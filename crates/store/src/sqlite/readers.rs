//! Read-only connections, each call on a snapshot of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::connect::{open_reader, step};
use super::tx::SqliteTx;
use crate::{StoreError, Tx};

/// Connections kept for the next reader; more may be open while more read at once.
const KEPT: usize = 4;

/// The pool.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        Readers { path, idle: Mutex::default() }
    }

    /// Runs the function on this thread, in one deferred read transaction.
    pub(crate) fn run<T, E: From<StoreError>>(&self, f: impl FnOnce(&mut dyn Tx) -> Result<T, E>) -> Result<T, E> {
        let conn = match self.take() {
            Some(conn) => conn,
            None => open_reader(&self.path)?,
        };
        step(&conn, "BEGIN")?;
        let answer = {
            let mut tx = SqliteTx::new(&conn);
            let answer = catch_unwind(AssertUnwindSafe(|| f(&mut tx)));
            match answer {
                Err(_) => Err(StoreError::Panicked.into()),
                Ok(Ok(_)) if tx.failure().is_some() => Err(StoreError::Poisoned.into()),
                Ok(answer) => answer,
            }
        };
        // Nothing can have been written, so this only lets go of the snapshot. A connection that does
        // not let go of it is closed.
        if conn.is_autocommit() || step(&conn, "COMMIT").is_ok() {
            self.put(conn);
        }
        answer
    }

    /// Closes what is idle.
    pub(crate) fn clear(&self) {
        self.idle().clear();
    }

    fn take(&self) -> Option<Connection> {
        self.idle().pop()
    }

    fn put(&self, conn: Connection) {
        let mut idle = self.idle();
        if idle.len() < KEPT {
            idle.push(conn);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
