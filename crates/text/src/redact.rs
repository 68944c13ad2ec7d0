//! Redaction: which names hold secrets, and taking secrets out of text that is shown, logged or stored.

mod values;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::secret::MASK;

/// Whole words of a name that make its value a secret. A plural such as `tokens` is a count and is not in the list.
const WORDS: [&str; 10] = [
    "token",
    "password",
    "passwd",
    "secret",
    "dsn",
    "credential",
    "credentials",
    "apikey",
    "privatekey",
    "accesstoken",
];
/// Neighbouring words that do the same.
const PAIRS: [[&str; 2]; 2] = [["api", "key"], ["private", "key"]];

/// Whether a parameter of this name holds a secret: some whole word of it (split at everything that is no letter, and at camel case)
/// is `token`, `password`, `passwd`, `secret`, `dsn`, `credential(s)` or `apikey`, or two are `api key` or `private key`.
///
/// Whole words, because `max_tokens` counts and `tokenizer` names.
pub fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    words.iter().any(|word| WORDS.contains(&word.as_str())) || has_pair(&words, &PAIRS)
}

/// Whether a value of this name stays out of logs: the secret names, and what lets its reader in without being a parameter
/// (`cookie`, `authorization`, a share code).
pub fn is_sensitive_log_name(name: &str) -> bool {
    let words = words(name);
    is_secret_name(name)
        || words.iter().any(|word| {
            matches!(word.as_str(), "cookie" | "cookies" | "authorization" | "sharecode" | "passwords" | "secrets")
        })
        || has_pair(&words, &[["share", "code"]])
}

/// Takes secrets out of text: the given values (as they are, percent-encoded, JSON-escaped, or inside base64), what looks like a key
/// of a known kind, and values that stand beside a secret name (`password=…`, `"api_key": "…"`, `Cookie: …`).
///
/// Given values shorter than four characters are left alone: replacing them would shred the text and give them away by its holes.
pub fn redact_text<'a>(text: &'a str, secrets: &[&str]) -> Cow<'a, str> {
    let mut text = values::remove(text, secrets);
    for (pattern, replacement) in PATTERNS.iter() {
        if let Cow::Owned(changed) = pattern.replace_all(&text, *replacement) {
            text = Cow::Owned(changed);
        }
    }
    match mask_named(&text) {
        Some(changed) => Cow::Owned(changed),
        None => text,
    }
}

/// Masks the values of secret names; `None` when there are none. The value of a harmless name is searched too, for it may hold others
/// (an address with a query).
fn mask_named(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(name) = NAME.captures_at(text, from) {
        from = name.get_match().end();
        if !is_sensitive_log_name(&name["name"]) {
            continue;
        }
        let Some(value) = VALUE.find(&text[from..]).map(|found| found.as_str()) else {
            continue;
        };
        let quote = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => &value[..quote.len_utf8()],
            _ => "",
        };
        out.push_str(&text[copied..from]);
        out.push_str(quote);
        out.push_str(MASK);
        out.push_str(quote);
        from += value.len();
        copied = from;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out).filter(|out| out != text)
}

/// What is a secret by its look, with what to put in its place.
static PATTERNS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        // A whole header: schemes and cookie names differ, so the rest of the line or string goes.
        (r#"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)\b(["']?\s*[:=]\s*["']?)[^"'\r\n]+"#, "$1$2********"),
        (r"(?i)\b(bearer|basic)(\s+)[a-z0-9._~+/=-]{8,}", "$1$2********"),
        // The password inside an address.
        (r"([A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@]*):[^\s/?#@]+@", "$1:********@"),
        (r"\b(?:sk-|tsf_|gsk_|xai-|hf_|gh[opsu]_|github_pat_|xox[abprs]-)[A-Za-z0-9_-]{8,}", MASK),
        (r"\b(?:AIza[A-Za-z0-9_-]{30,}|AKIA[A-Z0-9]{16})", MASK),
        (r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*", MASK),
        (r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)", MASK),
    ]
    .into_iter()
    .map(|(pattern, replacement)| {
        let pattern = Regex::new(pattern).expect("the patterns are constant and valid");
        (pattern, replacement)
    })
    .collect()
});

/// A name and the sign after it, in the common spellings of `name = value`; JSON inside a JSON string too.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?P<name>[A-Za-z][A-Za-z0-9_.-]*)\\?["']?\s*[:=]\s*"#).expect("the pattern is constant and valid")
});

/// The value after the sign.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\A(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|\\"(?:[^"\\])*|[^\s,;&"'{}\[\]()\\]+)"#)
        .expect("the pattern is constant and valid")
});

fn has_pair(words: &[String], pairs: &[[&str; 2]]) -> bool {
    words.windows(2).any(|pair| pairs.iter().any(|wanted| pair == wanted.as_slice()))
}

/// The words of a name in lower case: runs of letters, cut where a capital begins a word (`apiKey`, `APIKey`).
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous: Option<char> = None;
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        let starts = c.is_uppercase()
            && previous.is_some_and(|p| {
                p.is_lowercase() || (p.is_uppercase() && rest.peek().is_some_and(|n| n.is_lowercase()))
            });
        if starts || !c.is_alphabetic() {
            words.push(String::new());
        }
        if c.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        previous = Some(c);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names() {
        for name in [
            "token",
            "api_token",
            "apiToken",
            "access-token",
            "ACCESS_TOKEN",
            "accesstoken",
            "password",
            "db.password",
            "passwd",
            "client_secret",
            "clientSecret",
            "dsn",
            "DSN",
            "credential",
            "credentials",
            "apikey",
            "APIKEY",
            "api_key",
            "apiKey",
            "APIKey",
            "X-API-Key",
            "private_key",
            "privateKey",
            "privatekey",
            "token2",
            "oauth2Token",
            "secret_refs",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "max_tokens",
            "maxTokens",
            "tokens",
            "tokenizer",
            "key",
            "public_key",
            "secretary",
            "passwordless",
            "credentialed",
            "api",
            "api_base_key",
            "keyapi",
            "",
            "_",
            "monkey",
            "sdsn",
            "cookie",
            "share_code",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
        for name in ["cookie", "Set-Cookie", "shareCode", "share_code", "Authorization", "password"] {
            assert!(is_sensitive_log_name(name), "{name}");
        }
        assert!(!is_sensitive_log_name("code"));
        assert!(!is_sensitive_log_name("max_tokens"));
    }

    #[test]
    fn keys_are_known_by_their_look() {
        for (text, expected) in [
            ("key sk-proj-abcdefgh1234 failed", "key ******** failed"),
            ("tsf_0123456789abcdef", "********"),
            ("Bearer abcdefgh.ijk", "Bearer ********"),
            ("Authorization: Bearer abcdefghij", "Authorization: ********"),
            ("{\"authorization\": \"Basic dXNlcjpwYXNz\"}", "{\"authorization\": \"********\"}"),
            ("Cookie: a=b; c=d\nHost: x", "Cookie: ********\nHost: x"),
            ("postgres://app:hunter2@db:5432/x", "postgres://app:********@db:5432/x"),
            ("redis://:hunter2@db", "redis://:********@db"),
            ("eyJhbGciOi.eyJzdWIi.c2ln", "********"),
            ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----.", "********."),
            ("a risk-assessment and a task-oriented plan", "a risk-assessment and a task-oriented plan"),
        ] {
            assert_eq!(redact_text(text, &[]), expected);
        }
    }

    #[test]
    fn values_beside_secret_names_go() {
        for (text, expected) in [
            ("password=hunter2", "password=********"),
            ("https://x/?api_key=abc&page=2", "https://x/?api_key=********&page=2"),
            ("{\"api_key\": \"a\\\"b\", \"max_tokens\": 5}", "{\"api_key\": \"********\", \"max_tokens\": 5}"),
            ("client_secret: 'x y', id: 3", "client_secret: '********', id: 3"),
            ("{\\\"token\\\":\\\"x\\\", \\\"id\\\": 1}", "{\\\"token\\\":********\\\", \\\"id\\\": 1}"),
            ("max_tokens=100 name=bob", "max_tokens=100 name=bob"),
            ("share_code=12345", "share_code=********"),
        ] {
            assert_eq!(redact_text(text, &[]), expected);
            assert_eq!(redact_text(expected, &[]), expected, "not stable");
        }
        assert!(matches!(redact_text("name=bob is fine", &[]), Cow::Borrowed(_)));
    }
}
