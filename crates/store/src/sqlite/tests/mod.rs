//! Tests of the driver.
#![allow(clippy::unwrap_used)]

mod calls;
mod disk;
mod processes;

use std::path::Path;

use crate::migrate::Migration;
use crate::{Dialect, Store, StoreError, StoreSettings, Tx, Val, vals};

/// A schema for these tests only.
pub(crate) const SCHEMA: &[Migration] = &[
    Migration {
        version: 1,
        name: "items",
        sql: &[(
            Dialect::Sqlite,
            "CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER NOT NULL, body TEXT) STRICT;
             CREATE TABLE tallies (writer TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT;",
        )],
    },
    Migration {
        version: 2,
        name: "parts",
        sql: &[(
            Dialect::Sqlite,
            "CREATE TABLE parts (item TEXT NOT NULL REFERENCES items(id) DEFERRABLE INITIALLY DEFERRED,
                                 strict_item TEXT REFERENCES items(id)) STRICT;",
        )],
    },
];

pub(crate) fn open(path: &Path) -> Store {
    Store::open_with(&StoreSettings::new(path), SCHEMA, crate::sqlite::LONGEST).unwrap()
}

/// A store whose groups take whatever is queued, however slow the machine is.
fn open_patient(path: &Path) -> Store {
    let patient = std::time::Duration::from_secs(600);
    Store::open_with(&StoreSettings::new(path), SCHEMA, patient).unwrap()
}

pub(crate) fn insert(tx: &mut dyn Tx, id: &str, n: i64) -> Result<(), StoreError> {
    tx.exec("INSERT INTO items (id, n) VALUES ($1, $2)", vals![id, n]).map(drop)
}

pub(crate) fn ids(tx: &mut dyn Tx) -> Result<Vec<String>, StoreError> {
    let rows = tx.query("SELECT id FROM items ORDER BY id", &[])?;
    rows.iter().map(|row| row.text(0)).collect()
}

async fn stored(store: &Store) -> Vec<String> {
    store.read(ids).await.unwrap()
}

/// Keeps the writer busy until the sender is dropped, so that what is queued meanwhile lands in one
/// group.
fn hold(store: &Store) -> (std::sync::mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let (in_call, entered) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let held = store.clone();
    let task = tokio::spawn(async move {
        let wait = move |_: &mut dyn Tx| {
            in_call.send(()).unwrap();
            let _ = gate.lock().unwrap().recv();
            Ok::<_, StoreError>(())
        };
        // It shares the fate of its group.
        let _ = held.write(wait).await;
    });
    tokio::task::block_in_place(|| entered.recv().unwrap());
    (go, task)
}

type Answer = Result<(), StoreError>;
type Write = Box<dyn Fn(&mut dyn Tx) -> Answer + Send>;

/// Queues these calls behind a held one of a patient store, so that they share a group, and returns
/// their answers in order.
async fn together(store: &Store, calls: Vec<Write>) -> Vec<Answer> {
    let (go, held) = hold(store);
    let mut tasks = Vec::new();
    for call in calls {
        let mut write = Box::pin(store.write(call));
        // The first poll queues the call, in this order.
        assert!(still_waits(&mut write).await);
        tasks.push(write);
    }
    drop(go);
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await);
    }
    held.await.unwrap();
    answers
}

/// Polls once; answers whether the future is still waiting.
async fn still_waits<F: Future + Unpin>(f: &mut F) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *f).poll(cx).is_pending())).await
}
