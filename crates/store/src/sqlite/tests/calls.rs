//! One call and one group: parameters, savepoints, poison, panics, failed commits, snapshots.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;

#[tokio::test]
async fn parameters_go_by_their_number() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let row = store.read(|tx| tx.query_one("SELECT $2, $1, $2", vals!["one", "two"])).await;
    let row = row.unwrap().unwrap();
    assert_eq!((row.str(0), row.str(1), row.str(2)), (Ok("two"), Ok("one"), Ok("two")));
    store.write(|tx| tx.exec("INSERT INTO items (n, id) VALUES ($2, $1)", vals!["a", 5])).await.unwrap();
    assert_eq!(stored(&store).await, ["a"]);
}

#[tokio::test]
async fn wrong_numbers_of_arguments_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for (sql, n) in [
        ("SELECT $1", 2),
        ("SELECT $1, $2", 1),
        ("SELECT $1, $3", 2),
        ("SELECT ?", 1),
        ("SELECT $0", 1),
        ("SELECT :a", 1),
    ] {
        let args = vec![Val::Int(1); n];
        let answer = store.read(|tx| tx.query(sql, &args)).await;
        assert!(matches!(answer, Err(StoreError::Statement { .. })), "{sql}");
    }
}

#[tokio::test]
async fn all_kinds_of_values_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let args =
        vec![Val::Null, Val::Int(i64::MIN), Val::Real(0.5), Val::Text("ä\u{1F600}".into()), Val::Bytes(vec![0, 255])];
    let sent = args.clone();
    let rows = store.read(move |tx| tx.query("SELECT $1, $2, $3, $4, $5", &sent)).await;
    assert_eq!(rows, Ok(vec![crate::Row::new(args)]));
}

#[tokio::test]
async fn nul_in_text_is_refused_by_both_ways() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let read = store.read(|tx| tx.query("SELECT $1", vals!["a\0"])).await;
    assert_eq!(read.map(drop), Err(StoreError::BadText));
    let write = store.write(|tx| insert(tx, "a\0", 1)).await;
    assert_eq!(write, Err(StoreError::BadText));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_call_leaves_the_others_of_its_group() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_patient(dir.path());
    let ends = Arc::new(AtomicU32::new(0));
    let count = ends.clone();
    store.on_group_end(Box::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }));
    let answers = together(
        &store,
        vec![
            Box::new(|tx| insert(tx, "a", 1)),
            Box::new(|tx| {
                insert(tx, "b", 1)?;
                Err(StoreError::BadNumber)
            }),
            Box::new(|tx| {
                insert(tx, "c", 1)?;
                insert(tx, "a", 2)
            }),
            Box::new(|tx| {
                insert(tx, "d", 1)?;
                panic!("on purpose")
            }),
            Box::new(|tx| insert(tx, "e", 1)),
        ],
    )
    .await;
    let want = [Ok(()), Err(StoreError::BadNumber), Err(StoreError::Unique), Err(StoreError::Panicked), Ok(())];
    assert_eq!(answers, want);
    assert_eq!(stored(&store).await, ["a", "e"]);
    assert_eq!(ends.load(Ordering::SeqCst), 1, "they shared one group");
}

#[tokio::test]
async fn the_first_error_poisons_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.write(|tx| insert(tx, "a", 1)).await.unwrap();
    let answer: Answer = store
        .write(|tx| {
            insert(tx, "b", 1)?;
            assert_eq!(insert(tx, "a", 2), Err(StoreError::Unique));
            assert_eq!(insert(tx, "c", 2), Err(StoreError::Poisoned));
            assert_eq!(ids(tx), Err(StoreError::Poisoned));
            Ok(())
        })
        .await;
    assert_eq!(answer, Err(StoreError::Poisoned));
    assert_eq!(stored(&store).await, ["a"]);
    let read: Answer = store
        .read(|tx| {
            assert!(tx.query("SELECT nothing", &[]).is_err());
            Ok(())
        })
        .await;
    assert_eq!(read, Err(StoreError::Poisoned));
    store.write(|tx| insert(tx, "d", 1)).await.unwrap();
}

#[tokio::test]
async fn other_broken_rules_are_not_taken_for_a_double_key() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let null = store.write(|tx| tx.exec("INSERT INTO items (id, n) VALUES ($1, NULL)", vals!["a"])).await;
    assert!(matches!(null, Err(StoreError::Constraint { .. })));
    let foreign = store
        .write(|tx| {
            insert(tx, "a", 1)?;
            tx.exec("INSERT INTO parts (item, strict_item) VALUES ('a', 'no')", &[])
        })
        .await;
    assert!(matches!(foreign, Err(StoreError::Constraint { .. })));
    let kind = store.write(|tx| tx.exec("INSERT INTO items (id, n) VALUES ('a', 'text')", &[])).await;
    assert!(matches!(kind, Err(StoreError::Constraint { .. })));
}

/// A deferred foreign key is looked at by COMMIT: the plainest way to a commit that fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_commit_fails_the_whole_group_and_the_next_works() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_patient(dir.path());
    let answers = together(
        &store,
        vec![
            Box::new(|tx| insert(tx, "a", 1)),
            Box::new(|tx| tx.exec("INSERT INTO parts (item) VALUES ('no')", &[]).map(drop)),
            Box::new(|_| Err(StoreError::BadNumber)),
        ],
    )
    .await;
    for answer in answers {
        assert!(matches!(answer, Err(StoreError::Unavailable { .. })));
    }
    assert!(stored(&store).await.is_empty());
    store.write(|tx| insert(tx, "b", 1)).await.unwrap();
    assert_eq!(stored(&store).await, ["b"]);
}

#[tokio::test]
async fn a_call_that_ends_the_outer_transaction_fails() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let answer = store.write(|tx| tx.exec("ROLLBACK", &[])).await;
    assert!(matches!(answer, Err(StoreError::Unavailable { .. })));
    store.write(|tx| insert(tx, "a", 1)).await.unwrap();
}

#[tokio::test]
async fn the_groups_end_is_part_of_the_group() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let set = store.on_group_end(Box::new(|tx| {
        let n = tx.query_one("SELECT count(*) FROM items", &[])?;
        match n.map_or(Ok(0), |row| row.int(0))? {
            3 => panic!("on purpose"),
            2 => tx.exec("INSERT INTO nowhere VALUES (1)", &[]).map(drop),
            n => tx.exec("INSERT INTO tallies VALUES ($1, $2)", vals![n.to_string(), n]).map(drop),
        }
    }));
    assert!(set);
    assert!(!store.on_group_end(Box::new(|_| Ok(()))));
    store.write(|tx| insert(tx, "a", 1)).await.unwrap();
    // Neither a read nor a refused write ends a group that wrote anything.
    store.write(|tx| ids(tx).map(drop)).await.unwrap();
    let refused = store
        .write(|tx| {
            insert(tx, "b", 1)?;
            Err::<(), _>(StoreError::BadNumber)
        })
        .await;
    assert_eq!(refused, Err(StoreError::BadNumber));
    for n in [1, 2] {
        let answer = store.write(move |tx| (0..n).try_for_each(|i| insert(tx, &format!("x{i}"), i))).await;
        assert!(matches!(answer, Err(StoreError::Unavailable { .. })), "{n}");
    }
    assert_eq!(stored(&store).await, ["a"]);
    let tally = store.read(|tx| tx.query("SELECT n FROM tallies", &[])).await;
    assert_eq!(tally.unwrap().len(), 1);
}

#[tokio::test]
async fn a_read_sees_one_snapshot_and_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.write(|tx| insert(tx, "a", 1)).await.unwrap();
    let (writer, runtime) = (store.clone(), tokio::runtime::Handle::current());
    let read = move |tx: &mut dyn Tx| {
        let before = ids(tx)?;
        runtime.block_on(writer.write(|tx| insert(tx, "b", 1)))?;
        assert_eq!(runtime.block_on(writer.read(ids))?.len(), 2);
        Ok::<_, StoreError>((before, ids(tx)?))
    };
    let (before, after) = store.read_long(read).await.unwrap();
    assert_eq!(before, after);
    assert_eq!(stored(&store).await, ["a", "b"]);
    let write = store.read(|tx| insert(tx, "c", 1)).await;
    assert!(matches!(write, Err(StoreError::Statement { .. })));
}

#[tokio::test]
async fn a_panic_in_a_read_stays_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let fails = |_: &mut dyn Tx| -> Answer { panic!("on purpose") };
    assert_eq!(store.read(fails).await, Err(StoreError::Panicked));
    assert_eq!(store.read_long(fails).await, Err(StoreError::Panicked));
    store.write(|tx| insert(tx, "a", 1)).await.unwrap();
    assert_eq!(stored(&store).await, ["a"]);
}

#[tokio::test]
async fn the_bell_rings_for_commits_that_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (open(dir.path()), open(dir.path()));
    let (mut here, mut there) = (a.bell().subscribe(), b.bell().subscribe());
    a.write(|tx| ids(tx).map(drop)).await.unwrap();
    let quiet = Duration::from_millis(50);
    assert!(tokio::time::timeout(quiet, here.rung()).await.is_err());
    a.write(|tx| insert(tx, "a", 1)).await.unwrap();
    let soon = Duration::from_secs(10);
    assert_eq!(tokio::time::timeout(soon, here.rung()).await, Ok(Ok(())));
    assert_eq!(tokio::time::timeout(soon, there.rung()).await, Ok(Ok(())));
    assert_eq!(stored(&b).await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_share_commits() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ends = Arc::new(AtomicU32::new(0));
    let count = ends.clone();
    store.on_group_end(Box::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }));
    store.write(|tx| insert(tx, "n", 0)).await.unwrap();
    let callers = (0..64).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                let add = |tx: &mut dyn Tx| {
                    let row = tx.query_one("SELECT n FROM items WHERE id = $1", vals!["n"])?;
                    let n = row.map_or(Ok(0), |row| row.int(0))?;
                    tx.exec("UPDATE items SET n = $1 WHERE id = 'n'", vals![n + 1])
                };
                assert_eq!(store.write(add).await, Ok(1));
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    let n = store.read(|tx| tx.query_one("SELECT n FROM items", &[])).await;
    assert_eq!(n.unwrap().unwrap().int(0), Ok(64 * 20));
    let ends = ends.load(Ordering::SeqCst);
    assert!(ends < 64 * 20 / 2, "{ends} groups");
}

#[tokio::test]
async fn the_last_handle_empties_the_log_even_from_inside_a_call() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.write(|tx| insert(tx, "a", 1)).await.unwrap();
    stored(&store).await;
    let wal = dir.path().join("astudio.db-wal");
    assert!(wal.metadata().unwrap().len() > 0);
    drop(store);
    assert!(!wal.exists());
    let store = open(dir.path());
    let inner = store.clone();
    let answer = tokio::spawn(async move {
        let held = inner.clone();
        let write = inner.write(move |tx| {
            let _held = &held;
            insert(tx, "b", 1)
        });
        let answer = write.await;
        drop(inner);
        answer
    });
    drop(store);
    answer.await.unwrap().unwrap();
    assert_eq!(stored(&open(dir.path())).await, ["a", "b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_stays_bounded_under_steady_writes_and_reads() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let body = "x".repeat(100_000);
    let reader = store.clone();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stopped = stop.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Handle::current();
        while !stopped.load(Ordering::SeqCst) {
            runtime.block_on(reader.read(ids)).unwrap();
        }
    });
    // 120 MB in all, into a table that stays small.
    for i in 0..1200i64 {
        let body = body.clone();
        let put = move |tx: &mut dyn Tx| {
            tx.exec(
                "INSERT INTO items (id, n, body) VALUES ($1, $2, $3)
                 ON CONFLICT (id) DO UPDATE SET body = excluded.body, n = excluded.n",
                vals![(i % 10).to_string(), i, body.as_str()],
            )
        };
        store.write(put).await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    reading.await.unwrap();
    let wal = dir.path().join("astudio.db-wal").metadata().unwrap().len();
    assert!(wal < 40_000_000, "{wal} bytes of log");
}
