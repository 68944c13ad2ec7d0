//! The form of an agent, over a stage.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod keeping;
mod making;
mod sharing;

use super::*;
use crate::places::PlaceId;
use crate::testing::Stage;
use contract::ops::agents::{AgentDefinition, ModelParams};
use contract::ops::me::Me;
use contract::{Code, Micros};
use serde_json::json;

fn item(version: i64, prompt: &str) -> AgentItem {
    AgentItem {
        name: "desk".into(),
        source: "studio".into(),
        origin: "studio".into(),
        owner: Some("ann".into()),
        enabled: true,
        agent_id: Some("id".into()),
        tenant: Some("acme".into()),
        version: Some(version),
        updated_at: Some(Micros(1)),
        visibility: "tenant".into(),
        allowed_groups: Vec::new(),
        class_name: "Agent".into(),
        module: None,
        file_path: None,
        tags: Vec::new(),
        priority: 0,
        at_startup: false,
        llm: Some("anthropic:claude".into()),
        description: Some("Answers.".into()),
        category: Some("general".into()),
        access: "owner".into(),
        can_manage: true,
        definition: Some(AgentDefinition {
            bot_class: "Agent".into(),
            llm: Some("anthropic:claude".into()),
            description: Some("Answers.".into()),
            category: "general".into(),
            model_params: ModelParams { temperature: Some(0.5), ..ModelParams::default() },
            system_prompt: Some(prompt.into()),
            tools: vec![json!("http"), json!("desk")],
        }),
    }
}

fn me(may_author: bool) -> Event {
    Event::Me(Ok(Me {
        user_id: "ann".into(),
        tenant: Some("acme".into()),
        may_author,
        may_administer: false,
        enabled: true,
        is_superuser: false,
    }))
}

fn place(stage: &Stage) -> &Place {
    &stage.state.places.agent
}

/// A workbench that goes to a form; nothing is read yet.
fn at(go: Go) -> Stage {
    let mut stage = Stage::new(100, 30);
    stage.event(me(true));
    let mut effects = Vec::new();
    go_to(&mut stage, go, &mut effects);
    stage.effects.extend(effects);
    stage.draw();
    stage
}

fn go_to(stage: &mut Stage, go: Go, effects: &mut Vec<Effect>) {
    let (mut open, mut went, mut toasts) = (Vec::new(), None, Vec::new());
    let (mut settings, mut newcomer) = (None, None);
    let state = &mut stage.state;
    let mut ctx = Ctx {
        now: stage.now,
        size: state.size,
        me: state.me.as_ref(),
        on_server: state.profile.is_server(),
        connected: true,
        keymap: &state.keymap,
        effects,
        open: &mut open,
        go: &mut went,
        toasts: &mut toasts,
        pending: &[],
        settings: &mut settings,
        newcomer: &mut newcomer,
    };
    state.place = PlaceId::Agent;
    state.places.open(go, &mut ctx);
    state.places.enter(PlaceId::Agent, &mut ctx);
    state.dirty = true;
}

fn read(stage: &mut Stage, item: AgentItem) {
    let ticket = place(stage).ticket;
    stage.event(event(Msg::Read { ticket, reply: Ok(Json(item)) }));
}

fn opened() -> Stage {
    let mut stage = at(Go::Agent(Some("desk".into())));
    read(&mut stage, item(3, "Be kind."));
    stage
}

fn body(stage: &Stage) -> Value {
    serde_json::to_value(fields::patch(&place(stage).form, place(stage).version)).unwrap()
}

fn saved(stage: &mut Stage, reply: Result<AgentItem>) {
    let ticket = place(stage).ticket;
    stage.event(event(Msg::Saved { ticket, name: "desk".into(), reply: reply.map(Json) }));
}

/// What was kept since this was asked last: none = nothing, `Some(None)` = it was removed.
fn kept(stage: &mut Stage) -> Option<Option<String>> {
    let mut last = None;
    stage.effects.retain(|effect| match effect {
        Effect::KeepUnsaved { key, text } => {
            last = Some((key.clone(), text.clone()));
            false
        }
        _ => true,
    });
    last.map(|(key, text)| {
        assert!(key == "agent-desk" || key == "agent--new", "{key}");
        text
    })
}

fn keep_now(stage: &mut Stage) {
    let ticket = place(stage).ticket;
    stage.event(event(Msg::Keep { ticket }));
}

#[test]
fn shows_the_agent_and_marks_what_changed() {
    let mut stage = at(Go::Agent(Some("desk".into())));
    assert!(stage.shows("Reading …"));
    assert_eq!(stage.called("agents.get"), 1, "opening and entering read it once");
    read(&mut stage, item(3, "Be kind."));
    stage.event(event(Msg::Models(Ok(Json(json!([
        { "provider": "anthropic", "available": true, "models": ["claude", "tiny"] },
        { "provider": "gone", "available": false, "models": ["x"] },
    ]))))));
    assert!(stage.shows("desk · version 3 · tenant · owner ann"));
    assert!(stage.shows("prompt about 2 tokens (characters / 4)"), "{:#?}", stage.screen());
    stage.typed("!").keys("tab f4");
    assert!(stage.shows("anthropic:tiny") && !stage.shows("gone:x"));
    stage.keys("down enter tab tab ctrl-u tab").typed("100");
    assert!(stage.shows("● description") && stage.shows("● 4 fields changed"), "{:#?}", stage.screen());
    assert_eq!(
        body(&stage),
        json!({
            "description": "Answers.!", "llm": "anthropic:tiny", "model_params": { "temperature": null, "max_tokens": 100 },
            "expected_version": 3,
        })
    );
}

#[test]
fn a_save_sends_once_and_what_was_typed_meanwhile_stays_a_change() {
    let mut stage = opened();
    stage.keys("ctrl-s");
    assert_eq!(stage.called("agents.patch"), 0);
    assert!(stage.shows("Nothing was changed, so nothing was sent."));
    stage.typed("!").keys("ctrl-s ctrl-s");
    assert_eq!(stage.called("agents.patch"), 1);
    stage.typed("?");
    let mut stored = item(4, "Be kind.");
    stored.description = Some("Answers.!".into());
    saved(&mut stage, Ok(stored));
    assert!(stage.shows("'desk' is saved as version 4.") && stage.shows("● 1 field changed"));
    assert_eq!(body(&stage), json!({ "description": "Answers.!?", "expected_version": 4 }));
    assert!(kept(&mut stage).unwrap().is_some(), "the newer text is kept on");
}

#[test]
fn bad_input_is_not_sent_and_refusals_stand_at_their_field() {
    let mut stage = opened();
    stage.keys("tab tab tab ctrl-u").typed("9").keys("tab ctrl-s");
    assert_eq!(stage.called("agents.patch"), 0);
    assert!(stage.shows("! This must be at most 2."), "{:#?}", stage.screen());
    assert_eq!(place(&stage).form.focus().unwrap().key, "temperature");
    stage.keys("ctrl-u").typed("1").keys("ctrl-s");
    let error = StudioError::new(Code::InvalidConfig, 422, "Both are wrong.").with(json!([
        { "field": "max_tokens", "constraint": "gt", "limit": 0, "message": "max_tokens is wrong." },
        { "field": "top_k", "constraint": "gt", "limit": 0, "message": "top_k is wrong." },
    ]));
    saved(&mut stage, Err(error));
    assert!(stage.shows("! max_tokens is wrong.") && stage.shows("! top_k is wrong."), "{:#?}", stage.screen());
    assert_eq!(place(&stage).form.field("temperature").unwrap().value, Some(json!(1)), "what was typed stays");
    stage.keys("ctrl-s");
    saved(&mut stage, Err(StudioError::new(Code::InvalidCategory, 400, "No slug.")));
    assert!(stage.shows("! No slug."));
    stage.keys("ctrl-s");
    saved(&mut stage, Err(StudioError::storage_unavailable()));
    assert!(stage.shows("The storage cannot be used"));
    assert!(kept(&mut stage).unwrap().unwrap().contains("temperature"));
}

#[test]
fn a_conflict_is_settled_field_by_field() {
    let mut stage = opened();
    stage.typed("mine").keys("tab").typed("-mine").keys("tab tab").typed("5").keys("ctrl-s");
    saved(&mut stage, Err(StudioError::version_conflict(Some(5))));
    assert_eq!(stage.called("agents.get"), 2, "theirs is read");
    let mut theirs = item(5, "Theirs is another prompt.");
    theirs.description = Some("Their words.".into());
    theirs.llm = Some("openai:gpt".into());
    let ticket = place(&stage).ticket;
    stage.event(event(Msg::Theirs { ticket, reply: Ok(Json(theirs)) }));
    let screen = stage.screen().join("\n");
    for said in ["version 5", "description", "? not decided", "Answers.mine", "Their words.", "before"] {
        assert!(screen.contains(said), "{said}: {screen}");
    }
    assert!(!screen.contains("temperature"), "only what both changed is asked");
    stage.keys("ctrl-s");
    assert_eq!(stage.called("agents.patch"), 1, "not before all is decided");
    stage.keys("ctrl-g");
    assert!(stage.shows("✓ mine") && stage.shows("openai:gpt") && stage.shows("anthropic:claude-mine"));
    stage.keys("ctrl-r up down").keys("ctrl-s");
    assert_eq!(stage.called("agents.patch"), 2);
    assert_eq!(
        body(&stage),
        json!({ "description": "Answers.mine", "model_params": { "temperature": 0.55 }, "expected_version": 5 })
    );
    let prompt = place(&stage).form.field(PROMPT).unwrap();
    assert_eq!(prompt.value, Some(json!("Theirs is another prompt.")), "what I did not touch is theirs");
    let mut stored = item(6, "Theirs is another prompt.");
    stored.description = Some("Answers.mine".into());
    stored.llm = Some("openai:gpt".into());
    stored.definition.as_mut().unwrap().model_params.temperature = Some(0.55);
    saved(&mut stage, Ok(stored));
    assert!(!place(&stage).is_unsaved());
    assert_eq!(kept(&mut stage), Some(None), "what was kept goes when the save is confirmed");
}

#[test]
fn without_a_field_in_common_there_is_nothing_to_decide() {
    let mut stage = opened();
    stage.typed("mine").keys("ctrl-s");
    saved(&mut stage, Err(StudioError::version_conflict(None)));
    let ticket = place(&stage).ticket;
    stage.event(event(Msg::Theirs { ticket, reply: Ok(Json(item(9, "New."))) }));
    assert!(place(&stage).conflict.is_none() && stage.shows("Somebody changed other fields"));
    assert_eq!(body(&stage), json!({ "description": "Answers.mine", "expected_version": 9 }));
    // Leaving a conflict keeps what was typed and its version.
    stage.keys("ctrl-s");
    saved(&mut stage, Err(StudioError::version_conflict(None)));
    let mut theirs = item(10, "New.");
    theirs.description = Some("x".into());
    stage.event(event(Msg::Theirs { ticket, reply: Ok(Json(theirs)) }));
    stage.keys("esc");
    assert!(stage.shows("Answers.mine"));
    assert_eq!(body(&stage)["expected_version"], 9);
}

#[test]
fn those_who_may_not_change_it_read_it_and_are_told_why() {
    for (change, author, why) in [
        ((|item| item.can_manage = false) as fn(&mut AgentItem), true, "it belongs to ann"),
        (|item| item.definition = None, true, "it belongs to ann"),
        (|item| item.source = "registry".into(), true, "the host program defines"),
        (|_| (), false, "your role may not author"),
    ] {
        let mut stage = at(Go::Agent(Some("desk".into())));
        stage.event(me(author));
        let mut theirs = item(3, "Be kind.");
        change(&mut theirs);
        read(&mut stage, theirs);
        assert!(stage.shows("Read-only: ") && stage.shows(why), "{:#?}", stage.screen());
        assert!(stage.shows("Answers."));
        stage.typed("xyz").keys("ctrl-u ctrl-s ctrl-e tab f4").typed("x");
        assert!(!place(&stage).form.is_dirty());
        assert_eq!(stage.called("agents.patch"), 0);
        assert!(
            !stage.effects.iter().any(|effect| matches!(effect, Effect::Editor { .. } | Effect::KeepUnsaved { .. }))
        );
    }
    let mut stage = Stage::new(80, 24);
    stage.event(me(false));
    let mut effects = Vec::new();
    go_to(&mut stage, Go::Agent(None), &mut effects);
    assert!(stage.draw().shows("Read-only: your role"));
}

#[test]
fn the_prompt_goes_to_the_editor_and_comes_back() {
    let mut stage = opened();
    stage.keys("ctrl-e");
    let at = stage.effects.iter().position(|effect| matches!(effect, Effect::Editor { .. })).unwrap();
    let Effect::Editor { text, then, .. } = stage.effects.remove(at) else { unreachable!() };
    assert_eq!(text, "Be kind.");
    stage.event(then(Ok("Be kind.\n".into())));
    assert!(!place(&stage).form.is_dirty(), "the editor's last line end is no change");
    stage.keys("ctrl-e");
    let Some(Effect::Editor { then, .. }) = stage.effects.pop() else { panic!() };
    stage.event(then(Ok("New\nprompt.\n".into())));
    assert_eq!(body(&stage)["system_prompt"], "New\nprompt.");
    stage.keys("ctrl-e");
    let Some(Effect::Editor { then, .. }) = stage.effects.pop() else { panic!() };
    stage.event(then(Err("No editor is set.".into())));
    assert!(stage.shows("No editor is set."));
}

#[test]
fn searches_in_the_prompt() {
    let mut stage = at(Go::Agent(Some("desk".into())));
    read(&mut stage, item(3, &format!("{}needle one\n{}Needle two", "line\n".repeat(60), "line\n".repeat(60))));
    stage.keys("ctrl-f").typed("needle");
    assert!(stage.shows("search: needle") && stage.shows("needle one"), "{:#?}", stage.screen());
    stage.keys("enter");
    assert!(stage.shows("Needle two") && !stage.shows("needle one"), "{:#?}", stage.screen());
    stage.keys("up");
    assert!(stage.shows("needle one"));
    stage.typed("?").keys("enter");
    assert!(stage.shows("'needle?' is not in the prompt."));
    stage.keys("esc").typed("X");
    assert!(place(&stage).form.field(PROMPT).unwrap().is_changed());
}

#[test]
fn answers_for_what_was_open_before_are_not_taken() {
    let mut stage = opened();
    let old = place(&stage).ticket;
    let mut effects = Vec::new();
    go_to(&mut stage, Go::Agent(Some("other".into())), &mut effects);
    stage.event(event(Msg::Read { ticket: old, reply: Ok(Json(item(3, "x"))) }));
    assert!(place(&stage).item.is_none());
    stage.event(event(Msg::Saved { ticket: old, name: "desk".into(), reply: Ok(Json(item(4, "x"))) }));
    assert!(stage.shows("'desk' is saved.") && place(&stage).item.is_none());
    let ticket = place(&stage).ticket;
    stage.event(event(Msg::Read { ticket, reply: Err(StudioError::not_found("Agent", "other")) }));
    assert!(stage.shows("Agent 'other' not found."));
}

#[test]
fn text_of_others_is_clean_at_every_size() {
    let evil = "\u{1b}[2J\u{202E}x\u{9b}m\u{200B}日本👨‍👩‍👧\r\ny";
    let mut bad = item(3, evil);
    for text in [&mut bad.description, &mut bad.llm, &mut bad.category, &mut bad.owner] {
        *text = Some(evil.into());
    }
    let mut stage = at(Go::Agent(Some(evil.into())));
    read(&mut stage, bad.clone());
    stage.typed("a").keys("tab").typed("b").keys("ctrl-s");
    for conflict in [false, true] {
        if conflict {
            saved(&mut stage, Err(StudioError::version_conflict(None)));
            bad.description = Some(format!("{evil}{evil}"));
            let ticket = place(&stage).ticket;
            stage.event(event(Msg::Theirs { ticket, reply: Ok(Json(bad.clone())) }));
        }
        for (width, height) in
            (1..32).map(|n| (n, n)).chain([(1, 40), (200, 1), (20, 5), (60, 16), (80, 24), (120, 50)])
        {
            stage.resize(width, height);
            stage.keys("tab ctrl-f esc f4 esc");
            let all = stage.screen().concat();
            assert!(all.chars().all(|c| !c.is_control() && !matches!(c, '\u{202E}' | '\u{200B}')), "{all:?}");
        }
    }
}
