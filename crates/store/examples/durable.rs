//! Measures durable grouped writes and short reads: `cargo run --release -p astudio-store --example
//! durable [-- <folder> <seconds>]`. Several copies on one folder measure processes that share a home.
#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use astudio_store::{Store, StoreError, StoreSettings, Tx, vals};

const CALLERS: i64 = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let own = tempfile::tempdir()?;
    let home = args.next().map_or(own.path().to_owned(), Into::into);
    let time = Duration::from_secs(args.next().map_or(Ok(3), |s| s.parse())?);
    let runtime = tokio::runtime::Runtime::new()?;
    let store = Store::open(&StoreSettings::new(home))?;
    runtime.block_on(async {
        store.write(schema).await?;
        let groups = Arc::new(AtomicU64::new(0));
        let count = groups.clone();
        store.on_group_end(Box::new(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }));
        let writes = measure(time, |caller| {
            let store = store.clone();
            async move { store.write(move |tx| patch(tx, caller)).await }
        })
        .await?;
        println!("writes {writes}, {} groups", groups.load(Ordering::Relaxed));
        let (since, mut n) = (Instant::now(), 0u32);
        while since.elapsed() < time {
            store.read(|tx| get(tx, i64::from(n) % CALLERS)).await?;
            n += 1;
        }
        println!("get one, one caller {:?} each", since.elapsed() / n);
        let reads = measure(time, |caller| {
            let store = store.clone();
            async move { store.read(|tx| get(tx, caller)).await.map(drop) }
        })
        .await?;
        println!("get one, inline {reads}");
        let reads = measure(time, |caller| {
            let store = store.clone();
            async move { store.read_long(move |tx| get(tx, caller)).await.map(drop) }
        })
        .await?;
        println!("get one, hopped {reads}");
        Ok::<_, StoreError>(())
    })?;
    Ok(())
}

fn schema(tx: &mut dyn Tx) -> Result<(), StoreError> {
    tx.batch(
        "CREATE TABLE IF NOT EXISTS bench_items (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
         CREATE TABLE IF NOT EXISTS bench_versions (item INTEGER NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
             PRIMARY KEY (item, version)) STRICT;
         CREATE TABLE IF NOT EXISTS bench_audit (id INTEGER PRIMARY KEY, item INTEGER NOT NULL, body TEXT NOT NULL) STRICT;",
    )?;
    for id in 0..CALLERS {
        tx.exec("INSERT INTO bench_items VALUES ($1, 1, $2) ON CONFLICT DO NOTHING", vals![id, "b".repeat(400)])?;
    }
    Ok(())
}

/// Read, check, update, version row, audit row: what a small change of a record costs.
fn patch(tx: &mut dyn Tx, id: i64) -> Result<(), StoreError> {
    let row = get(tx, id)?;
    let (version, body) = (row.int(0)? + 1, row.str(1)?);
    tx.exec("UPDATE bench_items SET version = $2, body = $3 WHERE id = $1", vals![id, version, body])?;
    tx.exec("INSERT INTO bench_versions VALUES ($1, $2, $3)", vals![id, version, body])?;
    tx.exec("INSERT INTO bench_audit (item, body) VALUES ($1, $2)", vals![id, "{\"what\":\"patch\"}"])?;
    Ok(())
}

fn get(tx: &mut dyn Tx, id: i64) -> Result<astudio_store::Row, StoreError> {
    let row = tx.query_one("SELECT version, body FROM bench_items WHERE id = $1", vals![id])?;
    row.ok_or(StoreError::Closed)
}

async fn measure<F>(time: Duration, call: impl Fn(i64) -> F) -> Result<String, StoreError>
where
    F: Future<Output = Result<(), StoreError>> + Send + 'static,
{
    let since = Instant::now();
    let mut waits = Vec::new();
    let mut running = tokio::task::JoinSet::new();
    let start = |running: &mut tokio::task::JoinSet<_>, caller| {
        let (begin, call) = (Instant::now(), call(caller));
        running.spawn(async move { (caller, call.await, begin.elapsed()) });
    };
    (0..CALLERS).for_each(|caller| start(&mut running, caller));
    while let Some(done) = running.join_next().await {
        let (caller, answer, wait) = done.map_err(|_| StoreError::Panicked)?;
        answer?;
        waits.push(wait);
        if since.elapsed() < time {
            start(&mut running, caller);
        }
    }
    waits.sort();
    let rate = waits.len() as f64 / since.elapsed().as_secs_f64();
    let (p50, p99) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
    let most = waits[waits.len() - 1];
    Ok(format!("{rate:.0}/s, p50 {p50:?}, p99 {p99:?}, most {most:?}"))
}
