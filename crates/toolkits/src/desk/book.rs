//! The desk's book: its SQLite file. Opened by the first call, never by a constructor.

use super::orders::{Changed, Money, Order, Orders, Preview, Status};
use super::rules::{self, Act, Plan};
use contract::Micros;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a call waits for another process that writes.
const BUSY: Duration = Duration::from_secs(10);

const SCHEMA: &str = "
create table if not exists desk_orders (
  tenant text not null,
  order_id integer not null,
  customer text not null,
  item text not null,
  quantity integer not null,
  total integer not null,
  currency text not null,
  status text not null check (status in ('open', 'shipped', 'delivered', 'cancelled', 'refunded')),
  placed_at integer not null,
  refunded integer not null default 0 check (refunded between 0 and total),
  primary key (tenant, order_id)
) strict, without rowid;
create table if not exists desk_effects (
  key text primary key,
  order_id integer not null,
  tenant text not null,
  method text not null,
  at integer not null,
  reason text
) strict;
";

const COLUMNS: &str = "order_id, customer, item, quantity, total, currency, status, placed_at, refunded";

/// Why the desk could not do something, in words for a model and a person.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// No such order in this tenant. An order of another tenant reads the same.
    #[error("Order {0} was not found.")]
    NotFound(i64),
    /// A rule of the desk.
    #[error("{0}.")]
    Rule(String),
    /// The book. Its place on disk is nobody's business.
    #[error("The desk's book cannot be used now ({0}). Try again later.")]
    Book(&'static str),
}

impl From<rusqlite::Error> for BookError {
    fn from(error: rusqlite::Error) -> Self {
        BookError::Book(match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process is writing",
            Some(ErrorCode::DiskFull) => "the disk is full",
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                "it cannot be opened for writing"
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => "its file is damaged",
            _ => "reading or writing failed",
        })
    }
}

/// A change that a person approved.
pub(super) struct Write {
    pub tenant: String,
    pub order_id: i64,
    pub act: Act,
    pub reason: Option<String>,
    /// Id of the approval.
    pub key: String,
    pub method: String,
}

pub(super) struct Book {
    path: PathBuf,
    open: Mutex<Option<Connection>>,
}

impl Book {
    pub fn new(path: PathBuf) -> Self {
        Self { path, open: Mutex::new(None) }
    }

    fn with<T>(&self, f: impl FnOnce(&mut Connection) -> Result<T, BookError>) -> Result<T, BookError> {
        // A panic inside a transaction rolled it back, so the connection is as good as before.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let conn = match &mut *open {
            Some(conn) => conn,
            none => none.insert(connect(&self.path)?),
        };
        f(conn)
    }

    pub fn close(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub fn get(&self, tenant: &str, order_id: i64) -> Result<Order, BookError> {
        self.with(|conn| order(conn, tenant, order_id))
    }

    pub fn list(&self, tenant: &str, status: Option<Status>, limit: usize) -> Result<Orders, BookError> {
        self.with(|conn| {
            let sql = format!(
                "select {COLUMNS} from desk_orders where tenant = ?1 and (?2 is null or status = ?2) \
                 order by placed_at desc, order_id desc limit ?3"
            );
            // One more than asked tells whether there are more.
            let more = i64::try_from(limit).unwrap_or(i64::MAX - 1) + 1;
            let mut orders = conn
                .prepare_cached(&sql)?
                .query_map(params![tenant, status.map(Status::as_str), more], read)?
                .collect::<Result<Vec<_>, _>>()?;
            let truncated = orders.len() > limit;
            orders.truncate(limit);
            Ok(Orders { orders, truncated })
        })
    }

    pub fn preview(&self, tenant: &str, order_id: i64, act: Act) -> Result<Preview, BookError> {
        match self.get(tenant, order_id) {
            Ok(order) => Ok(rules::preview(&order, act)),
            Err(error @ BookError::NotFound(_)) => {
                Ok(Preview { order_id, changes: Vec::new(), note: Some(format!("It would fail: {error}")) })
            }
            Err(error) => Err(error),
        }
    }

    /// Changes an order, and keeps the key with the change. A key that is there already changes nothing.
    pub fn write(&self, write: &Write, after: Option<&(dyn Fn() + Send + Sync)>) -> Result<Changed, BookError> {
        let changed = self.with(|conn| {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let before = order(&tx, &write.tenant, write.order_id)?;
            if ran(&tx, &write.key)? {
                let message = "This approval has been used for its change before; nothing was done again.".to_owned();
                return Ok(Changed { order_id: before.order_id, status: before.status, changed: false, message });
            }
            let Plan { after, message } = rules::plan(&before, write.act).map_err(BookError::Rule)?;
            let Some(order) = after else {
                return Ok(Changed { order_id: before.order_id, status: before.status, changed: false, message });
            };
            save(&tx, write, &order)?;
            tx.commit()?;
            Ok(Changed { order_id: order.order_id, status: order.status, changed: true, message })
        })?;
        if let Some(after) = after.filter(|_| changed.changed) {
            after();
        }
        Ok(changed)
    }

    pub fn did_run(&self, key: &str) -> Result<bool, BookError> {
        self.with(|conn| ran(conn, key))
    }
}

fn connect(path: &Path) -> Result<Connection, BookError> {
    let conn = Connection::open(path)?;
    conn.busy_timeout(BUSY)?;
    enter_wal(&conn)?;
    // A change that was answered must still be there after the power fails.
    conn.execute_batch("pragma synchronous = full; pragma fullfsync = on; pragma trusted_schema = off;")?;
    conn.execute_batch(SCHEMA)?;
    Ok(conn)
}

/// Changing the journal mode does not wait for other processes by itself.
fn enter_wal(conn: &Connection) -> Result<(), BookError> {
    let since = Instant::now();
    loop {
        match conn.query_row("pragma journal_mode = wal", [], |_| Ok(())) {
            Ok(()) => return Ok(()),
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && since.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(e) => return Err(e.into()),
        }
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Order> {
    let status: String = row.get(6)?;
    Ok(Order {
        order_id: row.get(0)?,
        customer: row.get(1)?,
        item: row.get(2)?,
        quantity: row.get(3)?,
        total: Money(row.get(4)?),
        currency: row.get(5)?,
        status: Status::parse(&status).ok_or(rusqlite::Error::InvalidQuery)?,
        placed_at: Micros(row.get(7)?),
        refunded: Money(row.get(8)?),
    })
}

fn order(conn: &Connection, tenant: &str, order_id: i64) -> Result<Order, BookError> {
    let sql = format!("select {COLUMNS} from desk_orders where tenant = ?1 and order_id = ?2");
    conn.prepare_cached(&sql)?
        .query_row(params![tenant, order_id], read)
        .optional()?
        .ok_or(BookError::NotFound(order_id))
}

fn ran(conn: &Connection, key: &str) -> Result<bool, BookError> {
    Ok(conn.prepare_cached("select 1 from desk_effects where key = ?1")?.exists(params![key])?)
}

fn save(tx: &Transaction<'_>, write: &Write, order: &Order) -> Result<(), BookError> {
    tx.execute(
        "update desk_orders set status = ?3, refunded = ?4 where tenant = ?1 and order_id = ?2",
        params![write.tenant, order.order_id, order.status.as_str(), order.refunded.0],
    )?;
    tx.execute(
        "insert into desk_effects (key, order_id, tenant, method, at, reason) values (?1, ?2, ?3, ?4, ?5, ?6)",
        params![write.key, order.order_id, write.tenant, write.method, Micros::now().0, write.reason],
    )?;
    Ok(())
}

/// Puts orders of a tenant into the book: those that are missing, or with `put_back` all of them as they are given.
/// Answers how many rows it wrote. Effects stay: an approval that was used stays used.
///
/// # Errors
/// When the book cannot be written.
pub fn stock(db: &Path, tenant: &str, orders: &[Order], put_back: bool) -> Result<usize, BookError> {
    let mut conn = connect(db)?;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let verb = if put_back { "insert or replace" } else { "insert or ignore" };
    let mut written = 0;
    for o in orders {
        written += tx
            .prepare_cached(&format!(
                "{verb} into desk_orders (tenant, {COLUMNS}) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
            ))?
            .execute(params![
                tenant,
                o.order_id,
                o.customer,
                o.item,
                o.quantity,
                o.total.0,
                o.currency,
                o.status.as_str(),
                o.placed_at.0,
                o.refunded.0
            ])?;
    }
    tx.commit()?;
    Ok(written)
}
