//! Scripts that are made to hurt.

use std::time::{Duration, Instant};

use super::super::validate;
use super::script;

fn refused(yaml: &str) -> String {
    let start = Instant::now();
    let text = validate(yaml).unwrap_err().to_string();
    assert!(start.elapsed() < Duration::from_secs(20), "took {:?}", start.elapsed());
    assert!(text.len() < 4_000, "{}", text.len());
    text
}

#[test]
fn an_alias_bomb_is_stopped() {
    let mut yaml = "name: t\nabout: x\ndefaults:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let last = n - 1;
        let row = vec![format!("*a{last}"); 9].join(", ");
        yaml.push_str(&format!("  a{n}: &a{n} [{row}]\n"));
    }
    yaml.push_str("rules: [{say: x}]\n");
    refused(&yaml);
}

#[test]
fn deep_nesting_is_stopped() {
    refused(&script(&format!("  - call: {{tool: a, args: {{x: {}}}}}", "[".repeat(20_000))));
    let mut then = "{say: x}".to_owned();
    for _ in 0..1_000 {
        then = format!("{{call: {{tool: a}}, then: [{then}]}}");
    }
    refused(&script(&format!("  - {then}")));
    let mut yaml = String::new();
    for depth in 0..300 {
        yaml.push_str(&format!("{}a:\n", " ".repeat(depth)));
    }
    refused(&yaml);
}

#[test]
fn as_much_nesting_as_is_allowed_fits_a_small_stack() {
    let mut then = "{say: x}".to_owned();
    for _ in 0..21 {
        then = format!("{{call: {{tool: a}}, then: [{then}]}}");
    }
    let yaml = script(&format!("  - {then}"));
    let thread = std::thread::Builder::new().stack_size(1024 * 1024);
    let checked = thread.spawn(move || validate(&yaml).map(|s| s.name)).unwrap();
    assert_eq!(checked.join().unwrap().unwrap(), "t");
}

#[test]
fn big_patterns_are_stopped() {
    let text = refused(&script("  - when: {said: '(?:\\w{500}){500}'}\n    say: x"));
    assert!(text.contains("too big"), "{text}");
    let long = "a".repeat(3_000);
    let text = refused(&script(&format!("  - when: {{said: {long}}}\n    say: x")));
    assert!(text.contains("longer than"), "{text}");
    let deep = format!("{}x{}", "(".repeat(400), ")".repeat(400));
    refused(&script(&format!("  - when: {{said: '{deep}'}}\n    say: x")));
    let many: Vec<_> = (0..300).map(|n| format!("x{n}")).collect();
    let text = refused(&script(&format!("  - when: {{said: [{}]}}\n    say: x", many.join(", "))));
    assert!(text.contains("different patterns"), "{text}");
}

#[test]
fn a_pattern_with_nested_repetition_stays_fast() {
    let mut talk = super::Talk::yaml(&script("  - when: {said: '^(a+)+$'}\n    say: x"));
    let start = Instant::now();
    talk.say(&format!("{}!", "a".repeat(50_000)));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn size_and_nodes_are_bounded() {
    let text = refused(&script(&format!("  - say: {}", "x".repeat(70_000))));
    assert!(text.contains("64 KiB"), "{text}");
    refused(&script(&format!("  - call: {{tool: a, args: {{x: [{}]}}}}", "1,".repeat(11_000))));
    for yaml in ["\u{0}", "%YAML 9", "&a *a", "- - - -", "{{{{", "name: !!binary x", "a: 1\n---\nb: 2", "\t"] {
        refused(yaml);
    }
}
