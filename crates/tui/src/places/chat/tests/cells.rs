use super::*;
use contract::turn::{CallResult, NotApproved};
use serde_json::json;

fn checked(ordinal: u32, args: serde_json::Value) -> TurnEvent {
    TurnEvent::CallChecked {
        ordinal,
        tool: format!("desk_tool_{ordinal}"),
        needs_approval: true,
        args,
        args_hash: "h".into(),
        digest: "d".into(),
    }
}

fn begun(ordinal: u32) -> TurnEvent {
    TurnEvent::CallStarted { ordinal, epoch: 1, approval: None, edited_args: None }
}

fn result(ordinal: u32, ok: bool) -> TurnEvent {
    let error = (!ok).then(|| "the desk is closed".to_owned());
    let value = if ok { json!({ "booked": [1, 2] }) } else { json!(null) };
    TurnEvent::CallEnded { ordinal, result: CallResult { ok, value, error, code: None } }
}

fn settled(ordinal: u32, how: NotApproved) -> TurnEvent {
    TurnEvent::ApprovalSettled { ordinal, approval: "a".into(), how }
}

fn open_turn(events: Vec<TurnEvent>) -> Vec<TranscriptTurn> {
    vec![TranscriptTurn { turn: "t1".into(), status: TurnStatus::Waiting, events: log(events) }]
}

#[test]
fn each_state_is_told_in_words() {
    let tools = ["desk_tool_0"; 10];
    let refused =
        TurnEvent::CallRefused { ordinal: 6, code: contract::Code::InvalidArgs, message: "no such desk".into() };
    let events = vec![
        started("q"),
        asked(),
        wants(&tools),
        begun(0),
        checked(1, json!({ "n": 1 })),
        TurnEvent::ApprovalAsked { ordinal: 1, approval: "a".into() },
        begun(2),
        result(2, true),
        begun(3),
        result(3, false),
        settled(4, NotApproved::Rejected { reason: Some("not today".into()) }),
        settled(5, NotApproved::Expired),
        refused,
        TurnEvent::CallUnknown { ordinal: 7 },
        TurnEvent::CallUnknown { ordinal: 8 },
        TurnEvent::UnknownSettled { ordinal: 8, by: "ana".into(), ran: true, note: None },
    ];
    let stage = stored(90, 60, open_turn(events));
    for wanted in [
        "▸ desk_tool_0 … running",
        "▸ desk_tool_1 ? waits for approval",
        "A person must answer; Alt-2 opens it.",
        "✓ done in 1.0 s",
        "→ {\"booked\":[1,2]}",
        "✗ failed in 1.0 s",
        "the desk is closed",
        "✗ rejected",
        "not today",
        "✗ expired: nobody answered in time",
        "✗ refused",
        "no such desk",
        "? outcome unknown",
        "· settled: it had run",
        "… planned",
        "( {\"n\":9}",
    ] {
        assert!(stage.shows(wanted), "{wanted} in {:#?}", stage.screen());
    }
    assert!(stage.shows("waits for a person"));
}

#[test]
fn a_cell_unfolds_to_json_and_what_a_person_edited_is_told() {
    let edited = TurnEvent::CallStarted {
        ordinal: 0,
        epoch: 1,
        approval: None,
        edited_args: Some(json!({ "desk": "B\u{1b}[2J" })),
    };
    let events =
        vec![started("q"), asked(), wants(&["desk_book"]), checked(0, json!({ "desk": "A" })), edited, result(0, true)];
    let mut stage = stored(80, 30, open_turn(events));
    assert!(stage.shows("a person changed the arguments") && !stage.shows("\"booked\": ["));
    stage.keys("tab [ enter");
    assert!(
        stage.shows("▾ desk_tool_0") && stage.shows("\"booked\": [") && stage.shows("\"desk\": \"B"),
        "{:#?}",
        stage.screen()
    );
    assert!(!stage.screen().concat().contains('\u{1b}'));
    stage.keys("y");
    let whole: serde_json::Value = serde_json::from_str(copied(&stage)).unwrap();
    assert_eq!(whole["arguments"], json!({ "desk": "B\u{1b}[2J" }));
    stage.keys("enter");
    assert!(!stage.shows("\"booked\": ["));
}

#[test]
fn an_unknown_outcome_is_settled_by_a_question_and_the_turn_is_taken_up() {
    let events = vec![started("q"), asked(), wants(&["desk_book"]), TurnEvent::CallUnknown { ordinal: 0 }];
    let mut stage = stored(80, 24, open_turn(events));
    let resumed = stage.called("turns.resume");
    stage.keys("tab shift-r");
    assert!(stage.shows("HAS run") && stage.called("turns.settle") == 0, "{:#?}", stage.screen());
    stage.keys("esc");
    assert_eq!(stage.called("turns.settle"), 0);
    stage.keys("shift-d");
    assert!(stage.shows("has NOT run"));
    stage.keys("enter");
    assert_eq!(stage.called("turns.settle"), 1);
    let answer = contract::ops::test::AskAnswer {
        agent_name: AGENT.into(),
        query: String::new(),
        response: String::new(),
        metadata: json!({}),
        byok: false,
        key_source: "none".into(),
        session: "s1".into(),
        turn: "t1".into(),
        status: TurnStatus::Running,
        agent_version: 3,
        stale: false,
        usage: Usage::default(),
        tool_calls: Vec::new(),
    };
    let opening = stage.state.places.chat.opening;
    let reply = Box::new(Ok(Json(answer)));
    stage.reply(event(Msg::Turn { opening, wanted: "", resume: true, reply }));
    assert_eq!(stage.called("turns.resume"), resumed + 1);
}

#[test]
fn a_turn_that_waits_is_stopped_only_after_a_question() {
    let events = vec![
        started("q"),
        asked(),
        wants(&["desk_book"]),
        TurnEvent::ApprovalAsked { ordinal: 0, approval: "a".into() },
    ];
    let mut stage = stored(80, 24, open_turn(events));
    assert!(!stage.shows("working"));
    stage.wait(20_000);
    assert_eq!(stage.next_wake(), None);
    stage.keys("esc");
    assert_eq!(stage.called("turns.interrupt"), 0);
    stage.keys("enter");
    assert_eq!(stage.called("turns.interrupt"), 1);
}

#[test]
fn the_model_s_reasoning_is_folded() {
    let reply = TurnEvent::ModelReplied {
        blocks: vec![
            Block::Reasoning { text: "secretly think\ntwice".into(), signature: None },
            Block::Reasoning { text: String::new(), signature: Some("x".into()) },
            Block::Text { text: "the answer".into() },
        ],
        calls: Vec::new(),
        usage: None,
        finish: Finish::Length,
    };
    let mut stage = stored(80, 24, open_turn(vec![started("q"), asked(), reply]));
    assert!(stage.shows("▸ reasoning, 2 line(s)") && !stage.shows("secretly") && stage.shows("cut off"));
    stage.keys("tab space");
    assert!(stage.shows("▾ reasoning") && stage.shows("secretly think"), "{:#?}", stage.screen());
}

#[test]
fn nothing_said_by_others_reaches_the_screen_as_a_control() {
    let evil =
        "\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}evil\u{9b}31m\u{200b} &#27;[2J `\u{1b}` [x](\u{1b})\n```\u{1b}\n\u{7}\n```";
    let call = TurnEvent::ModelReplied {
        blocks: Vec::new(),
        calls: vec![PlannedCall { ordinal: 0, model_call_id: evil.into(), tool: evil.into(), args_text: evil.into() }],
        usage: None,
        finish: Finish::Other(evil.into()),
    };
    let failed = TurnEvent::ModelFailed { status: None, message: evil.into() };
    let events = vec![started(evil), asked(), said(evil), call, failed, TurnEvent::Interrupted { by: evil.into() }];
    let turns = vec![TranscriptTurn { turn: "t1".into(), status: TurnStatus::Waiting, events: log(events) }];
    let mut stage = Stage::new(80, 50);
    go(&mut stage, evil, Some(evil));
    loaded(&mut stage, Ok(TestTranscript { session: evil.into(), turns }));
    sessions(&mut stage, &[(evil, true)]);
    stage.paste(evil).keys("enter");
    stage.paste(evil);
    for keys in ["tab [ enter", "s", "esc / e v i l enter"] {
        stage.keys(keys);
        let bad = |c: char| c.is_control() || "\u{202e}\u{200b}".contains(c);
        assert!(!stage.screen().concat().contains(bad), "{:#?}", stage.screen());
    }
}
