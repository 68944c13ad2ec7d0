//! Requests: what goes out, what is repeated, what is told.

use super::fake::{Do, Fake, ME, answer, json};
use super::{client, delete, get, server};
use crate::{Client, Credential, Proxy, Server};
use contract::ops::agents::{AgentCreate, CreateAgent, OptionalNamePath};
use contract::wire::{NoQuery, Raw, WireRequest};
use contract::{Code, StudioError};
use std::time::{Duration, Instant};

const GONE: &str = r#"{"message":"Agent 'a' not found.","code":"not_found","details":null}"#;
const DELETED: &str = r#"{"message":"gone","name":"a","deleted":true}"#;

#[tokio::test]
async fn a_request_says_who_and_what_and_is_known_again() {
    let fake = Fake::new(|_, _| json(404, GONE)).await;
    let client = client(&fake);
    assert_eq!(get(&client, "a b/ä?").await.unwrap_err(), StudioError::not_found("Agent", "a"));
    let body = AgentCreate { name: Some("x".into()), ..AgentCreate::default() };
    let request = crate::Request::<CreateAgent> { path: OptionalNamePath::default(), query: NoQuery, body };
    assert!(client.call(request).await.is_err());
    let request = WireRequest {
        path: [("kind".to_owned(), "models".to_owned())].into(),
        query: vec![("q".into(), "a&b=ü".into())],
        body: Raw::Absent,
    };
    assert!(client.call_by_id("catalog.get", request).await.is_err());
    let asked = fake.asked();
    assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("GET", "/api/v1/astudio/agents/a%20b%2F%C3%A4%3F"));
    assert_eq!(asked[0].header("authorization"), Some("Bearer geheim"));
    assert_eq!((asked[0].header("idempotency-key"), asked[0].body.as_str()), (None, ""));
    assert_eq!((asked[1].method.as_str(), asked[1].path.as_str()), ("POST", "/api/v1/astudio/agents"));
    assert_eq!(asked[1].header("content-type"), Some("application/json"));
    assert!(asked[1].header("idempotency-key").is_some_and(|key| key.len() == 36), "{asked:?}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&asked[1].body).unwrap()["name"], "x");
    assert_eq!(asked[2].path, "/api/v1/astudio/catalog/models?q=a%26b%3D%C3%BC");
}

#[tokio::test]
async fn bytes_of_a_body_go_as_they_are() {
    let fake = Fake::new(|_, _| json(400, r#"{"message":"no","code":"invalid_json","details":null}"#)).await;
    let body = Raw::Bytes(b"{ \"name\" : 1e999, nonsense".to_vec());
    let error = client(&fake).call_by_id("agents.create", WireRequest { body, ..WireRequest::default() }).await;
    assert_eq!(error.err().unwrap().code, Code::InvalidJson);
    assert_eq!(fake.asked()[0].body, "{ \"name\" : 1e999, nonsense");
}

#[tokio::test]
async fn a_broken_connection_is_tried_again_with_the_same_key() {
    let fake = Fake::new(|_, n| match n {
        0 => vec![Do::Close],
        1 => vec![
            Do::Send("HTTP/1.1 200 OK\r\nx-astudio-version: 1\r\ncontent-length: 400\r\n\r\n{\"mess".into()),
            Do::Close,
        ],
        2 => answer(502, "text/html", "", "<h1>Bad Gateway</h1>"),
        _ => json(404, GONE),
    })
    .await;
    let client = client(&fake);
    assert_eq!(delete(&client, "a").await.unwrap_err().code, Code::NotFound);
    let asked = fake.asked();
    let keys: Vec<_> = asked.iter().map(|asked| asked.header("idempotency-key").unwrap()).collect();
    assert_eq!(keys.len(), 4, "{asked:?}");
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert_eq!(delete(&client, "a").await.unwrap_err().code, Code::NotFound);
    assert_ne!(fake.asked()[4].header("idempotency-key").unwrap(), keys[0], "another request has another key");
}

#[tokio::test]
async fn what_may_have_arrived_names_the_run_that_knows_its_key() {
    let of_run = |run: &str, body: &str| {
        answer(404, "application/json", &format!("x-astudio-version: 1\r\nx-astudio-boot: {run}\r\n"), body)
    };
    let fake = Fake::new(move |_, n| match n {
        0 => of_run("first", GONE),
        1 => vec![Do::Close],
        2 => of_run("second", GONE),
        _ => of_run("second", GONE),
    })
    .await;
    let client = client(&fake);
    for _ in 0..3 {
        assert_eq!(delete(&client, "a").await.unwrap_err().code, Code::NotFound);
    }
    let runs: Vec<_> = fake.asked().iter().map(|asked| asked.header("x-astudio-boot").map(str::to_owned)).collect();
    assert_eq!(runs, [None, None, Some("first".to_owned()), None], "only a repeat is bound to a run");
}

#[tokio::test]
async fn a_write_that_is_bound_to_no_run_is_not_repeated_once_it_may_have_arrived() {
    // Something before the server takes its marks away, and with them perhaps the key.
    let bare = |status: u16, body: &str| answer(status, "application/json", "x-astudio-version: 1\r\n", body);
    let fake = Fake::raw(move |asked, n| match (asked.path.ends_with("/me"), n) {
        (true, _) => bare(200, ME),
        (_, 0 | 2) => vec![Do::Close],
        _ => bare(404, GONE),
    })
    .await;
    let client = client(&fake);
    let error = delete(&client, "a").await.unwrap_err();
    assert!(error.code == Code::Unavailable && error.message.contains("not known"), "{error}");
    assert_eq!(fake.asked().len(), 1);
    assert_eq!(delete(&client, "a").await.unwrap_err().code, Code::NotFound);
    // What only reads is.
    assert_eq!(get(&client, "a").await.unwrap_err().code, Code::NotFound);
    assert_eq!(fake.asked().len(), 4);
}

#[tokio::test]
async fn refusals_are_never_repeated() {
    for (status, code) in [(503, "vault_unavailable"), (502, "query_failed"), (503, "studio_storage_unavailable")] {
        let body = format!(r#"{{"message":"no","code":"{code}","details":null}}"#);
        let fake = Fake::new(move |_, _| json(status, &body)).await;
        let error = get(&client(&fake), "a").await.unwrap_err();
        assert_eq!((error.status, error.code.as_str(), fake.asked().len()), (status, code, 1));
    }
}

#[tokio::test]
async fn what_stays_broken_is_told_with_what_is_known() {
    let fake = Fake::new(|_, _| vec![Do::Close]).await;
    let pace = crate::Pace { patience: Duration::from_millis(300), ..server(String::new()).pace };
    let client = Client::proxy(Proxy::new(Server { pace, ..server(fake.url()) }).unwrap());
    let error = delete(&client, "a").await.unwrap_err();
    assert_eq!((error.status, error.code), (503, Code::Unavailable));
    assert!(error.message.contains("not known"), "{error}");
    let error = get(&client, "a").await.unwrap_err();
    assert!(error.message.contains("cannot be reached") && !error.message.contains("not known"), "{error}");
    let url = fake.url();
    drop(fake);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let pace = crate::Pace { patience: Duration::ZERO, ..server(String::new()).pace };
    let client = Client::proxy(Proxy::new(Server { pace, ..server(url.clone()) }).unwrap());
    let error = delete(&client, "a").await.unwrap_err();
    let host = url.trim_start_matches("http://");
    assert!(error.message.contains(host) && error.message.contains("cannot be reached"), "{error}");
    assert!(!error.message.contains("geheim"), "{error}");
}

#[tokio::test]
async fn pages_of_something_else_are_told_as_such() {
    let page = "<html><title>Sign in to the WLAN</title></html>";
    let fake = Fake::raw(|_, _| answer(200, "text/html", "", page)).await;
    let error = get(&client(&fake), "a").await.unwrap_err();
    assert!(
        error.message.contains("does not look like a Studio server") && error.message.contains("Sign in to the WLAN"),
        "{error}"
    );
    let fake = Fake::new(|_, _| answer(500, "text/html", "", "<h1>Oops</h1>")).await;
    let error = get(&client(&fake), "a").await.unwrap_err();
    assert_eq!((error.status, error.code), (500, Code::InternalError));
    assert!(error.message.contains("500") && error.message.contains("Oops"), "{error}");
}

#[tokio::test]
async fn answers_that_are_too_large_are_not_read() {
    let big = "x".repeat(2 << 20);
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nx-astudio-version: 1\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{big}\r\n0\r\n\r\n",
        big.len()
    );
    let answers = [json(200, &big), vec![Do::Send(chunked)]];
    for answer in answers {
        let fake = Fake::new(move |_, _| answer.clone()).await;
        let error = get(&client(&fake), "a").await.unwrap_err();
        assert_eq!(error.code, Code::PayloadTooLarge, "{error}");
        assert_eq!(fake.asked().len(), 1, "the second would be as large");
    }
}

#[tokio::test]
async fn the_token_does_not_follow_where_a_server_points() {
    let other = Fake::raw(|_, _| json(200, "{}")).await;
    let to = format!("location: {}/api/v1/astudio/agents/a?x=geheim2\r\n", other.url());
    for status in [301, 302, 307, 308] {
        let to = to.clone();
        let fake = Fake::new(move |_, _| answer(status, "text/plain", &to, "")).await;
        let error = get(&client(&fake), "a").await.unwrap_err();
        assert!(error.message.contains(&other.url()) && !error.message.contains("geheim"), "{error}");
        assert!(delete(&client(&fake), "a").await.is_err());
    }
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn a_slow_answer_to_a_run_is_waited_for_in_pieces() {
    let fake = Fake::new(|_, n| if n < 2 { vec![Do::Wait(Duration::from_secs(30))] } else { json(404, GONE) }).await;
    let pace = crate::Pace {
        answer: Duration::from_millis(300),
        patience: Duration::from_millis(100),
        ..server(String::new()).pace
    };
    let client = Client::proxy(Proxy::new(Server { pace, ..server(fake.url()) }).unwrap());
    let path = [("id".to_owned(), "t".to_owned())].into();
    let resumed = client.call_by_id("turns.resume", WireRequest { path, ..WireRequest::default() }).await;
    assert_eq!(resumed.err().unwrap().code, Code::NotFound);
    let asked = fake.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|a| a.header("idempotency-key") == asked[0].header("idempotency-key")));
    // What only reads is not waited for so long.
    let slow = Fake::new(|_, _| vec![Do::Wait(Duration::from_secs(30))]).await;
    let pace =
        crate::Pace { answer: Duration::from_millis(200), patience: Duration::ZERO, ..server(String::new()).pace };
    let client = Client::proxy(Proxy::new(Server { pace, ..server(slow.url()) }).unwrap());
    let began = Instant::now();
    assert!(get(&client, "a").await.unwrap_err().message.contains("no answer within"));
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_hangs_up() {
    let fake = Fake::new(|_, _| vec![Do::Wait(Duration::from_secs(30))]).await;
    let client = client(&fake);
    assert!(tokio::time::timeout(Duration::from_millis(200), get(&client, "a")).await.is_err());
    for _ in 0..100 {
        if fake.gone() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the connection stays open");
}

#[tokio::test]
async fn names_that_no_address_can_hold_are_not_there() {
    let fake = Fake::new(|_, _| json(200, DELETED)).await;
    for name in ["", ".", ".."] {
        assert_eq!(get(&client(&fake), name).await.unwrap_err().code, Code::NotFound);
    }
    assert!(fake.asked().is_empty());
    let error = client(&fake).call_by_id("no.such", WireRequest::default()).await.err().unwrap();
    assert_eq!(error.code, Code::RouteNotFound);
    let error = client(&fake).call_by_id("agents.get", WireRequest::default()).await.err().unwrap();
    assert_eq!((error.status, error.code), (400, Code::InvalidRequest));
}

#[tokio::test]
async fn without_a_token_nobody_speaks() {
    let fake = Fake::new(|_, _| json(401, r#"{"message":"Sign in.","code":"unauthorized","details":null}"#)).await;
    let client = Client::proxy(Proxy::new(Server { credential: Credential::Nobody, ..server(fake.url()) }).unwrap());
    assert_eq!(get(&client, "a").await.unwrap_err().code, Code::Unauthorized);
    assert_eq!(fake.asked()[0].header("authorization"), None);
    let odd = Credential::Token(text::Secret::new("a\nb".into()));
    let client = Client::proxy(Proxy::new(Server { credential: odd, ..server(fake.url()) }).unwrap());
    let error = get(&client, "a").await.unwrap_err();
    assert!(error.code == Code::InvalidConfig && !error.message.contains("a\nb"), "{error}");
}

#[tokio::test]
async fn many_who_wait_for_a_server_that_is_away_give_up_together() {
    let fake = Fake::raw(|_, _| vec![Do::Close]).await;
    let pace = crate::Pace { patience: Duration::from_millis(600), ..server(String::new()).pace };
    let client = Client::proxy(Proxy::new(Server { pace, ..server(fake.url()) }).unwrap());
    let began = Instant::now();
    let all = futures_util::future::join_all((0..6).map(|_| get(&client, "a"))).await;
    assert!(all.into_iter().all(|got| got.is_err_and(|error| error.code == Code::Unavailable)));
    assert!(began.elapsed() < Duration::from_millis(1_500), "{:?}", began.elapsed());
}
