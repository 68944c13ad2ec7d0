//! Ids: UUID v4 for records, v7 (ordered by time) for append-only logs; lower case.

use uuid::Uuid;

/// A new id for a record.
pub fn record_id() -> String {
    Uuid::new_v4().to_string()
}

/// A new id for an entry of a log; later ones sort after earlier ones of this process.
pub fn log_id() -> String {
    Uuid::now_v7().to_string()
}

/// Whether `text` is a UUID in its usual form; anything else names no record.
pub fn is_id(text: &str) -> bool {
    text.len() == 36 && Uuid::try_parse(text).is_ok()
}
