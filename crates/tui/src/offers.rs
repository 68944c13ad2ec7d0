//! What is offered does something: checked over all places, in states in which there is little to do.

#![allow(clippy::unwrap_used)]

use crate::draw;
use crate::event::{Event, Input, What};
use crate::places::{self, PlaceId};
use crate::testing::{Stage, key};
use contract::ops::agents::AgentList;
use contract::ops::me::Me;
use contract::wire::Json;
use contract::{Code, StudioError};

fn me(may_author: bool) -> Me {
    Me {
        user_id: "ann".into(),
        tenant: Some("acme".into()),
        may_author,
        may_administer: false,
        enabled: true,
        is_superuser: false,
    }
}

/// A workbench in which nothing is there and little is allowed, at a place.
fn bare(go: &str) -> Stage {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::Me(Ok(me(false))));
    let none = AgentList { agents: Vec::new(), count: 0, next_cursor: Some(None) };
    let listed = places::agents::Msg::Listed { generation: 0, page: 0, reply: Ok(Json(none)) };
    stage.reply(Event::Place(places::Msg::Agents(listed)));
    stage.keys(go);
    let refused = || StudioError::new(Code::AdminRequired, 403, "Only administrators may do this.");
    stage.reply(Event::Place(places::Msg::Audit(places::audit::Msg::Newest(Err(refused())))));
    stage.reply(Event::Place(places::Msg::Keys(places::keys::Msg::Listed(Ok(Vec::new())))));
    stage.reply(Event::Place(places::Msg::Welcome(places::welcome::Msg::Found(Vec::new()))));
    stage.reply(Event::Place(places::Msg::Settings(places::settings::Msg::Read(crate::TuiSettings::default()))));
    stage
}

#[test]
fn what_the_footer_tells_does_something() {
    for go in ["alt-1", "alt-2", "alt-3", "alt-4", "alt-5", "alt-6", "alt-0"] {
        let (here, everywhere) = draw::told(&bare(go).state);
        for told in here.iter().chain(&everywhere) {
            let mut stage = bare(go);
            let (screen, done) = (stage.screen(), stage.effects.len());
            let input = Input { at: stage.now, what: What::Key(key("f24")) };
            let mut effects = Vec::new();
            stage.state.act(told.action, &input, &mut effects);
            stage.state.dirty = true;
            stage.draw();
            let moved = screen != stage.screen() || !effects.is_empty() || done < stage.effects.len();
            assert!(moved, "{go}: {:?} is offered and does nothing", told.action);
        }
    }
}

#[test]
fn what_cannot_be_done_is_not_offered() {
    for (go, place, not) in [
        ("alt-1", PlaceId::Agents, ["open", "chat", "edit", "new", "delete"].as_slice()),
        ("alt-2", PlaceId::Approvals, &["open", "chat", "filter"]),
        ("alt-3", PlaceId::Keys, &["delete", "open", "filter"]),
        ("alt-4", PlaceId::Audit, &["verify", "older", "open", "filter"]),
        ("alt-5", PlaceId::Log, &["open", "filter"]),
        ("alt-0", PlaceId::Welcome, &["use"]),
    ] {
        let mut stage = bare(go);
        assert_eq!(stage.state.place, place);
        for label in not {
            assert!(!stage.footer().contains(&format!(" {label} ")), "{label}: {:#?}", stage.screen());
        }
        assert!(stage.footer().contains("palette") && stage.footer().contains("help"), "{:#?}", stage.screen());
        // Nor by the palette.
        stage.keys("ctrl-p");
        for words in
            ["Check the journal", "Create an agent", "Delete the selected key", "Make an agent on the selected"]
        {
            assert!(!stage.shows(words), "{words}: {:#?}", stage.screen());
        }
    }
    let mut stage = bare("alt-1");
    stage.event(Event::Me(Ok(me(true))));
    assert!(stage.footer().contains("n new"), "{:#?}", stage.screen());
}
