//! Text that is typed and not saved.

use super::*;

#[test]
fn unsaved_text_survives_and_is_offered_again() {
    let mut stage = opened();
    stage.typed("a").typed("b");
    assert_eq!(
        stage.effects.iter().filter(|effect| matches!(effect, Effect::Host { .. } | Effect::ReadKept { .. })).count(),
        2,
        "read once, kept once"
    );
    assert_eq!(kept(&mut stage), None, "not at each key");
    keep_now(&mut stage);
    let text = kept(&mut stage).unwrap().unwrap();
    assert!(text.contains("Answers.ab"), "{text}");
    assert!(!text.contains("Be kind"), "only what changed");

    // After a crash, on the version of before.
    let mut stage = opened();
    let ticket = place(&stage).ticket;
    stage.event(event(Msg::Kept { ticket, text: Some(text.clone()) }));
    assert!(stage.shows("Unsaved text is kept: Alt-k takes it"), "{:#?}", stage.screen());
    stage.keys("tab").typed("-new");
    keep_now(&mut stage);
    let both = kept(&mut stage).unwrap().unwrap();
    assert!(both.contains("Answers.ab") && both.contains("claude-new"), "what is offered is not written over: {both}");
    stage.keys("alt-k");
    assert_eq!(
        body(&stage),
        json!({ "description": "Answers.ab", "llm": "anthropic:claude-new", "expected_version": 3 })
    );
    assert_eq!(kept(&mut stage), None, "it is removed only after the save");

    // After others stored a newer version: it meets theirs when it is saved.
    let mut stage = at(Go::Agent(Some("desk".into())));
    let ticket = place(&stage).ticket;
    stage.event(event(Msg::Kept { ticket, text: Some(text.clone()) }));
    let mut newer = item(7, "Be kind.");
    newer.description = Some("Newer.".into());
    read(&mut stage, newer);
    stage.keys("alt-k");
    assert_eq!(body(&stage), json!({ "description": "Answers.ab", "expected_version": 3 }));

    // Forgotten, of another person, of another agent, nothing new, broken.
    let mut stage = opened();
    let ticket = place(&stage).ticket;
    stage.event(event(Msg::Kept { ticket, text: Some(text.clone()) })).keys("alt-x");
    assert_eq!(kept(&mut stage), Some(None));
    for (other, removed) in [
        (text.replace("\"ann\"", "\"bob\""), None),
        (text.replace("\"desk\"", "\"else\""), None),
        ("{".to_owned(), None),
        (text.replace("Answers.ab", "Answers."), Some(None)),
    ] {
        let mut stage = opened();
        let ticket = place(&stage).ticket;
        stage.event(event(Msg::Kept { ticket, text: Some(other.clone()) }));
        assert!(!stage.shows("Unsaved text"), "{other}");
        assert_eq!(kept(&mut stage), removed, "{other}");
    }
}

#[test]
fn going_elsewhere_keeps_what_is_typed() {
    let mut stage = opened();
    stage.typed("x").keys("esc");
    assert!(kept(&mut stage).unwrap().unwrap().contains("Answers.x"));
    assert_eq!(stage.state.place, PlaceId::Agents);
    let mut effects = Vec::new();
    go_to(&mut stage, Go::Agent(Some("desk".into())), &mut effects);
    assert!(stage.draw().shows("Answers.x"), "it is still there");
    go_to(&mut stage, Go::Agent(Some("other".into())), &mut effects);
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::KeepUnsaved { key, text: Some(_) } if key == "agent-desk"))
    );
    // Quitting keeps it too.
    let mut stage = opened();
    stage.typed("y").keys("ctrl-q");
    assert!(kept(&mut stage).unwrap().unwrap().contains("Answers.y"));
    // Taken back by hand there is nothing to keep.
    let mut stage = opened();
    stage.typed("z");
    keep_now(&mut stage);
    stage.keys("backspace");
    keep_now(&mut stage);
    assert_eq!(kept(&mut stage), Some(None));
}

#[test]
fn whoever_leaves_with_unsaved_text_is_told_where_it_is() {
    let mut stage = opened();
    stage.typed("!").keys("esc");
    assert_eq!(stage.state.place, PlaceId::Agents);
    assert!(stage.shows("What you typed for 'desk' is not saved. It is kept: open it again."), "{:#?}", stage.screen());
    let mut stage = opened();
    stage.keys("esc");
    assert!(!stage.shows("kept"), "nothing was typed");
}

#[test]
fn a_draft_that_comes_back_says_so_and_can_be_dropped() {
    let mut stage = at(Go::Agent(None));
    stage.typed("desk");
    stage.keys("esc n");
    assert!(stage.shows("Your unsaved text for a new agent is back; Alt-x drops it."), "{:#?}", stage.screen());
    stage.keys("alt-x");
    assert!(stage.shows("Drop it?"), "{:#?}", stage.screen());
    stage.keys("esc");
    assert!(stage.shows("● name"));
    stage.keys("alt-x enter");
    let at = stage.effects.iter().position(|effect| matches!(effect, Effect::Send(_))).unwrap();
    let Effect::Send(sent) = stage.effects.remove(at) else { unreachable!() };
    stage.event(*sent);
    assert!(!stage.shows("● name") && stage.shows("nothing changed"), "{:#?}", stage.screen());
    assert!(matches!(
        stage.effects.iter().rev().find(|effect| matches!(effect, Effect::KeepUnsaved { .. })),
        Some(Effect::KeepUnsaved { text: None, .. })
    ));
}
