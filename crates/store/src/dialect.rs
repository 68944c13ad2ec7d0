//! The few places where the SQL of the two databases differs.

/// Which database a transaction speaks to. Statements are written once; where one cannot be, the
/// difference is a method here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// SQLite, embedded.
    Sqlite,
    /// PostgreSQL, for several replicas.
    Postgres,
}

impl Dialect {
    /// Ends a `SELECT` whose rows the transaction is about to change. SQLite has one writer at a time
    /// and needs nothing.
    pub fn for_update(self) -> &'static str {
        match self {
            Dialect::Sqlite => "",
            Dialect::Postgres => " FOR UPDATE",
        }
    }

    /// Ends a `SELECT` that takes work from a queue without waiting for rows others have taken.
    pub fn for_update_skip_locked(self) -> &'static str {
        match self {
            Dialect::Sqlite => "",
            Dialect::Postgres => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// Counts the tables called `$1`: 0 or 1.
    pub(crate) fn count_tables(self) -> &'static str {
        match self {
            Dialect::Sqlite => "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1",
            Dialect::Postgres => {
                "SELECT count(*) FROM information_schema.tables \
                 WHERE table_schema = current_schema() AND table_name = $1"
            }
        }
    }
}
