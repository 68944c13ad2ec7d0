//! The dialect over HTTP, against the small server.

use super::*;
use contract::Micros;
use fakes::original::{AUTHOR, Original as Server, PREFIX, VIEWER};
use std::sync::Once;

/// A person at the server, through the dialect.
struct Person {
    server: Server,
    original: Original,
    http: reqwest::Client,
    token: &'static str,
}

impl Person {
    fn new() -> Self {
        static TLS: Once = Once::new();
        TLS.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { server: Server::start(), original: Original::default(), http, token: AUTHOR }
    }

    async fn call(&self, id: &str, wanted: WireRequest) -> Result<WireReply> {
        let sent = match self.original.send(id, &wanted)? {
            Step::Done(reply) => return Ok(reply),
            Step::Send(sent) => sent,
        };
        let base = match sent.start {
            Start::Base => format!("{}{PREFIX}", self.server.url()),
            Start::Root => self.server.url(),
        };
        let mut url = reqwest::Url::parse(&format!("{base}{}", sent.path)).unwrap();
        if !sent.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&sent.query);
        }
        let method = reqwest::Method::from_bytes(sent.method.as_str().as_bytes()).unwrap();
        let mut request = self.http.request(method, url).bearer_auth(self.token);
        if let Some(body) = &sent.body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let began = Micros::now();
        let answered = request.send().await.unwrap();
        let status = answered.status().as_u16();
        let text = answered.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        self.original.receive(id, &wanted, began, status, body)
    }

    async fn json(&self, id: &str, wanted: WireRequest) -> Value {
        json_of(self.call(id, wanted).await.unwrap())
    }

    async fn refused(&self, id: &str, wanted: WireRequest) -> (Code, u16) {
        let error = self.call(id, wanted).await.err().unwrap();
        (error.code, error.status)
    }
}

const ALPHA: &[(&str, &str)] = &[("name", "alpha")];

fn on(path: &[(&str, &str)], body: Option<Value>) -> WireRequest {
    asked(path, &[], body)
}

#[tokio::test]
async fn agents_from_their_making_to_their_end() {
    let mut person = Person::new();
    let made =
        json!({ "name": "Alpha", "llm": "echo:small", "description": "First", "config": { "temperature": 0.5 } });
    let created = person.json("agents.create", on(&[], Some(made.clone()))).await;
    assert_eq!((created["name"].as_str(), created["version"].as_i64()), (Some("alpha"), Some(1)));
    assert_eq!(person.refused("agents.create", on(&[], Some(made))).await, (Code::NameTaken, 409));
    assert_eq!(person.refused("agents.create", on(&[], Some(json!({ "name": 5 })))).await, (Code::InvalidRequest, 400));
    let hot = json!({ "name": "hot", "config": { "temperature": 7 } });
    assert_eq!(person.refused("agents.create", on(&[], Some(hot))).await, (Code::InvalidConfig, 422));

    let edit = json!({ "description": "Second", "model_params": { "top_k": 3 }, "expected_version": 1 });
    let edited = person.json("agents.patch", on(ALPHA, Some(edit.clone()))).await;
    assert_eq!((edited["version"].as_i64(), edited["description"].as_str()), (Some(2), Some("Second")));
    assert_eq!(edited["definition"]["model_params"]["top_k"], 3);
    assert_eq!(edited["definition"]["model_params"]["temperature"], 0.5);
    let error = person.call("agents.patch", on(ALPHA, Some(edit))).await.err().unwrap();
    assert_eq!((error.code, error.details), (Code::VersionConflict, Some(json!({ "current_version": 2 }))));

    person.token = VIEWER;
    assert_eq!(person.refused("agents.get", on(ALPHA, None)).await, (Code::NotFound, 404));
    person.token = AUTHOR;
    let shared = person.json("agents.visibility", on(ALPHA, Some(json!({ "visibility": "tenant" })))).await;
    assert_eq!((shared["visibility"].as_str(), shared["version"].as_i64()), (Some("tenant"), Some(3)));
    let foreign = json!({ "visibility": "groups", "allowed_groups": ["zz"] });
    assert_eq!(person.refused("agents.visibility", on(ALPHA, Some(foreign))).await, (Code::GroupsNotAllowed, 422));
    let nonsense = on(ALPHA, Some(json!({ "visibility": "nope" })));
    let error = person.call("agents.visibility", nonsense).await.err().unwrap();
    assert_eq!(error.message, "Invalid request: visibility: Input should be 'private', 'tenant' or 'groups'.");

    person.token = VIEWER;
    let seen = person.json("agents.get", on(ALPHA, None)).await;
    assert_eq!((seen["access"].as_str(), seen.get("definition")), (Some("tenant"), None));
    assert_eq!(person.refused("agents.delete", on(ALPHA, None)).await, (Code::NotManageable, 403));
    person.token = AUTHOR;
    let list = person.json("agents.list", asked(&[], &[("limit", "5"), ("q", "owner:me")], None)).await;
    assert_eq!((list["count"].as_i64(), list["next_cursor"].clone()), (Some(1), Value::Null));

    assert_eq!(person.json("agents.reload", on(ALPHA, None)).await["reloaded"], true);
    let stale = asked(ALPHA, &[("expected_version", "1")], None);
    assert_eq!(person.refused("agents.delete", stale).await, (Code::VersionConflict, 409));
    let deleted = person.json("agents.delete", asked(ALPHA, &[("expected_version", "3")], None)).await;
    assert_eq!(deleted, json!({ "name": "alpha", "deleted": true }));
    assert_eq!(person.refused("agents.get", on(ALPHA, None)).await, (Code::NotFound, 404));
    // A name that needs encoding arrives whole.
    assert_eq!(person.refused("agents.get", on(&[("name", "a/b c%ü")], None)).await, (Code::NotFound, 404));
    assert_eq!(person.server.seen().last().unwrap().path, format!("{PREFIX}/agents/a%2Fb%20c%25%C3%BC"));
}

#[tokio::test]
async fn questions_and_what_is_kept_of_them() {
    let person = Person::new();
    person.json("agents.create", on(&[], Some(json!({ "name": "alpha", "llm": "echo:small" })))).await;
    let question = on(ALPHA, Some(json!({ "query": "hello" })));
    let WireReply::Events(200, stream) = person.call("test.stream", question.clone()).await.unwrap() else {
        panic!("no stream")
    };
    let events: Vec<contract::wire::WireEvent> = stream.collect().await;
    assert!(events.iter().all(|event| event.id.is_none()));
    let kinds: Vec<String> = events
        .iter()
        .map(|event| match &event.data["entry"]["kind"] {
            Value::String(kind) => kind.clone(),
            _ => event.data["type"].as_str().unwrap().to_owned(),
        })
        .collect();
    assert_eq!(kinds, ["turn", "started", "model_replied", "ended"]);
    assert_eq!(events[2].data["entry"]["blocks"][0]["text"], "echo[0]: hello");
    // The turn can be read afterwards, and only here.
    let id = events[0].data["turn"].as_str().unwrap().to_owned();
    let kept = person.json("turns.get", on(&[("id", &id)], None)).await;
    assert_eq!((kept["response"].as_str(), kept["status"].as_str()), (Some("echo[0]: hello"), Some("done")));
    assert_eq!(person.refused("turns.get", on(&[("id", "other")], None)).await, (Code::Unavailable, 503));
    let second = person.json("test.ask", question.clone()).await;
    assert_eq!(second["response"], "echo[2]: hello");
    assert_ne!(second["turn"].as_str(), Some(id.as_str()));
    for _ in 0..40 {
        person.json("test.ask", question.clone()).await;
    }
    assert_eq!(person.refused("turns.get", on(&[("id", &id)], None)).await, (Code::Unavailable, 503));

    let ended = person.json("test.end", on(ALPHA, None)).await;
    assert_eq!(ended["message"], "Test session for 'alpha' stopped");
    let ended = person.json("test.end", on(ALPHA, None)).await;
    assert_eq!(ended["agent_name"], "alpha");
    let missing = on(&[("name", "none")], Some(json!({ "query": "q" })));
    assert_eq!(person.refused("test.stream", missing).await, (Code::NotFound, 404));
    person.json("agents.create", on(&[], Some(json!({ "name": "b", "llm": "broken:x" })))).await;
    let broken = on(&[("name", "b")], Some(json!({ "query": "q" })));
    assert_eq!(person.refused("test.ask", broken).await, (Code::QueryFailed, 502));
    let byok = on(ALPHA, Some(json!({ "query": "q", "key_source": "byok" })));
    assert_eq!(person.refused("test.ask", byok).await, (Code::KeySourceUnavailable, 422));
}

#[tokio::test]
async fn keys_catalogues_tools_and_people() {
    let mut person = Person::new();
    let me = person.json("me.get", on(&[], None)).await;
    assert_eq!((me["user_id"].as_str(), me["may_author"].as_bool()), (Some("u1"), Some(true)));
    let key = json!({ "provider": "Anthropic", "api_key": "sk-ant-abcdefgh1234" });
    let stored = person.json("keys.store", on(&[], Some(key))).await;
    assert_eq!(stored, json!({ "provider": "anthropic", "masked": "sk-…1234" }));
    assert_eq!(person.json("keys.list", on(&[], None)).await["count"], 1);
    let wrong = json!({ "provider": "anthropic", "api_key": ["sk-secret"] });
    let error = person.call("keys.store", on(&[], Some(wrong))).await.err().unwrap();
    assert_eq!(error.message, "Invalid request: api_key: Input should be a valid string.");
    let deleted = person.json("keys.delete", on(&[("provider", "Anthropic")], None)).await;
    assert_eq!(deleted, json!({ "provider": "anthropic", "deleted": true }));
    assert_eq!(person.refused("keys.delete", on(&[], None)).await, (Code::MissingProvider, 400));

    for kind in ["base-classes", "llm-clients", "tools", "vector-stores"] {
        assert!(person.json("catalog.get", on(&[("kind", kind)], None)).await.is_array(), "{kind}");
    }
    let bounds = asked(&[("kind", "model-params")], &[("provider", "echo"), ("model", "small")], None);
    assert!(person.json("catalog.get", bounds).await["properties"].is_object());
    assert!(person.server.seen().last().unwrap().path.ends_with("?provider=echo&model=small"));
    assert_eq!(person.refused("catalog.get", on(&[("kind", "nope")], None)).await, (Code::NotFound, 404));
    let run = |slug| on(&[("slug", slug)], Some(json!({ "args": { "text": "hi", "times": 2 } })));
    assert_eq!(person.json("tools.execute", run("hx_echo")).await["result"], json!({ "echo": "hihi" }));
    assert_eq!(person.refused("tools.execute", run("none")).await, (Code::NotFound, 404));

    person.token = VIEWER;
    assert_eq!(person.refused("tools.execute", run("hx_echo")).await, (Code::AuthoringDenied, 403));
    person.token = "somebody-else";
    assert_eq!(person.refused("me.get", on(&[], None)).await, (Code::Unauthorized, 401));
}

#[tokio::test]
async fn a_question_to_a_person_is_answered_once() {
    let person = Person::new();
    person.server.asks_a_person("i-1");
    let yes = on(&[("id", "i-1")], Some(json!({ "decision": "approve", "args": { "amount": 9 } })));
    let view = person.json("approvals.decide", yes.clone()).await;
    assert_eq!((view["status"].as_str(), view["edited_args"].clone()), (Some("approved"), json!({ "amount": 9 })));
    assert_eq!(person.server.answer_of("i-1"), Some(json!({ "amount": 9 })));
    assert_eq!(person.refused("approvals.decide", yes).await, (Code::NotFound, 404));
    let none = person.refused("approvals.list", on(&[], None)).await;
    assert_eq!(none, (Code::Unavailable, 503));
}

#[tokio::test]
async fn a_person_signs_in_with_a_password() {
    let person = Person::new();
    let login = async |password: &str| {
        let body = json!({ "username": "u1", "password": password }).to_string();
        let sent = person.http.post(person.server.login_url()).header("content-type", "application/json").body(body);
        let answered = sent.send().await.unwrap();
        (answered.status().as_u16(), answered.text().await.unwrap())
    };
    let (status, text) = login(fakes::original::PASSWORD).await;
    assert_eq!((status, serde_json::from_str::<Value>(&text).unwrap()["token"].as_str()), (200, Some(AUTHOR)));
    assert_eq!(login("wrong").await, (401, "401: Unauthorized".into()));
}
