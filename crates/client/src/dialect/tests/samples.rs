//! The recorded answers.

use super::*;
use std::collections::BTreeSet;

struct Sample {
    method: String,
    path: String,
    body: Value,
    status: u16,
    response: Value,
}

fn samples() -> Vec<Sample> {
    let read = |line: &str| {
        // Ids and times were replaced when the answers were recorded.
        let line = line
            .replace("<timestamp+00:00>", "2026-01-01T00:00:00.000001+00:00")
            .replace("<timestamp-no-zone>", "2026-01-01T00:00:00.000001");
        let sample: Value = serde_json::from_str(&line).unwrap();
        let text = |key: &str| sample[key].as_str().unwrap().to_owned();
        Sample {
            method: text("method"),
            path: text("path"),
            body: sample["body"].clone(),
            status: u16::try_from(sample["status"].as_u64().unwrap()).unwrap(),
            response: sample["response"].clone(),
        }
    };
    fakes::original::SAMPLES.lines().map(read).collect()
}

/// The operation of ours that the sample is of, and what was asked.
fn ours(sample: &Sample) -> Option<(&'static str, WireRequest)> {
    let (path, query) = sample.path.split_once('?').unwrap_or((&sample.path, ""));
    let given: Vec<&str> = path.split('/').collect();
    let named = |segment: &&str| segment.starts_with('{');
    for meta in ops::ALL.iter().filter(|meta| meta.method.as_str() == sample.method) {
        for route in meta.routes {
            let segments: Vec<&str> = route.split('/').collect();
            let fits = |(segment, given): (&&str, &&str)| named(segment) || segment == given;
            if segments.len() != given.len() || !segments.iter().zip(&given).all(fits) {
                continue;
            }
            let named = segments.iter().zip(&given).filter(|(segment, _)| named(segment));
            let path: Vec<(&str, &str)> =
                named.map(|(segment, given)| (segment.trim_matches(['{', '}']), *given)).collect();
            let query: Vec<(&str, &str)> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
            return Some((meta.id, asked(&path, &query, Some(sample.body.clone()))));
        }
    }
    None
}

#[test]
fn every_success_reads_as_our_type() {
    let mut met = BTreeSet::new();
    for sample in samples().iter().filter(|sample| sample.status < 300) {
        let Some((id, asked)) = ours(sample) else { continue };
        let told = format!("{} {}", sample.method, sample.path);
        let reply = answer(id, &asked, sample.status, sample.response.clone());
        decode(id, reply.unwrap_or_else(|error| panic!("{told}: {error:?}"))).unwrap_or_else(|e| panic!("{told}: {e}"));
        met.insert(id);
    }
    // What was recorded is what this test is worth.
    let expected = [
        "agents.create",
        "agents.delete",
        "agents.get",
        "agents.list",
        "agents.patch",
        "agents.reload",
        "agents.visibility",
        "catalog.get",
        "keys.delete",
        "keys.list",
        "keys.store",
        "me.get",
        "test.ask",
        "test.end",
        "tools.execute",
    ];
    assert_eq!(met.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn values_pass_as_they_are() {
    let reply = |method: &str, path: &str| {
        let all = samples();
        let sample = all.iter().find(|s| s.method == method && s.path == path && s.status < 300).unwrap();
        let (id, asked) = ours(sample).unwrap();
        (json_of(answer(id, &asked, sample.status, sample.response.clone()).unwrap()), sample.response.clone())
    };
    for (method, path) in [
        ("GET", "/me"),
        ("GET", "/agents"),
        ("POST", "/agents"),
        ("GET", "/agents/top-model-params"),
        ("PATCH", "/agents/alpha"),
        ("PATCH", "/agents/alpha/visibility"),
        ("POST", "/agents/alpha/reload"),
        ("DELETE", "/agents/bare?expected_version=1"),
        ("GET", "/keys"),
        ("POST", "/keys"),
        ("DELETE", "/keys/Echo"),
        ("DELETE", "/agents/chat/test/ask"),
        ("GET", "/catalog/tools"),
        ("GET", "/catalog/model-params"),
    ] {
        let all = samples();
        // The address of the end of a session differs in its last part, and the rest is the same.
        if path.ends_with("/test/ask") {
            let sample = all.iter().find(|s| s.method == method && s.path == path).unwrap();
            let end = asked(&[("name", "chat")], &[], None);
            assert_eq!(json_of(answer("test.end", &end, 200, sample.response.clone()).unwrap()), sample.response);
            continue;
        }
        let (ours, theirs) = reply(method, path);
        assert_eq!(ours, theirs, "{method} {path}");
    }
    let (answer, theirs) = reply("POST", "/agents/chat/test/ask");
    for key in ["agent_name", "query", "response", "byok", "key_source"] {
        assert_eq!(answer[key], theirs[key], "{key}");
    }
    assert_eq!(json!([answer["session"], answer["status"], answer["stale"]]), json!(["default", "done", false]));
    assert_eq!(answer["metadata"], json!({ "not_reported": ["agent_version", "usage", "tool_calls"] }));
    let (result, theirs) = reply("POST", "/tools/hx_echo/execute");
    assert_eq!(result["result"], theirs["result"]);
    assert_eq!(result["timestamp"], "2026-01-01T00:00:00.000001+00:00");
}

#[test]
fn every_refusal_reads_with_its_code_and_status() {
    let (mut of_ours, mut plain) = (0, 0);
    for sample in samples().iter().filter(|sample| sample.status >= 400) {
        let told = format!("{} {} {}", sample.method, sample.path, sample.response);
        let error = match ours(sample) {
            Some((id, asked)) => {
                of_ours += 1;
                answer(id, &asked, sample.status, sample.response.clone()).err().unwrap()
            }
            None => errors::refusal(sample.status, &sample.response),
        };
        let expected = match (&sample.response, sample.status) {
            (Value::String(_), status) => {
                plain += 1;
                match status {
                    400 => (Code::Unauthorized, 401),
                    403 => (Code::NotOwner, 403),
                    405 => (Code::MethodNotAllowed, 405),
                    500 => (Code::InternalError, 500),
                    _ => panic!("{told}"),
                }
            }
            (body, status) => match body["code"].as_str().unwrap() {
                "invalid_skill" => (Code::InvalidFrontmatter, 422),
                "read_only_definition" => (Code::ReadOnlyDefinition, 403),
                "not_configured" => (Code::NotConfigured, 404),
                code => (Code::parse(code).unwrap(), status),
            },
        };
        assert_eq!((error.code, error.status), expected, "{told}");
        assert!(!error.message.is_empty() && !error.message.contains('\n'), "{told}: {}", error.message);
        for leaks in ["input_value", "pydantic", "Server got itself in trouble"] {
            assert!(!error.message.contains(leaks), "{told}: {}", error.message);
        }
        if error.code == Code::VersionConflict {
            assert!(error.details.unwrap()["current_version"].is_i64(), "{told}");
        } else if sample.response["details"].is_null() {
            assert_eq!(error.details, None, "{told}");
        } else {
            assert_eq!(error.details.as_ref(), sample.response.get("details"), "{told}");
        }
    }
    assert!(of_ours >= 5 && plain >= 8, "{of_ours} {plain}");
}
