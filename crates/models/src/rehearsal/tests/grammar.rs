//! The parts of the grammar, one by one, and the example of the documentation.

use serde_json::json;

use super::super::validate;
use super::{Talk, script, tool};

const DOCUMENTATION: &str = include_str!("../../../../../docs/rehearsal.md");

#[test]
fn the_example_of_the_documentation_plays() {
    let yaml = DOCUMENTATION.split_once("```yaml\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    let mut talk = Talk::yaml(yaml);
    talk.request.tools = ["parcel_return", "parcel_find"].map(tool).to_vec();
    assert!(talk.say("hello").starts_with("Hello! I look up parcels"));
    assert_eq!(talk.say("send back 17 and 18, they are damaged"), "I ask for that.");
    assert_eq!(
        talk.asked(),
        [17, 18].map(|n| ("parcel_return".to_owned(), json!({"parcel": n, "reason": "they are damaged"})))
    );
    let text = talk.results(&[(r#"{"label":"R-17"}"#, false), ("rejected: too late", true)]);
    assert_eq!(text, "Parcel 17 goes back with label R-17.\nParcel 18 stays where it is: rejected: too late.");
    talk.say("where is 17?");
    let text = talk.results(&[(r#"{"stops":[{"town":"Ulm"},{"town":"Wien"}]}"#, false)]);
    assert_eq!(text, "Stops of parcel 17:\n- Ulm\n- Wien\n2 so far.");
    talk.say("where is 17?");
    assert_eq!(talk.results(&[(r#"{"stops":[]}"#, false)]), "Parcel 17 has not left yet.");
    let text = talk.say("sing");
    assert!(text.contains("not a model") && text.contains("- where is parcel 17?"), "{text}");
}

#[test]
fn every_field_is_documented() {
    for field in [
        "said",
        "words",
        "not_said",
        "maybe",
        "each",
        "earlier",
        "replied",
        "no_tool",
        "calls_made",
        "result",
        "every_result",
        "take",
        "each_result",
        "each_item",
        "again",
        "fail",
        "even_if_missing",
        "raw",
        "pace_ms",
        "defaults",
        "types",
        "reasoning",
        "end",
    ] {
        assert!(DOCUMENTATION.contains(&format!("`{field}`")), "{field}");
    }
    for (name, _) in super::super::BUILT_IN {
        assert!(DOCUMENTATION.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn words_are_whole_words_in_any_order() {
    let mut talk = Talk::yaml(&script("  - when: {words: [cancel|call off, order*]}\n    say: yes\n"));
    for said in ["cancel my ORDER", "orders: call   off!"] {
        assert_eq!(talk.say(said), "yes", "{said}");
    }
    for said in ["cancellation of order", "call the order", "reorder cancel", ""] {
        assert_ne!(talk.say(said), "yes", "{said}");
    }
}

#[test]
fn conditions_on_tools_and_on_the_past() {
    let mut talk = Talk::yaml(&script(
        "
  - when: {said: '^who', earlier: 'name is (?<who>\\w+)', not_said: else}
    say: 'you are {{who}}'
  - when: {said: '^again', replied: 'you are (?<who>\\w+)'}
    say: '{{who}}, I said'
  - when: {said: '^tool', tool: desk_get_order}
    say: with
  - when: {said: '^tool', no_tool: desk_get_order}
    say: without
",
    ));
    assert!(talk.say("who am I").contains("not a model"));
    talk.say("my name is Ada");
    talk.say("my name is Bo");
    assert_eq!(talk.say("who am I"), "you are Bo");
    assert_eq!(talk.say("again"), "Bo, I said");
    assert!(talk.say("who else").contains("not a model"));
    assert_eq!(talk.say("tool"), "with");
    talk.request.tools.clear();
    assert_eq!(talk.say("tool"), "without");
}

#[test]
fn arguments_keep_their_types() {
    let mut talk = Talk::yaml(
        r##"
name: t
about: A test.
types: {n: int, amount: number, flag: bool}
defaults: {colour: red}
rules:
  - when:
      said: 'n=(?<n>-?\d+)'
      maybe: ['amount=(?<amount>[\d.,]+)', 'flag=(?<flag>\w+)', 'text=(?<text>\w+)', 'colour=(?<colour>\w+)']
    call:
      tool: desk_get_order
      args:
        n: "{{n}}"
        n_text: "no {{n}}"
        amount: "{{amount}}"
        flag: "{{flag}}"
        text: "{{text}}"
        colour: "{{colour}}"
        length: "{{#text}}"
        list: ["{{n}}", 7, "{{text}}", {inner: "{{n}}"}]
        fixed: 2
        none: null
"##,
    );
    talk.say("n=12 amount=7,50 flag=yes text=123");
    assert_eq!(
        talk.asked()[0].1,
        json!({
            "n": 12, "n_text": "no 12", "amount": 7.5, "flag": true, "text": "123", "colour": "red",
            "length": 3, "list": [12, 7, "123", {"inner": 12}], "fixed": 2, "none": null
        })
    );
    // What is not set, or no such type, is left out; whole numbers stay whole.
    talk.say("n=-3 amount=20 flag=perhaps colour=blue");
    assert_eq!(
        talk.asked()[0].1,
        json!({
            "n": -3, "n_text": "no -3", "amount": 20, "colour": "blue",
            "length": 0, "list": [-3, 7, {"inner": -3}], "fixed": 2, "none": null
        })
    );
    // A required capture that cannot be its type is no match.
    assert!(talk.say("n=99999999999999999999").contains("not a model"));
}

#[test]
fn lists_from_one_pattern_belong_together() {
    let mut talk = Talk::yaml(&script(
        r"
  - when: {each: '(?<k>[a-z])=(?<v>\d)?|skip'}
    say: '{{k}} ({{#k}})'
    call: {tool: desk_get_order, args: {k: '{{k}}', v: '{{v}}', all: 1}}
",
    ));
    assert_eq!(talk.say("a=1 skip b= a=1 c=3"), "a, b and c (4)");
    let args: Vec<_> = talk.asked().into_iter().map(|(_, args)| args).collect();
    assert_eq!(
        args,
        [json!({"k": "a", "v": "1", "all": 1}), json!({"k": "b", "all": 1}), json!({"k": "c", "v": "3", "all": 1})]
    );
}

#[test]
fn results_choose_what_comes_next() {
    let mut talk = Talk::yaml(&script(
        r"
  - when: {said: go}
    calls:
      - {tool: desk_get_order}
      - {tool: desk_list_orders}
    then:
      - when: {every_result: {ok: false}}
        say: all failed
      - when:
          result: {tool: desk_list_orders, at: rows.0.state, is: open, matches: '(?<word>op)'}
          take: {id: result.rows.0.id}
        say: '{{word}} {{tool}}'
        call: {tool: desk_cancel_order, args: {order_id: '{{id}}'}}
        then:
          - when: {calls_made: {at_least: 3, at_most: 3}}
            say: 'third: {{result}} for {{id}}'
      - when: {result: {ok: true, at: count, is: 0}}
        say: none
      - when: {result: {matches: 'plain (?<what>\w+)'}}
        say: 'text {{what}}'
",
    ));
    let mut turn = |results: &[(&str, bool)]| {
        talk.say("go");
        talk.results(results)
    };
    assert_eq!(turn(&[("x", true), ("y", true)]), "all failed");
    assert_eq!(turn(&[("x", true), (r#"{"count":0}"#, false)]), "none");
    assert_eq!(turn(&[("x", true), (r#"{"count":"0"}"#, false)]).lines().count(), 3);
    assert_eq!(turn(&[("plain text", false), ("{}", false)]), "text text");
    let open = r#"{"rows":[{"state":"open","id":9}]}"#;
    assert_eq!(turn(&[("{}", false), (open, false)]), "op desk_list_orders");
    assert_eq!(talk.asked(), [("desk_cancel_order".to_owned(), json!({"order_id": 9}))]);
    assert_eq!(talk.results(&[("done", false)]), "third: done for 9");
}

#[test]
fn again_goes_on_until_a_rule_fits() {
    let mut talk = Talk::yaml(&script(
        r"
  - when: {said: go}
    call: {tool: desk_get_order}
    again: true
    then:
      - {when: {result: {at: status, is: shipped}}, say: it left}
",
    ));
    talk.say("go");
    for _ in 0..5 {
        assert_eq!(talk.results(&[(r#"{"status":"open"}"#, false)]), "");
        assert_eq!(talk.calls().len(), 1);
    }
    assert_eq!(talk.results(&[(r#"{"status":"shipped"}"#, false)]), "it left");
    let ids: std::collections::BTreeSet<_> = talk
        .request
        .messages
        .iter()
        .filter_map(|message| match message {
            crate::Message::Assistant { blocks } => Some(blocks),
            _ => None,
        })
        .flatten()
        .filter_map(|block| match block {
            crate::Block::Call(call) => Some(call.id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 6, "call ids of a conversation differ");
}

#[test]
fn texts_at_the_edges() {
    let mut talk = Talk::yaml(&script(
        r#"
  - when: {said: '^say (?<what>.*)$'}
    say: '[{{what}}] \{{what}} {{ what | nothing }} {{#what}} }}'
  - when: {said: '^empty(?<what>\d)?'}
    say: '[{{what}}|{{what|a {b}}]'
  - when: {said: '^call'}
    call: {tool: desk_get_order}
    then: [{say: '{{result.a.b}}{{result.0}}{{result.list.1}} {{result.list}} {{#result.list}} {{result.map}} {{result.none|-}}'}]
"#,
    ));
    // What was said is never taken for a template.
    assert_eq!(talk.say("say {{about}} ä"), "[{{about}} ä] {{what}} {{about}} ä 11 }}");
    assert_eq!(talk.say("empty"), "[|a {b]");
    talk.say("call");
    let text = talk.results(&[(r#"{"a":{"b":1.5},"list":["x",true],"map":{"k":null},"none":null}"#, false)]);
    assert_eq!(text, "1.5true x and true 2 {\"k\":null} -");
    let long = format!("say {}", "ü".repeat(5_000));
    let text = talk.say(&long);
    assert!(text.contains("… (cut)") && text.chars().count() < 9_000);
}

#[test]
fn a_strange_conversation_is_survived() {
    let mut talk = Talk::with("orders-desk");
    talk.request.messages.clear();
    assert!(talk.say("").contains("not a model"));
    // Calls that the script never made, results that are missing.
    let mut talk = Talk::with("orders-desk");
    talk.request.messages = vec![
        super::user("hello"),
        crate::Message::Assistant {
            blocks: vec![crate::Block::Call(crate::ModelCall {
                id: String::new(),
                name: "other".to_owned(),
                args_text: "{".to_owned(),
            })],
        },
    ];
    let text = talk.answer();
    assert!(text.contains("`other` failed: the call was never answered"), "{text}");
}

#[test]
fn mistakes_are_told_with_their_place_and_a_way_out() {
    for (rules, line, part) in [
        ("  - sya: x", 4, "unknown field"),
        ("  - when: {sad: x}\n    say: x", 4, "unknown field"),
        ("  - say: '{{nme}}'", 4, "`nme` is used but never captured here"),
        ("  - say: x\n  - when: {said: '(['}\n    say: x", 5, "not a regular expression"),
        ("  - when: {said: '(?=x)'}\n    say: x", 4, "not a regular expression"),
        ("  - when: {said: x, words: ['a||b']}\n    say: x", 4, "a word is empty"),
        ("  - when: {said: '(?<result>x)'}\n    say: x", 4, "a meaning of its own"),
        ("  - when: {each: 'x'}\n    say: x", 4, "captures nothing"),
        ("  - when: {said: x}", 4, "does nothing"),
        ("  - say: '{{result}}'", 4, "no call came before"),
        ("  - say: '{{item}}'", 4, "`each_item` only"),
        ("  - say: '{{open'", 4, "without its `}}`"),
        ("  - say: '{{A b}}'", 4, "not a path"),
        ("  - say: x\n    then: [{say: y}]", 4, "no call"),
        ("  - when: {result: {ok: true}}\n    say: x", 4, "under `then`"),
        ("  - each_result: [{say: x}]", 4, "under the `then`"),
        ("  - call: {tool: a, args: {x: '{{nme}}'}}", 4, "never captured"),
        ("  - call: {tool: a, args: [1]}", 4, "has to be a map"),
        ("  - call: {tool: a, args: {}, raw: x}", 4, "not both"),
        ("  - call: {tool: ''}", 4, "name the tool"),
        ("  - call: {tool: a}\n    calls: [{tool: b}]", 4, "put all into `calls`"),
        (
            "  - when: {each: ['(?<a>x)', '(?<b>y)']}\n    call: {tool: a, args: {a: '{{a}}', b: '{{b}}'}}",
            5,
            "do not belong together",
        ),
        ("  - fail: {kind: odd}", 4, "odd"),
        ("  - say: {{x}}", 4, "quotes"),
        ("  - say: [x]", 4, ""),
        ("  []", 0, "`rules` is empty"),
    ] {
        let error = validate(&script(rules)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(part), "{rules}\n{text}");
        assert_eq!(error.line.unwrap_or(0), line, "{rules}\n{text}");
    }
    for (yaml, part) in [
        ("name: A b\nabout: x\nrules: [{say: x}]", "`name` has to be"),
        ("name: a\nabout: ''\nrules: [{say: x}]", "`about` is empty"),
        ("name: a\nabout: x\npace_ms: 60000\nrules: [{say: x}]", "`pace_ms`"),
        ("name: a\nabout: x\ntypes: {q: int}\nrules: [{say: x}]", "which nothing captures"),
        ("name: a\nname: b\nabout: x\nrules: [{say: x}]", "uplicate"),
        ("name: a", "missing field"),
        ("", ""),
    ] {
        let text = validate(yaml).unwrap_err().to_string();
        assert!(text.contains(part), "{yaml}\n{text}");
    }
}
