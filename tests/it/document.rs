//! The document of the HTTP interface is the one that the declarations make, and sound.

use contract::openapi;
use rules::model_params::{Constraint, MODEL_PARAMS};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Methods with their operations, by path.
fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, verbs)| verbs.as_object().unwrap().iter().map(move |(verb, o)| (&**path, &**verb, o)))
}

/// What a reference stands for; anything else stands for itself.
pub fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(at) => document.pointer(at.strip_prefix('#').unwrap()).unwrap_or_else(|| panic!("nothing is at {at}")),
        None => value,
    }
}

fn walk(value: &Value, look: &mut impl FnMut(&Value)) {
    look(value);
    match value {
        Value::Object(map) => map.values().for_each(|value| walk(value, look)),
        Value::Array(items) => items.iter().for_each(|value| walk(value, look)),
        _ => {}
    }
}

#[test]
fn the_committed_document_is_what_the_declarations_make() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");
    let made = openapi::text();
    if std::env::var_os("ASTUDIO_RENEW").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == made, "docs/openapi.json is stale. Renew it: scripts/openapi");
    assert_eq!(openapi::text(), made);
}

#[test]
fn the_document_holds_every_operation_once() {
    let document = openapi::document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids: Vec<&str> = operations(&document).map(|(.., o)| o["operationId"].as_str().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "two operations have one operationId");
    let tags: BTreeSet<&str> = document["tags"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    for (path, verb, operation) in operations(&document) {
        let tag = operation["tags"][0].as_str().unwrap();
        assert!(tags.contains(tag) && operation["tags"].as_array().unwrap().len() == 1, "{verb} {path}: {tag}");
        assert!(operation["summary"].as_str().is_some_and(|s| s.ends_with('.')), "{verb} {path}");
    }
    for meta in contract::ops::ALL {
        let item = &document["paths"][meta.routes[0]][meta.method.as_str().to_lowercase()];
        let shares = ["test.stream", "test.defer"].contains(&meta.id);
        assert!(shares || item["operationId"] == meta.id, "{}", meta.id);
        let success = &item["responses"][meta.ok.to_string()];
        assert!(success["content"].is_object(), "{} {success}", meta.id);
        for (code, status) in meta.refusals {
            let refusal = resolved(&document, &item["responses"][status.to_string()]);
            let codes = &refusal["content"]["application/json"]["schema"]["properties"]["code"]["enum"];
            assert!(codes.as_array().unwrap().contains(&json!(code)), "{} {code}", meta.id);
        }
    }
    let ask = &document["paths"]["/agents/{name}/test/ask"]["post"]["responses"];
    assert!(ask["200"]["content"]["application/json"].is_object() && ask["202"].is_object(), "{ask}");
    assert!(ask["200"]["content"]["text/event-stream"].is_object(), "{ask}");
}

#[test]
fn every_reference_resolves_and_every_parameter_is_declared() {
    let document = openapi::document();
    let mut used = BTreeSet::new();
    walk(&document, &mut |value| {
        if value["$ref"].is_string() {
            resolved(&document, value);
            used.insert(value["$ref"].as_str().unwrap().to_owned());
        }
    });
    for kind in ["schemas", "responses", "parameters", "headers"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(used.contains(&format!("#/components/{kind}/{name}")), "nothing uses {kind}/{name}");
        }
    }
    for (path, verb, operation) in operations(&document) {
        let parameters = operation["parameters"].as_array().unwrap();
        let parameters: Vec<&Value> = parameters.iter().map(|p| resolved(&document, p)).collect();
        let named: BTreeSet<(&str, &str)> =
            parameters.iter().map(|p| (p["in"].as_str().unwrap(), p["name"].as_str().unwrap())).collect();
        assert_eq!(named.len(), parameters.len(), "{verb} {path} has a parameter twice");
        for parameter in &parameters {
            let schema = parameter["schema"].is_object() && parameter["description"].is_string();
            assert!(schema && parameter["required"] == (parameter["in"] == "path"), "{verb} {path}: {parameter}");
        }
        let in_path: BTreeSet<&str> =
            named.iter().filter(|(place, _)| *place == "path").map(|(_, name)| *name).collect();
        let in_route: BTreeSet<&str> = path.split('/').filter_map(|p| p.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(in_path, in_route, "{verb} {path}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolved(&document, response);
            assert!(status.parse::<u16>().is_ok_and(|s| (200..600).contains(&s)), "{verb} {path}: {status}");
            assert!(response["description"].is_string(), "{verb} {path} {status}");
            assert!(response["headers"]["x-request-id"].is_object(), "{verb} {path} {status}");
        }
        let body = operation.get("requestBody");
        assert!(body.is_none() || !["get", "delete"].contains(&verb), "{verb} {path} has a body");
    }
}

#[test]
fn every_schema_is_json_schema_and_the_bounds_are_those_that_are_checked() {
    let document = openapi::document();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{name}: {schema}");
    }
    for name in ["AgentConfig", "ModelParamsPatch"] {
        let properties = &document["components"]["schemas"][name]["properties"];
        for bounds in MODEL_PARAMS {
            let schema = &properties[bounds.field];
            assert_eq!(schema["type"], json!([if bounds.integer { "integer" } else { "number" }, "null"]));
            for (constraint, limit) in bounds.limits {
                // More than nothing is at least one for whole numbers.
                let (key, limit) = match constraint {
                    Constraint::Gt if bounds.integer => ("minimum", limit + 1),
                    Constraint::Gt => ("exclusiveMinimum", *limit),
                    Constraint::Ge => ("minimum", *limit),
                    Constraint::Lt => ("exclusiveMaximum", *limit),
                    Constraint::Le => ("maximum", *limit),
                    Constraint::Type => continue,
                };
                assert_eq!(schema[key].as_f64(), Some(f64::from(limit)), "{name}.{} {key}", bounds.field);
            }
        }
    }
    let scopes = &document["components"]["schemas"]["TokenCreate"]["properties"]["scopes"]["items"]["enum"];
    assert_eq!(*scopes, json!(engine::tokens::SCOPES));
}
