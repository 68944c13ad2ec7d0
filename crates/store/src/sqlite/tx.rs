//! [`Tx`] over one SQLite connection.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Statement, ToSql};

use super::connect::error;
use crate::value::check_args;
use crate::{Dialect, Row, StoreError, Tx, Val};

/// One call's view of the open transaction.
pub(crate) struct SqliteTx<'c> {
    conn: &'c Connection,
    failure: Option<StoreError>,
}

impl<'c> SqliteTx<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Self {
        SqliteTx { conn, failure: None }
    }

    /// The first error, which poisoned the transaction.
    pub(crate) fn failure(&self) -> Option<&StoreError> {
        self.failure.as_ref()
    }

    fn guarded<T>(&mut self, run: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if self.failure.is_some() {
            return Err(StoreError::Poisoned);
        }
        run(self.conn).inspect_err(|e| self.failure = Some(e.clone()))
    }
}

impl Tx for SqliteTx<'_> {
    fn query(&mut self, sql: &str, args: &[Val]) -> Result<Vec<Row>, StoreError> {
        self.guarded(|conn| {
            check_args(args)?;
            let mut statement = conn.prepare_cached(sql).map_err(|e| error(e, sql))?;
            bind(&mut statement, sql, args)?;
            let columns = statement.column_count();
            let mut rows = statement.raw_query();
            let mut all = Vec::new();
            while let Some(row) = rows.next().map_err(|e| error(e, sql))? {
                let column = |i| val(row.get_ref(i).map_err(|e| error(e, sql))?);
                all.push(Row::new((0..columns).map(column).collect::<Result<_, _>>()?));
            }
            Ok(all)
        })
    }

    fn exec(&mut self, sql: &str, args: &[Val]) -> Result<u64, StoreError> {
        self.guarded(|conn| {
            check_args(args)?;
            let mut statement = conn.prepare_cached(sql).map_err(|e| error(e, sql))?;
            bind(&mut statement, sql, args)?;
            let changed = statement.raw_execute().map_err(|e| error(e, sql))?;
            Ok(changed as u64)
        })
    }

    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.guarded(|conn| conn.execute_batch(sql).map_err(|e| error(e, sql)))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
}

/// Binds by the number in the parameter's name. To SQLite `$1` is a name and gets its place by first
/// appearance, so binding by place would silently swap the arguments of `… $2 … $1`.
fn bind(statement: &mut Statement<'_>, sql: &str, args: &[Val]) -> Result<(), StoreError> {
    let wrong = |detail: String| StoreError::Statement { sql: sql.to_owned(), detail };
    let count = statement.parameter_count();
    if count != args.len() {
        return Err(wrong(format!("{count} parameters, {} arguments", args.len())));
    }
    for place in 1..=count {
        let name = statement.parameter_name(place);
        let number = name.and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        let arg = number.and_then(|n| args.get(n.checked_sub(1)?));
        let arg = arg.ok_or_else(|| wrong(format!("parameter {name:?} has no argument")))?;
        statement.raw_bind_parameter(place, arg).map_err(|e| error(e, sql))?;
    }
    Ok(())
}

impl ToSql for Val {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Val::Null => ToSqlOutput::Owned(Value::Null),
            Val::Int(v) => ToSqlOutput::Owned(Value::Integer(*v)),
            Val::Real(v) => ToSqlOutput::Owned(Value::Real(*v)),
            Val::Text(v) => ToSqlOutput::Borrowed(ValueRef::Text(v.as_bytes())),
            Val::Bytes(v) => ToSqlOutput::Borrowed(ValueRef::Blob(v)),
        })
    }
}

fn val(value: ValueRef<'_>) -> Result<Val, StoreError> {
    Ok(match value {
        ValueRef::Null => Val::Null,
        ValueRef::Integer(v) => Val::Int(v),
        ValueRef::Real(v) => Val::Real(v),
        ValueRef::Text(v) => match std::str::from_utf8(v) {
            Ok(text) => Val::Text(text.to_owned()),
            Err(_) => return Err(StoreError::Decode("a stored text is not UTF-8".into())),
        },
        ValueRef::Blob(v) => Val::Bytes(v.to_vec()),
    })
}
