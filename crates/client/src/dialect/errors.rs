//! Refusals: what the other side says when it does not do something, as one of our errors.
//!
//! Most are bodies like ours. A few codes and statuses differ, the framework's own refusals are plain text such as
//! `403: …`, and failures of its schema checker repeat what was sent, which may be a secret.

use contract::{Code, StudioError};
use serde_json::{Value, json};

/// Longest message that is passed on, in characters.
const LONGEST: usize = 1000;

/// The refusal in a body with this status. A body that is no JSON is given as a JSON string.
pub fn refusal(status: u16, body: &Value) -> StudioError {
    let mut error = read(status, body);
    if !(400..600).contains(&error.status) {
        error.status = 502;
    }
    error
}

fn read(status: u16, body: &Value) -> StudioError {
    match body {
        Value::Object(map) => {
            let said = ["message", "error", "reason", "detail"].iter().find_map(|key| map.get(*key)?.as_str());
            let code = map.get("code").and_then(Value::as_str).filter(|code| !code.is_empty());
            let mut error = match code {
                Some(code) => coded(status, code, said.unwrap_or_default()),
                // Something there answered, so the address is right.
                None if status == 404 && said.is_some() => {
                    StudioError::new(Code::NotFound, 404, tidy(said.unwrap_or_default()))
                }
                None => uncoded(status, said.unwrap_or_default()),
            };
            if let Some(details) = map.get("details").filter(|details| !details.is_null()) {
                error.details = Some(details.clone());
            }
            error
        }
        Value::String(text) => uncoded(status, plain(status, text)),
        _ => uncoded(status, ""),
    }
}

/// The words of a plain-text answer, without the status in front and without the page of a gateway.
fn plain(status: u16, text: &str) -> &str {
    let text = text.trim();
    if text.starts_with('<') {
        return "";
    }
    let text = text.strip_prefix(&status.to_string()).unwrap_or(text);
    text.trim_start_matches(':').trim()
}

fn coded(status: u16, code: &str, said: &str) -> StudioError {
    let message = tidy(said);
    match code {
        "version_conflict" => {
            let error = StudioError::version_conflict(found(said));
            // Without a number its words say more than ours: a draft that cannot be activated any more, for instance.
            if error.details.is_none() && !message.is_empty() { StudioError { message, ..error } } else { error }
        }
        "invalid_skill" => StudioError::new(Code::InvalidFrontmatter, status, message),
        "read_only_definition" => StudioError::new(Code::ReadOnlyDefinition, 403, message),
        "not_configured" => StudioError::new(Code::NotConfigured, 404, message),
        _ => match Code::parse(code) {
            Some(known) => StudioError::new(known, status, message),
            None => uncoded(status, said).with(json!({ "code": code })),
        },
    }
}

/// The version that is there, from `name: expected 1, found 2`.
fn found(said: &str) -> Option<i64> {
    said.rsplit_once("found ").and_then(|(_, version)| version.trim().parse().ok())
}

/// A refusal of which only the status and perhaps some words are known.
fn uncoded(status: u16, said: &str) -> StudioError {
    let said = tidy(said);
    let or = |ours: &str| if said.is_empty() { ours.to_owned() } else { said.clone() };
    let with = |ours: &str| if said.is_empty() { ours.to_owned() } else { format!("{ours} It says: {said}") };
    let (code, status, message) = match status {
        // So it answers a request whose sign-in it could not look at.
        400 if said.contains("Authentication") => {
            (Code::Unauthorized, 401, with("The server did not take the sign-in. Sign in again."))
        }
        400 => (Code::InvalidRequest, 400, or("The server did not understand the request.")),
        401 => (Code::Unauthorized, 401, "The server does not know you. Sign in again.".to_owned()),
        403 if said.contains("permission to modify") => (Code::NotOwner, 403, said.clone()),
        403 => (Code::AccessDenied, 403, or("The server does not allow this.")),
        404 => (
            Code::RouteNotFound,
            404,
            "The server has nothing at this address. Check its URL and the prefix of its Agent Studio.".to_owned(),
        ),
        405 => (Code::MethodNotAllowed, 405, "The server does not offer this at this address.".to_owned()),
        413 => (Code::PayloadTooLarge, 413, or("The server does not take a request of this size.")),
        415 => (Code::UnsupportedMediaType, 415, or("The server does not take this kind of body.")),
        422 => (Code::ValidationError, 422, or("The server does not take these values.")),
        429 => (Code::RateLimited, 429, or("The server has had too many requests. Wait a little, then try again.")),
        // Answers of a sign-in page, not of the Studio.
        300..=399 => (
            Code::Unauthorized,
            401,
            "The server sent the request elsewhere, probably to sign in. Sign in again, and check its URL.".to_owned(),
        ),
        502..=504 => (Code::Unavailable, status, with("The server cannot be reached behind its gateway.")),
        500.. => {
            (Code::InternalError, status, "Something went wrong inside the server. Its log has the details.".to_owned())
        }
        _ => (Code::InternalError, status, or("The server refused without saying why.")),
    };
    StudioError::new(code, status, message)
}

/// A message in one piece, without what looks like a secret: a provider's own words are in some. A failure of the schema
/// checker goes over many lines and repeats the value that was sent; field and fault are kept of it.
fn tidy(message: &str) -> String {
    let first = message.split("\n\n").next().unwrap_or_default().trim();
    let whole = match first.split_once('\n').filter(|(head, _)| head.contains(" validation error")) {
        Some((head, lines)) => {
            let what = head.split_once(": ").map_or("Invalid request", |(what, _)| what);
            let faults = faults(lines);
            if faults.is_empty() { format!("{what}.") } else { format!("{what}: {}.", faults.join("; ")) }
        }
        None => text::redact_text(first, &[]).into_owned(),
    };
    match whole.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

/// Field and fault of each failure: the field stands at the margin, the fault two in.
fn faults(lines: &str) -> Vec<String> {
    let (mut field, mut faults) = ("", Vec::new());
    for line in lines.lines() {
        let words = line.trim();
        match line.len() - line.trim_start().len() {
            _ if words.is_empty() => {}
            0 => field = words,
            2 => {
                let fault = words.split(" [type=").next().unwrap_or_default();
                faults.push(if field.is_empty() { fault.to_owned() } else { format!("{field}: {fault}") });
            }
            _ => {}
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(status: u16, text: &str) -> StudioError {
        refusal(status, &Value::String(text.into()))
    }

    fn body(status: u16, code: &str, message: &str) -> StudioError {
        refusal(status, &json!({ "message": message, "code": code, "details": null }))
    }

    #[test]
    fn plain_texts() {
        for (status, said, code, ours) in [
            (401, "401: Unauthorized", Code::Unauthorized, 401),
            (400, "400: Authentication Backend is not enabled.", Code::Unauthorized, 401),
            (403, "403: You do not have permission to modify this resource.", Code::NotOwner, 403),
            (403, "403: Forbidden", Code::AccessDenied, 403),
            (404, "404: Not Found", Code::RouteNotFound, 404),
            (405, "405: Method Not Allowed", Code::MethodNotAllowed, 405),
            (500, "500 Internal Server Error\n\nServer got itself in trouble", Code::InternalError, 500),
            (502, "<html><title>502 Bad Gateway</title>", Code::Unavailable, 502),
            (302, "", Code::Unauthorized, 401),
            (418, "", Code::InternalError, 418),
            (429, "slow down", Code::RateLimited, 429),
        ] {
            let error = text(status, said);
            assert_eq!((error.code, error.status), (code, ours), "{said}");
            assert!(!error.message.is_empty() && !error.message.contains('<'), "{said}");
            assert!(!error.message.starts_with(char::is_numeric), "{}", error.message);
        }
        assert_eq!(
            text(403, "403: You do not have permission to modify this resource.").message,
            "You do not have permission to modify this resource."
        );
    }

    #[test]
    fn codes_that_differ() {
        let error = body(409, "version_conflict", "alpha: expected 1, found 2");
        assert_eq!((error.status, error.details), (409, Some(json!({ "current_version": 2 }))));
        let error = body(409, "version_conflict", "The draft has been activated.");
        assert_eq!((error.message.as_str(), error.details), ("The draft has been activated.", None));
        for (status, code, ours, expected) in [
            (422, "invalid_skill", Code::InvalidFrontmatter, 422),
            (409, "read_only_definition", Code::ReadOnlyDefinition, 403),
            (409, "not_configured", Code::NotConfigured, 404),
            (404, "not_found", Code::NotFound, 404),
        ] {
            let error = body(status, code, "words");
            assert_eq!((error.code, error.status, error.message.as_str()), (ours, expected, "words"));
        }
        let error = body(409, "of_tomorrow", "words");
        assert_eq!((error.code, error.details), (Code::InternalError, Some(json!({ "code": "of_tomorrow" }))));
    }

    #[test]
    fn a_schema_failure_keeps_field_and_fault_and_never_the_value() {
        let said = "Invalid request: 2 validation errors for KeyStoreRequest\nprovider\n  Field required [type=missing, \
            input_value={'api_key': 'sk-secret'}, input_type=dict]\n    For further information visit https://errors.example\n\
            api_key.0\n  Input should be a valid string [type=string_type, input_value='sk-secret [type=x', input_type=int]\n    For";
        let error = body(400, "invalid_request", said);
        assert_eq!(
            error.message,
            "Invalid request: provider: Field required; api_key.0: Input should be a valid string."
        );
        let said =
            "Invalid request: 1 validation error for SaveDraftRequest\n  Value error, exactly one [type=value_error]";
        assert_eq!(body(422, "invalid_request", said).message, "Invalid request: Value error, exactly one.");
        let said = "Invalid toolkit parameters: 5 is not of type 'string'\n\nFailed validating\n    5";
        assert_eq!(body(422, "invalid_params", said).message, "Invalid toolkit parameters: 5 is not of type 'string'");
        let error = body(502, "query_failed", "The provider said: bad key sk-abcdefghijklmnopqrstuvwxyz0123");
        assert!(!error.message.contains("sk-abc") && error.message.contains("The provider said"), "{}", error.message);
        assert_eq!(body(400, "invalid_json", &"ü".repeat(3000)).message.chars().count(), LONGEST + 1);
    }

    #[test]
    fn any_json_is_a_refusal() {
        for value in [json!(null), json!(7), json!([1]), json!({}), json!({ "message": 5, "code": [] }), json!("")] {
            for status in [0, 100, 200, 301, 400, 401, 403, 404, 409, 422, 499, 500, 503, 599, u16::MAX] {
                let error = refusal(status, &value);
                assert!(!error.message.is_empty() && (400..600).contains(&error.status), "{status} {value}");
            }
        }
    }
}
