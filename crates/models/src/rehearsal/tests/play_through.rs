//! Whole turns with the orders desk and the others: what is said once tools have answered.

use serde_json::json;

use super::Talk;

const ORDER: &str = r#"{"order_id":1020,"customer":"Ada Novak","item":"Wool blanket","quantity":2,"total":118.5,"currency":"EUR","status":"open","placed_at":"2026-11-20T09:00:00+00:00"}"#;

fn one(said: &str, content: &str, is_error: bool) -> String {
    let mut talk = Talk::with("orders-desk");
    talk.say(said);
    talk.results(&[(content, is_error)])
}

#[test]
fn a_read_says_what_the_tool_returned() {
    let text = one("what's up with 1020?", ORDER, false);
    for part in ["1020", "Ada Novak", "2 × Wool blanket", "118.5 EUR", "open"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn an_order_that_is_not_there() {
    let text = one("where is 4040", "order 4040 was not found", true);
    assert!(text.starts_with("There is no order 4040"), "{text}");
    let text = one("cancel 4040", r#"{"code":"not_found","message":"no order 4040"}"#, true);
    assert!(text.contains("There is no order 4040, so nothing was changed"), "{text}");
}

#[test]
fn writes_report_what_the_tool_returned() {
    let done = r#"{"order_id":1007,"status":"cancelled","changed":true,"message":"order 1007 cancelled"}"#;
    let text = one("cancel 1007", done, false);
    assert!(text.starts_with("Done: order 1007 is now cancelled"), "{text}");
    let same = r#"{"order_id":1007,"status":"shipped","changed":false,"message":"already shipped"}"#;
    let text = one("cancel 1007", same, false);
    assert!(text.starts_with("Nothing was changed on order 1007, it is shipped"), "{text}");
    assert!(text.contains("already shipped"), "{text}");
}

#[test]
fn what_did_not_run_changed_nothing_and_says_why() {
    for (content, parts) in [
        (
            "rejected by a person: customer called again",
            &["was rejected", "nothing was changed", "customer called again"][..],
        ),
        ("Rejected: the return period has expired", &["was rejected", "the return period has expired"]),
        (r#"{"message":"A person rejected this call."}"#, &["was rejected", "nothing was changed"]),
        ("nobody answered in time", &["in time", "nothing was changed", "asked for again"]),
        ("approval expired", &["in time", "nothing was changed"]),
        ("the request was withdrawn", &["withdrawn", "nothing was changed"]),
        ("database is locked", &["did not work", "nothing was changed", "database is locked"]),
        ("", &["did not work", "no reason was given"]),
    ] {
        let text = one("refund 1012, it came broken", content, true);
        for part in parts {
            assert!(text.contains(part), "{content}: {text}");
        }
        assert!(!text.contains("Done"), "{text}");
    }
}

#[test]
fn an_unknown_outcome_is_never_called_unchanged() {
    let text = one("cancel 1007", "outcome unknown: the process stopped", true);
    assert!(text.contains("not known whether"), "{text}");
    assert!(!text.contains("nothing was changed"), "{text}");
}

#[test]
fn several_orders_get_a_line_each() {
    let mut talk = Talk::with("orders-desk");
    talk.say("cancel 1003 and 1007 and 4040");
    let text = talk.results(&[
        (r#"{"order_id":1003,"status":"cancelled","changed":true,"message":"ok"}"#, false),
        ("rejected: keep it", true),
        ("order not found", true),
    ]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].contains("order 1003 is now cancelled"));
    assert!(lines[1].contains("order 1007 was rejected"));
    assert!(lines[2].contains("no order 4040"));
}

#[test]
fn lists_are_shown_counted_and_cut_openly() {
    let list = format!(r#"{{"orders":[{ORDER},{ORDER}],"truncated":false}}"#);
    let text = one("show open orders", &list, false);
    assert!(text.starts_with("Orders found: 2\n- 1020: 2 × Wool blanket"), "{text}");
    let list = format!(r#"{{"orders":[{ORDER}],"truncated":true}}"#);
    let text = one("show open orders", &list, false);
    assert!(text.ends_with("the desk cut the list after 1."), "{text}");
    let text = one("show open orders", r#"{"orders":[],"truncated":false}"#, false);
    assert_eq!(text, "The desk has no open orders.");
    let text = one("show open orders", "the shop is closed", true);
    assert_eq!(text, "I could not read the orders: the shop is closed.");
    let text = one("show orders", "something else", false);
    assert!(text.contains("`desk_list_orders` answered: something else"), "{text}");
}

#[test]
fn cancelling_all_open_orders_takes_two_rounds() {
    let mut talk = Talk::with("orders-desk");
    talk.say("cancel all open orders");
    talk.results(&[(r#"{"orders":[{"order_id":5},{"order_id":6}],"truncated":false}"#, false)]);
    assert_eq!(talk.asked(), [5, 6].map(|id| ("desk_cancel_order".to_owned(), json!({"order_id": id}))));
    let text = talk.results(&[
        (r#"{"order_id":5,"status":"cancelled","changed":true,"message":"done"}"#, false),
        ("nobody answered in time", true),
    ]);
    assert!(text.contains("order 5 is now cancelled"), "{text}");
    assert!(text.contains("order 6 in time"), "{text}");

    let mut talk = Talk::with("orders-desk");
    talk.say("cancel all open orders");
    let many: Vec<_> = (0..40).map(|n| json!({"order_id": n})).collect();
    let many = json!({"orders": many, "truncated": false}).to_string();
    let text = talk.results(&[(&many, false)]);
    assert!(talk.asked().is_empty());
    assert!(text.contains("40 calls at once") && text.contains("at most 32"), "{text}");
}

#[test]
fn without_the_tool_nothing_is_pretended() {
    let mut talk = Talk::with("orders-desk");
    talk.request.tools.clear();
    let text = talk.say("cancel 1007");
    assert!(talk.asked().is_empty());
    assert!(text.contains("`desk_cancel_order`") && text.contains("I did nothing"), "{text}");
}

#[test]
fn the_stock_clerk_counts_and_changes_nothing() {
    let mut talk = Talk::with("stock-clerk");
    talk.say("how many orders are open?");
    let text = talk.results(&[(r#"{"orders":[{"order_id":5},{"order_id":6}],"truncated":false}"#, false)]);
    assert_eq!(text, "Number of open orders: 2. Their numbers: 5 and 6.");
    talk.say("how many pieces are in order 1020?");
    let text = talk.results(&[(ORDER, false)]);
    assert_eq!(text, "Order 1020 has 2 × Wool blanket and is open.");
    talk.say("cancel 1020");
    assert!(talk.asked().is_empty());
}

#[test]
fn the_other_built_in_scripts_do_their_part() {
    for (name, turns) in [
        (
            "greeter",
            &[
                ("hello", "rehearsal script"),
                ("my name is Ada", "meet you, Ada."),
                ("what is my name?", "It was Ada|was Ada"),
                ("are you an AI?", "no model"),
            ][..],
        ),
        (
            "summariser",
            &[
                ("summarise this", "Paste a text"),
                ("# Plan\nWe test.\n- tests\n- release", "Headings (1):\n- Plan\nList items (2):\n- tests\n- release"),
                ("First we test. Then we ship it.\nDone?", "- First we test …\n- Then we ship it …\n- Done …"),
                ("short", "too short"),
            ],
        ),
        (
            "release-notes",
            &[
                (
                    "feat: export as CSV\nfix(core): crash on an empty list\nchore: tidy\nfix: a typo",
                    "Added\n- export as CSV\nFixed\n- crash on an empty list\n- a typo",
                ),
                ("docs: more", "would be empty"),
            ],
        ),
        (
            "sales-notes",
            &[
                (
                    "met Ada Novak from Brightwater, budget 12000 euro, call back on Friday",
                    "- Person: Ada Novak\n- Company: Brightwater\n- Budget: 12000 euro\n- Next step: call back on Friday",
                ),
                ("called Bo", "Company: not named"),
            ],
        ),
        (
            "night-watch",
            &[
                ("handover", "Nothing was logged"),
                ("log 02:15 door 4 was open, closed it", "Logged for 02:15: door 4 was open, closed it"),
                ("handover", "02:15 door 4 was open"),
            ],
        ),
        (
            "onboarding",
            &[
                ("next", "Say `start`"),
                ("start", "Step 1 of 5"),
                ("next", "Step 2 of 5"),
                ("ok", "Step 3 of 5"),
                ("next", "Step 4 of 5"),
                ("next", "Step 5 of 5"),
                ("next", "no step after the fifth"),
                ("step 3", "Step 3 of 5"),
            ],
        ),
        (
            "standup",
            &[
                (
                    "yesterday I fixed the export, today I write tests, blocked by the review",
                    "Yesterday: I fixed the export\nToday: I write tests\nBlockers: the review",
                ),
                ("today nothing", "Yesterday: nothing said"),
            ],
        ),
        (
            "support",
            &[
                ("I get error E-1042 on save", "error report, code E-1042"),
                ("it crashes", "Sorted as: crash"),
                ("I cannot sign in", "sign-in"),
            ],
        ),
        ("faq", &[("what is an approval?", "exactly that call, once"), ("what is love", "not a model")]),
        ("slow-teller", &[("tell me a story", "lighthouse")]),
    ] {
        let mut talk = Talk::with(name);
        for (said, part) in turns {
            let text = talk.say(said);
            assert!(part.split('|').any(|part| text.contains(part)), "{name}: {said}: {text}");
        }
    }
}
