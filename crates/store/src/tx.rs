//! The open transaction every repository function works on.

use crate::{Dialect, Row, StoreError, Val};

/// An open transaction. It is synchronous on purpose: whoever holds one cannot wait for a host, a model
/// or a lock. Parameters are `$1`, `$2` …, each bound by its number; every argument must be used.
///
/// The first failing statement poisons the transaction: later ones answer [`StoreError::Poisoned`] and
/// the call is rolled back even if its function carries on, because "insert, catch, go on" works on one
/// database only.
pub trait Tx {
    /// All rows of a statement.
    fn query(&mut self, sql: &str, args: &[Val]) -> Result<Vec<Row>, StoreError>;

    /// Runs a statement that returns no rows; answers the number of rows it changed.
    fn exec(&mut self, sql: &str, args: &[Val]) -> Result<u64, StoreError>;

    /// Runs several statements without parameters, for migrations.
    fn batch(&mut self, sql: &str) -> Result<(), StoreError>;

    /// The database behind this transaction.
    fn dialect(&self) -> Dialect;

    /// The single row of a statement that finds one or none. More than one is an error, for then the
    /// statement does not ask what the caller believes.
    fn query_one(&mut self, sql: &str, args: &[Val]) -> Result<Option<Row>, StoreError> {
        let mut rows = self.query(sql, args)?;
        if rows.len() > 1 {
            return Err(StoreError::Decode("more than one row was found".into()));
        }
        Ok(rows.pop())
    }
}
