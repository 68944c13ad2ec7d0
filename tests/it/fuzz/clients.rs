//! Clients that hold a server up: slow ones, silent ones, half-open ones, and a thousand that only listen.

use super::line::{Line, Served};
use super::town::Town;
use crate::binary::note;
use contract::openapi::PREFIX;
use std::time::{Duration, Instant};

/// Times that make a test short: heads in two seconds, bodies in three.
const SHORT: &str = "[server]\nheader_seconds = 2\nbody_seconds = 3\n";
/// How long a server may take over what it has given up.
const SOON: Duration = Duration::from_secs(10);

async fn served(settings: &str) -> (Town, Served, String) {
    let town = Town::new().await;
    std::fs::write(town.home.path().join("config.toml"), settings).unwrap();
    let served = Served::start(town.home.path(), &[]);
    let authorization = format!("authorization: Bearer {}\r\n", town.secrets[0].1);
    (town, served, authorization)
}

/// A request without a body.
fn get(path: &str, authorization: &str) -> Vec<u8> {
    format!("GET {PREFIX}{path} HTTP/1.1\r\nhost: localhost\r\n{authorization}\r\n").into_bytes()
}

/// Asks who the caller is, which must be answered at once whatever else goes on.
fn is_served(served: &Served, authorization: &str) {
    let since = Instant::now();
    let mut line = served.connect();
    line.send(&get("/me", authorization)).unwrap();
    let answer = line.answer(true).unwrap().unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(since.elapsed() < Duration::from_secs(2), "others waited {:?}", since.elapsed());
}

/// What a client sends so slowly that it never ends, and the status with which it is given up; none = without a word.
fn held_up(served: &Served, authorization: &str, begins: &str, drip: &str, status: &[u16]) {
    let mut line: Line = served.connect();
    line.send(begins.as_bytes()).unwrap();
    let since = Instant::now();
    line.patience(Duration::from_millis(300));
    loop {
        assert!(since.elapsed() < SOON, "{begins:?} is still listened to after {SOON:?}");
        is_served(served, authorization);
        // Whoever has been given up cannot send any more.
        let sent = drip.is_empty() || line.send(drip.as_bytes()).is_ok();
        match line.answer(true) {
            Ok(Some(answer)) => {
                assert!(status.contains(&answer.status), "{begins:?}: {answer:?}");
                break;
            }
            Ok(None) => break,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                assert!(sent, "{begins:?}");
            }
            Err(_) => break,
        }
    }
    line.patience(SOON);
    assert!(line.is_closed() || drip.is_empty(), "{begins:?} leaves its line open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_never_ends_is_given_up_and_holds_up_nobody() {
    let (_town, served, authorization) = served(SHORT).await;
    let post = format!("POST {PREFIX}/tokens HTTP/1.1\r\nhost: localhost\r\n{authorization}");
    let cases: [(&str, String, &str); 8] = [
        ("nothing is sent", String::new(), ""),
        ("the beginning of HTTP/2", "PRI * HTTP".into(), ""),
        ("a line that is not there yet", "GE".into(), ""),
        ("a head without an end", format!("GET {PREFIX}/me HTTP/1.1\r\nhost: localhost\r\n"), "x-a: b\r\n"),
        ("a header without an end", format!("GET {PREFIX}/me HTTP/1.1\r\nx: "), "y"),
        ("a body that does not come", format!("{post}content-length: 100\r\n\r\n"), ""),
        ("a body without an end", format!("{post}content-length: 100000\r\n\r\n"), "{"),
        ("chunks without an end", format!("{post}transfer-encoding: chunked\r\n\r\n"), "1\r\n \r\n"),
    ];
    std::thread::scope(|scope| {
        for (what, begins, drip) in &cases {
            let (served, authorization) = (&served, &authorization);
            scope.spawn(move || {
                held_up(served, authorization, begins, drip, &[400, 408]);
                note(&format!("{what}: given up"));
            });
        }
    });
    // Whoever hangs up in the middle leaves nothing behind.
    let before = served.handles();
    for _ in 0..100 {
        let mut line = served.connect();
        line.send(format!("{post}content-length: 100\r\n\r\n{{").as_bytes()).unwrap();
    }
    let since = Instant::now();
    while served.handles() > before + 5 {
        assert!(since.elapsed() < SOON, "{} handles, {before} before", served.handles());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(served.faults(), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_listeners_cost_little_and_hold_up_nobody() {
    const LISTENERS: usize = 1_000;
    let (_town, served, authorization) = served("").await;
    is_served(&served, &authorization);
    let (before, handles) = (served.memory(), served.handles());
    let since = Instant::now();
    let mut lines: Vec<Line> = Vec::new();
    for _ in 0..LISTENERS {
        let mut line = served.connect();
        line.send(&get("/events", &authorization)).unwrap();
        let head = line.head().unwrap().unwrap();
        assert!(head.status == 200 && head.streams(), "{head:?}");
        lines.push(line);
    }
    let opened = since.elapsed();
    is_served(&served, &authorization);
    let each = served.memory().saturating_sub(before) / LISTENERS as u64;
    note(&format!("{LISTENERS} listeners in {opened:?}: {each} bytes each, {} MB in all", served.memory() >> 20));
    assert!(each < 100_000, "{each} bytes for a listener");
    // One change reaches all of them.
    let body = r#"{"name":"heard by all"}"#;
    let mut line = served.connect();
    let post = format!(
        "POST {PREFIX}/tokens HTTP/1.1\r\nhost: localhost\r\n{authorization}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    line.send(post.as_bytes()).unwrap();
    assert_eq!(line.answer(true).unwrap().unwrap().status, 201);
    let told = Instant::now();
    for line in &mut lines {
        let chunk = line.chunk().unwrap().unwrap();
        let chunk = String::from_utf8_lossy(&chunk);
        assert!(chunk.contains("token"), "{chunk}");
    }
    note(&format!("all of them heard of a change in {:?}", told.elapsed()));
    is_served(&served, &authorization);
    // Those who leave are forgotten.
    drop(lines);
    let since = Instant::now();
    while served.handles() > handles + 20 {
        assert!(since.elapsed() < Duration::from_secs(30), "{} handles, {handles} before", served.handles());
        is_served(&served, &authorization);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(served.faults(), "");
}
