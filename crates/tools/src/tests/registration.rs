use super::*;
use crate::Source;

fn why(host: HostTools) -> String {
    let mut registry = Registry::default();
    let rejected = registry.register(host);
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert_eq!(registry.entries().count(), 0, "what is rejected resolves to nothing");
    rejected[0].why.clone()
}

#[test]
fn names_of_tools_come_from_prefix_and_method() {
    let registry = registry(host(vec![method("look"), method("my_touch")]).tool(tool("my_door", method("any"))));
    let names: Vec<_> = registry.entries().flat_map(|e| e.facts()).map(|f| f.name().to_owned()).collect();
    assert_eq!(names, ["my_door", "my_look", "my_touch"]);
    let facts = registry.lookup("MY_KIT").unwrap().facts().next().unwrap();
    assert_eq!((facts.slug(), facts.method(), facts.source()), ("my_kit", "look", Source::Host));
    assert!(registry.lookup("my_kit2").is_none());
}

#[test]
fn whatever_is_not_declared_read_is_a_write_and_needs_a_person() {
    let registry = registry(host(vec![method("undeclared"), method("declared").reads()]));
    let needs = |name: &str| bound(&registry, name).facts().needs_approval();
    assert!(needs("my_undeclared") && !needs("my_declared"));
}

#[test]
fn entries_that_break_a_rule_are_told() {
    let runs = Arc::default();
    assert!(why(HostTools::new("").tool(tool("my_x", method("x")))).contains("no prefix"));
    assert!(why(HostTools::new("my").tool(tool("my_x", method("x")))).contains("no prefix"));
    assert!(why(HostTools::new("my_").tool(tool("MY_x", method("x")))).contains("start with 'my_'"));
    assert!(why(HostTools::new("my_").tool(tool("other_x", method("x")))).contains("start with 'my_'"));
    assert!(why(HostTools::new("my_").tool(tool("my_x y", method("x")))).contains("a-z"));
    assert!(
        why(HostTools::new("my_").toolkit(HostToolkit::new("my_kit", "your", "", || Err(String::new()))))
            .contains("must be 'my'")
    );
    assert!(why(HostTools::new("my_").toolkit(kit(vec![method("a b")], &runs))).contains("no name that models take"));
    assert!(
        why(HostTools::new("my_").toolkit(kit(vec![method(&"x".repeat(62))], &runs)))
            .contains("no name that models take")
    );
    assert!(
        why(HostTools::new("my_").toolkit(kit(vec![method("x"), method("my_x")], &runs)))
            .contains("another tool is called 'my_x'")
    );
    let text = Method::with_schema("x", "", json!({ "type": "string" }));
    assert!(why(HostTools::new("my_").tool(tool("my_x", text))).contains("must be an object"));
    let broken =
        Method::with_schema("x", "", json!({ "type": "object", "properties": { "a": { "type": "nothing" } } }));
    assert!(why(HostTools::new("my_").tool(tool("my_x", broken))).contains("broken"));
    assert!(
        why(HostTools::new("my_").tool(tool("my_x", method("x").filled_with_tenant("note"))))
            .contains("must not be in the schema")
    );
}

#[test]
fn a_taken_slug_or_name_is_rejected_and_the_rest_stands() {
    let mut registry = registry(host(vec![method("look")]));
    let again = HostTools::new("my_")
        .tool(tool("my_kit", method("x")))
        .tool(tool("my_look", method("x")))
        .tool(tool("my_free", method("x")));
    let rejected = registry.register(again);
    let told: Vec<_> = rejected.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("'my_kit'") && told[0].contains("this slug"), "{told:?}");
    assert!(told[1].contains("'my_look'") && told[1].contains("another tool is called"), "{told:?}");
    assert!(registry.lookup("my_free").is_some());
    assert!(registry.lookup("my_kit").unwrap().is_toolkit(), "the first one stays");
}

#[test]
fn a_constructor_that_fails_or_panics_is_an_error() {
    let fails = HostTool::new("my_a", method("a"), || Err("no such printer".into()));
    let panics = HostTool::new("my_b", method("b"), || panic!("inside the constructor"));
    let registry = registry(HostTools::new("my_").tool(fails).tool(panics));
    assert_eq!(registry.lookup("my_a").unwrap().build().unwrap_err(), "no such printer");
    assert!(registry.lookup("my_b").unwrap().build().unwrap_err().contains("failed inside"));
}

#[test]
fn the_digest_covers_every_fact_that_was_approved() {
    let digest = |prefix: &str, slug: &str, method: Method, bound: bool| {
        let tool = tool(slug, method);
        let tool = if bound { tool.tenant_bound() } else { tool };
        let registry = registry(HostTools::new(prefix).tool(tool));
        let entry = registry.entries().next().unwrap();
        entry.facts().next().unwrap().digest().to_owned()
    };
    let plain = || digest("my_", "my_x", method("x"), false);
    assert_eq!(plain(), plain());
    let mut other_schema = schema();
    other_schema["properties"]["n"]["minimum"] = json!(2);
    let mut other_default = schema();
    other_default["properties"]["note"]["default"] = json!("some");
    let changed = [
        plain(),
        digest("my_", "my_y", method("x"), false),
        digest("my_", "my_x", method("y"), false),
        digest("my_", "my_x", Method::with_schema("x", "does something else", schema()), false),
        digest("my_", "my_x", Method::with_schema("x", "does something", other_schema), false),
        digest("my_", "my_x", Method::with_schema("x", "does something", other_default), false),
        digest("my_", "my_x", method("x").reads(), false),
        digest("my_", "my_x", method("x"), true),
        digest("my_", "my_x", method("x").filled_with_tenant("t"), false),
        digest("my_", "my_x", method("x").filled_with_caller("t"), false),
        digest("my_", "my_x", method("x").filled_with_agent("t"), false),
    ];
    let all: std::collections::BTreeSet<_> = changed.iter().collect();
    assert_eq!(all.len(), changed.len(), "each change shows");
}
