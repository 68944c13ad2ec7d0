//! Manners that hold in every place: what is said, what the footer tells, how one leaves.

#![allow(clippy::unwrap_used)]

use crate::effect::Effect;
use crate::event::Event;
use crate::layers::{Confirm, Layer};
use crate::places::PlaceId;
use crate::state::Toast;
use crate::testing::Stage;

fn footer(stage: &Stage) -> String {
    stage.footer()
}

fn quits(stage: &Stage) -> bool {
    stage.effects.iter().any(|effect| matches!(effect, Effect::Quit))
}

#[test]
fn what_is_said_covers_nothing_and_is_read_to_its_end() {
    let mut stage = Stage::new(80, 24);
    crate::places::agents::tests::listed(&mut stage, &["orders-desk"]);
    let before = stage.screen();
    stage.event(Event::Toast(Toast::good("Stored.")));
    let after = stage.screen();
    assert_eq!(after[22].trim(), "· Stored.");
    assert_eq!(before[..22], after[..22], "every row but those of the keys stays as it was");
    let long = "It could not be stored, and here is why: ".repeat(4);
    stage.event(Event::Toast(Toast::bad(format!("{long}the end"))));
    assert!(stage.shows("the end") && stage.shows("Enter open"), "{:#?}", stage.screen());
    stage.wait(60_000);
    assert!(!stage.shows("the end") && !stage.shows("Stored."), "its time is over");
}

#[test]
fn on_a_small_screen_it_stands_in_the_place_of_the_keys_for_a_while() {
    let mut stage = Stage::new(50, 10);
    stage.event(Event::Toast(Toast::good("Stored.")));
    assert_eq!(footer(&stage).trim(), "· Stored.");
    stage.wait(60_000);
    assert!(footer(&stage).contains("help"), "{:#?}", stage.screen());
}

#[test]
fn what_was_said_of_a_place_goes_with_it() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Toast(Toast::good("Stored.")));
    stage.keys("alt-4");
    assert!(!stage.shows("Stored."), "{:#?}", stage.screen());
}

#[test]
fn one_can_leave_from_every_layer() {
    for open in ["ctrl-p", "f1"] {
        let mut stage = Stage::new(80, 24);
        stage.keys(open).keys("ctrl-q");
        assert!(quits(&stage), "{open}");
    }
    let mut stage = Stage::new(80, 24);
    stage.state.layers.push(Layer::Confirm(Confirm::new("Sure?", "Sure?", Some("word".into()), |_| {})), 0);
    stage.typed("q").keys("ctrl-q");
    assert!(quits(&stage));
}

#[test]
fn a_key_that_types_leaves_no_layer() {
    let mut stage = Stage::new(80, 24);
    let own = std::collections::BTreeMap::from([("quit".to_owned(), vec!["q".to_owned()])]);
    stage.state.keymap = crate::keymap::Keymap::new(&own).unwrap();
    stage.keys("ctrl-p").typed("q");
    assert!(!quits(&stage));
    stage.keys("esc q");
    assert!(quits(&stage), "where nothing is typed it does");
}

#[test]
fn the_chat_tells_stop_only_while_something_runs() {
    let mut stage = Stage::new(80, 24);
    let to = crate::places::Go::Chat { agent: "desk".into(), session: None };
    stage.state.layers.push(Layer::Confirm(Confirm::new("", "", None, move |ctx| *ctx.go = Some(to))), 0);
    stage.keys("enter");
    assert_eq!(stage.state.place, PlaceId::Chat);
    assert!(footer(&stage).contains("Esc back"), "{}", footer(&stage));
}

/// A stage of this size, with long names, at a place or a layer that these keys open.
fn long(width: u16, keys: &str) -> Stage {
    use crate::places::{self, Msg};
    let long = "a-name-that-is-longer-than-a-screen-of-eighty-columns-has-room-for-beside-the-places-and-columns";
    let mut stage = Stage::new(width, 24);
    stage.state.profile.engine = format!("studio.{long}.example.com");
    places::agents::tests::listed(&mut stage, &[long, "short"]);
    let waits = contract::ops::approvals::ApprovalView {
        tool: long.into(),
        agent: long.into(),
        rule: long.repeat(2),
        ..places::approvals::tests::approval("1")
    };
    places::approvals::tests::waiting(&mut stage, vec![waits]);
    stage.keys(keys);
    let key = contract::ops::keys::KeyItem {
        provider: long.into(),
        masked: long.into(),
        created_at: contract::Micros(1_790_000_000_000_000),
    };
    stage.event(Event::Place(Msg::Keys(places::keys::Msg::Listed(Ok(vec![key])))));
    stage.event(Event::Place(Msg::Settings(places::settings::Msg::Read(crate::TuiSettings::default()))));
    let found = vec![crate::FoundModel { llm: long.into(), how: long.into() }];
    stage.event(Event::Place(Msg::Welcome(places::welcome::Msg::Found(found))));
    stage
}

#[test]
fn nothing_is_cut_in_silence() {
    for keys in [
        "alt-1",
        "alt-1 space",
        "alt-2",
        "alt-2 enter",
        "alt-3",
        "alt-3 d",
        "alt-6",
        "alt-6 end",
        "alt-0",
        "n",
        "f1",
        "ctrl-p",
    ] {
        let (narrow, wide) = (long(80, keys).screen(), long(150, keys).screen());
        for row in &narrow {
            // What goes on in the middle of a word on a wider screen was cut here, unless it says so.
            let goes_on = |other: &String| {
                other.strip_prefix(row.as_str()).is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric()))
            };
            let full = text::width(row) == 80;
            assert!(!(full && wide.iter().any(goes_on)), "{keys}: {row}\n{narrow:#?}\n{wide:#?}");
        }
    }
}
