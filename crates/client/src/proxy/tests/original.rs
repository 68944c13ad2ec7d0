//! A server that speaks the other dialect.

use super::fake::{Fake, ME, answer};
use super::*;
use crate::Dialect;
use contract::Code;
use contract::ops::agents::{AgentCreate, CreateAgent, ListAgents, OptionalNamePath};
use contract::ops::common::{IdPath, Page};
use contract::ops::test::{AskBody, AskStream, SessionQuery};
use contract::ops::turns::GetTurn;
use contract::turn::{TurnEvent, Watched};
use contract::wire::{Events, Json, NoPath, NoQuery};
use fakes::original::{AUTHOR, Original, PASSWORD};
use futures_util::StreamExt as _;
use serde_json::json;

fn person(server: &Original, credential: Credential) -> Client {
    Client::proxy(Proxy::new(Server { credential, ..super::server(server.url()) }).unwrap())
}

fn token(token: &str) -> Credential {
    Credential::Token(Secret::new(token.into()))
}

async fn create(client: &Client, name: &str) -> Result<()> {
    let body = AgentCreate { name: Some(json!(name)), llm: Some("echo:small".into()), ..AgentCreate::default() };
    client.call(Request::<CreateAgent> { path: OptionalNamePath::default(), query: NoQuery, body }).await.map(drop)
}

#[tokio::test]
async fn the_other_dialect_is_found_out_and_spoken() {
    let server = Original::start();
    let client = person(&server, token(AUTHOR));
    create(&client, "alpha").await.unwrap();
    assert_eq!(create(&client, "alpha").await.unwrap_err().code, Code::NameTaken);
    let query = Page { limit: Some(1), ..Page::default() };
    let list = client.call(Request::<ListAgents> { path: NoPath {}, query, body: NoBody }).await.unwrap();
    assert_eq!((list.0.count, list.0.next_cursor), (1, Some(None)));
    let error = get(&client, "none").await.unwrap_err();
    assert_eq!((error.code, error.status), (Code::NotFound, 404));

    let body = AskBody { query: "hello".into(), ..AskBody::default() };
    let path = NamePath { name: "alpha".into() };
    let asked = client.call(Request::<AskStream> { path, query: SessionQuery::default(), body }).await.unwrap();
    let Events(stream) = asked;
    let events: Vec<Watched> = stream.map(|(_, event)| event).collect().await;
    let Watched::Turn { turn, .. } = &events[0] else { panic!("{events:?}") };
    let Some(Watched::Event { entry }) = events.last() else { panic!("{events:?}") };
    assert!(matches!(&entry.event, TurnEvent::Ended { text, .. } if text == "echo[0]: hello"), "{entry:?}");
    let path = IdPath { id: turn.clone() };
    let Json(kept) = client.call(Request::<GetTurn> { path, query: NoQuery, body: NoBody }).await.unwrap();
    assert_eq!(kept.response, "echo[0]: hello");

    // Who is asking was found out once, and the question was sent once.
    let seen = server.seen();
    assert_eq!(seen.iter().filter(|seen| seen.path.ends_with("/me")).count(), 1);
    assert_eq!(seen.iter().filter(|seen| seen.path.ends_with("/ask")).count(), 1);
}

#[tokio::test]
async fn a_decision_leaves_the_prefix() {
    let server = Original::start();
    let client = person(&server, token(AUTHOR));
    server.asks_a_person("i-1");
    let request = WireRequest {
        path: [("id".to_owned(), "i-1".to_owned())].into(),
        body: contract::wire::Raw::Value(json!({ "decision": "reject" })),
        ..WireRequest::default()
    };
    client.call_by_id("approvals.decide", request).await.unwrap();
    assert_eq!(server.answer_of("i-1"), Some(json!(false)));
    let error = client.call_by_id("approvals.list", WireRequest::default()).await.err().unwrap();
    assert_eq!((error.code, error.status), (Code::Unavailable, 503));
}

#[tokio::test]
async fn who_is_unknown_is_told_so() {
    let server = Original::start();
    let error = create(&person(&server, token("nobody")), "a").await.unwrap_err();
    assert_eq!((error.code, error.status), (Code::Unauthorized, 401));
    assert!(error.message.contains("Sign in again"), "{}", error.message);
    let login = |password: &str| Credential::Login {
        url: server.login_url(),
        user: "u1".into(),
        password: crate::Password::Known(Secret::new(password.into())),
    };
    create(&person(&server, login(PASSWORD)), "a").await.unwrap();
    assert_eq!(create(&person(&server, login("wrong")), "b").await.unwrap_err().code, Code::Unauthorized);
}

#[tokio::test]
async fn our_server_is_known_behind_a_gateway_that_takes_its_headers_away() {
    let bare = |status: u16, body: &str| answer(status, "application/json", "", body);
    let found = r#"{"name":"a","ours":true}"#;
    let limited = r#"{"message":"no","code":"access_denied","details":null}"#;
    let refused = [(200, r#"{"approvals":[]}"#), (403, limited)];
    for (status, pending) in refused {
        let fake = Fake::raw(move |asked, _| match asked.path.rsplit('/').next().unwrap() {
            "me" => bare(200, ME),
            "approvals?status=pending" => bare(status, pending),
            _ => bare(200, found),
        })
        .await;
        let proxy = proxy(&fake);
        assert_eq!(proxy.dialect().await.unwrap(), Dialect::Ours);
        let client = Client::proxy(proxy);
        assert_eq!(get(&client, "a").await.unwrap()["ours"], true, "as it was sent");
        assert!(get(&client, "a").await.is_ok());
        assert_eq!(fake.asked().len(), 3, "it is looked for once");
    }
    // With its mark it is known at once.
    let fake = Fake::new(move |_, _| super::fake::json(200, found)).await;
    get(&client(&fake), "a").await.unwrap();
    assert_eq!(fake.asked().len(), 1);
}

#[tokio::test]
async fn pages_and_shapes_of_something_else_are_no_answers() {
    let page = |_: &str| answer(200, "text/html", "", "<title>Sign in</title>");
    let other = |_: &str| answer(200, "application/json", "", r#"{"status":"ok"}"#);
    let list = |_: &str| answer(200, "application/json", "", r#"["a"]"#);
    let word = |_: &str| answer(200, "application/json", "", r#""a""#);
    for reply in [page as fn(&str) -> _, other, list, word] {
        let fake = Fake::raw(move |asked, _| match asked.path.rsplit('/').next().unwrap() {
            "me" => answer(200, "application/json", "", ME),
            "approvals?status=pending" => answer(404, "text/plain", "", "404: Not Found"),
            path => reply(path),
        })
        .await;
        let client = client(&fake);
        for (id, path) in [("catalog.get", Some(("kind", "tools"))), ("agents.list", None), ("keys.list", None)] {
            let path = path.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect();
            let error = client.call_by_id(id, WireRequest { path, ..WireRequest::default() }).await.err().unwrap();
            assert!(
                error.status == 502 && error.message.starts_with("This does not look like a Studio server: "),
                "{id}: {error}"
            );
        }
    }
}
