use super::*;
use crate::{ArgFault, Args, Facts};

fn facts() -> Facts {
    bound(&registry(host(vec![method("x").filled_with_tenant("tenant").filled_with_caller("by")])), "my_x")
        .facts()
        .clone()
}

fn parse(text: &str) -> Result<Value, ArgFault> {
    Args::parse(&facts(), text).map(Args::into_value)
}

#[test]
fn defaults_are_filled_at_every_level_that_is_there() {
    assert_eq!(parse(r#"{"n":1}"#).unwrap(), json!({ "n": 1, "note": "none" }));
    assert_eq!(
        parse(r#"{"n":1,"deep":{},"note":"mine"}"#).unwrap(),
        json!({ "n": 1, "note": "mine", "deep": { "on": true } })
    );
    assert_eq!(parse(r#"{"n":1,"maybe":null}"#).unwrap()["maybe"], Value::Null);
}

#[test]
fn the_hash_is_of_the_filled_arguments() {
    let hash = |text: &str| Args::parse(&facts(), text).unwrap().hash();
    assert_eq!(hash(r#"{"n":1}"#), hash(r#"{ "note" : "none", "n" : 1 }"#));
    assert_ne!(hash(r#"{"n":1}"#), hash(r#"{"n":2}"#));
    assert_ne!(hash(r#"{"n":1}"#), hash(r#"{"n":1,"note":""}"#));
}

#[test]
fn a_model_may_imagine_server_managed_names_but_nobody_else_may_send_them() {
    assert_eq!(parse(r#"{"n":1,"tenant":"globex","by":"eve"}"#).unwrap(), json!({ "n": 1, "note": "none" }));
    let fault = Args::check(&facts(), json!({ "tenant": "globex", "by": "eve", "n": "no number" })).unwrap_err();
    assert_eq!(
        fault,
        ArgFault::ServerManaged(vec!["by".into(), "tenant".into()]),
        "told before the schema is looked at"
    );
    assert_eq!(fault.to_string(), "'by', 'tenant' are filled in by the server and cannot be sent");
}

#[test]
fn what_cannot_be_kept_exactly_is_refused() {
    for (text, part) in [
        (r#"{"n":18446744073709551616}"#, "64 bits"),
        (r#"{"n":1,"note":"a\u0000b"}"#, "NUL"),
        (r#"{"n":1,"no\u0000te":1}"#, "NUL"),
        (r#"{"n":1"#, "not valid JSON"),
        (r#"{"n":1} {"n":2}"#, "not valid JSON"),
    ] {
        let fault = parse(text).unwrap_err();
        assert!(matches!(fault, ArgFault::Json(_)) && fault.to_string().contains(part), "{text}: {fault}");
    }
    let nul = Args::check(&facts(), json!({ "n": 1, "note": "\0" })).unwrap_err();
    assert!(matches!(nul, ArgFault::Json(_)), "{nul}");
    assert_eq!(parse(r#"{"n":9223372036854775807}"#).unwrap()["n"], i64::MAX);
}

#[test]
fn what_does_not_fit_the_schema_is_told_with_its_place() {
    for (text, parts) in [
        ("", &["\"n\"", "required"][..]),
        ("[1]", &["must be a JSON object"]),
        (r#"{"n":0}"#, &["n: ", "minimum"]),
        (r#"{"n":"1"}"#, &["n: ", "integer"]),
        (r#"{"n":1,"surprise":true}"#, &["surprise"]),
        (r#"{"n":1,"deep":{"on":"yes"}}"#, &["deep/on: ", "boolean"]),
    ] {
        let fault = parse(text).unwrap_err();
        assert!(matches!(fault, ArgFault::Schema(_)), "{text}: {fault}");
        for part in parts {
            assert!(fault.to_string().contains(part), "{text}: {fault} lacks {part}");
        }
    }
    let fault = parse(r#"{"n":0,"note":5}"#).unwrap_err();
    assert!(matches!(&fault, ArgFault::Schema(all) if all.len() == 2), "all faults at once: {fault}");
}

#[test]
fn whole_numbers_are_integers_however_they_are_written() {
    for text in [r#"{"n":7.0}"#, r#"{"n":7e0}"#, r#"{"n":7}"#] {
        let args = Args::parse(&facts(), text).unwrap();
        assert!(args.value()["n"].is_i64() || args.value()["n"].is_u64(), "{text}");
        assert_eq!(args.hash(), Args::parse(&facts(), r#"{"n":7}"#).unwrap().hash(), "{text}");
    }
    assert!(parse(r#"{"n":7.5}"#).is_err());
}
