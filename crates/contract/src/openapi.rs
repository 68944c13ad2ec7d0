//! The document of the HTTP interface, OpenAPI 3.1, made from the declarations and from nothing else.
//!
//! Only under the feature `schema`: the document is committed as `docs/openapi.json`, and what is shipped carries that text.

use crate::operation::{Authoring, Effect, Meta, RoleNeed, TenantNeed, meta};
use crate::schema::{Parameter, Tidy, generator};
use crate::wire::{Body, Method, Query, Reply};
use crate::{Code, Operation, StudioError, ops};
use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Where the operations are served when nothing else is configured.
pub const PREFIX: &str = "/api/v1/astudio";

/// The groups of operations: the first part of an operation's id.
const TAGS: [(&str, &str); 14] = [
    ("me", "Who the caller is."),
    ("agents", "Agents: list, read, create, change, share, delete."),
    ("test", "The test chat with an agent."),
    ("turns", "Turns of a test chat: state, events, resume, interrupt, settle."),
    ("approvals", "Calls that wait for a person: list, read, decide, withdraw, ask again."),
    ("tenants", "Tenants, for administrators of the platform."),
    ("users", "Users of the caller's tenant, for its administrators."),
    ("members", "Memberships of the caller's tenant, for its administrators."),
    ("tokens", "Personal tokens."),
    ("catalog", "What agents can be made of."),
    ("keys", "Provider keys of a person."),
    ("tools", "Tools, run directly."),
    ("audit", "The journal of the caller's tenant, for its administrators."),
    ("events", "Changes, as they happen."),
];

/// Operations that share method and route with another: what the request has to say to mean them.
const CHOSEN_BY: [(&str, &str); 2] =
    [("test.stream", "Accept: text/event-stream"), ("test.defer", "Prefer: respond-async")];

/// Parameters of a shared query that an operation refuses.
const REFUSED: [(&str, &str); 2] = [("audit.list", "q"), ("audit.list", "sort")];

/// Refusals that every operation may answer.
const ALWAYS: [(Code, u16); 9] = [
    (Code::InvalidRequest, 400),
    (Code::Unauthorized, 401),
    (Code::TenantMismatch, 403),
    (Code::RouteNotFound, 404),
    (Code::PayloadTooLarge, 413),
    (Code::RateLimited, 429),
    (Code::InternalError, 500),
    (Code::StudioStorageUnavailable, 503),
    (Code::Unavailable, 503),
];

/// Headers that some operations look at.
const HEADERS: [(&str, &str); 6] = [
    ("Idempotency-Key", "Repeats with the same key and request are answered alike, and done once."),
    ("If-None-Match", "The ETag that the caller has: 304 when it still stands."),
    ("If-Match", "The ETag that the caller read; means `expected_version`."),
    ("Last-Event-ID", "The id of the last event that was seen; the stream continues after it."),
    ("X-Studio-Session", "Name of the test session, where body and query name none."),
    ("Prefer", "Come back at once; the turn goes on."),
];

/// An operation with its shapes.
struct Described {
    meta: Meta,
    path: Schema,
    query: Vec<Parameter>,
    body: Option<Schema>,
    reply: Schema,
}

fn described<O: Operation>(sent: &mut SchemaGenerator, got: &mut SchemaGenerator) -> Described {
    Described {
        meta: meta::<O>(),
        path: O::Path::json_schema(sent),
        query: O::Query::parameters(),
        body: O::Body::schema(sent),
        reply: O::Reply::schema(got),
    }
}

macro_rules! all {
    ($($group:ident :: $name:ident),+ $(,)?) => {
        fn all(sent: &mut SchemaGenerator, got: &mut SchemaGenerator) -> Vec<Described> {
            vec![$(described::<ops::$group::$name>(sent, got)),+]
        }
    };
}
crate::for_each_operation!(all);

/// The document as it is committed: keys sorted, indented, with a newline at the end, the same for every build.
pub fn text() -> String {
    format!("{:#}\n", sorted(document()))
}

/// The document.
pub fn document() -> Value {
    let (mut sent, mut got) = (generator(true), generator(false));
    let operations = all(&mut sent, &mut got);
    got.subschema_for::<StudioError>();
    // Operations that share method and route, the first of which names them all.
    let mut shared: BTreeMap<(&str, String), Vec<&Described>> = BTreeMap::new();
    for operation in &operations {
        let verb = operation.meta.method.as_str().to_lowercase();
        for route in routes(&operation.meta) {
            shared.entry((route, verb.clone())).or_default().push(operation);
        }
    }
    let mut refusals = BTreeMap::new();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for ((route, verb), operations) in shared {
        paths.entry(route).or_default().insert(verb, item(route, &operations, &mut refusals));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "astudio",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
            "description": "LLM agents of many tenants: their records, test chats, and the approvals without which no tool writes.",
        },
        "servers": [{ "url": PREFIX }],
        "security": [{ "token": [] }],
        "tags": TAGS.map(|(name, about)| json!({ "name": name, "description": about })),
        "paths": paths,
        "components": {
            "schemas": schemas(&mut sent, &mut got),
            "responses": refusals,
            "parameters": HEADERS.map(|(name, about)| (name, header(name, about))).into_iter().collect::<BTreeMap<_, _>>(),
            "headers": headers(),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "A personal token (tsf_…)." },
            },
        },
    })
}

/// What both generators named. A type that is sent and got has one shape.
fn schemas(sent: &mut SchemaGenerator, got: &mut SchemaGenerator) -> BTreeMap<String, Value> {
    let mut schemas: BTreeMap<String, (bool, Value)> =
        got.take_definitions(false).into_iter().map(|(name, schema)| (name, (false, schema))).collect();
    for (name, schema) in sent.take_definitions(false) {
        if let Some((_, other)) = schemas.insert(name.clone(), (true, schema.clone())) {
            assert_eq!(other, schema, "'{name}' is sent in another shape than it is got");
        }
    }
    schemas.into_iter().map(|(name, (sent, schema))| (name, tidy(sent, schema))).collect()
}

fn tidy(sent: bool, schema: Value) -> Value {
    let mut schema = Schema::try_from(schema).unwrap_or_default();
    Tidy { sent }.transform(&mut schema);
    schema.to_value()
}

/// Routes on which an operation can succeed. Others, with parameters more or fewer, are there to refuse by name.
fn routes(meta: &Meta) -> Vec<&'static str> {
    let same = |route: &&&str| names(route) == names(meta.routes[0]);
    meta.routes.iter().filter(same).copied().collect()
}

/// The parameters of a route.
fn names(route: &str) -> Vec<&str> {
    route.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
}

/// What a method does on a route. Refusals are collected, for many operations share them.
fn item(route: &str, operations: &[&Described], refusals: &mut BTreeMap<String, Value>) -> Value {
    let first = operations[0];
    let meta = &first.meta;
    let at = routes(meta).iter().position(|other| *other == route).unwrap_or(0);
    let mut item = json!({
        "operationId": if at == 0 { meta.id.to_owned() } else { format!("{}.{}", meta.id, at + 1) },
        "summary": meta.about,
        "tags": [meta.id.split('.').next()],
        "parameters": parameters(operations),
        "responses": answers(operations),
    });
    let others: Vec<String> =
        operations[1..].iter().map(|other| format!("`{}`: {}", chosen_by(other), other.meta.about)).collect();
    if !others.is_empty() {
        item["description"] = format!("With another header another operation. {}", others.join(" ")).into();
    }
    if let Some(body) = &first.body {
        let schema = tidy(true, body.clone().to_value());
        item["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    for (status, codes) in refused(operations) {
        let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let name = format!("{status}.{}", codes.join("."));
        item["responses"][status.to_string()] = json!({ "$ref": format!("#/components/responses/{name}") });
        refusals.entry(name).or_insert_with(|| refusal(status, &codes));
    }
    item
}

/// What a request has to say to mean an operation that shares its method and route.
fn chosen_by(operation: &Described) -> &'static str {
    let chosen = CHOSEN_BY.iter().find(|(id, _)| *id == operation.meta.id);
    chosen.map(|(_, how)| *how).expect("operations that share a route are told apart by a header")
}

fn header(name: &str, about: &str) -> Value {
    let schema = match name {
        "Idempotency-Key" => json!({ "type": "string", "pattern": "^[!-~]{1,255}$" }),
        "If-Match" => json!({ "type": "string", "minLength": 1, "pattern": r#"^(\*|"-?[0-9]{1,18}-[0-9a-f]{16}")$"# }),
        "Prefer" => json!({ "type": "string", "enum": ["respond-async"] }),
        "X-Studio-Session" => json!({ "type": "string", "pattern": crate::schema::SESSION }),
        _ => json!({ "type": "string" }),
    };
    json!({ "name": name, "in": "header", "required": false, "description": about, "schema": schema })
}

/// Whether an operation looks at a header of [`HEADERS`].
fn reads(operation: &Described, header: &str) -> bool {
    let Meta { id, method, streams, .. } = operation.meta;
    match header {
        "Idempotency-Key" => method != Method::Get && !streams,
        "If-None-Match" => ["agents.get", "agents.list"].contains(&id),
        "If-Match" => ["agents.patch", "agents.delete"].contains(&id),
        "Last-Event-ID" => streams,
        "X-Studio-Session" => id.starts_with("test."),
        "Prefer" => id == "test.defer",
        _ => false,
    }
}

/// Whether the answer has a tag.
fn is_tagged(id: &str) -> bool {
    ["agents.get", "agents.list", "agents.patch", "agents.visibility"].contains(&id)
}

fn parameters(operations: &[&Described]) -> Vec<Value> {
    let first = operations[0];
    let path = first.path.as_value();
    let mut list: Vec<Value> = names(first.meta.routes[0])
        .into_iter()
        .map(|name| {
            let mut schema = tidy(true, path["properties"][name].clone());
            let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            schema["type"] = "string".into();
            schema["minLength"] = 1.into();
            json!({ "name": name, "in": "path", "required": true, "description": about, "schema": schema })
        })
        .collect();
    let takes = |parameter: &&Parameter| !REFUSED.contains(&(first.meta.id, parameter.name));
    list.extend(first.query.iter().filter(takes).map(|Parameter { name, about, schema }| {
        json!({ "name": name, "in": "query", "required": false, "description": about, "schema": schema })
    }));
    let read = |(name, _): &(&str, &str)| operations.iter().any(|operation| reads(operation, name));
    let reference = |(name, _): (&str, &str)| json!({ "$ref": format!("#/components/parameters/{name}") });
    list.extend(HEADERS.into_iter().filter(read).map(reference));
    list
}

/// The refusals by status: those of the gates, then the operations' own.
fn refused(operations: &[&Described]) -> BTreeMap<u16, BTreeSet<Code>> {
    let mut by_status: BTreeMap<u16, BTreeSet<Code>> = BTreeMap::new();
    for Described { meta, body, .. } in operations {
        let gates = &meta.gates;
        let shut = [
            (gates.studio, 404, Code::StudioDisabled),
            (gates.tenant == TenantNeed::Required, 422, Code::TenantRequired),
            (meta.effect != Effect::Read, 403, Code::AccessDenied),
            (gates.role != RoleNeed::None, 403, Code::AdminRequired),
            (gates.pbac.is_some(), 403, Code::PbacDenied),
            (gates.authoring != Authoring::Never, 403, Code::AuthoringDenied),
            // A body that is not looked at may be of any type.
            (body.is_some(), 415, Code::UnsupportedMediaType),
            (body.is_some(), 408, Code::InvalidRequest),
            // The key of another request.
            (meta.method != Method::Get, 422, Code::InvalidRequest),
        ];
        let gates = shut.into_iter().filter_map(|(shut, status, code)| shut.then_some((code, status)));
        for (code, status) in ALWAYS.into_iter().chain(gates).chain(meta.refusals.iter().copied()) {
            by_status.entry(status).or_default().insert(code);
        }
    }
    by_status
}

/// The successes.
fn answers(operations: &[&Described]) -> Value {
    let mut responses = json!({});
    for operation in operations {
        let mut schema = tidy(false, operation.reply.clone().to_value());
        if operation.meta.id == "test.stream" {
            schema = ag_ui();
        }
        let (media, schema, about) = if operation.meta.streams {
            // OpenAPI 3.1 describes a body, not its events; each one's data is a text with JSON in it.
            let data = json!({ "type": "string", "contentMediaType": "application/json", "contentSchema": schema });
            ("text/event-stream", data, "Events as they happen; the data of each is JSON in the given shape.")
        } else {
            ("application/json", schema, if operation.meta.ok == 202 { "It has begun." } else { "It is done." })
        };
        let mut headers = json!({ "x-request-id": { "$ref": "#/components/headers/x-request-id" } });
        if is_tagged(operation.meta.id) {
            headers["etag"] = json!({ "$ref": "#/components/headers/etag" });
        }
        if reads(operation, "If-None-Match") {
            responses["304"] = json!({ "description": "It is still as the caller has it.", "headers": headers });
        }
        let answer = &mut responses[operation.meta.ok.to_string()];
        if answer.is_null() {
            *answer = json!({ "description": about, "headers": headers, "content": {} });
        }
        answer["content"][media] = json!({ "schema": schema });
    }
    responses
}

/// An event of an ask over HTTP, which is a run of the AG-UI protocol.
fn ag_ui() -> Value {
    let kinds = [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "CUSTOM",
        "RUN_FINISHED",
        "RUN_ERROR",
    ];
    json!({ "type": "object", "properties": { "type": { "enum": kinds } }, "required": ["type"] })
}

fn refusal(status: u16, codes: &[&str]) -> Value {
    let mut headers = json!({ "x-request-id": { "$ref": "#/components/headers/x-request-id" } });
    if status == 429 {
        headers["retry-after"] = json!({ "$ref": "#/components/headers/retry-after" });
    }
    json!({
        "description": format!("Refused: {}.", codes.join(", ")),
        "headers": headers,
        "content": { "application/json": { "schema": {
            "$ref": "#/components/schemas/StudioError",
            "properties": { "code": { "enum": codes } },
        } } },
    })
}

fn headers() -> Value {
    json!({
        "x-request-id": { "description": "Names the request in logs.", "schema": { "type": "string" } },
        "etag": { "description": "What the caller sees now: of one agent, or of a list.", "schema": { "type": "string" } },
        "retry-after": { "description": "Seconds after which to try again.", "schema": { "type": "integer", "minimum": 0 } },
    })
}

/// The same value with sorted keys, however maps are kept in this build.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let keys: BTreeMap<String, Value> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            keys.into_iter().collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_told() {
        let told: BTreeSet<&str> = TAGS.iter().map(|(name, _)| *name).collect();
        let there: BTreeSet<&str> = ops::ALL.iter().filter_map(|meta| meta.id.split('.').next()).collect();
        assert_eq!(told, there);
    }
}
