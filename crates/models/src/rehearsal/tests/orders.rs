//! Phrasings that nobody scripted in particular, against the orders desk.

use serde_json::{Value, json};

use super::Talk;

/// `get 7`, `cancel 7 "why"`, `refund 7 20 "why"`, `list open 5`.
fn expected(text: &str) -> Vec<(String, Value)> {
    let calls = text.split(';').map(str::trim).filter(|c| !c.is_empty());
    calls
        .map(|call| {
            let (call, reason) = match call.split_once('"') {
                Some((call, reason)) => (call, Some(reason.trim_end_matches('"'))),
                None => (call, None),
            };
            let words: Vec<_> = call.split_whitespace().collect();
            let mut args = json!({});
            let name = match words[0] {
                "list" => {
                    for word in &words[1..] {
                        match word.parse::<i64>() {
                            Ok(limit) => args["limit"] = limit.into(),
                            Err(_) => args["status"] = (*word).into(),
                        }
                    }
                    "desk_list_orders".to_owned()
                }
                verb => {
                    args["order_id"] = words[1].parse::<i64>().unwrap().into();
                    if let Some(amount) = words.get(2) {
                        args["amount"] = serde_json::from_str(amount).unwrap();
                    }
                    format!("desk_{verb}_order")
                }
            };
            if let Some(reason) = reason {
                args["reason"] = reason.into();
            }
            (name, args)
        })
        .collect()
}

const PHRASINGS: [(&str, &str); 98] = [
    ("cancel order 1007", "cancel 1007"),
    ("Cancel 1007!", "cancel 1007"),
    ("can you kill #1003 please", "cancel 1003"),
    ("CANCEL ORDER #1003", "cancel 1003"),
    ("please call off order 1044", "cancel 1044"),
    ("call order 1044 off", "cancel 1044"),
    ("I no longer want order 88", "cancel 88"),
    ("i don't need 1009 any more", "cancel 1009"),
    ("I want 1007 cancelled", "cancel 1007"),
    ("please have order 1007 canceled", "cancel 1007"),
    ("Hi, could you stop order no. 4711?", "cancel 4711"),
    ("is it possible to cancel 1007?", "cancel 1007"),
    ("cancel 1003 and 1007", "cancel 1003; cancel 1007"),
    ("cancel 1003,1007", "cancel 1003; cancel 1007"),
    ("cancel orders 1, 2 and 3", "cancel 1; cancel 2; cancel 3"),
    ("cancel #1003 & #1007 & #1003", "cancel 1003; cancel 1007"),
    ("cancel order 7", "cancel 7"),
    ("cancel 1007 as soon as possible", "cancel 1007"),
    ("cancel 1007 because I ordered it twice", "cancel 1007 \"I ordered it twice\""),
    ("cancel order 1007, I changed my mind.", "cancel 1007 \"I changed my mind\""),
    ("cancel 1007 due to late delivery", "cancel 1007 \"late delivery\""),
    ("cancel 1007, please", "cancel 1007"),
    ("please refund 1012, it came broken", "refund 1012 \"it came broken\""),
    ("please refund 1012 it came broken", "refund 1012 \"it came broken\""),
    ("refund 1012. They sent the wrong size!", "refund 1012 \"They sent the wrong size\""),
    ("I want my money back for 1015", "refund 1015"),
    ("give me back the money for 1015", "refund 1015"),
    ("reimburse order 1015 please", "refund 1015"),
    ("refunds for 1012 and 1015", "refund 1012; refund 1015"),
    ("refund 20 euro of order 1011", "refund 1011 20"),
    ("refund €20 of 1011", "refund 1011 20"),
    ("refund 20€ on 1011", "refund 1011 20"),
    ("refund 12,50 EUR of order 1011", "refund 1011 12.5"),
    ("refund $12.50 for order 1011", "refund 1011 12.5"),
    ("refund 150 euro of order 1011", "refund 1011 150"),
    ("refund 20 of order 1011", "refund 1011 20"),
    ("refund order 1011 20 euros, it came late", "refund 1011 20 \"it came late\""),
    ("refund order 1011, €20.", "refund 1011 20"),
    ("refund 1,000 euro of order 1011", ""),
    ("refund 20.555 euro of order 1011", ""),
    ("refund half of 1011", ""),
    ("refund 50% of 1011", ""),
    ("refund 20 euro of 1011 and 1012", ""),
    ("refund my order", ""),
    ("cancel my order", ""),
    ("cancel 1007 and give me my money back", ""),
    ("cancel 1003 and refund 1007", "cancel 1003; refund 1007"),
    ("please cancel order #1003, refund order #1007", "cancel 1003; refund 1007"),
    ("cancel 1003, 1004 and refund 1007", ""),
    ("don't cancel 1007", ""),
    ("please do not ever refund 1007", ""),
    ("how do I cancel order 1007?", ""),
    ("how can I get my money back?", ""),
    ("what's up with order 1020?", "get 1020"),
    ("What’s the status of 1020", "get 1020"),
    ("where is order 1020?", "get 1020"),
    ("status 1020", "get 1020"),
    ("1020", "get 1020"),
    ("#1020?", "get 1020"),
    ("show me 1020 and 1021", "get 1020; get 1021"),
    ("was 1003 cancelled?", "get 1003"),
    ("hi, has order 1012 been refunded yet?", "get 1012"),
    ("when was 1012 refunded?", "get 1012"),
    ("did 1007 ship?", "get 1007"),
    ("order 99999999 please", "get 99999999"),
    ("order 1020 since 3 days, 2 items, 2026-11-01", "get 1020"),
    ("order 123456789012345678901234567890", ""),
    ("show open orders", "list open"),
    ("open orders?", "list open"),
    ("which orders are shipped?", "list shipped"),
    ("list all delivered orders", "list delivered"),
    ("show cancelled orders", "list cancelled"),
    ("which orders were canceled?", "list cancelled"),
    ("refunded orders", "list refunded"),
    ("show the last 5 orders", "list 5"),
    ("list 10 open orders", "list open 10"),
    ("show orders", "list"),
    ("orders of Ada Novak", "list"),
    ("cancel all open orders", "list open"),
    ("cancel all my orders", ""),
    ("refund 1011 €20", "refund 1011 20"),
    ("refund 5 of 1012", "refund 1012 5"),
    ("refund -5 euro of 1012", ""),
    ("refund 1011 - 20 euro", "refund 1011 20"),
    ("refund 12 EUR for 1012, customer says 2 of 3 were broken", "refund 1012 12 \"customer says 2 of 3 were broken\""),
    ("cancel 1003 for customer 55", "cancel 1003"),
    ("cancel 1003 - wrong address", "cancel 1003 \"wrong address\""),
    ("order 1012 arrived torn, I'd like a refund", "refund 1012 \"arrived torn\""),
    ("please cancel order 1003 and tell me the status of 1007", ""),
    ("you cancelled 1007, why?", "get 1007"),
    ("undo the refund of 1012", ""),
    ("cancel order 1003 today at 10:30", "cancel 1003"),
    ("what is 2 plus 2", ""),
    ("is the refund for 1012 done?", "get 1012"),
    ("hello", ""),
    ("yes", ""),
    ("thanks a lot", ""),
    ("sing a song about the sea", ""),
];

#[test]
fn the_desk_understands_many_phrasings() {
    let mut wrong = Vec::new();
    for (said, calls) in PHRASINGS {
        let mut talk = Talk::with("orders-desk");
        let text = talk.say(said);
        if talk.asked() != expected(calls) {
            wrong.push(format!("{said}\n    -> {:?} {text}", talk.asked()));
        }
        assert!(!talk.asked().is_empty() || !text.is_empty(), "{said}");
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn small_talk_is_answered_as_such() {
    for (said, part) in [
        ("Hello there!", "Hello!"),
        ("hi", "Name an order number"),
        ("ok, thanks", "You are welcome"),
        ("Thank you so much", "You are welcome"),
        ("yes please", "never in this chat"),
        ("no thanks", "I do nothing more"),
        ("help", "show open orders"),
        ("are you a real person?", "no model"),
        ("bye", "Goodbye"),
        ("don't cancel 1007", "change nothing"),
        ("how do I refund an order", "Write `cancel order 1007`"),
        ("cancel my order", "Which order shall I cancel?"),
        ("give me my money back", "Which order shall I refund?"),
        ("refund 1,000 euro of order 1011", "separators for thousands"),
        ("refund half of 1011", "name the amount"),
        ("refund 20 euro of 1011 and 1012", "one order at a time"),
        ("cancel 1007 and give me my money back", "one kind of change"),
        ("cancel all my orders", "I need their numbers"),
        ("sing a song about the sea", "not a model"),
    ] {
        let text = Talk::with("orders-desk").say(said);
        assert!(text.contains(part), "{said}: {text}");
    }
}

#[test]
fn what_was_said_before_counts() {
    let mut talk = Talk::with("orders-desk");
    talk.say("cancel my order please");
    talk.say("1007");
    assert_eq!(talk.asked(), expected("cancel 1007"));

    let mut talk = Talk::with("orders-desk");
    talk.say("I want my money back");
    talk.say("it's order 1015, it came broken");
    assert_eq!(talk.asked(), expected("refund 1015 \"it came broken\""));

    let mut talk = Talk::with("orders-desk");
    talk.say("what's up with order 1020?");
    talk.results(&[("{\"order_id\":1020}", false)]);
    talk.say("cancel it");
    assert_eq!(talk.asked(), expected("cancel 1020"));
    talk.results(&[("rejected", true)]);
    talk.say("and refund that");
    assert_eq!(talk.asked(), expected("refund 1020"));

    // Two numbers before: "it" could be either, so it asks.
    let mut talk = Talk::with("orders-desk");
    talk.say("show 1003 and 1007");
    talk.results(&[("{}", false), ("{}", false)]);
    let text = talk.say("cancel it");
    assert!(talk.asked().is_empty());
    assert!(text.contains("Which order"), "{text}");
}
