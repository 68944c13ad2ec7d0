//! The dialog, over a stage.

#![allow(clippy::unwrap_used)]

use super::{Dialog, Msg, News};
use crate::event::{Event, What};
use crate::layers::{self, Layer};
use crate::places::approvals::{self, tests::NOW, tests::approval};
use crate::places::{self, PlaceId};
use crate::testing::{Stage, key};
use crate::theme::{Theme, ThemeName};
use contract::ops::approvals::{ApprovalStatus, ApprovalView, Decision};
use contract::{Code, Micros, StudioError};
use crossterm::event::{KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use serde_json::{Value, json};

fn open(width: u16, height: u16, view: ApprovalView) -> Stage {
    let mut stage = Stage::new(width, height);
    stage.state.layers.push(Layer::Approval(Box::new(Dialog::new(view))), stage.now);
    stage.state.dirty = true;
    stage.draw();
    stage
}

fn awake(width: u16, height: u16, view: ApprovalView) -> Stage {
    let mut stage = open(width, height, view);
    stage.wait(700);
    stage
}

fn dialog(stage: &mut Stage) -> &mut Dialog {
    stage.state.layers.dialog("1").unwrap()
}

fn read_at(stage: &mut Stage, at: Micros, reply: contract::Result<ApprovalView>) {
    let msg = Msg { id: "1".into(), what: News::Read { at, reply } };
    stage.reply(Event::Layer(layers::Msg::Dialog(msg)));
}

fn answer(stage: &mut Stage, reply: contract::Result<ApprovalView>) {
    let msg = approvals::Msg::Decided { id: "1".into(), decision: Decision::Approve, reply };
    stage.reply(Event::Place(places::Msg::Approvals(msg)));
}

fn sent(stage: &mut Stage) -> Value {
    serde_json::to_value(dialog(stage).in_flight().unwrap()).unwrap()
}

/// What stands inside the frame of the dialog.
fn inside(stage: &Stage) -> Vec<String> {
    let screen = stage.screen();
    let top = screen.iter().find(|line| line.contains('┌')).unwrap();
    let left = top.chars().take_while(|c| *c != '┌').count();
    let rows =
        screen.iter().map(|line| line.chars().skip(left).collect::<String>()).filter(|line| line.starts_with('│'));
    rows.map(|line| line.trim_start_matches('│').trim_end_matches(['│', ' ']).trim_end().to_owned()).collect()
}

#[test]
fn all_that_must_be_known_is_on_one_ordinary_screen() {
    let mut stage = open(80, 24, approval("1"));
    assert_eq!(stage.called("approvals.get"), 1, "it looks whether it is still open");
    assert!(stage.shows("Approve this call?") && stage.shows("( Approve ) ( Reject… ) ( Edit… ) ( Leave open )"));
    assert!(stage.shows("Asleep: wakes when the keyboard is quiet."));
    read_at(&mut stage, NOW, Ok(approval("1")));
    assert!(stage.shows("Approve this call? · 2 h 0 min left"));
    stage.wait(700);
    assert_eq!(
        inside(&stage),
        [
            "tool      desk_cancel_order",
            "",
            "Arguments",
            "order_id: 7",
            "reason: \"too late\"",
            "",
            "What will change",
            "status: \"open\" → \"cancelled\"",
            "order_id: 7",
            "note: \"2 × lamp for Bo.\"",
            "",
            "source    host · desk",
            "agent     orders-desk, version 3, on anthropic:claude",
            "asked by  ann, tenant acme, in session default",
            "rule      host writes ask the person in the chat",
            "times     asked 2026-09-21 14:08 UTC, expires 2026-09-21 16:13 UTC",
            "[ Approve ] [ Reject… ] [ Edit… ] [ Leave open ]",
            "Tab moves the focus to Approve; Enter there approves.",
        ]
    );
}

#[test]
fn the_frame_has_the_colour_of_alarm() {
    let stage = open(80, 24, approval("1"));
    let y = stage.screen().iter().position(|line| line.contains('┌')).unwrap() as u16;
    let alarm = Theme::of(ThemeName::Dark).alarm;
    let corner = stage.style_at(0, y);
    assert_eq!((corner.fg, corner.add_modifier), (alarm.fg, alarm.add_modifier));
}

#[test]
fn approving_takes_the_focus_and_enter_after_a_pause() {
    let mut stage = awake(80, 24, approval("1"));
    let click =
        MouseEvent { kind: MouseEventKind::Down(MouseButton::Left), column: 4, row: 20, modifiers: KeyModifiers::NONE };
    stage.keys("enter y ctrl-y a enter enter").paste("yes\n");
    stage.input_at(stage.now + 400, What::Mouse(click)).keys("enter");
    assert_eq!(stage.called("approvals.decide"), 0, "no key without the focus");
    stage.keys("tab");
    assert!(stage.shows("[›Approve‹]"));
    stage.input_at(stage.now + 299, What::Key(key("enter")));
    assert!(stage.called("approvals.decide") == 0 && stage.shows("That Enter came too quickly"));
    let mut held = key("enter");
    held.kind = KeyEventKind::Repeat;
    stage.input_at(stage.now + 500, What::Key(held));
    assert_eq!(stage.called("approvals.decide"), 0, "a held key decides nothing");
    stage.input_at(stage.now + 300, What::Key(key("enter")));
    assert_eq!(sent(&mut stage), json!({ "decision": "approve" }));
    assert!(stage.shows("The answer is on its way…") && stage.shows("(›Approve‹)"));
    stage.keys("enter r enter e");
    assert_eq!(stage.called("approvals.decide"), 1);
    answer(&mut stage, Ok(ApprovalView { status: ApprovalStatus::Approved, ..approval("1") }));
    assert!(!stage.state.layers.is_open() && stage.shows("Approved"));
}

#[test]
fn rejecting_takes_a_reason_line_and_a_pause() {
    let mut stage = awake(80, 24, approval("1"));
    stage.keys("r").typed("wrong order, r e y");
    assert!(
        stage.shows("reason: wrong order, r e y")
            && stage.shows("Enter rejects, after a pause")
            && stage.cursor().is_some()
    );
    stage.input_at(stage.now + 120, What::Key(key("enter")));
    assert_eq!(stage.called("approvals.decide"), 0);
    stage.keys("esc");
    assert!(stage.shows("[ Approve ]"));
    stage.keys("r enter");
    assert_eq!(
        sent(&mut stage),
        json!({ "decision": "reject", "reason": "wrong order, r e y" }),
        "what was typed is kept"
    );

    let mut stage = awake(80, 24, approval("1"));
    stage.keys("tab tab enter");
    stage.input_at(stage.now + 500, What::Key(key("enter")));
    assert_eq!(stage.called("approvals.decide"), 0, "the Enter that opened the line, still held");
}

#[test]
fn long_arguments_must_be_seen_to_their_end() {
    let lines: Vec<String> = (0..60).map(|n| format!("line {n}")).collect();
    let view = ApprovalView { args: json!({ "text": lines.join("\n"), "tail": "rm -rf" }), ..approval("1") };
    let mut stage = awake(80, 24, view);
    let mut seen = stage.screen().join("\n");
    assert!(stage.shows("( Approve ) [ Reject… ]") && stage.shows("Approve is asleep: scroll to the end first"));
    stage.keys("tab enter");
    assert_eq!(stage.called("approvals.decide"), 0);
    // A burst between two frames does not skip what was not on screen.
    for _ in 0..50 {
        let at = stage.now + 1;
        stage.now = at;
        stage.state.update(Event::Input(crate::event::Input { at, what: What::Key(key("pagedown")) }));
    }
    stage.state.dirty = true;
    stage.draw();
    assert!(!stage.shows("─ end ─") && !stage.shows("[›Approve‹]"));
    seen += &stage.screen().join("\n");
    for _ in 0..30 {
        stage.keys("pagedown").wait(1);
        seen += &stage.screen().join("\n");
    }
    assert!((0..59).all(|n| seen.contains(&format!("line {n}\\n"))), "every line was on screen");
    assert!(stage.shows("─ end ─") && stage.shows("[›Approve‹]"));
    stage.keys("up enter");
    assert_eq!(stage.called("approvals.decide"), 1, "seen once is seen");
}

#[test]
fn text_of_others_shows_its_escapes() {
    let evil = "a\u{1b}[2J\u{202e}gnp\u{2066}\u{200b}\u{9b}31m\u{7}\r\u{feff}";
    let mut view = approval("1");
    view.args = json!({ "x": evil, "a: 1, \u{202e}b": [evil] });
    view.preview = Some(json!(evil));
    view.agent = evil.into();
    view.rule = evil.into();
    view.tool = evil.into();
    view.session = evil.into();
    let mut stage = awake(200, 60, view);
    let screen = stage.screen().join("\n");
    for shown in [
        "\\u001b[2J⟨U+202E⟩gnp⟨U+2066⟩⟨U+200B⟩⟨U+009B⟩31m\\u0007\\r⟨U+FEFF⟩",
        "tool      a␛[2J⟨U+202E⟩gnp",
        "\"a: 1, ⟨U+202E⟩b\": [",
    ] {
        assert!(screen.contains(shown), "{shown} in {screen}");
    }
    let hidden = ['\u{1b}', '\u{202e}', '\u{2066}', '\u{200b}', '\u{9b}', '\u{7}', '\r', '\u{feff}'];
    assert!(!screen.contains(hidden));
    stage.keys("e");
    assert!(!stage.screen().join("\n").contains(hidden), "nor in the form");
}

#[test]
fn changed_arguments_are_shown_before_and_after_and_sent() {
    let mut stage = awake(80, 24, approval("1"));
    stage.keys("e ctrl-u").typed("0");
    stage.keys("ctrl-s");
    assert!(stage.shows("at least 1") && stage.called("approvals.decide") == 0, "invalid input stays, with its fault");
    stage.keys("ctrl-u").typed("8");
    stage.keys("ctrl-s");
    assert!(stage.shows("order_id: 7 → 8") && stage.shows("Arguments that will run") && stage.shows("order_id: 8"));
    while !dialog(&mut stage).seen_end {
        stage.keys("down");
    }
    stage.keys("tab enter");
    assert_eq!(sent(&mut stage), json!({ "decision": "approve", "args": { "order_id": 8, "reason": "too late" } }));
    answer(&mut stage, Err(StudioError::new(Code::InvalidArgs, 422, "order_id: there is no order 8.")));
    assert!(stage.shows("there is no order 8") && stage.shows("Ctrl-S"), "{:#?}", stage.screen());
    stage.keys("ctrl-u").typed("7");
    stage.keys("ctrl-s");
    while !dialog(&mut stage).seen_end {
        stage.keys("down");
    }
    stage.keys("tab enter");
    assert_eq!(sent(&mut stage), json!({ "decision": "approve" }), "changed back is not changed");
}

#[test]
fn what_no_form_can_show_is_checked_json() {
    let schema =
        json!({ "type": "object", "properties": { "lines": { "type": "array", "items": { "type": "object" } } } });
    let view = ApprovalView { args: json!({ "lines": [{ "n": 1 }] }), schema, ..approval("1") };
    let mut stage = awake(100, 30, view);
    stage.keys("e");
    assert!(stage.shows("arguments (JSON)"));
    stage.keys("ctrl-u").typed("{\"lines\": 5");
    assert!(stage.shows("This is no JSON"), "checked while typing");
    stage.typed("}");
    assert!(stage.shows("lines: 5 is not of type"), "{:#?}", stage.screen());
    stage.keys("ctrl-s");
    assert!(stage.shows("lines: 5 is not of type"));
    stage.keys("ctrl-u").typed("{\"lines\": [{\"n\": 2}]}");
    stage.keys("ctrl-s");
    assert!(stage.shows("lines: [{\"n\":1}] → [{\"n\":2}]"));
}

#[test]
fn a_hidden_value_is_not_sent_as_its_stars() {
    let view = ApprovalView {
        args: json!({ "api_key": "********", "n": 1 }),
        schema: json!({
            "type": "object", "properties": { "api_key": { "type": "string" }, "n": { "type": "integer" } }
        }),
        ..approval("1")
    };
    let mut stage = awake(80, 24, view);
    stage.keys("e tab ctrl-u").typed("2");
    stage.keys("ctrl-s");
    assert!(stage.shows("'api_key' is shown hidden"));
}

#[test]
fn answered_elsewhere_it_says_by_whom_and_waits_for_the_guard() {
    let by_bo = ApprovalView {
        status: ApprovalStatus::Rejected,
        decided_by: Some("bo".into()),
        decided_at: Some(NOW),
        reason: Some("not \u{202e}today".into()),
        may_decide: false,
        ..approval("1")
    };
    let mut stage = awake(80, 24, approval("1"));
    stage.keys("r").typed("because");
    read_at(&mut stage, NOW, Ok(by_bo.clone()));
    assert!(stage.shows("Rejected by bo at 2026-09-21 14:13 UTC: not ⟨U+202E⟩today"));
    stage.typed(" it is wrong");
    assert!(stage.state.layers.is_open(), "what is still being typed does not close it");
    stage.wait(1_000);
    assert!(stage.shows("Any key closes."));
    stage.keys("x");
    assert!(!stage.state.layers.is_open() && stage.state.place == PlaceId::Agents);

    let mut stage = awake(80, 24, approval("1"));
    stage.keys("tab enter");
    let error = StudioError::new(Code::AlreadyDecided, 409, "already").with(json!({ "approval": by_bo }));
    answer(&mut stage, Err(error));
    assert!(stage.shows("Rejected by bo"));
    let mut stage = awake(80, 24, approval("1"));
    stage.keys("tab enter");
    answer(&mut stage, Err(StudioError::new(Code::ApprovalExpired, 410, "This approval has expired.")));
    assert!(stage.shows("This approval has expired."));
}

#[test]
fn a_failure_gives_the_controls_back() {
    let mut stage = awake(80, 24, approval("1"));
    stage.keys("tab enter");
    answer(&mut stage, Err(StudioError::storage_unavailable()));
    assert!(stage.shows("The storage cannot be used") && stage.shows("[ Approve ]"));
    stage.keys("enter");
    assert_eq!(stage.called("approvals.decide"), 1, "the focus is back on the text");
}

#[test]
fn the_countdown_moves_once_a_second_at_most_and_ends_with_a_look() {
    let mut stage = awake(80, 24, approval("1"));
    read_at(&mut stage, Micros(NOW.0 + 3_600_000_000 - 1_000_000), Ok(approval("1")));
    assert!(stage.shows("1 h 0 min left"));
    stage.wait(2_100);
    assert!(stage.shows("59:58 left") || stage.shows("59:59 left"), "{}", stage.screen()[2]);
    let (wake, now) = (stage.next_wake().unwrap(), stage.now);
    assert!(wake > now && wake <= now + 1_001, "{wake} {now}");
    let asked = stage.called("approvals.get");
    stage.wait(3_600_000);
    assert!(stage.called("approvals.get") > asked && stage.shows("time is over"));
    let expired = ApprovalView { status: ApprovalStatus::Expired, may_decide: false, ..approval("1") };
    read_at(&mut stage, NOW, Ok(expired));
    assert!(stage.shows("Nobody answered in time"));
    stage.wait(10_000);
    assert_eq!(stage.next_wake(), None, "nothing moves any more");
}

#[test]
fn one_that_somebody_else_decides_can_only_be_read() {
    let mut stage = awake(80, 24, ApprovalView { may_decide: false, ..approval("1") });
    assert!(
        stage.shows("Somebody else decides this; see the rule.")
            && stage.shows("( Approve ) ( Reject… ) ( Edit… ) [ Leave open ]")
    );
    stage.keys("tab enter r enter e tab enter");
    assert_eq!(stage.called("approvals.decide"), 0);
    let mut stage = awake(80, 24, ApprovalView { editable: false, ..approval("1") });
    stage.keys("e");
    assert!(stage.shows("The arguments of this tool cannot be changed.") && stage.shows("( Edit… )"));
}

#[test]
fn coming_back_from_under_another_layer_the_guard_begins_anew() {
    let mut stage = awake(80, 24, approval("1"));
    stage.keys("tab");
    stage.state.layers.push(Layer::Approval(Box::new(Dialog::new(approval("2")))), stage.now);
    stage.state.dirty = true;
    stage.draw().wait(700).keys("esc enter");
    assert_eq!(stage.called("approvals.decide"), 0, "the focus was on Approve, but this Enter was for the other one");
    stage.wait(700).keys("tab enter");
    assert_eq!(stage.called("approvals.decide"), 1);
    assert!(dialog(&mut stage).in_flight().is_some());
}

#[test]
fn it_is_drawn_at_any_size_and_wakes_only_when_it_was_seen() {
    for (width, height) in [(200, 60), (80, 24), (60, 16), (40, 10), (20, 5)] {
        let mut stage = awake(width, height, approval("1"));
        for _ in 0..200 {
            stage.keys("down");
        }
        assert!(stage.shows("─ end ─"), "{width}x{height} {:#?}", stage.screen());
        stage.keys("tab");
        assert!(stage.shows("[›Approve‹]"), "{width}x{height} {:#?}", stage.screen());
        stage.keys("enter");
        assert_eq!(stage.called("approvals.decide"), 1, "{width}x{height}");
    }
    let mut stage = awake(20, 5, approval("1"));
    stage.keys("r").typed("no");
    assert!(stage.shows("reason: no"), "on one row there is what one types");
    let mut stage = awake(19, 4, approval("1"));
    stage.keys("tab enter r enter").wait(5_000).keys("tab enter");
    assert_eq!(stage.called("approvals.decide"), 0, "a dialog that is not on screen decides nothing");
    stage.keys("esc");
    assert!(stage.state.layers.is_open());
    let mut stage = awake(80, 24, approval("1"));
    stage.keys("tab").resize(19, 4).keys("enter tab enter").wait(1_000).keys("enter");
    assert_eq!(stage.called("approvals.decide"), 0, "nor one that is no longer");
    for (width, height) in [(1, 1), (20, 5), (21, 6), (300, 3), (9, 90), (80, 24)] {
        stage.resize(width, height).keys("tab r x esc e tab a esc down pageup");
    }
    assert_eq!(stage.called("approvals.decide"), 0);
}

#[test]
fn a_narrower_screen_must_be_read_again_unless_all_was_seen() {
    let view = ApprovalView { args: json!({ "text": "word ".repeat(600) }), ..approval("1") };
    let mut stage = awake(80, 24, view);
    stage.keys("pagedown").resize(60, 16);
    stage.wait(700);
    assert!(!dialog(&mut stage).seen_end && stage.shows("tool      desk_cancel_order"), "back at the top");
    for _ in 0..40 {
        stage.keys("pagedown");
    }
    assert!(dialog(&mut stage).seen_end);
    stage.resize(80, 24).wait(700);
    assert!(dialog(&mut stage).seen_end);
}

#[test]
fn what_is_typed_below_is_not_touched() {
    let mut stage = Stage::new(80, 24);
    stage.keys("alt-2 /").typed("half a wo");
    stage.state.layers.push(Layer::Approval(Box::new(Dialog::new(approval("1")))), stage.now);
    stage.state.dirty = true;
    stage.draw().typed("rd r y").keys("enter").wait(1_000).keys("esc");
    assert!(!stage.state.layers.is_open() && stage.shows("filter: half a wo"));
    stage.typed("rd");
    assert!(stage.shows("filter: half a word"));
}

#[test]
fn one_can_quit_from_it_and_it_stays_open_for_an_answer() {
    let mut stage = open(80, 24, approval("1"));
    stage.keys("ctrl-q");
    assert!(stage.effects.iter().any(|effect| matches!(effect, crate::effect::Effect::Quit)));
    assert_eq!(stage.called("approvals.decide"), 0);
    assert!(dialog(&mut stage).in_flight().is_none());
}

#[test]
fn the_footer_offers_only_what_can_still_be_done() {
    let footer = |stage: &Stage| stage.screen().last().unwrap().clone();
    let stage = awake(100, 30, approval("1"));
    assert!(footer(&stage).contains("r reject") && footer(&stage).contains("e edit"), "{}", footer(&stage));
    let answered = ApprovalView { status: ApprovalStatus::Consumed, decided_by: Some("ada".into()), ..approval("1") };
    let stage = awake(100, 30, answered);
    assert!(!footer(&stage).contains("reject") && !footer(&stage).contains("edit"), "{}", footer(&stage));
    assert!(footer(&stage).contains("Esc close"), "{}", footer(&stage));
    let theirs = ApprovalView { may_decide: false, ..approval("1") };
    let stage = awake(100, 30, theirs);
    assert!(!footer(&stage).contains("reject") && footer(&stage).contains("Esc leave open"), "{}", footer(&stage));
}
