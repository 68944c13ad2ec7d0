//! Streams: cut anywhere, continued, ended.

use super::fake::{Asked, Do, Fake, answer, end, json, piece, stream};
use super::{client, server};
use crate::{Client, Pace, Proxy, Request, Server};
use contract::Result;
use contract::ops::common::{AfterQuery, IdPath, NamePath};
use contract::ops::test::{AskBody, AskStream, SessionQuery};
use contract::ops::turns::TurnEvents;
use contract::turn::Watched;
use contract::wire::{Events, NoBody, WireRequest};
use futures_util::StreamExt as _;
use std::time::Duration;

const TURN: &str = "data: {\"type\":\"turn\",\"turn\":\"t\",\"session\":\"s\"}\n\n";

/// An entry of the log, as it is sent.
fn entry(seq: i64) -> String {
    let event = match seq {
        1 => r#""kind":"model_asked","step":1,"attempt":1,"cut":0"#.to_owned(),
        4 => r#""kind":"ended","status":"done","text":"ü"#.to_owned() + r#"""#,
        n => format!(r#""kind":"interrupted","by":"p{n}""#),
    };
    format!(
        "id: {seq}\ndata: {{\"type\":\"event\",\"entry\":{{\"seq\":{seq},\"at\":\"2026-01-01T00:00:00Z\",{event}}}}}\n\n"
    )
}

fn text(words: &str) -> String {
    format!("data: {{\"type\":\"text\",\"text\":\"{words}\"}}\n\n")
}

/// What was seen, in short: `t` the turn, numbers the log, words the text.
fn short(what: &Watched) -> String {
    match what {
        Watched::Turn { .. } => "t".into(),
        Watched::Event { entry } => entry.seq.to_string(),
        Watched::Text { text } => text.clone(),
        other => format!("{other:?}"),
    }
}

async fn seen(events: Events<Watched>) -> String {
    let seen: Vec<String> = events.0.map(|(_, what)| short(&what)).collect().await;
    seen.join(" ")
}

async fn watch(client: &Client, after: Option<i64>) -> Result<Events<Watched>> {
    let request = Request::<TurnEvents> { path: IdPath { id: "t".into() }, query: AfterQuery { after }, body: NoBody };
    client.call(request).await
}

async fn ask(client: &Client) -> Result<Events<Watched>> {
    let request = Request::<AskStream> {
        path: NamePath { name: "a".into() },
        query: SessionQuery::default(),
        body: AskBody { query: "hello".into(), ..AskBody::default() },
    };
    client.call(request).await
}

/// A whole stream from a place on.
fn rest(after: i64) -> Vec<Do> {
    let mut steps = vec![stream(), piece(TURN)];
    steps.extend((after + 1..=4).map(|seq| piece(&entry(seq))));
    steps
}

fn last(asked: &Asked) -> i64 {
    asked.header("last-event-id").map_or(0, |id| id.parse().unwrap())
}

#[tokio::test]
async fn a_stream_is_read_to_the_end_of_its_turn() {
    let fake = Fake::new(|asked, _| {
        let mut steps = rest(last(asked));
        // Heartbeats and words between entries, and a server that keeps the connection open at the end.
        steps.insert(2, piece(": hb\n\n"));
        steps.insert(4, piece(&text("one")));
        steps.push(Do::Wait(Duration::from_secs(30)));
        steps
    })
    .await;
    let events = watch(&client(&fake), None).await.unwrap();
    let ids: Vec<_> = events.0.map(|(id, what)| (id.unwrap_or_default(), short(&what))).collect().await;
    let expected = [("", "t"), ("1", "1"), ("", "one"), ("2", "2"), ("3", "3"), ("4", "4")];
    assert_eq!(ids, expected.map(|(id, what)| (id.to_owned(), what.to_owned())));
    assert_eq!(fake.asked()[0].path, "/api/v1/astudio/turns/t/events");
    assert!(fake.asked()[0].header("accept").unwrap().contains("text/event-stream"));
}

#[tokio::test]
async fn a_stream_may_be_cut_at_any_byte() {
    let whole: String = [TURN.to_owned(), entry(1), text("one"), entry(2), entry(3), entry(4)].concat();
    // Every byte would take long; these fall into every kind of place.
    for at in (1..whole.len()).step_by(17) {
        if !whole.is_char_boundary(at) {
            continue;
        }
        let part = whole[..at].to_owned();
        let fake = Fake::new(move |asked, n| match n {
            0 => vec![stream(), piece(&part), Do::Close],
            _ => rest(last(asked)),
        })
        .await;
        let events = watch(&client(&fake), None).await.unwrap();
        let seen = seen(events).await;
        let log: Vec<&str> = seen.split(' ').filter(|word| word.parse::<i64>().is_ok()).collect();
        assert_eq!(log, ["1", "2", "3", "4"], "cut at {at}: {seen}");
    }
}

#[tokio::test]
async fn it_goes_on_after_the_last_place_and_skips_what_comes_again() {
    let fake = Fake::new(|_, n| match n {
        0 => vec![stream(), piece(TURN), piece(&entry(2)), piece(&text("one")), Do::Close],
        // One that does not look at the place.
        _ => rest(0),
    })
    .await;
    let events = watch(&client(&fake), Some(1)).await.unwrap();
    assert_eq!(seen(events).await, "t 2 one t 3 4");
    let asked = fake.asked();
    assert!(asked[0].path.ends_with("?after=1") && asked[0].header("last-event-id").is_none(), "{asked:?}");
    assert_eq!((asked[1].path.as_str(), last(&asked[1])), ("/api/v1/astudio/turns/t/events", 2));
}

#[tokio::test]
async fn silence_is_a_broken_connection_and_heartbeats_are_none() {
    let fake = Fake::new(|asked, n| match n {
        0 => {
            let mut steps = vec![stream(), piece(&entry(1))];
            for _ in 0..4 {
                steps.extend([Do::Wait(Duration::from_millis(300)), piece(": hb\n\n")]);
            }
            steps.extend([piece(&entry(2)), Do::Wait(Duration::from_secs(30))]);
            steps
        }
        _ => rest(last(asked)),
    })
    .await;
    let events = watch(&client(&fake), None).await.unwrap();
    assert_eq!(seen(events).await, "1 2 t 3 4");
    assert_eq!((fake.asked().len(), last(&fake.asked()[1])), (2, 2));
}

#[tokio::test]
async fn an_end_in_good_order_before_the_end_of_the_turn_is_not_believed_at_once() {
    let fake = Fake::new(|asked, n| match n {
        0 => vec![stream(), piece(TURN), piece(&entry(1)), end()],
        _ => rest(last(asked)),
    })
    .await;
    assert_eq!(seen(watch(&client(&fake), None).await.unwrap()).await, "t 1 t 2 3 4");
    // One that has nothing new to say is believed in the end.
    let fake = Fake::new(|_, _| vec![stream(), piece(TURN), end()]).await;
    assert_eq!(seen(watch(&client(&fake), None).await.unwrap()).await, "t t t t");
}

#[tokio::test]
async fn a_stream_that_cannot_be_continued_ends() {
    let fake = Fake::new(|_, n| match n {
        0 => vec![stream(), piece(TURN), piece(&entry(1)), Do::Close],
        _ => json(404, r#"{"message":"Turn 't' not found.","code":"not_found","details":null}"#),
    })
    .await;
    assert_eq!(seen(watch(&client(&fake), None).await.unwrap()).await, "t 1");
    assert_eq!(fake.asked().len(), 2);
    let error = watch(&client(&fake), None).await.err().unwrap();
    assert_eq!(error.status, 404, "at the beginning it is told");
}

#[tokio::test]
async fn an_event_without_an_end_does_not_fill_the_memory() {
    let big = format!("data: {}", "x".repeat(1 << 19));
    let fake = Fake::new(move |_, _| {
        let more = piece(&"x".repeat(1 << 19));
        vec![stream(), piece(TURN), piece(&big), more.clone(), more, Do::Wait(Duration::from_secs(30))]
    })
    .await;
    let pace = Pace { patience: Duration::ZERO, ..server(String::new()).pace };
    let client = Client::proxy(Proxy::new(Server { pace, ..server(fake.url()) }).unwrap());
    assert_eq!(seen(watch(&client, None).await.unwrap()).await, "t");
}

#[tokio::test]
async fn an_ask_is_sent_once_whatever_breaks() {
    let fake = Fake::new(|asked, n| match (asked.method.as_str(), n) {
        // It begins, and nobody hears of it.
        ("POST", 0) => vec![Do::Close],
        ("POST", _) => json(202, r#"{"turn":"t","session":"s","approvals":[]}"#),
        (_, 2) => answer(503, "text/plain", "", "starting"),
        (_, 3) => vec![stream(), piece(TURN), piece(&entry(1)), piece(&text("one")), Do::Close],
        _ => rest(last(asked)),
    })
    .await;
    let events = ask(&client(&fake)).await.unwrap();
    assert_eq!(seen(events).await, "t 1 one t 2 3 4");
    let posts: Vec<Asked> = fake.asked().into_iter().filter(|asked| asked.method == "POST").collect();
    assert_eq!(posts.len(), 2);
    assert_eq!(posts[0].header("idempotency-key"), posts[1].header("idempotency-key"));
    assert!(posts.iter().all(|post| post.header("prefer") == Some("respond-async")), "{posts:?}");
    assert_eq!(posts[0].path, "/api/v1/astudio/agents/a/test/ask");
}

#[tokio::test]
async fn an_ask_whose_turn_cannot_be_watched_has_begun_all_the_same() {
    let fake = Fake::new(|asked, _| match asked.method.as_str() {
        "POST" => json(202, r#"{"turn":"t","session":"s","approvals":[]}"#),
        _ => json(503, r#"{"message":"no","code":"studio_storage_unavailable","details":null}"#),
    })
    .await;
    let events = ask(&client(&fake)).await.unwrap();
    assert_eq!(seen(events).await, "t");
    let refused = Fake::new(|_, _| json(409, r#"{"message":"busy","code":"turn_open","details":null}"#)).await;
    assert_eq!(ask(&client(&refused)).await.err().unwrap().code, contract::Code::TurnOpen);
}

#[tokio::test]
async fn dropping_a_stream_hangs_up_and_stops_nothing() {
    let fake = Fake::new(|asked, _| match asked.method.as_str() {
        "POST" => json(202, r#"{"turn":"t","session":"s","approvals":[]}"#),
        _ => {
            let mut steps = vec![stream(), piece(TURN), piece(&entry(1))];
            steps.push(Do::Wait(Duration::from_secs(30)));
            steps
        }
    })
    .await;
    let mut events = ask(&client(&fake)).await.unwrap().0;
    assert_eq!(short(&events.next().await.unwrap().1), "t");
    assert_eq!(short(&events.next().await.unwrap().1), "1");
    drop(events);
    for _ in 0..100 {
        if fake.gone() == 1 {
            let asked: Vec<String> = fake.asked().iter().map(|asked| asked.method.clone()).collect();
            assert_eq!(asked, ["POST", "GET"], "nothing is asked to stop");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the connection stays open");
}

#[tokio::test]
async fn a_stream_that_was_quiet_for_long_is_continued_after_its_second_break() {
    // Each connection keeps the line open for as long as a good one, says nothing new, and breaks.
    let quiet = || {
        let mut steps = vec![stream(), piece(TURN)];
        for _ in 0..18 {
            steps.extend([piece(": hb\n\n"), Do::Wait(Duration::from_millis(300))]);
        }
        steps.push(Do::Close);
        steps
    };
    let fake = Fake::new(move |_, n| if n < 2 { quiet() } else { rest(0) }).await;
    let pace = Pace { patience: Duration::from_secs(2), ..server(String::new()).pace };
    let client = Client::proxy(Proxy::new(Server { pace, ..server(fake.url()) }).unwrap());
    assert!(seen(watch(&client, None).await.unwrap()).await.ends_with("1 2 3 4"));
    assert_eq!(fake.asked().len(), 3);
}

/// A client that gives up a request at once.
fn hasty(fake: &Fake) -> Client {
    let pace = Pace { patience: Duration::from_secs(1), ..server(String::new()).pace };
    Client::proxy(Proxy::new(Server { pace, ..server(fake.url()) }).unwrap())
}

#[tokio::test]
async fn a_quiet_stream_is_continued_however_often_it_breaks() {
    // It takes longer than anybody waits for one request, and nothing new comes.
    let stopping = || json(503, r#"{"message":"The server is stopping.","code":"unavailable","details":null}"#);
    let slowly = || json(429, r#"{"message":"Slowly.","code":"rate_limited","details":null}"#);
    let quiet = || vec![stream(), piece(TURN), Do::Close];
    let one = Fake::new(move |_, n| match n {
        0 | 1 => quiet(),
        2 => answer(502, "text/html", "", "<h1>Bad Gateway</h1>"),
        3 => stopping(),
        _ => rest(0),
    })
    .await;
    let two = Fake::new(move |_, n| match n {
        0 | 3 => quiet(),
        1 => slowly(),
        2 => vec![Do::Close],
        _ => rest(0),
    })
    .await;
    let follow = async |fake: &Fake| seen(watch(&hasty(fake), None).await.unwrap()).await;
    assert_eq!(tokio::join!(follow(&one), follow(&two)), ("t t t 1 2 3 4".into(), "t t t 1 2 3 4".into()));
    assert_eq!((one.asked().len(), two.asked().len()), (5, 5));
}

#[tokio::test]
async fn who_leaves_a_stream_ends_the_tries() {
    let fake = Fake::new(|_, n| if n == 0 { vec![stream(), piece(TURN), Do::Close] } else { vec![Do::Close] }).await;
    let mut events = watch(&hasty(&fake), None).await.unwrap().0;
    assert_eq!(short(&events.next().await.unwrap().1), "t");
    assert!(tokio::time::timeout(Duration::from_millis(900), events.next()).await.is_err(), "it is tried on");
    drop(events);
    let tries = fake.asked().len();
    assert!(tries > 2, "{tries}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fake.asked().len(), tries);
}

#[tokio::test]
async fn a_turn_that_is_wanted_here_is_taken_up_again_when_the_server_was_restarted() {
    let on = |run: &str| {
        Do::Send(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-astudio-version: 1\r\nx-astudio-boot: {run}\r\n\
             transfer-encoding: chunked\r\n\r\n"
        ))
    };
    let fake = Fake::new(move |asked, _| match (asked.method.as_str(), last(asked)) {
        ("POST", _) if asked.path.ends_with("/turns/t/resume") => json(200, "{}"),
        ("POST", _) => json(202, r#"{"turn":"t","session":"s","approvals":[]}"#),
        // The run that took the question, twice, and then another one.
        (_, 0) => vec![on("run"), piece(TURN), piece(&entry(1)), Do::Close],
        (_, 1) => vec![on("run"), piece(&entry(2)), Do::Close],
        (_, 2) => vec![on("other"), piece(&entry(3)), Do::Wait(Duration::from_millis(300)), Do::Close],
        _ => vec![on("other"), piece(&entry(4))],
    })
    .await;
    let resumed = || fake.asked().into_iter().filter(|asked| asked.path.ends_with("/resume")).count();
    // Who only watches takes nothing up.
    assert_eq!(seen(watch(&client(&fake), None).await.unwrap()).await, "t 1 2 3 4");
    assert_eq!(resumed(), 0);
    let asking = client(&fake);
    assert_eq!(seen(ask(&asking).await.unwrap()).await, "t 1 2 3 4");
    assert_eq!(resumed(), 1);
    // Nor is it begun here alone: who took it up wants it as well.
    let resuming = client(&fake);
    let path = [("id".to_owned(), "t".to_owned())].into();
    resuming.call_by_id("turns.resume", WireRequest { path, ..WireRequest::default() }).await.unwrap();
    assert_eq!(seen(watch(&resuming, None).await.unwrap()).await, "t 1 2 3 4");
    assert_eq!(resumed(), 3);
}

#[tokio::test]
async fn taking_a_turn_up_is_repeated_on_another_run() {
    let fake = Fake::new(|_, n| if n == 0 { vec![Do::Close] } else { json(200, "{}") }).await;
    let path = [("id".to_owned(), "t".to_owned())].into();
    client(&fake).call_by_id("turns.resume", WireRequest { path, ..WireRequest::default() }).await.unwrap();
    assert!(fake.asked()[1].header("x-astudio-boot").is_none(), "bound to no run");
}
