//! What can go wrong in the store. `Display` is fit for people and carries neither SQL nor a path;
//! `Debug` may carry SQL and the database's own words, for the log.

use crate::migrate::MigrateError;

/// A failure of the store. The caller's own refusals travel beside it, never inside it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A row with this unique key already exists.
    #[error("a record with this key already exists")]
    Unique,
    /// A foreign key, check or not-null rule of a table refused the change.
    #[error("the change breaks a rule of the stored records")]
    Constraint {
        /// The database's own words.
        detail: String,
    },
    /// A text holds the NUL character, which not every database can keep.
    #[error("text must not contain the NUL character (U+0000)")]
    BadText,
    /// A whole number does not fit into 64 signed bits.
    #[error("a number is too large to be stored")]
    BadNumber,
    /// An earlier statement of this call failed, so nothing more may happen in it.
    #[error("an earlier step of this call failed; nothing was written")]
    Poisoned,
    /// The function of the call panicked; its changes were rolled back.
    #[error("an internal error stopped the call; nothing was written")]
    Panicked,
    /// The store cannot serve just now: the disk is full or failing, another process holds the write
    /// lock for too long, or the commit failed. Nothing of the call is in force; it may be tried again.
    #[error("the store cannot complete the call just now; try again")]
    Unavailable {
        /// The database's own words.
        detail: String,
    },
    /// The store was closed while the call waited.
    #[error("the store is closed")]
    Closed,
    /// The database file is damaged, or is no database.
    #[error(
        "the database is damaged or is not an astudio database; stop every process that uses this home and restore a backup"
    )]
    Damaged {
        /// The database's own words.
        detail: String,
    },
    /// A statement failed for a reason that is a mistake in the program.
    #[error("a storage statement failed")]
    Statement {
        /// The SQL text.
        sql: String,
        /// The database's own words.
        detail: String,
    },
    /// A stored value is not of the kind the program expects there.
    #[error("a stored value is not of the expected kind ({0})")]
    Decode(String),
    /// The home folder, or what belongs into it, cannot be used.
    #[error("{what}: {why}")]
    Home {
        /// What was tried.
        what: &'static str,
        /// The system's reason, without a path.
        why: String,
    },
    /// The schema of the home and this program do not fit together.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
}

impl StoreError {
    /// An error of the home folder from the system's own.
    pub(crate) fn home(what: &'static str, why: &std::io::Error) -> Self {
        StoreError::Home { what, why: why.kind().to_string() }
    }

    /// Whether the failure says nothing about the call itself, so that the same call may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(self, StoreError::Unavailable { .. } | StoreError::Closed)
    }
}
