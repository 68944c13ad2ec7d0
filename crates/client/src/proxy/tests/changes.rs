//! Listening for changes, and how the connection stands meanwhile.

use super::fake::{Do, Fake, json, piece, stream};
use super::{client, get, proxy};
use crate::{Client, Connection};
use futures_util::StreamExt as _;
use std::time::Duration;

const CHANGE: &str = "id: 7\ndata: {\"topics\":[\"agent\"]}\n\n";

#[tokio::test]
async fn changes_ring_and_a_restored_connection_rings_too() {
    let fake = Fake::new(|_, n| match n {
        0 => vec![stream(), piece(CHANGE), Do::Close],
        1 => vec![Do::Close],
        _ => vec![stream(), Do::Wait(Duration::from_secs(30))],
    })
    .await;
    let proxy = proxy(&fake);
    let mut standing = proxy.connection();
    let mut changes = proxy.changes();
    changes.next().await.unwrap();
    assert_eq!(*standing.borrow_and_update(), Connection::Connected);
    // The cut is noticed, and what may have been missed is looked for.
    let (rung, stood) = tokio::join!(changes.next(), async {
        let mut stood = Vec::new();
        while stood.last() != Some(&Connection::Connected) {
            standing.changed().await.unwrap();
            stood.push(*standing.borrow_and_update());
        }
        stood
    });
    rung.unwrap();
    assert!(matches!(stood[0], Connection::Reconnecting { .. }), "{stood:?}");
    let asked = fake.asked();
    assert_eq!(asked[0].path, "/api/v1/astudio/events");
    assert_eq!(asked[2].header("last-event-id"), Some("7"));
    // Nothing changes, nothing rings.
    assert!(tokio::time::timeout(Duration::from_millis(300), changes.next()).await.is_err());
}

#[tokio::test]
async fn a_server_that_is_gone_counts_as_offline_after_a_while() {
    let fake = Fake::new(|_, _| vec![Do::Close]).await;
    let pace = crate::Pace { patience: Duration::from_millis(500), ..super::server(String::new()).pace };
    let proxy = crate::Proxy::new(crate::Server { pace, ..super::server(fake.url()) }).unwrap();
    let mut standing = proxy.connection();
    let mut changes = proxy.changes();
    let listening = tokio::spawn(async move { changes.next().await });
    tokio::time::timeout(Duration::from_secs(5), standing.wait_for(|c| *c == Connection::Offline))
        .await
        .unwrap()
        .unwrap();
    listening.abort();
}

#[tokio::test]
async fn a_request_that_breaks_is_seen_and_one_that_works_ends_it() {
    let fake = Fake::new(|_, n| if n == 0 { vec![Do::Close] } else { json(200, "{}") }).await;
    let proxy = proxy(&fake);
    let mut standing = proxy.connection();
    let client = Client::proxy(proxy);
    let (found, ()) = tokio::join!(get(&client, "a"), async {
        standing.wait_for(|c| matches!(c, Connection::Reconnecting { .. })).await.unwrap();
        standing.wait_for(|c| *c == Connection::Connected).await.unwrap();
    });
    assert!(found.is_ok());
}

#[tokio::test]
async fn a_server_that_tells_of_no_changes_is_still_there() {
    let fake = Fake::new(|_, _| json(404, r#"{"message":"no","code":"route_not_found","details":null}"#)).await;
    let proxy = proxy(&fake);
    let standing = proxy.connection();
    let mut changes = proxy.changes();
    assert!(tokio::time::timeout(Duration::from_millis(500), changes.next()).await.is_err(), "it looks seldom");
    assert_eq!(*standing.borrow(), Connection::Connected);
    assert!(get(&client(&fake), "a").await.is_err());
}
