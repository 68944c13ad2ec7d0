//! The home that is tried out: the demo, with something of every kind in it.

use super::example::example;
use super::mutate;
use crate::interleave::Dice;
use astudio::app::demo::{self, Options, TENANT};
use astudio::app::{App, Places, Settings, open};
use contract::operation::Meta;
use contract::wire::{Raw, WireReply, WireRequest};
use engine::{Caller, SignIn};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tempfile::TempDir;

/// A home with people, agents, turns and approvals.
pub struct Town {
    pub app: App,
    /// Values of path parameters that name something, by the group of the operation and the parameter.
    named: BTreeMap<(&'static str, &'static str), Vec<String>>,
    /// Tokens of people, and one of `ben` that may only read.
    pub secrets: Vec<(&'static str, String)>,
    pub home: TempDir,
}

/// A request before it goes anywhere.
#[derive(Clone, Debug)]
pub struct Sent {
    pub path: BTreeMap<String, String>,
    pub query: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// Whether nothing was done to what the document allows.
    pub valid: bool,
}

/// A user of the demo.
pub fn user(name: &str) -> Caller {
    Caller::user(name, Some(TENANT))
}

/// Somebody who calls: mostly who may do it, now and then who may not.
pub fn caller(dice: &mut Dice) -> Caller {
    match dice.roll(20) {
        0..=9 => user("root"),
        10..=14 => user("ben"),
        15 => user("ada"),
        16 => user("vic"),
        17 => Caller::user("nobody", Some(TENANT)),
        18 => Caller::default(),
        _ => {
            let scopes = Some(vec!["read".to_owned()]);
            let Some(sign_in) = user("ben").sign_in else { return Caller::default() };
            Caller { sign_in: Some(SignIn { token_scopes: scopes, ..sign_in }), ..Caller::default() }
        }
    }
}

/// The parameters of a route.
fn parameters(route: &'static str) -> Vec<&'static str> {
    route.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
}

impl Town {
    pub async fn new() -> Self {
        let home = TempDir::new().unwrap();
        let places = Places { home: home.path().to_owned(), config: None };
        let mut settings = Settings::default();
        // A question that people would have to answer must not hold up the next request.
        settings.turn.wait_seconds = 0;
        let app = open(&places, &settings).await.unwrap();
        demo::seed(&app.engine, Options { reset: false }).await.unwrap();
        let mut town = Self { app, named: BTreeMap::new(), secrets: Vec::new(), home };
        town.settle().await;
        town
    }

    /// Calls an operation that has to work.
    async fn done(&self, who: &str, id: &str, path: &[(&str, &str)], body: Value) -> Value {
        let entry = engine::entries().into_iter().find(|entry| entry.meta.id == id).unwrap();
        let path = path.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let request = WireRequest { path, query: Vec::new(), body: Raw::Value(body) };
        match (entry.call)(self.app.engine.clone(), user(who), request).await {
            Ok(WireReply::Json(_, value)) => value,
            Ok(WireReply::Events(..)) => panic!("{id} answers with a stream"),
            Err(error) => panic!("{id}: {error:?}"),
        }
    }

    async fn settle(&mut self) {
        let mut agents = vec!["orders-desk".to_owned()];
        for n in 0..4 {
            let body = json!({ "name": format!("spare-{n}"), "llm": "rehearsal:greeter", "visibility": "tenant" });
            self.done("root", "agents.create", &[], body).await;
            agents.push(format!("spare-{n}"));
        }
        let (mut turns, mut approvals, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
        for (who, order) in [("ben", 1007), ("ben", 1003), ("root", 1007), ("root", 1003)] {
            let body = json!({ "query": format!("cancel order {order}"), "session": format!("s-{order}"), "wait": 0 });
            let answer = self.done(who, "test.ask", &[("name", "orders-desk")], body).await;
            turns.push(answer["turn"].as_str().unwrap().to_owned());
            let asked = answer["tool_calls"].as_array().unwrap().iter().filter_map(|call| call["approval"].as_str());
            approvals.extend(asked.map(str::to_owned));
        }
        for who in ["ben", "root"] {
            self.done(who, "test.ask", &[("name", "spare-0")], json!({ "query": "hello" })).await;
        }
        assert!(approvals.len() >= 4, "{approvals:?}");
        for who in ["root", "ben", "root"] {
            let token = self.done(who, "tokens.create", &[], json!({ "name": "a token" })).await;
            tokens.push(token["id"].as_str().unwrap().to_owned());
        }
        for (who, scopes) in [("root", json!([])), ("ben", json!([])), ("vic", json!([])), ("ben", json!(["read"]))] {
            let token = self.done(who, "tokens.create", &[], json!({ "name": "of a client", "scopes": scopes })).await;
            let secret = token["secret"].as_str().unwrap().to_owned();
            self.secrets.push((if scopes[0].is_null() { who } else { "reader" }, secret));
        }
        self.done("root", "tenants.create", &[], json!({ "id": "branch" })).await;
        for id in ["mia", "noa"] {
            self.done("root", "users.create", &[], json!({ "id": id })).await;
        }
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let people = texts(&["mia", "noa", "vic", "root"]);
        let kinds = texts(&["base-classes", "llm-clients", "tools", "vector-stores", "model-params"]);
        self.named = [
            (("agents", "name"), agents.clone()),
            (("test", "name"), agents),
            (("turns", "id"), turns),
            (("turns", "ordinal"), texts(&["0", "1"])),
            (("approvals", "id"), approvals),
            (("tokens", "id"), tokens),
            (("tenants", "id"), texts(&["branch", TENANT])),
            (("users", "id"), people.clone()),
            (("members", "user"), people),
            (("catalog", "kind"), kinds),
            (("keys", "provider"), texts(&["openai", "anthropic"])),
            (("tools", "slug"), texts(&["desk_get_order", "desk_cancel_order"])),
        ]
        .into();
    }

    /// A request that the document allows, most often to something that is there.
    fn valid(&self, document: &Value, item: &Value, meta: &Meta, dice: &mut Dice) -> Sent {
        let group = meta.id.split('.').next().unwrap();
        let name = |parameter: &'static str, dice: &mut Dice| {
            (parameter.to_owned(), dice.pick(self.named.get(&(group, parameter)).unwrap()))
        };
        let path = parameters(meta.routes[0]).into_iter().map(|parameter| name(parameter, dice)).collect();
        let mut query = Vec::new();
        for parameter in item["parameters"].as_array().unwrap() {
            if parameter["in"] == "query" && dice.roll(3) == 0 {
                let value = match example(document, &parameter["schema"], dice) {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                query.push((parameter["name"].as_str().unwrap().to_owned(), value));
            }
        }
        let schema = item.pointer("/requestBody/content/application~1json/schema");
        let body = schema.map(|schema| match (meta.id, dice.roll(3)) {
            // What cannot be seen in a schema.
            ("tools.execute", 0) => json!({ "args": { "order_id": 1007 } }),
            ("keys.store", 0) => json!({ "provider": "openai", "api_key": "sk-of-a-test-0123456789" }),
            ("approvals.decide", 0) => json!({ "decision": "approve" }),
            _ => example(document, schema, dice),
        });
        Sent { path, query, body: body.map(|body| body.to_string().into_bytes()), valid: true }
    }

    /// A request, mostly a bad one.
    pub fn request(&self, document: &Value, item: &Value, meta: &Meta, dice: &mut Dice) -> Sent {
        let mut sent = self.valid(document, item, meta, dice);
        let parts = parameters(meta.routes[0]);
        // What is tried: the path, the query, the body, or nothing.
        match dice.roll(8) {
            0 | 1 => return sent,
            2 if !parts.is_empty() => {
                sent.path.insert(dice.pick(&parts).to_owned(), mutate::odd_text(dice));
            }
            2 | 3 => {
                let known: BTreeSet<String> = item["parameters"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|parameter| parameter["in"] == "query")
                    .filter_map(|parameter| Some(parameter["name"].as_str()?.to_owned()))
                    .collect();
                sent.query = mutate::query(&sent.query, &Vec::from_iter(known), dice);
            }
            _ => {
                // An operation without a body gets one all the same.
                let valid =
                    sent.body.take().map_or_else(|| json!({ "a": 1 }), |body| serde_json::from_slice(&body).unwrap());
                sent.body = Some(mutate::body(&valid, dice));
            }
        }
        sent.valid = false;
        sent
    }
}
