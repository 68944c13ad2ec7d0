//! Every recorded answer of the other side goes through the dialect, and so does a small server made from them.
#![allow(clippy::unwrap_used)]

mod samples;
mod server;

use super::*;
use contract::ops::{agents, approvals, audit, catalog, events, keys, me, people, test, tokens, tools, turns};
use contract::wire::{Raw, Reply as _};
use contract::{Operation, ops};
use futures_util::StreamExt as _;
use serde_json::json;

/// A request of an operation.
fn asked(path: &[(&str, &str)], query: &[(&str, &str)], body: Option<Value>) -> WireRequest {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    WireRequest {
        path: path.iter().map(pair).collect(),
        query: query.iter().map(pair).collect(),
        body: body.map_or(Raw::Absent, Raw::Value),
    }
}

/// Reads a reply as the operation's own type does.
fn decode(id: &str, reply: WireReply) -> Result<()> {
    macro_rules! by_id {
        ($($group:ident :: $name:ident),+ $(,)?) => {
            match id {
                $(<$group::$name as Operation>::ID => {
                    <$group::$name as Operation>::Reply::from_wire(reply).map(|_| ())
                })+
                _ => panic!("{id}"),
            }
        };
    }
    contract::for_each_operation!(by_id)
}

fn json_of(reply: WireReply) -> Value {
    match reply {
        WireReply::Json(_, value) => value,
        WireReply::Events(..) => panic!("a stream"),
    }
}

/// A path and a body with which the operation can be asked.
fn plausible(meta: &contract::operation::Meta) -> WireRequest {
    let names = meta.routes[0].split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let names: Vec<(&str, &str)> = names.map(|name| (name, "x")).collect();
    let names = if matches!(meta.id, "agents.create" | "keys.store") { Vec::new() } else { names };
    let body = json!({ "query": "q", "decision": "approve", "visibility": "private", "name": "n" });
    let body = if meta.id == "agents.patch" { json!({ "description": "d" }) } else { body };
    asked(&names, &[], Some(body))
}

#[test]
fn every_operation_is_rewritten_or_named_as_lacking() {
    for meta in ops::ALL {
        let wanted = plausible(meta);
        match (lacks(meta.id), request(meta.id, &wanted)) {
            (Some(why), Err(error)) => {
                assert_eq!((error.code, error.status), (Code::Unavailable, 503), "{}", meta.id);
                assert!(error.message.contains(why), "{}", meta.id);
                let after = answer(meta.id, &wanted, 200, json!({})).err().unwrap();
                assert_eq!(after.code, Code::Unavailable, "{}", meta.id);
            }
            (None, Ok(sent)) => {
                assert!(sent.path.starts_with('/') && !sent.path.contains('{'), "{}", sent.path);
                let outcome = answer(meta.id, &wanted, 200, json!({}));
                assert!(outcome.err().is_none_or(|error| error.code != Code::RouteNotFound), "{}", meta.id);
            }
            (lacking, sent) => panic!("{}: {lacking:?}, {:?}", meta.id, sent.err()),
        }
    }
    for (id, why) in LACKS {
        assert!(ops::ALL.iter().any(|meta| meta.id == *id) && why.ends_with('.'), "{id}");
    }
    assert_eq!(request("no.such", &WireRequest::default()).unwrap_err().code, Code::RouteNotFound);
}

#[test]
fn no_json_makes_it_panic_and_every_success_reads_as_our_type() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("text\n\nmore"),
        json!([]),
        json!([[], {}, null]),
        json!({}),
        json!({ "agents": 5, "keys": {}, "message": [], "code": 7, "details": {} }),
        json!({ "agents": [{}], "keys": [{}] }),
        json!({ "agents": [{ "name": "a" }, { "name": "b", "owner": 7, "updated_at": "soon", "tags": null }] }),
        json!({ "keys": [{ "provider": "p", "created_at": null, "masked": null }] }),
        json!({ "name": "a", "definition": {}, "version": "x" }),
        json!({ "name": "a", "definition": { "model_params": { "top_k": 1.5 } } }),
        json!({ "name": "a", "definition": null, "agent_id": 7, "chatbot_id": "c", "class_name": 5 }),
        json!({ "response": { "deep": [1] }, "metadata": [1], "byok": "yes", "agent_name": null }),
        json!({ "user_id": 7, "tenant": 8, "is_superuser": null }),
        json!({ "success": true, "status": "success", "timestamp": "nonsense" }),
        json!({ "message": "x: expected 1, found 99999999999999999999", "code": "version_conflict" }),
    ];
    for meta in ops::ALL {
        for wanted in [plausible(meta), WireRequest::default()] {
            for value in &odd {
                for status in [0, 199, 200, 204, 299, 302, 400, 409, 422, 500, 999] {
                    match answer(meta.id, &wanted, status, value.clone()) {
                        Ok(reply) => decode(meta.id, reply).unwrap(),
                        Err(error) => {
                            assert!((400..600).contains(&error.status), "{} {status} {value}", meta.id);
                            assert!(!error.message.is_empty(), "{} {status} {value}", meta.id);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_older_kinds_of_agents_are_shown() {
    let body = json!({ "count": 3, "agents": [
        { "name": "studio-one", "owner": 42, "tenant": null, "agent_id": "i", "version": 3, "visibility": "private",
          "updated_at": "2026-01-01 00:00:00", "class_name": "BasicBot", "access": "global", "can_manage": true },
        { "name": "a-registry-one", "source": "registry", "origin": "yaml", "owner": null, "enabled": true,
          "class_name": "Agent", "module": "m", "file_path": "agents/a.yaml", "tags": ["t"], "priority": 1,
          "at_startup": true, "visibility": "private", "allowed_groups": [], "access": "global", "can_manage": false },
        { "name": "b-database-one", "source": "database", "origin": "database", "owner": "u7", "enabled": false,
          "chatbot_id": "c-1" },
    ] });
    let list = json_of(answer("agents.list", &asked(&[], &[], None), 200, body.clone()).unwrap());
    let names: Vec<&str> =
        list["agents"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a-registry-one", "b-database-one", "studio-one"]);
    assert_eq!(list["count"], 3);
    assert!(list.get("next_cursor").is_none());
    let [registry, database, studio] = [0, 1, 2].map(|index| list["agents"][index].clone());
    assert_eq!(registry["tags"], json!(["t"]));
    assert_eq!(
        json!([database["agent_id"], database["enabled"], database["access"], database["can_manage"]]),
        json!(["c-1", false, "global", false])
    );
    assert_eq!(json!([studio["owner"], studio["updated_at"]]), json!(["42", "2026-01-01T00:00:00.000000+00:00"]));
    // Whose they are is not said on a plain host, so it is not guessed.
    let mine = asked(&[], &[("q", "owner:me")], None);
    assert_eq!(answer("agents.list", &mine, 200, body).err().unwrap().code, Code::Unavailable);
}

#[test]
fn lists_are_filtered_sorted_and_paged_here() {
    let row = |name: &str, owner: &str, day: u32, access: &str| {
        json!({ "name": name, "owner": owner, "description": format!("About {name}"), "llm": "echo:small",
                "updated_at": format!("2026-01-{day:02}T00:00:00+00:00"), "access": access, "visibility": "tenant" })
    };
    let body = json!({ "agents": [
        row("a", "u1", 4, "owner"), row("b", "u2", 3, "tenant"), row("c", "u1", 2, "owner"), row("d", "u2", 1, "tenant"),
    ] });
    let page = |query: &[(&str, &str)]| {
        let reply = answer("agents.list", &asked(&[], query, None), 200, body.clone());
        reply.map(|reply| {
            let list = json_of(reply);
            let items = list["agents"].as_array().unwrap();
            let names: String = items.iter().map(|item| item["name"].as_str().unwrap()).collect();
            (names, list["next_cursor"].as_str().map(str::to_owned))
        })
    };
    assert_eq!(page(&[]).unwrap().0, "abcd");
    assert_eq!(page(&[("q", "owner:me")]).unwrap(), ("ac".into(), None));
    assert_eq!(page(&[("q", "owner:u2 About"), ("sort", "-name")]).unwrap().0, "db");
    assert_eq!(page(&[("q", "llm:nothing")]).unwrap().0, "");
    for (sort, whole) in [("name", "abcd"), ("-name", "dcba"), ("updated_at", "dcba"), ("-updated_at", "abcd")] {
        let (mut seen, mut cursor) = (String::new(), None::<String>);
        loop {
            let mut query = vec![("limit", "3"), ("sort", sort)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let (names, next) = page(&query).unwrap();
            seen.push_str(&names);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, whole, "{sort}");
    }
    for bad in [("sort", "size"), ("limit", "0"), ("cursor", "x"), ("q", "color:red")] {
        assert_eq!(page(&[bad]).unwrap_err().code, Code::InvalidRequest, "{bad:?}");
    }
}

#[test]
fn what_would_clear_a_field_is_refused() {
    let patch = |body: Value| request("agents.patch", &asked(&[("name", "a")], &[], Some(body)));
    for (body, field) in [
        (json!({ "description": null, "llm": "x" }), "description"),
        (json!({ "llm": null }), "llm"),
        (json!({ "system_prompt": null }), "system_prompt"),
        (json!({ "model_params": null }), "model_params"),
        (json!({ "model_params": { "top_k": 3, "top_p": null } }), "top_p"),
    ] {
        let error = patch(body).unwrap_err();
        assert_eq!((error.code, error.status), (Code::Unavailable, 503));
        assert!(error.message.contains(&format!("'{field}'")), "{}", error.message);
    }
    // A category is cleared by its default.
    let sent = patch(json!({ "category": null, "expected_version": 4, "model_params": { "top_k": 3 } })).unwrap();
    assert_eq!((sent.method, sent.path.as_str()), (Method::Patch, "/agents/a"));
    let body = json!({ "category": "general", "expected_version": 4, "model_params": { "top_k": 3 } });
    assert_eq!(sent.body, Some(body));
    assert_eq!(patch(json!({ "name": "b" })).unwrap_err().code, Code::NameImmutable);
}

#[test]
fn questions_go_without_what_the_other_side_does_not_know() {
    let ask = |query: &[(&str, &str)], body: Value| request("test.ask", &asked(&[("name", "a")], query, Some(body)));
    let sent = ask(&[], json!({ "query": "hi", "session": "default", "wait": 3, "key_source": "byok" })).unwrap();
    assert_eq!(sent.body, Some(json!({ "query": "hi", "use_byok": true, "key_source": "byok" })));
    assert_eq!(sent.path, "/agents/a/test/ask");
    // The input of an AG-UI run is a question here as well.
    let run = json!({ "messages": [{ "role": "user", "content": "hi" }], "forwardedProps": { "use_byok": false } });
    assert_eq!(ask(&[], run).unwrap().body, Some(json!({ "query": "hi", "use_byok": false })));
    for refused in [
        ask(&[], json!({ "query": "hi", "session": "mine" })),
        ask(&[("session", "mine")], json!({ "query": "hi" })),
        ask(&[], json!({ "query": "hi", "model": "echo:large" })),
        request("test.end", &asked(&[("name", "a")], &[("session", "mine")], None)),
    ] {
        assert_eq!(refused.unwrap_err().code, Code::Unavailable);
    }
}

#[test]
fn a_decision_is_posted_outside_the_studio() {
    let decide = |body: Value| asked(&[("id", "i-1")], &[], Some(body));
    let yes = decide(json!({ "decision": "approve" }));
    let sent = request("approvals.decide", &yes).unwrap();
    assert_eq!(
        (sent.method, sent.start, sent.path.as_str()),
        (Method::Post, Start::Root, "/api/v1/agents/hitl/respond")
    );
    assert_eq!(sent.body, Some(json!({ "interaction_id": "i-1", "value": true })));
    let view = json_of(answer("approvals.decide", &yes, 200, json!({ "ok": true, "interaction_id": "i-1" })).unwrap());
    assert_eq!((view["id"].as_str(), view["status"].as_str()), (Some("i-1"), Some("approved")));
    let no = decide(json!({ "decision": "reject", "reason": "too much" }));
    assert_eq!(request("approvals.decide", &no).unwrap().body.unwrap()["value"], false);
    let view = json_of(answer("approvals.decide", &no, 200, json!({ "ok": true })).unwrap());
    assert_eq!(view["status"], "rejected");
    assert!(view["reason"].as_str().unwrap().contains("Your reason was not sent"));
    let gone = answer("approvals.decide", &yes, 404, json!({ "error": "Unknown interaction." })).err().unwrap();
    assert_eq!((gone.code, gone.status), (Code::NotFound, 404));
}
