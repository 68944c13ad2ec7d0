//! The process that listens: TLS, its stop, addresses that are taken, bad settings.

use super::{Web, token};
use crate::binary::{Desk, until};
use reqwest::Method;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const CERT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/localhost.crt");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/localhost.key");

#[test]
fn with_a_certificate_it_speaks_tls_in_both_versions_of_http() {
    let desk = Desk::new();
    let web = Web::start(&desk, &["--tls-cert", CERT, "--tls-key", KEY]);
    assert!(web.url.starts_with("https://"), "{}", web.url);
    let ben = token(&desk, "ben", &[]);
    let trusted = reqwest::Certificate::from_pem(&std::fs::read(CERT).unwrap()).unwrap();
    let port = web.address.rsplit(':').next().unwrap();
    for (old, version) in [(false, reqwest::Version::HTTP_2), (true, reqwest::Version::HTTP_11)] {
        let builder = reqwest::Client::builder().tls_certs_only([trusted.clone()]);
        let client = if old { builder.http1_only() } else { builder }.build().unwrap();
        let url = format!("https://localhost:{port}/api/v1/astudio/me");
        let response = web.runtime.block_on(async { client.get(&url).bearer_auth(&ben).send().await.unwrap() });
        assert_eq!((response.status().as_u16(), response.version()), (200, version));
    }
    // Somebody who does not speak TLS holds nobody up.
    let mut silent = TcpStream::connect(&web.address).unwrap();
    silent.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    let _ = silent.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP"), "{rest:?}");
}

#[test]
fn a_stop_ends_streams_and_waiting_asks_and_keeps_the_turn() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    let path = "/agents/orders-desk/test/ask";
    let mut changes = web.stream(web.request(Method::GET, "/events", &ben));
    let waiting = {
        let request = web.request(Method::POST, path, &ben).json(&json!({ "query": "cancel order 1007" }));
        web.runtime.spawn(async move {
            let response = request.send().await.unwrap();
            (response.status().as_u16(), response.text().await.unwrap())
        })
    };
    let approval = desk.wait_pending(1).remove(0);
    let mut half = TcpStream::connect(&web.address).unwrap();
    let head = format!("POST /api/v1/astudio/agents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ben}\r\n");
    half.write_all(format!("{head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{{").as_bytes())
        .unwrap();
    // A second request on its own line is answered after the first arrived.
    web.get("/me", &ben).ok(200);
    let begun = Instant::now();
    web.signal("TERM");
    let (status, body) = web.runtime.block_on(waiting).unwrap();
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("stopping"), "{body}");
    changes.rest(&web);
    let mut refused = String::new();
    half.read_to_string(&mut refused).unwrap();
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("Nothing was done"), "{refused}");
    assert_eq!(web.stop(), 0);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    // The approval waits for whoever comes next.
    let web = Web::start(&desk, &[]);
    web.post(&format!("/approvals/{approval}/decision"), &ben, &json!({ "decision": "approve" })).ok(200);
    until("the change", || desk.changes(1007) == 1);
}

#[test]
fn what_cannot_be_served_is_said_at_the_start() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let taken = desk.ends(&["serve", "--listen", &web.address], 1);
    assert!(taken["message"].as_str().unwrap().contains("--listen"), "{taken}");
    desk.ends(&["serve", "--listen", "nonsense"], 1);
    desk.ends(&["serve", "--prefix", "no slash"], 2);
    desk.ends(&["serve", "--prefix", "/{user}/x"], 2);
    desk.ends(&["serve", "--tls-cert", CERT], 2);
    let wrong = desk.ends(&["serve", "--tls-cert", KEY, "--tls-key", KEY], 2);
    assert!(wrong["message"].as_str().unwrap().contains("certificate"), "{wrong}");
    desk.ends(&["serve", "--tls-cert", CERT, "--tls-key", "/nowhere.pem"], 2);
    desk.ends(&["--as", "ben@demo", "serve"], 2);
    for origin in ["*", "https://*", "chat.example.com", "https://a.example/x", "https://a b"] {
        desk.configure(&format!("[server]\norigins = [\"{origin}\"]\n"));
        desk.ends(&["serve", "--listen", "127.0.0.1:0"], 2);
    }
}

#[test]
fn a_page_of_another_origin_can_send_and_read_what_a_client_needs() {
    let desk = Desk::with("[server]\norigins = [\"https://chat.example.com\"]\n");
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    let ask = "idempotency-key,last-event-id,prefer,x-astudio-boot,x-studio-session";
    let preflight = web.request(Method::OPTIONS, "/agents", "").header("origin", "https://chat.example.com");
    let preflight = preflight.header("access-control-request-method", "POST");
    let allowed =
        web.send(preflight.header("access-control-request-headers", ask)).header("access-control-allow-headers");
    let read = web.send(web.request(Method::GET, "/me", &ben).header("origin", "https://chat.example.com"));
    let exposed = read.header("access-control-expose-headers");
    let has = |list: &str, name: &str| list.split(',').any(|one| one.trim().eq_ignore_ascii_case(name));
    for name in ask.split(',') {
        assert!(has(&allowed, name), "{name}: {allowed}");
    }
    for name in ["etag", "idempotent-replayed", "preference-applied", "retry-after", "x-astudio-boot", "x-request-id"] {
        assert!(has(&exposed, name), "{name}: {exposed}");
    }
    let foreign = web.send(web.request(Method::GET, "/me", &ben).header("origin", "https://else.example.com"));
    assert_eq!(foreign.header("access-control-allow-origin"), "");
}
