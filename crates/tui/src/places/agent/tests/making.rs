//! New agents, and new ones like others.

use super::*;

#[test]
fn a_new_agent_is_created_with_what_was_filled_in() {
    let mut stage = at(Go::Agent(None));
    stage.event(event(Msg::Tools(Ok(Json(json!([{ "slug": "http" }, { "slug": "shell" }]))))));
    stage.keys("ctrl-s");
    assert!(stage.shows("! This is needed.") && stage.called("agents.create") == 0, "{:#?}", stage.screen());
    stage.typed("My Desk").keys("tab tab").typed("rehearsal:x").keys("tab tab f4 down enter tab tab").typed("0.2");
    stage.state.places.agent.form.focus_on("tools");
    stage.keys("f4 enter esc");
    stage.state.places.agent.form.focus_on(PROMPT);
    stage.typed("Be kind?").keys("enter").typed("Yes.");
    assert!(stage.shows("Be kind?") && stage.shows("Yes."), "{:#?}", stage.screen());
    let body = serde_json::to_value(fields::create(&place(&stage).form, None)).unwrap();
    assert_eq!(
        body,
        json!({
            "name": "My Desk", "llm": "rehearsal:x", "visibility": "tenant",
            "config": { "temperature": 0.2, "tools": ["http"], "system_prompt": "Be kind?\nYes." },
        })
    );
    stage.keys("ctrl-s");
    assert_eq!(stage.called("agents.create"), 1);
    let ticket = place(&stage).ticket;
    stage.event(event(Msg::Created { ticket, reply: Err(StudioError::name_taken("my-desk")) }));
    assert!(stage.shows("! Name 'my-desk' is not available."), "{:#?}", stage.screen());
    stage.keys("ctrl-s");
    let created = AgentCreated {
        name: "my-desk".into(),
        persisted: true,
        source: "studio".into(),
        file_path: None,
        agent_id: "id".into(),
        version: 1,
        tenant: None,
        warnings: vec!["Mind this.".into()],
    };
    kept(&mut stage);
    stage.event(event(Msg::Created { ticket, reply: Ok(Json(created)) }));
    assert!(stage.shows("'my-desk' is created. Mind this."));
    assert_eq!(kept(&mut stage), Some(None));
    assert_eq!(place(&stage).subject, Subject::Agent("my-desk".into()));
}

#[test]
fn a_clone_takes_over_what_can_be() {
    let mut stage = at(Go::Clone("desk".into()));
    let mut like = item(3, "Be kind.");
    like.definition.as_mut().unwrap().tools.push(json!({ "slug": "x" }));
    read(&mut stage, like);
    assert!(stage.shows("Not copied from 'desk': tools that are more than a name (1)."), "{:#?}", stage.screen());
    stage.wait(60_000);
    assert!(stage.shows("New agent like desk"), "{:#?}", stage.screen());
    let body = serde_json::to_value(fields::create(&place(&stage).form, place(&stage).class.as_deref())).unwrap();
    assert_eq!(
        body,
        json!({
            "name": "desk-copy", "bot_class": "Agent", "llm": "anthropic:claude", "description": "Answers.",
            "category": "general", "visibility": "private",
            "config": { "temperature": 0.5, "tools": ["http", "desk"], "system_prompt": "Be kind." },
        })
    );
    let mut stage = at(Go::Clone("desk".into()));
    let mut hidden = item(3, "");
    hidden.definition = None;
    read(&mut stage, hidden);
    assert!(stage.shows("Not copied from 'desk': prompt"));
}

fn made(stage: &mut Stage, name: &str) {
    let created = AgentCreated {
        name: name.into(),
        persisted: true,
        source: "studio".into(),
        file_path: None,
        agent_id: "id".into(),
        version: 1,
        tenant: None,
        warnings: Vec::new(),
    };
    let ticket = place(stage).ticket;
    stage.event(event(Msg::Created { ticket, reply: Ok(Json(created)) }));
}

#[test]
fn a_model_without_a_key_is_marked_and_told_of_once_when_it_is_stored() {
    let mut stage = at(Go::Agent(None));
    stage.event(event(Msg::Models(Ok(Json(json!([
        { "provider": "anthropic", "available": true, "needs_key": true, "credentials": [], "models": ["claude"] },
        { "provider": "rehearsal", "available": true, "needs_key": false, "credentials": [], "models": ["x"] },
    ]))))));
    stage.typed("desk").keys("tab tab f4");
    assert!(stage.shows("anthropic:claude  no key here") && stage.shows("rehearsal:x  ready"), "{:#?}", stage.screen());
    stage.keys("down enter ctrl-s");
    assert_eq!(stage.called("agents.create"), 1, "it is stored all the same");
    made(&mut stage, "desk");
    assert!(stage.shows("It cannot answer yet with anthropic:claude: there is no key"), "{:#?}", stage.screen());
}

#[test]
fn a_change_of_something_else_says_nothing_of_the_model() {
    let mut stage = opened();
    stage.event(event(Msg::Models(Ok(Json(json!([
        { "provider": "anthropic", "available": true, "needs_key": true, "credentials": [], "models": ["claude"] },
    ]))))));
    stage.typed("!").keys("ctrl-s");
    saved(&mut stage, Ok(item(4, "Be kind.")));
    assert!(stage.shows("is saved as version 4") && !stage.shows("cannot answer"), "{:#?}", stage.screen());
}

#[test]
fn a_new_agent_is_seen_in_the_list_whatever_its_filter_was() {
    let mut stage = at(Go::Agent(None));
    stage.keys("esc").keys("/").typed("owner:me").keys("enter n");
    stage.effects.clear();
    stage.typed("desk").keys("ctrl-s");
    made(&mut stage, "desk");
    let told = stage.effects.iter().position(|effect| matches!(effect, Effect::Send(_))).expect("the list is told");
    let Effect::Send(told) = stage.effects.remove(told) else { unreachable!() };
    stage.event(*told);
    assert!(stage.shows("The filter of the list is cleared"), "{:#?}", stage.screen());
    assert!(format!("{:?}", stage.state.places.agents).contains("applied: \"\""));
}
