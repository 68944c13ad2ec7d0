//! What every request gets: sign-in, refusals in one form, conditional requests, repeats, limits.

use super::{Web, token};
use crate::binary::Desk;
use contract::ops::ALL;
use reqwest::Method;
use serde_json::json;

fn method(meta: &contract::operation::Meta) -> Method {
    meta.method.as_str().parse().unwrap()
}

#[test]
fn nobody_gets_past_the_door_without_a_token() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let good = token(&desk, "ben", &[]);
    let mut typed = good.clone();
    typed.replace_range(8..9, if &good[8..9] == "0" { "1" } else { "0" });
    for meta in ALL {
        for route in meta.routes {
            let path = route.replace(['{', '}'], "");
            web.send(web.anywhere(method(meta), &format!("/api/v1/astudio{path}"))).refused(401, "unauthorized");
            let answer = web.send(web.request(method(meta), &path, &typed));
            answer.refused(401, "unauthorized");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
    }
    web.send(web.request(Method::GET, "/me", "").header("authorization", "Basic YTpi")).refused(401, "unauthorized");
    assert_eq!(web.get("/me", &good).ok(200)["user_id"], "ben");
    desk.done(&["--as", "ben@demo", "tokens", "revoke", &id_of(&desk)]);
    web.get("/me", &good).refused(401, "unauthorized");
}

fn id_of(desk: &Desk) -> String {
    let list = desk.done(&["--as", "ben@demo", "tokens", "list"]);
    let ours = list["tokens"].as_array().unwrap().iter().find(|token| token["name"] == "http").unwrap();
    crate::binary::text(&ours["id"])
}

#[test]
fn a_limited_token_does_what_it_may() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let (read, run) = (token(&desk, "ben", &["read"]), token(&desk, "ben", &["run"]));
    web.get("/agents", &read).ok(200);
    web.post("/agents", &read, &json!({ "name": "x" })).refused(403, "access_denied");
    web.post("/agents/orders-desk/test/ask", &read, &json!({ "query": "x" })).refused(403, "access_denied");
    web.post("/agents/orders-desk/test/ask", &run, &json!({ "query": "what's up with order 1020?" })).ok(200);
    let tools = token(&desk, "ben", &["manage:tools"]);
    let change = web.request(Method::PATCH, "/agents/orders-desk", &tools).json(&json!({ "description": "x" }));
    web.send(change).refused(403, "access_denied");
    web.post("/tokens", &tools, &json!({ "name": "x", "scopes": ["manage:tools"] })).refused(403, "access_denied");
    web.post("/keys", &tools, &json!({ "provider": "openai", "api_key": "x" })).refused(403, "access_denied");
    web.post("/approvals/x/decision", &run, &json!({ "decision": "approve" })).refused(403, "access_denied");
}

#[test]
fn what_is_wrong_is_said_in_one_form() {
    let desk = Desk::with("[server]\nbody_bytes = 1000\n");
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    web.get("/nope", &ben).refused(404, "route_not_found");
    web.send(web.anywhere(Method::GET, "/")).refused(404, "route_not_found");
    web.send(web.anywhere(Method::GET, "/api/v1/astudio/agents/%ff").bearer_auth(&ben)).refused(404, "route_not_found");
    let wrong = web.send(web.request(Method::PUT, "/agents", &ben));
    wrong.refused(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), "GET, POST");
    web.post("/agents", &ben, &json!({ "name": "x".repeat(2000) })).refused(413, "payload_too_large");
    let create = || web.request(Method::POST, "/agents", &ben);
    web.send(create().body("{}").header("content-type", "text/plain")).refused(415, "unsupported_media_type");
    for broken in ["", "{", "{\"name\":\"a\\u0000\"}", "\u{feff}{}", "{\"name\":1e999}"] {
        let sent = create().body(broken).header("content-type", "application/json");
        web.send(sent).refused(400, "invalid_json");
    }
    web.send(create().json(&json!([]))).refused(400, "invalid_request");
    // The name of a session is looked at where one is used, and after the gates.
    let odd = |path: &str| web.request(Method::GET, path, &ben).header("x-studio-session", "a b");
    web.send(odd("/agents/greeter/test/transcript")).refused(400, "invalid_request");
    web.send(odd("/agents/nobody/test/transcript")).refused(404, "not_found");
    web.send(odd("/me")).ok(200);
    for address in ["/metrics", "/healthz"] {
        web.send(web.anywhere(Method::POST, address)).refused(405, "method_not_allowed");
    }
    web.send(web.anywhere(Method::GET, "/metrics")).refused(401, "unauthorized");
    let answer = web.send(web.request(Method::GET, "/me", &ben).header("x-request-id", "mine-1"));
    assert_eq!((answer.header("x-request-id").as_str(), answer.status), ("mine-1", 200));
    assert_ne!(web.get("/me", &ben).header("x-request-id"), "");
    assert_eq!(answer.header("cache-control"), "private, no-cache");
}

#[test]
fn agents_have_versions_that_requests_can_name() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let (ben, vic) = (token(&desk, "ben", &[]), token(&desk, "vic", &[]));
    let read = web.get("/agents/orders-desk", &ben);
    let tag = read.header("etag");
    assert!(tag.starts_with("\"1-"), "{tag}");
    let same = |tag: &str, token: &str, path: &str| {
        web.send(web.request(Method::GET, path, token).header("if-none-match", tag)).status
    };
    assert_eq!(same(&tag, &ben, "/agents/orders-desk"), 304);
    assert_eq!(same(&tag, &vic, "/agents/orders-desk"), 200, "another's access is another answer");
    let list = web.get("/agents?limit=5", &ben).header("etag");
    assert_eq!(same(&list, &ben, "/agents?limit=5"), 304);
    assert_eq!((same(&list, &ben, "/agents?limit=6"), same(&list, &vic, "/agents?limit=5")), (200, 200));

    let change = |tag: &str, body: serde_json::Value| {
        web.send(web.request(Method::PATCH, "/agents/orders-desk", &ben).header("if-match", tag).json(&body))
    };
    change("\"7-0000000000000000\"", json!({ "description": "x" })).refused(409, "version_conflict");
    change("nonsense", json!({ "description": "x" })).refused(400, "invalid_expected_version");
    change(&tag, json!({ "description": "x", "expected_version": 2 })).refused(400, "invalid_expected_version");
    let changed = change(&tag, json!({ "description": "x" }));
    assert_eq!((changed.status, &changed.body["version"]), (200, &json!(2)), "{changed:?}");
    change(&tag, json!({ "description": "y" })).refused(409, "version_conflict");
    let foreign = web.request(Method::PATCH, "/agents/orders-desk", &vic).header("if-match", "\"7-0\"");
    web.send(foreign.json(&json!({ "description": "z" }))).refused(403, "not_manageable");
    // A tag that is not the record's, or none at all, comes where the contract has the version: after what else is wrong.
    for stale in ["\"7-0\"", "nonsense"] {
        change(stale, json!({ "name": "x" })).refused(422, "name_immutable");
        let broken = web.request(Method::PATCH, "/agents/orders-desk", &ben).header("if-match", stale);
        web.send(broken.header("content-type", "application/json").body("{")).refused(400, "invalid_json");
    }
    let olga = token(&desk, "olga", &[]);
    web.post("/agents", &olga, &json!({ "name": "hers", "llm": "rehearsal:greeter" })).ok(201);
    let own = web.get("/agents/hers", &olga).header("etag");
    let of_hers = |method: Method, tag: &str| {
        web.send(
            web.request(method, "/agents/hers", &olga).header("if-match", tag).json(&json!({ "description": "x" })),
        )
    };
    of_hers(Method::DELETE, "nonsense").refused(400, "invalid_expected_version");
    of_hers(Method::DELETE, "\"7-0\"").refused(409, "version_conflict");
    // The version is right, and the tag is of another record or of somebody else's access.
    of_hers(Method::PATCH, "\"1-0\"").refused(409, "version_conflict");
    desk.done(&["--as", "ada@demo", "members", "set", "olga", "--role", "viewer"]);
    for tag in [own.as_str(), "\"7-0\"", "nonsense"] {
        for method in [Method::PATCH, Method::DELETE] {
            of_hers(method, tag).refused(403, "authoring_denied");
        }
    }
    let shared = web.request(Method::PATCH, "/agents/orders-desk/visibility", &ben).header("if-match", &tag);
    web.send(shared.json(&json!({ "visibility": "tenant" }))).refused(400, "expected_version_unsupported");
    assert_eq!(change(&changed.header("etag"), json!({ "description": "y" })).status, 200);
    assert_eq!(same(&tag, &ben, "/agents/orders-desk"), 200);
    assert_eq!(same(&list, &ben, "/agents?limit=5"), 200, "a list that was read before is not the same any more");
    assert!(web.get("/agents?q=orders-desk", &ben).ok(200)["agents"][0]["description"] == "y");
}

#[test]
fn a_request_that_is_sent_again_is_done_once() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let (ben, ada) = (token(&desk, "ben", &[]), token(&desk, "ada", &[]));
    let create = |token: &str, key: &str, name: &str| {
        let sent = web.request(Method::POST, "/agents", token).header("idempotency-key", key);
        web.send(sent.json(&json!({ "name": name, "llm": "rehearsal:greeter" })))
    };
    let first = create(&ben, "k-1", "once");
    let again = create(&ben, "k-1", "once");
    assert_eq!((first.status, again.status), (201, 201), "{again:?}");
    assert_eq!(first.body, again.body);
    assert_eq!((first.header("idempotent-replayed"), again.header("idempotent-replayed")), ("".into(), "true".into()));
    create(&ben, "k-1", "other").refused(422, "invalid_request");
    let boot = first.header("x-astudio-boot");
    let bound = |boot: &str, name: &str| {
        let sent =
            web.request(Method::POST, "/agents", &ben).header("idempotency-key", name).header("x-astudio-boot", boot);
        web.send(sent.json(&json!({ "name": name })))
    };
    bound("another-run", "restarted").refused(503, "unavailable");
    assert_eq!(bound(&boot, "restarted").status, 201, "the refused one did nothing");
    create(&ben, "k-2", "once").refused(409, "name_taken");
    create(&ada, "k-1", "once").refused(409, "name_taken");
    create(&ben, "", "another").refused(400, "invalid_request");
    let change = || {
        let sent = web.request(Method::PATCH, "/agents/once", &ben).header("idempotency-key", "k-4");
        web.send(sent.json(&json!({ "description": "Said once." })))
    };
    let (one, two) = (change(), change());
    assert_eq!((&one.body["version"], &two.body["version"]), (&json!(2), &json!(2)));
    assert!(!one.header("etag").is_empty() && one.header("etag") == two.header("etag"), "{one:?} {two:?}");
    let streamed = web.request(Method::POST, "/agents/orders-desk/test/ask", &ben).header("idempotency-key", "k-5");
    let streamed = streamed.header("accept", "text/event-stream").json(&json!({ "query": "hello" }));
    web.send(streamed).refused(400, "invalid_request");
    let ask = || {
        let sent = web.request(Method::POST, "/agents/orders-desk/test/ask", &ben).header("idempotency-key", "k-3");
        web.send(sent.header("prefer", "respond-async").json(&json!({ "query": "cancel order 1007", "session": "s" })))
    };
    let (one, two) = (ask().ok(202), ask().ok(202));
    assert_eq!(one["turn"], two["turn"]);
    assert_eq!(desk.wait_pending(1).len(), 1);
}

#[test]
fn an_ask_that_failed_after_its_turn_began_begins_no_other() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    web.post("/agents", &ben, &json!({ "name": "broken", "llm": "rehearsal:no-such-script" })).ok(201);
    let ask = || {
        let sent = web.request(Method::POST, "/agents/broken/test/ask", &ben).header("idempotency-key", "k-1");
        web.send(sent.json(&json!({ "query": "hello", "session": "s" })))
    };
    let (first, again) = (ask(), ask());
    first.refused(502, "query_failed");
    assert!(first.body["details"]["turn"].is_string(), "{first:?}");
    assert_eq!((&first.body, again.header("idempotent-replayed").as_str()), (&again.body, "true"));
    assert_eq!(web.get("/agents/broken/test/sessions", &ben).ok(200)["sessions"][0]["turns"], 1);
}

#[test]
fn nothing_that_is_kept_is_told_to_who_is_not_let_in_any_more() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let olga = token(&desk, "olga", &[]);
    let create = || {
        let sent = web.request(Method::POST, "/agents", &olga).header("idempotency-key", "k-1");
        web.send(sent.json(&json!({ "name": "hers", "llm": "rehearsal:greeter" })))
    };
    create().ok(201);
    desk.done(&["--as", "ada@demo", "members", "set", "olga", "--role", "viewer"]);
    create().refused(403, "authoring_denied");
    desk.done(&["--as", "ada@demo", "users", "edit", "olga", "--active", "false"]);
    create().refused(401, "unauthorized");
    web.send(web.anywhere(Method::GET, "/metrics").bearer_auth(&olga)).refused(401, "unauthorized");
}

#[test]
fn one_who_asks_too_much_is_told_when_to_come_back() {
    let desk = Desk::with("[server]\nrequests_per_second = 1\nburst = 5\n");
    let web = Web::start(&desk, &[]);
    let (ben, ada) = (token(&desk, "ben", &[]), token(&desk, "ada", &[]));
    let refused = (0..20).map(|_| web.get("/me", &ben)).find(|answer| answer.status == 429).expect("a limit");
    refused.refused(429, "rate_limited");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    web.get("/me", &ada).ok(200);
}

#[test]
fn a_plain_host_has_one_token_and_records_of_all() {
    let desk = Desk::new();
    let web = Web::start(&desk, &["--plain-host", "--prefix", "/studio", "--prefix", "/{tenant}/studio"]);
    let token = web.token.clone().unwrap();
    let me = web.get("/me", &token).ok(200);
    assert_eq!((&me["tenant"], &me["enabled"], &me["may_administer"]), (&json!(null), &json!(true), &json!(false)));
    assert_eq!(web.get("/agents", &token).ok(200)["count"], 0, "the demo's agents belong to a tenant");
    let made = web.post("/agents", &token, &json!({ "name": "Everyone", "llm": "rehearsal:greeter" })).ok(201);
    assert_eq!((&made["name"], &made["tenant"]), (&json!("everyone"), &json!(null)));
    assert_eq!(web.get("/agents/everyone", &token).ok(200)["access"], "global");
    let asked = web.post("/agents/everyone/test/ask", &token, &json!({ "query": "hello" })).ok(200);
    assert_eq!(asked["status"], "done");
    let elsewhere = web.anywhere(Method::GET, "/acme/studio/me").bearer_auth(&token);
    web.send(elsewhere).refused(403, "tenant_mismatch");
    web.get("/me", &super::token(&desk, "ben", &[])).refused(401, "unauthorized");
}

#[test]
fn a_tenant_in_the_address_must_be_the_callers() {
    let desk = Desk::new();
    let web = Web::start(&desk, &["--prefix", "/api/v1/{tenant}/astudio", "--prefix", "/api/v1/{tenant}/astudio/"]);
    let ben = token(&desk, "ben", &[]);
    let at = |path: &str| web.send(web.anywhere(Method::GET, path).bearer_auth(&ben));
    at("/api/v1/demo/astudio/agents").ok(200);
    at("/api/v1/local/astudio/agents/orders-desk").refused(403, "tenant_mismatch");
    at("/api/v1/local/astudio/me").refused(403, "tenant_mismatch");
    at("/api/v1/astudio/agents").refused(404, "route_not_found");
    let tools = at("/api/v1/tools/catalog").ok(200);
    assert_eq!(tools, at("/api/v1/demo/astudio/catalog/tools").ok(200));
}

#[test]
fn the_document_and_health_need_no_sign_in() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let at = |path: &str| web.send(web.anywhere(Method::GET, path));
    assert_eq!(at("/openapi.json").ok(200)["openapi"], "3.1.0");
    assert_eq!(at("/healthz").ok(200)["status"], "ok");
    assert_eq!(at("/readyz").ok(200)["status"], "ready");
    let ben = token(&desk, "ben", &[]);
    web.get("/agents", &ben).ok(200);
    let metrics = web.send(web.anywhere(Method::GET, "/metrics").bearer_auth(&ben)).body;
    let line = "astudio_requests_total{operation=\"agents.list\",status=\"200\"} 1";
    assert!(metrics.as_str().unwrap().contains(line), "{metrics}");
}
