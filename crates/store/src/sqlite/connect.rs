//! Opening connections and turning SQLite's errors into ours.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::tx::SqliteTx;
use crate::home::private_file;
use crate::{StoreError, Tx};

/// How long a call waits for another process that holds the write lock.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// Opens the only write connection of this process, creating the file if it is missing.
pub(crate) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    private_file()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|e| StoreError::home("the database cannot be opened", &e))?;
    let conn = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    enter_wal(&conn)?;
    // fullfsync matters on macOS only, where a plain sync stops at the disk's own cache.
    batch(
        &conn,
        "PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -16000;
         PRAGMA wal_autocheckpoint = 0;
         PRAGMA journal_size_limit = 16777216;",
    )?;
    Ok(conn)
}

/// Opens a connection that cannot write. The file must exist.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let conn = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    batch(
        &conn,
        "PRAGMA query_only = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -8000;
         PRAGMA mmap_size = 67108864;",
    )?;
    Ok(conn)
}

/// Opens the checkpointer's connection.
pub(super) fn open_checkpointer(path: &Path) -> Result<Connection, StoreError> {
    let conn = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    batch(&conn, "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA wal_autocheckpoint = 0;")?;
    Ok(conn)
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags).map_err(|e| error(e, "open"))?;
    wait_when_busy(&mut conn, BUSY)?;
    conn.set_prepared_statement_cache_capacity(512);
    // Plans do not depend on bound values. Without this SQLite throws a cached plan away whenever a value might have led to
    // another one, and parsed our statements anew on nearly every call: a third of a point read's time.
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(|e| error(e, "stable plans"))?;
    batch(&conn, "PRAGMA trusted_schema = OFF;")?;
    Ok(conn)
}

/// Waits for locks of other processes in steps of about a millisecond. SQLite's own handler goes up to
/// steps of 100 ms and then hardly ever meets the short pause of a busy writer.
pub(super) fn wait_when_busy(conn: &mut Connection, limit: Duration) -> Result<(), StoreError> {
    let mut since = Instant::now();
    let wait = move |tries: i32| {
        if tries == 0 {
            since = Instant::now();
        }
        std::thread::sleep(Duration::from_micros(if tries < 10 { 200 } else { 1000 }));
        since.elapsed() < limit
    };
    conn.busy_handler(Some(wait)).map_err(|e| error(e, "busy handler"))
}

/// Changing the journal mode does not ask the busy handler, so two processes that make a home at the
/// same instant need this loop.
fn enter_wal(conn: &Connection) -> Result<(), StoreError> {
    let since = Instant::now();
    loop {
        let mode = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(StoreError::Unavailable { detail: format!("journal mode stays {mode}") });
            }
            Err(e) if is_busy(&e) && since.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(e) => return Err(error(e, "journal_mode")),
        }
    }
}

fn is_busy(e: &rusqlite::Error) -> bool {
    matches!(e.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Runs statements that belong to the driver.
pub(super) fn batch(conn: &Connection, sql: &str) -> Result<(), StoreError> {
    conn.execute_batch(sql).map_err(|e| error(e, sql))
}

/// Runs one statement without arguments or rows that is used again and again.
pub(super) fn step(conn: &Connection, sql: &str) -> Result<(), StoreError> {
    let run = |conn: &Connection| conn.prepare_cached(sql)?.raw_execute();
    run(conn).map(drop).map_err(|e| error(e, sql))
}

/// One function in a write transaction of its own, before the writer has taken the connection.
pub(crate) fn in_write<T>(
    conn: &Connection,
    f: impl FnOnce(&mut dyn Tx) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    step(conn, "BEGIN IMMEDIATE")?;
    let answer = f(&mut SqliteTx::new(conn)).and_then(|value| {
        step(conn, "COMMIT")?;
        Ok(value)
    });
    if answer.is_err() && !conn.is_autocommit() {
        step(conn, "ROLLBACK")?;
    }
    answer
}

/// Our error for one of SQLite's.
pub(super) fn error(e: rusqlite::Error, sql: &str) -> StoreError {
    let detail = e.to_string();
    let statement = |detail| StoreError::Statement { sql: sql.to_owned(), detail };
    let Some(code) = e.sqlite_error() else {
        return statement(detail);
    };
    match code.code {
        ErrorCode::ConstraintViolation => match code.extended_code {
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
                StoreError::Unique
            }
            _ => StoreError::Constraint { detail },
        },
        ErrorCode::DiskFull
        | ErrorCode::SystemIoFailure
        | ErrorCode::OutOfMemory
        | ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::CannotOpen
        | ErrorCode::FileLockingProtocolFailed => StoreError::Unavailable { detail },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Damaged { detail },
        _ => statement(detail),
    }
}
