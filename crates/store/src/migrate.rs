//! Migrations and their ledger. Each runs once, whole, under the write lock; its checksum is kept, so a
//! home that another build has made differently is noticed before anything is written to it.

use sha2::{Digest, Sha256};

use crate::{Dialect, Store, StoreError, Tx, vals};

/// One step of the schema. Numbers start at 1 and have no gaps; a step that was released never changes.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its number.
    pub version: u32,
    /// Its name, for people.
    pub name: &'static str,
    /// Its statements, per database. Foreign keys are immediate: a deferred one would fail the commit
    /// of every call in the writer's group.
    pub sql: &'static [(Dialect, &'static str)],
}

impl Migration {
    fn text(&self, dialect: Dialect) -> Result<&'static str, MigrateError> {
        let found = self.sql.iter().find(|(d, _)| *d == dialect);
        found.map(|(_, sql)| *sql).ok_or(MigrateError::NoText { version: self.version })
    }

    pub(crate) fn step(&self) -> Step {
        Step { version: self.version, name: self.name.to_owned() }
    }
}

/// All migrations of this program, in order.
pub fn migrations() -> &'static [Migration] {
    MIGRATIONS
}

const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    name: "base",
    sql: &[(Dialect::Sqlite, include_str!("../migrations/sqlite/0001_base.sql"))],
}];

/// Why a home's schema and this program do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MigrateError {
    /// A newer program has used the home.
    #[error(
        "this home was upgraded to schema {found} by a newer astudio; this program knows schema {known} only. Use the newer program"
    )]
    Newer {
        /// The schema of the home.
        found: u32,
        /// The newest schema this program knows.
        known: u32,
    },
    /// A step was made from another text than this program's.
    #[error(
        "migration {version} ({name}) of this home is not the one this program was built with. Use the program that made it, or restore a backup"
    )]
    Changed {
        /// The step.
        version: u32,
        /// Its name in this program.
        name: String,
    },
    /// A step is missing though later ones are there.
    #[error("migration {version} is missing in this home though later ones were applied. Restore a backup")]
    Gap {
        /// The missing step.
        version: u32,
    },
    /// A step has no text for this database.
    #[error("migration {version} cannot run on this kind of database")]
    NoText {
        /// The step.
        version: u32,
    },
}

/// A migration named to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its number.
    pub version: u32,
    /// Its name.
    pub name: String,
}

/// What happened to the schema, or would happen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MigrateReport {
    /// The schema before; 0 is an empty home.
    pub from: u32,
    /// Steps this process has applied.
    pub applied: Vec<Step>,
    /// Steps that are still to be applied.
    pub pending: Vec<Step>,
}

/// What is still to be applied. Fails as [`verify`] does.
pub async fn plan(store: &Store) -> Result<MigrateReport, StoreError> {
    let list = store.migrations();
    store.read(move |tx| report(tx, list)).await
}

/// Applies what is pending; an up-to-date home is left alone.
pub async fn apply(store: &Store) -> Result<MigrateReport, StoreError> {
    let list = store.migrations();
    let mut done = plan(store).await?;
    for migration in list {
        if store.write(move |tx| apply_one(tx, list, migration)).await? {
            done.applied.push(migration.step());
        }
    }
    done.pending.clear();
    Ok(done)
}

/// Compares the ledger with this program: checksums, gaps, steps of a newer program. Steps that are
/// pending are no failure.
pub async fn verify(store: &Store) -> Result<(), StoreError> {
    plan(store).await.map(drop)
}

/// What is pending, seen from inside a transaction.
pub(crate) fn report(tx: &mut dyn Tx, list: &[Migration]) -> Result<MigrateReport, StoreError> {
    let known = ledger(tx)?;
    check(list, &known, tx.dialect())?;
    let at = known.len();
    Ok(MigrateReport {
        from: list[..at].last().map_or(0, |m| m.version),
        applied: Vec::new(),
        pending: list[at..].iter().map(Migration::step).collect(),
    })
}

/// Applies one step unless another process was faster; answers whether it did. The check is repeated
/// because the write lock is held only now.
pub(crate) fn apply_one(tx: &mut dyn Tx, list: &[Migration], migration: &Migration) -> Result<bool, StoreError> {
    let known = ledger(tx)?;
    check(list, &known, tx.dialect())?;
    if known.iter().any(|(version, _)| *version == migration.version) {
        return Ok(false);
    }
    if known.is_empty() {
        tx.batch(ledger_table(tx.dialect()))?;
    }
    let sql = migration.text(tx.dialect())?;
    tx.batch(sql)?;
    tx.exec(
        "INSERT INTO astudio_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)",
        vals![migration.version, migration.name, checksum(sql), chrono::Utc::now().timestamp_micros()],
    )?;
    Ok(true)
}

/// Versions and checksums that were applied, in order.
fn ledger(tx: &mut dyn Tx) -> Result<Vec<(u32, String)>, StoreError> {
    let there = tx.query_one(tx.dialect().count_tables(), vals!["astudio_migrations"])?;
    if there.map_or(Ok(0), |row| row.int(0))? == 0 {
        return Ok(Vec::new());
    }
    let rows = tx.query("SELECT version, checksum FROM astudio_migrations ORDER BY version", &[])?;
    let entry = |row: &crate::Row| {
        let version = u32::try_from(row.int(0)?)
            .map_err(|_| StoreError::Decode("a migration's number is out of range".into()))?;
        Ok((version, row.text(1)?))
    };
    rows.iter().map(entry).collect()
}

fn check(list: &[Migration], known: &[(u32, String)], dialect: Dialect) -> Result<(), MigrateError> {
    let newest = list.last().map_or(0, |m| m.version);
    if let Some((found, _)) = known.last().filter(|(version, _)| *version > newest) {
        return Err(MigrateError::Newer { found: *found, known: newest });
    }
    for (migration, (version, sum)) in list.iter().zip(known) {
        if migration.version != *version {
            return Err(MigrateError::Gap { version: migration.version });
        }
        if checksum(migration.text(dialect)?) != *sum {
            return Err(MigrateError::Changed { version: *version, name: migration.name.to_owned() });
        }
    }
    Ok(())
}

fn ledger_table(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => {
            "CREATE TABLE IF NOT EXISTS astudio_migrations (
                version INTEGER PRIMARY KEY, name TEXT NOT NULL,
                checksum TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT"
        }
        Dialect::Postgres => {
            "CREATE TABLE IF NOT EXISTS astudio_migrations (
                version BIGINT PRIMARY KEY, name TEXT NOT NULL,
                checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)"
        }
    }
}

fn checksum(sql: &str) -> String {
    let hash = Sha256::digest(sql.as_bytes());
    hash.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::StoreSettings;
    use crate::sqlite::tests::SCHEMA;

    fn open(dir: &std::path::Path, list: &'static [Migration], apply: bool) -> Result<Store, StoreError> {
        let settings = StoreSettings { home: dir.to_owned(), apply };
        Store::open_with(&settings, list, crate::sqlite::LONGEST)
    }

    fn versions(steps: &[Step]) -> Vec<u32> {
        steps.iter().map(|s| s.version).collect()
    }

    async fn run(store: &Store, sql: &'static str) {
        store.write(|tx| tx.batch(sql)).await.unwrap();
    }

    #[test]
    fn the_programs_own_steps_are_numbered_without_gaps() {
        for (i, migration) in migrations().iter().enumerate() {
            assert_eq!(migration.version as usize, i + 1, "{}", migration.name);
            assert!(migration.text(Dialect::Sqlite).is_ok());
        }
    }

    #[tokio::test]
    async fn the_programs_own_steps_make_a_home() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreSettings::new(dir.path())).unwrap();
        assert_eq!(store.migrated().applied.len(), migrations().len());
        verify(&store).await.unwrap();
        let broken = store.read(|tx| tx.query("PRAGMA integrity_check", &[])).await.unwrap();
        assert_eq!(broken[0].str(0), Ok("ok"));
    }

    #[tokio::test]
    async fn an_old_home_is_upgraded_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path(), &SCHEMA[..1], true).unwrap();
        assert_eq!(versions(&store.migrated().applied), [1]);
        drop(store);
        let store = open(dir.path(), SCHEMA, true).unwrap();
        let report = store.migrated().clone();
        assert_eq!(report.from, 1);
        assert_eq!(versions(&report.applied), [2]);
        assert!(report.pending.is_empty());
        let ledger = store.read(|tx| tx.query("SELECT checksum FROM astudio_migrations", &[])).await;
        assert!(ledger.unwrap().iter().all(|row| row.str(0).unwrap().len() == 64));
        drop(store);
        let store = open(dir.path(), SCHEMA, true).unwrap();
        assert!(store.migrated().applied.is_empty());
    }

    #[tokio::test]
    async fn without_apply_the_home_stays_until_told() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path(), SCHEMA, false).unwrap();
        assert_eq!(versions(&store.migrated().pending), [1, 2]);
        assert_eq!(versions(&plan(&store).await.unwrap().pending), [1, 2]);
        verify(&store).await.unwrap();
        let done = apply(&store).await.unwrap();
        assert_eq!((done.from, versions(&done.applied)), (0, vec![1, 2]));
        assert!(apply(&store).await.unwrap().applied.is_empty());
        assert!(plan(&store).await.unwrap().pending.is_empty());
    }

    #[tokio::test]
    async fn a_newer_a_changed_and_a_holed_ledger_are_told_apart() {
        for (change, want) in [
            ("INSERT INTO astudio_migrations VALUES (7, 'x', 'x', 0)", MigrateError::Newer { found: 7, known: 2 }),
            (
                "UPDATE astudio_migrations SET checksum = 'x' WHERE version = 2",
                MigrateError::Changed { version: 2, name: "parts".into() },
            ),
            ("DELETE FROM astudio_migrations WHERE version = 1", MigrateError::Gap { version: 1 }),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let store = open(dir.path(), SCHEMA, true).unwrap();
            run(&store, change).await;
            assert_eq!(verify(&store).await, Err(want.clone().into()));
            drop(store);
            let again = open(dir.path(), SCHEMA, true).map(drop);
            assert_eq!(again, Err(want.into()));
        }
    }

    #[tokio::test]
    async fn a_failing_step_leaves_nothing_behind() {
        const BROKEN: &[Migration] = &[
            SCHEMA[0],
            Migration {
                version: 2,
                name: "broken",
                sql: &[(
                    Dialect::Sqlite,
                    "CREATE TABLE half (n INTEGER) STRICT; CREATE TABLE half (n INTEGER) STRICT;",
                )],
            },
        ];
        let dir = tempfile::tempdir().unwrap();
        let failed = open(dir.path(), BROKEN, true).map(drop);
        assert!(matches!(failed, Err(StoreError::Statement { .. })));
        let store = open(dir.path(), &SCHEMA[..1], false).unwrap();
        assert!(store.migrated().pending.is_empty());
        let half = store.read(|tx| tx.query(tx.dialect().count_tables(), vals!["half"])).await;
        assert_eq!(half.unwrap()[0].int(0), Ok(0));
    }

    #[test]
    fn what_is_no_database_is_said_plainly() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("astudio.db"), "not a database".repeat(100)).unwrap();
        let failed = open(dir.path(), SCHEMA, true).map(drop);
        assert!(matches!(failed, Err(StoreError::Damaged { .. })), "{failed:?}");
    }
}
