//! The desk's rules, its book, and its tools through the gate.
#![allow(clippy::unwrap_used)]

use super::book::{Book, Write};
use super::rules::{Act, plan, preview};
use super::*;
use contract::Micros;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;
use tools::testing::Harness;

fn order(order_id: i64, status: Status) -> Order {
    Order {
        order_id,
        customer: "Ada Novak".into(),
        item: "Wool blanket".into(),
        quantity: 2,
        total: Money(11850),
        currency: "EUR".into(),
        status,
        placed_at: Micros(1_790_000_000_000_000 + order_id),
        refunded: Money(if status == Status::Refunded { 11850 } else { 0 }),
    }
}

fn shop() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("desk.db");
    let orders: Vec<Order> = Status::ALL.into_iter().zip(1..).map(|(status, id)| order(id, status)).collect();
    assert_eq!(stock(&db, "acme", &orders, false).unwrap(), 5);
    assert_eq!(stock(&db, "globex", &[order(1, Status::Open), order(99, Status::Open)], false).unwrap(), 2);
    (dir, db)
}

fn harness(db: &std::path::Path, tenant: &str) -> Harness {
    let harness = Harness::new(host_tools(db.to_owned())).scope(tenant, "ann");
    assert_eq!(harness.rejected(), []);
    harness
}

fn effects(db: &std::path::Path) -> Vec<(String, i64, String, String)> {
    let conn = rusqlite::Connection::open(db).unwrap();
    let mut all = conn.prepare("select key, order_id, tenant, method from desk_effects order by at").unwrap();
    let rows = all.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn money_is_read_and_shown_to_the_hundredth() {
    for (amount, cents) in
        [(20.0, 2000), (12.5, 1250), (0.01, 1), (118.5, 11850), (0.29, 29), (1.15, 115), (999_999.99, 99_999_999)]
    {
        assert_eq!(Money::from_amount(amount), Ok(Money(cents)), "{amount}");
    }
    for bad in [0.0, -1.0, 0.001, 20.555, f64::NAN, f64::INFINITY, 1e300] {
        assert!(Money::from_amount(bad).is_err(), "{bad}");
    }
    assert_eq!(Money(1205).to_string(), "12.05");
    assert_eq!(json!([Money(1250), Money(2000)]).to_string(), "[12.5,20]");
}

#[test]
fn cancelling() {
    for (status, becomes) in [(Status::Open, Status::Cancelled), (Status::Shipped, Status::Cancelled)] {
        let after = plan(&order(1, status), Act::Cancel).unwrap().after.unwrap();
        assert_eq!(after, Order { status: becomes, ..order(1, status) });
    }
    assert_eq!(plan(&order(1, Status::Cancelled), Act::Cancel).unwrap().after, None);
    for status in [Status::Delivered, Status::Refunded] {
        assert!(plan(&order(1, status), Act::Cancel).unwrap_err().contains("Order 1 has been"), "{status:?}");
    }
}

#[test]
fn refunding() {
    let refund = |order: &Order, amount| plan(order, Act::Refund(amount));
    for status in [Status::Open, Status::Shipped, Status::Delivered, Status::Cancelled] {
        let full = refund(&order(1, status), None).unwrap().after.unwrap();
        assert_eq!((full.status, full.refunded), (Status::Refunded, Money(11850)));
        let part = refund(&order(1, status), Some(20.0)).unwrap().after.unwrap();
        assert_eq!((part.status, part.refunded), (status, Money(2000)));
        let rest = refund(&part, None).unwrap().after.unwrap();
        assert_eq!((rest.status, rest.refunded), (Status::Refunded, Money(11850)));
        let why = refund(&part, Some(98.51)).unwrap_err();
        assert!(why.contains("more than") && why.contains("98.50 of 118.50 EUR"), "{why}");
    }
    assert_eq!(refund(&order(1, Status::Refunded), None).unwrap().after, None);
    assert!(refund(&order(1, Status::Refunded), Some(1.0)).is_err());
    assert!(refund(&order(1, Status::Open), Some(20.555)).unwrap_err().contains("two digits"));
}

#[test]
fn a_preview_says_what_the_change_will_do() {
    let shown = |order: &Order, act| serde_json::to_value(preview(order, act)).unwrap();
    let cancel = shown(&order(1, Status::Open), Act::Cancel);
    assert_eq!(cancel["changes"], json!([{ "field": "status", "before": "open", "after": "cancelled" }]));
    assert_eq!(cancel["note"], "2 × Wool blanket for Ada Novak, 118.50 EUR.");
    let part = shown(&order(1, Status::Delivered), Act::Refund(Some(20.0)));
    assert_eq!(part["changes"], json!([{ "field": "refunded", "before": 0, "after": 20 }]));
    let fails = shown(&order(1, Status::Delivered), Act::Cancel);
    assert_eq!(fails["changes"], json!([]));
    assert!(fails["note"].as_str().unwrap().starts_with("It would fail: Order 1 has been delivered"), "{fails}");
    let nothing = shown(&order(1, Status::Cancelled), Act::Cancel);
    assert!(nothing["note"].as_str().unwrap().starts_with("Nothing would change."), "{nothing}");
}

#[tokio::test]
async fn reads_need_no_approval_and_show_typed_orders() {
    let (_dir, db) = shop();
    let desk = harness(&db, "acme");
    let one = desk.call("desk_get_order", json!({ "order_id": 2 })).await;
    assert_eq!(
        one.value,
        json!({
            "order_id": 2, "customer": "Ada Novak", "item": "Wool blanket", "quantity": 2, "total": 118.5, "currency": "EUR",
            "status": "shipped", "placed_at": Micros(1_790_000_000_000_002).to_rfc3339(), "refunded": 0
        })
    );
    let ids = |list: &Value| {
        list["orders"].as_array().unwrap().iter().map(|o| o["order_id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let all = desk.call("desk_list_orders", json!({})).await.value;
    assert_eq!((ids(&all), &all["truncated"]), (vec![5, 4, 3, 2, 1], &json!(false)), "newest first");
    let some = desk.call("desk_list_orders", json!({ "limit": 2 })).await.value;
    assert_eq!((ids(&some), &some["truncated"]), (vec![5, 4], &json!(true)));
    let exact = desk.call("desk_list_orders", json!({ "limit": 5 })).await.value;
    assert_eq!(exact["truncated"], false);
    let open = desk.call("desk_list_orders", json!({ "status": "open", "limit": null })).await.value;
    assert_eq!(ids(&open), [1]);
    let bad = desk.call("desk_list_orders", json!({ "status": "lost" })).await;
    assert_eq!(bad.code.as_deref(), Some("invalid_args"), "{bad:?}");
    assert_eq!(effects(&db), []);
}

#[tokio::test]
async fn a_long_list_is_cut_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("desk.db");
    let many: Vec<Order> = (1..=60).map(|n| order(n, Status::Open)).collect();
    stock(&db, "acme", &many, false).unwrap();
    for args in [json!({}), json!({ "limit": 999 })] {
        let list = harness(&db, "acme").call("desk_list_orders", args).await.value;
        assert_eq!((list["orders"].as_array().unwrap().len(), &list["truncated"]), (MAX_ORDERS, &json!(true)));
    }
}

#[tokio::test]
async fn another_tenants_order_is_as_absent_as_no_order() {
    let (_dir, db) = shop();
    let desk = harness(&db, "acme");
    let absent = async |tool: &str, id: i64| {
        let args = json!({ "order_id": id });
        let result = if tool == "desk_get_order" {
            desk.call(tool, args).await
        } else {
            desk.approve_and_call(tool, args).await
        };
        assert!(!result.ok);
        result.error.unwrap().replace(&id.to_string(), "N")
    };
    for tool in ["desk_get_order", "desk_cancel_order", "desk_refund_order"] {
        assert_eq!(absent(tool, 99).await, "Order N was not found.");
        assert_eq!(absent(tool, 99).await, absent(tool, 4040).await, "{tool}");
    }
    let shown = desk.preview("desk_cancel_order", json!({ "order_id": 99 })).await.unwrap().unwrap();
    assert_eq!(shown["note"], "It would fail: Order 99 was not found.");
    assert!(desk.approve_and_call("desk_cancel_order", json!({ "order_id": 1 })).await.ok);
    let theirs = harness(&db, "globex").call("desk_get_order", json!({ "order_id": 1 })).await.value;
    assert_eq!(theirs["status"], "open", "the same number of another tenant is another order");
}

#[tokio::test]
async fn a_write_waits_for_a_person_and_leaves_one_effect() {
    let (_dir, db) = shop();
    let desk = harness(&db, "acme");
    let args = json!({ "order_id": 1, "reason": "ordered twice" });
    let refused = desk.call("desk_cancel_order", args.clone()).await;
    assert_eq!(refused.code.as_deref(), Some("confirmation_required"));
    desk.preview("desk_cancel_order", args.clone()).await.unwrap().unwrap();
    assert_eq!(
        desk.call("desk_get_order", json!({ "order_id": 1 })).await.value["status"],
        "open",
        "nothing was changed"
    );

    let approval = desk.approve("desk_cancel_order", args.clone()).await.unwrap();
    let key = approval.id().to_owned();
    assert_eq!(desk.did_run("desk_cancel_order", args.clone(), &key).await, Some(false));
    let done = desk.run(approval).await;
    assert_eq!(
        (&done.value["order_id"], &done.value["status"], &done.value["changed"]),
        (&json!(1), &json!("cancelled"), &json!(true))
    );
    assert_eq!(desk.did_run("desk_cancel_order", args.clone(), &key).await, Some(true));
    assert_eq!(effects(&db), [(key, 1, "acme".to_owned(), "cancel_order".to_owned())]);

    let again = desk.approve_and_call("desk_cancel_order", args).await;
    assert!(again.ok && again.value["changed"] == false, "{again:?}");
    let failed = desk.approve_and_call("desk_cancel_order", json!({ "order_id": 3 })).await;
    assert!(!failed.ok && failed.error.unwrap().contains("delivered"));
    let too_much = desk.approve_and_call("desk_refund_order", json!({ "order_id": 3, "amount": 118.51 })).await;
    assert!(!too_much.ok && too_much.error.unwrap().contains("more than"));
    assert_eq!(effects(&db).len(), 1, "what changed nothing has no effect");
    let part = desk.approve_and_call("desk_refund_order", json!({ "order_id": 3, "amount": 18.5 })).await;
    assert_eq!((&part.value["status"], &part.value["changed"]), (&json!("delivered"), &json!(true)));
    assert_eq!(effects(&db).len(), 2);
}

#[tokio::test]
async fn arguments_that_make_no_sense_never_reach_a_person() {
    let (_dir, db) = shop();
    let desk = harness(&db, "acme");
    for args in [
        json!({}),
        json!({ "order_id": "1" }),
        json!({ "order_id": 0 }),
        json!({ "order_id": 1, "amount": 0 }),
        json!({ "order_id": 1, "amount": -5 }),
        json!({ "order_id": 1, "tenant": "globex" }),
        json!({ "order_id": 1, "reason": "x".repeat(501) }),
    ] {
        let refused = desk.approve("desk_refund_order", args.clone()).await.unwrap_err();
        assert_eq!(refused.code.as_deref(), Some("invalid_args"), "{args}");
    }
}

fn cancel(key: &str) -> Write {
    Write {
        tenant: "acme".into(),
        order_id: 1,
        act: Act::Cancel,
        reason: None,
        key: key.into(),
        method: "cancel_order".into(),
    }
}

#[test]
fn a_repeated_key_never_acts_twice() {
    let (_dir, db) = shop();
    let refund = |key: &str| Write { act: Act::Refund(Some(10.0)), method: "refund_order".into(), ..cancel(key) };
    let book = Book::new(db.clone());
    assert!(book.write(&refund("k1"), None).unwrap().changed);
    let again = book.write(&refund("k1"), None).unwrap();
    assert!(!again.changed && again.message.contains("nothing was done again"), "{again:?}");
    let other_process = Book::new(db.clone());
    assert!(!other_process.write(&refund("k1"), None).unwrap().changed);
    assert_eq!(book.get("acme", 1).unwrap().refunded, Money(1000));
    assert!(book.write(&refund("k2"), None).unwrap().changed);
    assert_eq!(book.get("acme", 1).unwrap().refunded, Money(2000));
    assert_eq!(effects(&db).len(), 2);
}

#[test]
fn one_key_from_many_sides_acts_once() {
    let (_dir, db) = shop();
    let changed = AtomicUsize::new(0);
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                let refund = Write { act: Act::Refund(Some(10.0)), ..cancel("k") };
                let done = Book::new(db.clone()).write(&refund, None).unwrap();
                changed.fetch_add(usize::from(done.changed), Ordering::SeqCst);
            });
        }
    });
    assert_eq!(changed.load(Ordering::SeqCst), 1);
    assert_eq!(Book::new(db).get("acme", 1).unwrap().refunded, Money(1000));
}

#[test]
fn the_hook_comes_after_the_commit_and_only_after_a_change() {
    let (_dir, db) = shop();
    let seen = AtomicUsize::new(0);
    let hook = || {
        assert_eq!(effects(&db).len(), 1, "already committed, seen from another connection");
        seen.fetch_add(1, Ordering::SeqCst);
    };
    let book = Book::new(db.clone());
    book.write(&cancel("k1"), Some(&hook)).unwrap();
    book.write(&cancel("k1"), Some(&hook)).unwrap();
    book.write(&cancel("k2"), Some(&hook)).unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_book_is_opened_by_the_first_call_and_survives_a_close() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("desk.db");
    let desk = Desk::new(db.clone(), None);
    assert!(!db.exists(), "a constructor opens nothing");
    assert!(matches!(desk.book.get("acme", 1), Err(BookError::NotFound(1))));
    assert!(db.exists());
    desk.close().await.unwrap();
    assert!(matches!(desk.book.get("acme", 1), Err(BookError::NotFound(1))));
}

#[tokio::test]
async fn a_broken_book_is_told_without_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let damaged = dir.path().join("desk.db");
    std::fs::write(&damaged, "not a database, but long enough to be looked at as one".repeat(40)).unwrap();
    for db in [damaged, dir.path().join("missing/desk.db")] {
        let failed = harness(&db, "acme").call("desk_get_order", json!({ "order_id": 1 })).await;
        let why = failed.error.unwrap();
        assert!(why.contains("cannot be used now") && !why.contains(&dir.path().display().to_string()), "{why}");
    }
}

#[test]
fn stocking_again_keeps_what_changed_unless_it_is_put_back() {
    let (_dir, db) = shop();
    let book = Book::new(db.clone());
    book.write(&cancel("k"), None).unwrap();
    assert_eq!(stock(&db, "acme", &[order(1, Status::Open), order(6, Status::Open)], false).unwrap(), 1);
    assert_eq!(book.get("acme", 1).unwrap().status, Status::Cancelled);
    assert_eq!(stock(&db, "acme", &[order(1, Status::Open)], true).unwrap(), 1);
    assert_eq!(book.get("acme", 1).unwrap().status, Status::Open);
    assert!(book.did_run("k").unwrap(), "a used approval stays used");
    assert!(!book.write(&cancel("k"), None).unwrap().changed);
}
