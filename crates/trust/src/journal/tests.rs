//! Whatever is changed behind the journal's back is found.
#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;
use store::{Store, StoreSettings, vals};

type Answer<T> = Result<T, StoreError>;

struct Place {
    store: Store,
    home: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreSettings::new(home.path())).unwrap();
        Self { store, home }
    }

    async fn write<T: Send + 'static>(&self, f: impl Fn(&mut dyn Tx) -> Answer<T> + Send + 'static) -> T {
        self.store.write(f).await.unwrap()
    }

    async fn sql(&self, sql: &str) -> u64 {
        let sql = sql.to_owned();
        self.write(move |tx| {
            // Tampering does not keep to foreign keys and unique places, so it goes row by row.
            tx.exec(&sql, vals![])
        })
        .await
    }

    async fn report(&self, kept: Option<ExportedRoot>) -> contract::ops::audit::AuditReport {
        self.store.read_long(move |tx| verify(tx, kept.as_ref())).await.unwrap()
    }

    async fn root(&self) -> Option<ExportedRoot> {
        self.store.read(newest_root).await.unwrap()
    }

    /// Three rounds over two tenants and GLOBAL, and a tail that is not sealed.
    async fn filled() -> Self {
        let place = Self::new();
        for round in 1..=3i64 {
            place
                .write(move |tx| {
                    for tenant in ["acme", "globex", "acme", "-"] {
                        note(tx, tenant, round)?;
                    }
                    assert_eq!(seal(tx, Micros(round))?, 4);
                    Ok(())
                })
                .await;
        }
        place.write(|tx| note(tx, "acme", 4)).await;
        place
    }
}

fn note(tx: &mut dyn Tx, tenant: &str, n: i64) -> Answer<()> {
    let partition = Partition::from_stored(tenant).unwrap();
    record(
        tx,
        Micros(1_000 + n),
        Entry {
            partition: &partition,
            actor: "ana",
            action: "agent.updated",
            subject: "agent:sales",
            body: json!({"n": n}),
        },
    )
}

#[tokio::test]
async fn an_untouched_journal_fits() {
    let place = Place::filled().await;
    let report = place.report(place.root().await).await;
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.ok, report.entries, report.links, report.roots, report.unsealed), (true, 13, 12, 3, 1));

    let acme = Partition::tenant("acme").unwrap();
    let own = place.store.read_long(move |tx| verify_partition(tx, &acme)).await.unwrap();
    assert_eq!((own.ok, own.entries, own.links, own.roots, own.unsealed), (true, 7, 6, 0, 1));

    let empty = Place::new();
    assert!(empty.report(None).await.ok);
    assert_eq!(empty.root().await, None);
    assert_eq!(empty.write(|tx| seal(tx, Micros(1))).await, 0);
    assert_eq!(empty.root().await, None, "a round without entries leaves nothing");
}

/// Statements that each change one thing; every one must be found.
const TAMPERING: &[&str] = &[
    // Any field of an entry.
    "update audit set partition = 'globex' where id = (select audit_id from audit_links where partition = 'acme' and seq = 3)",
    "update audit set at = at + 1 where id = (select audit_id from audit_links where partition = 'acme' and seq = 3)",
    "update audit set actor = 'bob' where id = (select audit_id from audit_links where partition = 'acme' and seq = 3)",
    "update audit set action = 'agent.deleted' where id = (select audit_id from audit_links where partition = 'acme' and seq = 1)",
    "update audit set subject = 'agent:x' where id = (select audit_id from audit_links where partition = '-' and seq = 1)",
    "update audit set body = '{\"n\":9}' where id = (select audit_id from audit_links where partition = 'acme' and seq = 3)",
    "update audit set body = body || ' ' where id = (select audit_id from audit_links where partition = 'acme' and seq = 3)",
    "update audit set body_hash = substr(body_hash, 2) || '0' where id = (select audit_id from audit_links where partition = 'acme' and seq = 6)",
    "update audit set id = '0' where id = (select audit_id from audit_links where partition = 'acme' and seq = 3)",
    // The tail too, by its own hash.
    "update audit set actor = 'bob' where id in (select audit_id from audit_unsealed)",
    // Any field of a link.
    "update audit_links set partition = 'initech' where partition = 'acme' and seq = 6",
    "update audit_links set partition = 'initech' where partition = 'acme' and seq = 1",
    "update audit_links set seq = 7 where partition = 'acme' and seq = 6",
    "update audit_links set seq = 0 where partition = 'acme' and seq = 1",
    "update audit_links set audit_id = (select audit_id from audit_unsealed) where partition = 'acme' and seq = 2",
    "update audit_links set body_hash = substr(body_hash, 2) || '0' where partition = 'acme' and seq = 2",
    "update audit_links set prev_hash = substr(prev_hash, 2) || '1' where partition = 'acme' and seq = 1",
    "update audit_links set prev_hash = substr(prev_hash, 2) || '1' where partition = 'acme' and seq = 6",
    "update audit_links set hash = substr(hash, 2) || '0' where partition = 'acme' and seq = 6",
    "update audit_links set hash = substr(hash, 2) || '0' where partition = '-' and seq = 1",
    "update audit_links set round = 2 where partition = 'acme' and seq = 1",
    "update audit_links set round = 9 where partition = 'acme' and seq = 6",
    // Any field of a root.
    "update audit_roots set round = 9 where round = 3",
    "update audit_roots set round = 0 where round = 1",
    "update audit_roots set at = at + 1 where round = 3",
    "update audit_roots set links = links + 1 where round = 2",
    "update audit_roots set links = -links where round = 2",
    "update audit_roots set merkle = substr(merkle, 2) || '0' where round = 2",
    "update audit_roots set prev_hash = substr(prev_hash, 2) || '1' where round = 1",
    "update audit_roots set hash = substr(hash, 2) || '0' where round = 3",
    // Deletions.
    "delete from audit where id = (select audit_id from audit_links where partition = 'acme' and seq = 3)",
    "delete from audit where id = (select audit_id from audit_links where partition = '-' and seq = 3)",
    "delete from audit where id in (select audit_id from audit_unsealed)",
    "delete from audit_links where partition = 'acme' and seq = 1",
    "delete from audit_links where partition = 'acme' and seq = 4",
    "delete from audit_links where partition = 'acme' and seq = 6",
    "delete from audit_links where partition = 'globex'",
    "delete from audit_links where round = 3",
    "delete from audit_links",
    "delete from audit_roots where round = 1",
    "delete from audit_roots where round = 2",
    "delete from audit_roots where round = 3",
    "delete from audit_roots",
    "delete from audit_unsealed",
    // Insertions past the journal.
    "insert into audit select 'f', partition, at, actor, action, subject, body, body_hash from audit where partition = '-' limit 1",
    "insert into audit_unsealed select audit_id from audit_links where partition = '-' and seq = 1",
    "insert into audit_unsealed values ('nobody')",
    "insert into audit_roots select 4, at, 0, merkle, hash, hash from audit_roots where round = 3",
    "insert into audit_links select partition, 7, 'x', body_hash, hash, hash, 3 from audit_links where partition = 'acme' and seq = 6",
];

#[tokio::test]
async fn each_single_change_is_found() {
    for sql in TAMPERING {
        let place = Place::filled().await;
        assert!(place.sql(sql).await > 0, "changes nothing: {sql}");
        let report = place.report(None).await;
        assert!(!report.ok && !report.faults.is_empty(), "not found: {sql}");
    }
}

#[tokio::test]
async fn exchanged_places_are_found() {
    // Two links change places, each whole but for its number.
    let place = Place::filled().await;
    for sql in [
        "update audit_links set seq = 100 where partition = 'acme' and seq = 3",
        "update audit_links set seq = 3 where partition = 'acme' and seq = 4",
        "update audit_links set seq = 4 where partition = 'acme' and seq = 100",
    ] {
        assert_eq!(place.sql(sql).await, 1);
    }
    assert!(!place.report(None).await.ok);

    // Two entries change their words.
    let place = Place::filled().await;
    place
        .write(|tx| {
            let rows =
                tx.query("select audit_id from audit_links where partition = 'acme' and seq in (1, 3)", vals![])?;
            let [a, b] = [rows[0].text(0)?, rows[1].text(0)?];
            let bodies = ["{\"n\":2}", "{\"n\":1}"];
            for (id, body) in [a, b].iter().zip(bodies) {
                tx.exec("update audit set body = $2 where id = $1", vals![id, body])?;
            }
            Ok(())
        })
        .await;
    assert!(!place.report(None).await.ok);
}

#[tokio::test]
async fn a_partition_s_own_check_finds_what_is_its_own() {
    let acme = Partition::tenant("acme").unwrap();
    for (sql, ok) in [
        ("update audit set actor = 'x' where partition = 'acme'", false),
        ("delete from audit_links where partition = 'acme' and seq = 2", false),
        ("delete from audit where partition = 'acme'", false),
        ("delete from audit_unsealed", false),
        // Of others it tells nothing.
        ("update audit set actor = 'x' where partition = 'globex'", true),
        ("delete from audit_links where partition = 'globex'", true),
        ("delete from audit_roots", true),
    ] {
        let place = Place::filled().await;
        assert!(place.sql(sql).await > 0);
        let acme = acme.clone();
        let report = place.store.read_long(move |tx| verify_partition(tx, &acme)).await.unwrap();
        assert_eq!(report.ok, ok, "{sql}: {:?}", report.faults);
    }
}

#[tokio::test]
async fn a_cut_or_rewritten_past_needs_the_root_that_was_kept() {
    // The newest round is taken away whole: what is left fits by itself.
    let place = Place::filled().await;
    let kept = place.root().await.unwrap();
    for sql in [
        "delete from audit where id in (select audit_id from audit_links where round = 3)",
        "delete from audit where id in (select audit_id from audit_unsealed)",
        "delete from audit_unsealed",
        "delete from audit_links where round = 3",
        "delete from audit_roots where round = 3",
    ] {
        assert!(place.sql(sql).await > 0);
    }
    assert!(place.report(None).await.ok);
    assert!(!place.report(Some(kept.clone())).await.ok);

    // Sealed again with other entries: another root of the same number.
    place
        .write(|tx| {
            note(tx, "acme", 77)?;
            seal(tx, Micros(3))
        })
        .await;
    assert!(place.report(None).await.ok);
    assert_eq!(place.root().await.unwrap().round, kept.round);
    assert!(!place.report(Some(kept.clone())).await.ok);

    // An older root still fits a journal that went on.
    let place = Place::filled().await;
    let kept = place.root().await.unwrap();
    place.write(|tx| seal(tx, Micros(4))).await;
    assert_eq!(place.root().await.unwrap().round, 4);
    assert!(place.report(Some(kept.clone())).await.ok);
    let text = serde_json::to_string(&kept).unwrap();
    assert_eq!(serde_json::from_str::<ExportedRoot>(&text).unwrap(), kept);
}

#[tokio::test]
async fn the_writer_seals_what_each_group_recorded() {
    let place = Place::new();
    assert!(install(&place.store));
    assert!(!install(&place.store), "a second sealer is refused");
    for n in 0..5 {
        place.write(move |tx| note(tx, "acme", n)).await;
    }
    // What is rolled back leaves no entry.
    let failed: Answer<()> = place
        .store
        .write(|tx| {
            note(tx, "acme", 9)?;
            Err(StoreError::BadNumber)
        })
        .await;
    assert!(failed.is_err());
    let report = place.report(None).await;
    assert_eq!((report.ok, report.entries, report.links, report.unsealed), (true, 5, 5, 0));
}

#[tokio::test]
async fn two_writers_make_one_chain() {
    let place = Place::new();
    let other = Store::open(&StoreSettings::new(place.home.path())).unwrap();
    assert!(install(&place.store) && install(&other));
    let mut tasks = Vec::new();
    for (number, store) in [place.store.clone(), other].into_iter().enumerate() {
        for n in 0..40 {
            let store = store.clone();
            tasks.push(tokio::spawn(async move {
                let tenant = if n % 2 == 0 { "acme" } else { "globex" };
                store.write::<_, StoreError, _>(move |tx| note(tx, tenant, n + number as i64)).await
            }));
        }
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let report = place.report(place.root().await).await;
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.entries, report.links, report.unsealed), (80, 80, 0));
}

#[tokio::test]
async fn pages_are_read_through() {
    let place = Place::new();
    place
        .write(|tx| {
            for n in 0..4_500 {
                note(tx, if n % 3 == 0 { "globex" } else { "acme" }, n)?;
            }
            seal(tx, Micros(1))?;
            for n in 0..2_100 {
                note(tx, "acme", n)?;
                seal(tx, Micros(2))?;
            }
            for n in 0..2_100 {
                note(tx, "globex", n)?;
            }
            Ok(())
        })
        .await;
    let report = place.report(place.root().await).await;
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.entries, report.links, report.roots, report.unsealed), (8_700, 6_600, 2_101, 2_100));
}
