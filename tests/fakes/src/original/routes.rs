//! Which request gets which answer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};

use super::agents::{self, Asked};
use super::state::{Person, Reply, State};
use super::{PASSWORD, PREFIX, SLOW_MS, SLOWLY, Seen};

/// Providers whose keys can be stored.
const PROVIDERS: [&str; 2] = ["anthropic", "echo"];

pub(super) async fn handle(
    state: Arc<Mutex<State>>,
    request: axum::extract::Request,
) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let json: Option<Value> = serde_json::from_slice(&bytes).ok();
    if json.as_ref().is_some_and(|body| body["query"] == SLOWLY) {
        tokio::time::sleep(Duration::from_millis(SLOW_MS)).await;
    }
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let method = parts.method.as_str();
    state.seen.push(Seen {
        method: method.to_owned(),
        path: parts.uri.to_string(),
        body: json.clone().unwrap_or_default(),
    });
    let token = parts.headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let person = token.and_then(|token| state.people.iter().find(|person| person.token == token)).cloned();
    let path = parts.uri.path();
    if path == "/api/v1/login" {
        return Ok(login(&state, method, json.as_ref()).into_response());
    }
    let Some(person) = person else {
        return Ok(Reply::text(401, "401: Unauthorized").into_response());
    };
    let query = parts.uri.query().unwrap_or_default();
    let asked = Asked { method, query, json: json.as_ref(), person: &person };
    Ok(route(&mut state, path, &asked).into_response())
}

fn login(state: &State, method: &str, json: Option<&Value>) -> Reply {
    if method != "POST" {
        return not_allowed();
    }
    let text = |key: &str| json.and_then(|body| body.get(key)).and_then(Value::as_str).unwrap_or_default();
    match state.people.iter().find(|person| person.user == text("username") && text("password") == PASSWORD) {
        Some(person) => Reply(200, json!({ "token": person.token, "user_id": person.user })),
        None => Reply::text(401, "401: Unauthorized"),
    }
}

fn route(state: &mut State, path: &str, asked: &Asked<'_>) -> Reply {
    if path == "/api/v1/agents/hitl/respond" {
        return respond(state, asked);
    }
    let below = path.strip_prefix(PREFIX).unwrap_or_default();
    let segments: Vec<String> = below.split('/').skip(1).map(decoded).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (segments.as_slice(), asked.method) {
        (["me"], "GET") => Reply(200, me(asked.person)),
        (["agents"], "GET") => agents::list(state, asked),
        (["agents"], "POST") => agents::create(state, asked),
        (["agents", _], "POST") => {
            Reply::no(400, "invalid_route", "Use POST /astudio/agents (no name in the URL) to create.")
        }
        (["agents", name], "GET") => agents::get(state, name, asked),
        (["agents", name], "PATCH") => agents::patch(state, name, asked),
        (["agents", name], "DELETE") => agents::delete(state, name, asked),
        (["agents", name, "reload"], "POST") => agents::reload(state, name, asked),
        (["agents", name, "visibility"], "PATCH") => agents::visibility(state, name, asked),
        (["agents", name, "test"] | ["agents", name, "test", "ask"], "POST") => agents::ask(state, name, asked),
        (["agents", name, "test"] | ["agents", name, "test", "ask"], "DELETE") => agents::end(state, name, asked),
        (["catalog", kind], "GET") => catalog(kind),
        (["keys"] | ["keys", _], "GET") => Reply(200, keys(state, asked.person)),
        (["keys"], "POST") => store_key(state, asked),
        (["keys", provider], "DELETE") => delete_key(state, provider, asked),
        (["keys"], "DELETE") => Reply::no(400, "missing_provider", "Provider is required."),
        (["tools", slug, "execute"], "POST") => execute(slug, asked),
        (
            ["me" | "agents" | "keys"]
            | ["agents" | "keys" | "catalog", _]
            | ["agents", _, "reload" | "visibility" | "test"]
            | ["agents", _, "test", "ask"]
            | ["tools", _, "execute"],
            _,
        ) => not_allowed(),
        _ => Reply::text(404, "404: Not Found"),
    }
}

fn not_allowed() -> Reply {
    Reply::text(405, "405: Method Not Allowed")
}

fn me(person: &Person) -> Value {
    json!({
        "user_id": person.user, "tenant": "acme", "may_author": person.may_author, "may_administer": false,
        "enabled": true, "is_superuser": person.superuser,
    })
}

fn respond(state: &mut State, asked: &Asked<'_>) -> Reply {
    if asked.method != "POST" {
        return not_allowed();
    }
    let Some(id) = asked.json.and_then(|body| body["interaction_id"].as_str()) else {
        return Reply(400, json!({ "error": "interaction_id is required" }));
    };
    let value = asked.json.map(|body| body["value"].clone());
    match state.questions.get_mut(id) {
        Some(answer @ None) => {
            *answer = value;
            Reply(200, json!({ "ok": true, "interaction_id": id }))
        }
        _ => Reply(404, json!({ "error": "Unknown interaction." })),
    }
}

fn catalog(kind: &str) -> Reply {
    match kind {
        "llm-clients" => Reply(
            200,
            json!([{
                "provider": "echo", "class_name": "EchoClient", "lazy": false, "available": true, "error": null,
                "default_model": "small", "models": ["small", "large"], "deprecated_models": [], "credentials": ["server"],
            }]),
        ),
        "base-classes" => Reply(
            200,
            json!([{
                "name": "BasicBot", "module": "parrot.bots.basic", "docstring": "A bot.", "params": {}, "lazy": false,
                "available": true, "allowed": true,
            }]),
        ),
        "tools" => Reply(
            200,
            json!([{
                "slug": "hx_echo", "dotted_path": null, "source": "host", "access": "read", "available": true,
                "description": "Echo a text back.",
            }, {
                "slug": "hx_ledger", "dotted_path": null, "source": "host",
                "access": { "read": ["list_entries"], "write": ["add_entry"] }, "available": true,
                "description": "Reads and writes ledger rows of the caller's tenant.",
            }]),
        ),
        "vector-stores" => Reply(200, json!([{ "slug": "postgres", "class_name": "PgVectorStore" }])),
        "model-params" => {
            let bounds = |low: f64, high: f64| json!({ "anyOf": [{ "minimum": low, "maximum": high, "type": "number" }, { "type": "null" }] });
            Reply(200, json!({ "type": "object", "properties": { "temperature": bounds(0.0, 2.0) } }))
        }
        _ => Reply::no(404, "not_found", format!("Unknown catalog '{kind}'.")),
    }
}

fn keys(state: &State, person: &Person) -> Value {
    let own = state.keys.iter().filter(|((user, _), _)| user == person.user);
    let rows: Vec<Value> = own
        .map(|((_, provider), masked)| {
            json!({ "provider": provider, "masked": masked, "created_at": "2026-02-03T04:05:06.000007+00:00" })
        })
        .collect();
    json!({ "count": rows.len(), "keys": rows })
}

fn store_key(state: &mut State, asked: &Asked<'_>) -> Reply {
    let Some(body) = asked.json else {
        return Reply::no(400, "invalid_json", "Invalid JSON body.");
    };
    let (provider, key) = match (&body["provider"], &body["api_key"]) {
        (Value::String(provider), Value::String(key)) => (provider.to_lowercase(), key),
        (Value::String(_), other) => {
            return Reply::schema(
                400,
                "KeyStoreRequest",
                "api_key",
                "Input should be a valid string",
                "string_type",
                other,
            );
        }
        _ => return Reply::schema(400, "KeyStoreRequest", "provider", "Field required", "missing", body),
    };
    if !PROVIDERS.contains(&provider.as_str()) {
        return Reply::no(400, "invalid_provider", format!("Unsupported provider '{provider}'."));
    }
    let chars: Vec<char> = key.chars().collect();
    let masked = match chars.len() {
        0..=7 => "*".repeat(chars.len()),
        len => chars[..3].iter().chain(&['…']).chain(&chars[len - 4..]).collect(),
    };
    state.keys.insert((asked.person.user.to_owned(), provider.clone()), masked.clone());
    Reply(201, json!({ "provider": provider, "masked": masked }))
}

fn delete_key(state: &mut State, provider: &str, asked: &Asked<'_>) -> Reply {
    let provider = provider.to_lowercase();
    state.keys.remove(&(asked.person.user.to_owned(), provider.clone()));
    Reply(200, json!({ "provider": provider, "deleted": true }))
}

fn execute(slug: &str, asked: &Asked<'_>) -> Reply {
    if !asked.person.may_author {
        return Reply::no(403, "authoring_denied", "Authoring is not allowed.");
    }
    if slug != "hx_echo" {
        return Reply::no(404, "not_found", format!("Unknown tool '{slug}'."));
    }
    let Some(body) = asked.json else {
        return Reply::no(400, "invalid_json", "Invalid JSON body.");
    };
    let times = usize::try_from(body["args"]["times"].as_u64().unwrap_or(1)).unwrap_or(1);
    let echo = body["args"]["text"].as_str().unwrap_or_default().repeat(times.min(9));
    Reply(
        200,
        json!({
            "success": true, "status": "success", "result": { "echo": echo }, "error": null,
            "metadata": { "tool_name": slug, "execution_time": "2026-02-03T04:05:06.000007" },
            "timestamp": "2026-02-03T04:05:06.000007", "files": [], "images": [], "voice_text": null,
            "display_data": null,
        }),
    )
}

/// A segment without its percent signs.
fn decoded(segment: &str) -> String {
    let bytes = segment.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| segment.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
