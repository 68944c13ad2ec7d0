//! Settings of a home that the program keeps itself, such as who its own person is.

use crate::{StoreError, Tx, vals};

/// The tenant the program's own person acts in.
pub const DEFAULT_TENANT: &str = "default_tenant";
/// The program's own person.
pub const DEFAULT_USER: &str = "default_user";

/// The value of a setting.
pub fn get(tx: &mut dyn Tx, key: &str) -> Result<Option<String>, StoreError> {
    let row = tx.query_one("select value from settings where key = $1", vals![key])?;
    row.map(|mut row| row.take_text(0)).transpose()
}

/// Sets a setting.
pub fn set(tx: &mut dyn Tx, key: &str, value: &str) -> Result<(), StoreError> {
    tx.exec(
        "insert into settings (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value",
        vals![key, value],
    )?;
    Ok(())
}
