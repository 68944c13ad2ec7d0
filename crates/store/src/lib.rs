//! The store: transactions, the SQLite driver, migrations, the home folder and the bell between processes.
//!
//! What lives here: [`Tx`] and [`Store`]; one writer that groups calls into durable commits; read-only
//! snapshots; the migration ledger; the register of live processes; repositories over `&mut dyn Tx`.
//! It may use `contract`, `rules` and `text`. What never belongs here: business rules, sealing, the audit
//! chain (they stand above and are handed a transaction), and anything that waits for the network.

pub mod bell;
mod dialect;
mod error;
pub mod fault;
mod handle;
pub mod home;
pub mod migrate;
pub mod repo;
mod sqlite;
mod tx;
mod value;

pub use bell::Bell;
pub use dialect::Dialect;
pub use error::StoreError;
pub use handle::{GroupEnd, Store, StoreSettings};
pub use home::Home;
pub use migrate::MigrateReport;
pub use tx::Tx;
pub use value::{Row, Val};
