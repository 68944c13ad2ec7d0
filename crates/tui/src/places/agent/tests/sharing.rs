//! Who sees an agent, and which tools it has.

use super::*;

fn shared(stage: &mut Stage, reply: Result<AgentItem>) {
    let ticket = place(stage).ticket;
    stage.event(event(Msg::Shared { ticket, name: "desk".into(), reply: Box::new(reply.map(Json)) }));
}

#[test]
fn tools_and_visibility_are_shown_and_how_they_change() {
    let mut stage = opened();
    assert!(stage.shows("visible to    tenant") && stage.shows("tools         http, desk"), "{:#?}", stage.screen());
    stage.state.places.agent.form.focus_on("toolset");
    stage.state.dirty = true;
    stage.draw();
    assert!(stage.shows("To have others, clone this one"), "{:#?}", stage.screen());
    stage.typed("x");
    assert!(!place(&stage).form.is_dirty(), "they are only looked at");
}

#[test]
fn visibility_is_set_by_a_key_and_what_is_typed_stays() {
    let mut stage = opened();
    stage.typed("!").keys("alt-v");
    assert!(stage.shows("Who sees this agent?"), "{:#?}", stage.screen());
    stage.typed("gro").keys("enter");
    assert!(stage.shows("Which groups see 'desk'?"), "{:#?}", stage.screen());
    stage.typed("sales, support").keys("enter");
    assert_eq!(stage.called("agents.visibility"), 1);
    let mut now = item(4, "Be kind.");
    now.visibility = "groups".into();
    now.allowed_groups = vec!["sales".into(), "support".into()];
    shared(&mut stage, Ok(now));
    assert!(stage.shows("'desk' is visible to: groups: sales, support."), "{:#?}", stage.screen());
    assert!(stage.shows("visible to    groups: sales, support") && stage.shows("Answers.!"), "{:#?}", stage.screen());
    assert_eq!(body(&stage)["expected_version"], 4, "the change was one's own");
    assert_eq!(place(&stage).form.changed(), ["description"]);
}

#[test]
fn enter_alone_changes_nothing() {
    let mut stage = at(Go::Agent(Some("desk".into())));
    let mut shared_one = item(3, "x");
    shared_one.visibility = "tenant".into();
    read(&mut stage, shared_one);
    stage.keys("alt-v");
    let now = stage.screen().iter().find(|line| line.contains("(now)")).expect("what counts now is marked").clone();
    assert!(now.contains("›tenant"), "{now}");
    stage.keys("enter");
    assert_eq!(stage.called("agents.visibility"), 0);
    assert!(stage.shows("Nothing is changed."), "{:#?}", stage.screen());
}

#[test]
fn a_version_of_somebody_else_in_between_is_still_met_when_saving() {
    let mut stage = opened();
    stage.typed("!");
    shared(&mut stage, Ok(item(5, "Theirs.")));
    assert_eq!(body(&stage)["expected_version"], 3);
}

#[test]
fn a_refusal_is_told_and_who_may_not_is_not_asked() {
    let mut stage = opened();
    stage.keys("alt-v").typed("private").keys("enter");
    shared(&mut stage, Err(StudioError::new(Code::TenantRequired, 422, "There is no tenant.")));
    assert!(stage.shows("Who sees 'desk' was not changed: There is no tenant."), "{:#?}", stage.screen());
    let mut stage = at(Go::Agent(Some("desk".into())));
    let mut theirs = item(3, "x");
    theirs.can_manage = false;
    read(&mut stage, theirs);
    stage.keys("alt-v");
    assert!(stage.shows("Only its owner") && !stage.shows("Who sees this agent?"), "{:#?}", stage.screen());
}

#[test]
fn the_footer_tells_the_way_out_and_choices_where_there_are_some() {
    let mut stage = Stage::new(80, 24);
    stage.event(me(true));
    let mut effects = Vec::new();
    go_to(&mut stage, Go::Agent(Some("desk".into())), &mut effects);
    read(&mut stage, item(3, "Be kind."));
    let footer = |stage: &Stage| stage.screen().last().expect("rows").clone();
    assert!(footer(&stage).contains("Esc back") && footer(&stage).contains("Ctrl-S save"), "{}", footer(&stage));
    assert!(!footer(&stage).contains("choices"), "{}", footer(&stage));
    stage.keys("tab");
    assert!(footer(&stage).contains("F4 choices") && footer(&stage).contains("Esc back"), "{}", footer(&stage));
}
