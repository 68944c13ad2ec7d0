//! [`Store`]: the handle the rooms above hold.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::migrate::{self, Migration};
use crate::sqlite::{self, Call, Group, LONGEST, Readers, Writer};
use crate::{Bell, Home, MigrateReport, StoreError, Tx};

/// Runs in the writer, inside the outer transaction, at the end of each group that wrote anything. If it
/// fails, the group fails.
pub type GroupEnd = Box<dyn Fn(&mut dyn Tx) -> Result<(), StoreError> + Send + Sync>;

/// Where the store is and how it is opened.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// The home folder; made if it is missing.
    pub home: PathBuf,
    /// Whether pending migrations are applied when the store is opened. Without it they are only
    /// reported, and a new home stays empty.
    pub apply: bool,
}

impl StoreSettings {
    /// The store of this home, upgraded when it is opened.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        StoreSettings { home: home.into(), apply: true }
    }
}

/// An open store. Clones share it; when the last one goes, the writer finishes what is queued and
/// empties the log, which may take some milliseconds.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

// The order of the fields is the order in which they go: the writer last uses the bell and the home.
struct Inner {
    writer: Writer,
    readers: Readers,
    group_end: Arc<OnceLock<GroupEnd>>,
    bell: Bell,
    home: Arc<Home>,
    migrations: &'static [Migration],
    report: MigrateReport,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store of a home, and brings its schema up to date if the settings say so. Several
    /// processes may do so at once.
    pub fn open(settings: &StoreSettings) -> Result<Store, StoreError> {
        Self::open_with(settings, migrate::migrations(), LONGEST)
    }

    /// Opens a store with this schema and this length of a group.
    pub(crate) fn open_with(
        settings: &StoreSettings,
        migrations: &'static [Migration],
        longest: Duration,
    ) -> Result<Store, StoreError> {
        let home = Arc::new(Home::open(&settings.home)?);
        let path = home.database();
        let conn = sqlite::open_writer(&path)?;
        let mut report = sqlite::in_write(&conn, |tx| migrate::report(tx, migrations))?;
        if settings.apply && !report.pending.is_empty() {
            tracing::info!(
                from = report.from,
                steps = report.pending.len(),
                "the schema of the home is brought up to date"
            );
            for migration in migrations {
                if sqlite::in_write(&conn, |tx| migrate::apply_one(tx, migrations, migration))? {
                    report.applied.push(migration.step());
                }
            }
            report.pending.clear();
        }
        let bell = Bell::open(home.clone())?;
        let group_end = Arc::new(OnceLock::new());
        let group = Group { end: group_end.clone(), bell: bell.clone(), longest };
        let inner = Inner {
            writer: Writer::start(conn, &path, group)?,
            readers: Readers::new(path),
            group_end,
            bell,
            home,
            migrations,
            report,
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// Runs one function over an open transaction and answers after the commit.
    ///
    /// The function is synchronous, so nothing in it can wait for the network. It may run more than once
    /// (a database with several writers repeats what collided), so it changes nothing outside its
    /// transaction. An error it returns rolls back what it wrote. Once queued, a call runs even if the
    /// caller stops waiting.
    pub async fn write<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: Fn(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.inner.writer.submit(Box::new(Pending { f, answer: None, reply }))?;
        match answer.await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::Closed.into()),
        }
    }

    /// A short read (about ten statements on indexes) on one consistent snapshot. It runs on the calling
    /// thread, because the hop to another costs as much as the read.
    pub async fn read<T, E, F>(&self, f: F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: FnOnce(&mut dyn Tx) -> Result<T, E>,
    {
        self.inner.readers.run(f)
    }

    /// A long read on one consistent snapshot, on a thread that may block: exports, verification. As
    /// long as it runs, the database's log cannot shrink. Needs a Tokio runtime.
    pub async fn read_long<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&mut dyn Tx) -> Result<T, E> + Send + 'static,
    {
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || inner.readers.run(f)).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::Closed.into()),
        }
    }

    /// Sets the function that ends each group, which is the journal's sealer. It can be set once; the
    /// answer is `false` if another was set before. It lives as long as the store, so it must not hold a
    /// handle of it.
    pub fn on_group_end(&self, hook: GroupEnd) -> bool {
        self.inner.group_end.set(hook).is_ok()
    }

    /// The bell that rings after each commit, of this or another process.
    pub fn bell(&self) -> Bell {
        self.inner.bell.clone()
    }

    /// The home folder.
    pub fn home(&self) -> &Home {
        &self.inner.home
    }

    /// What opening the store did to the schema.
    pub fn migrated(&self) -> &MigrateReport {
        &self.inner.report
    }

    pub(crate) fn migrations(&self) -> &'static [Migration] {
        self.inner.migrations
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // An open reader keeps the log from being emptied by the writer's end.
        self.readers.clear();
    }
}

struct Pending<T, E, F> {
    f: F,
    answer: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F> Call for Pending<T, E, F>
where
    T: Send,
    E: From<StoreError> + Send,
    F: Fn(&mut dyn Tx) -> Result<T, E> + Send,
{
    fn run(&mut self, tx: &mut dyn Tx) -> bool {
        let answer = catch_unwind(AssertUnwindSafe(|| (self.f)(tx)));
        let answer = answer.unwrap_or_else(|_| Err(StoreError::Panicked.into()));
        self.answer.insert(answer).is_ok()
    }

    fn fail(&mut self, error: StoreError) {
        self.answer = Some(Err(error.into()));
    }

    fn settle(self: Box<Self>, group: Result<(), StoreError>) {
        let this = *self;
        let answer = match (group, this.answer) {
            (Err(e), _) => Err(e.into()),
            (Ok(()), Some(answer)) => answer,
            // Unreachable while every call of a committed group has run.
            (Ok(()), None) => Err(StoreError::Closed.into()),
        };
        // The captures go first: a caller who holds the answer may expect them gone.
        drop(this.f);
        // The caller may have stopped waiting.
        let _ = this.reply.send(answer);
    }
}
