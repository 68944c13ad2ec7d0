//! Full disks.

use std::process::Command;

use super::processes::child;
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_full_database_fails_the_group_and_not_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_patient(dir.path());
    let limit = |tx: &mut dyn Tx| {
        let pages = tx.query_one("PRAGMA page_count", &[])?;
        let pages = pages.map_or(Ok(0), |row| row.int(0))? + 20;
        tx.query(&format!("PRAGMA max_page_count = {pages}"), &[]).map(drop)
    };
    store.write(limit).await.unwrap();
    let put = |n: i64, size: usize| -> Write {
        Box::new(move |tx: &mut dyn Tx| {
            let body = "x".repeat(size);
            let sql = "INSERT INTO items VALUES ($1, $2, $3)";
            tx.exec(sql, vals![n.to_string(), n, body]).map(drop)
        })
    };
    let answers = together(&store, vec![put(1, 10), put(2, 1_000_000), put(3, 10)]).await;
    // The disk was full in the second call, which ended the transaction of the first as well; the third
    // had a group of its own.
    assert!(matches!(answers[0], Err(StoreError::Unavailable { .. })));
    assert!(matches!(answers[1], Err(StoreError::Unavailable { .. })));
    assert_eq!(answers[2], Ok(()));
    assert_eq!(stored(&store).await, ["3"]);
}

/// A real limit of the system, met in the middle of the log: what was acknowledged is there, what
/// failed is not, and the home works again when there is room.
#[tokio::test]
async fn a_file_that_may_not_grow_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1000; exec \"$0\" \"$@\""]);
    let out = child(shell, "fill", dir.path()).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    let text = String::from_utf8(out.stdout).unwrap();
    let acknowledged: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("ok ")).collect();
    assert!(acknowledged.len() > 3, "{text}");
    assert!(text.contains("refused"), "{text}");
    let store = open(dir.path());
    let mut want: Vec<String> = acknowledged.iter().map(|s| (*s).to_owned()).collect();
    want.sort();
    assert_eq!(stored(&store).await, want);
    store.write(|tx| insert(tx, "room again", 1)).await.unwrap();
}

/// Runs in the child: writes until the store refuses, then checks that it still answers.
pub(super) async fn fill(store: Store) {
    let mut refused = 0;
    for i in 0..400i64 {
        let put = move |tx: &mut dyn Tx| {
            tx.exec("INSERT INTO items VALUES ($1, $2, $3)", vals![i.to_string(), i, "y".repeat(20_000)])
        };
        match store.write(put).await {
            Ok(_) => super::processes::say(&format!("ok {i}")),
            Err(StoreError::Unavailable { .. }) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
        if refused == 5 {
            break;
        }
    }
    assert_eq!(refused, 5);
    assert!(!stored(&store).await.is_empty());
    super::processes::say("refused");
}
