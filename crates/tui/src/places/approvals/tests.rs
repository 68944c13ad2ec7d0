//! The inbox, over a stage.

#![allow(clippy::unwrap_used)]

use super::Msg;
use crate::effect::Effect;
use crate::event::{Event, What};
use crate::places::{self, PlaceId};
use crate::testing::Stage;
use contract::Micros;
use contract::ops::approvals::{ApprovalList, ApprovalStatus, ApprovalView, Decision};
use serde_json::json;

/// When the answers in tests are read.
pub const NOW: Micros = Micros(1_790_000_000_000_000);

/// A pending approval that the caller may decide.
pub fn approval(id: &str) -> ApprovalView {
    ApprovalView {
        id: id.into(),
        status: ApprovalStatus::Pending,
        tenant: Some("acme".into()),
        requested_by: "ann".into(),
        agent: "orders-desk".into(),
        agent_version: 3,
        model: "anthropic:claude".into(),
        session: "default".into(),
        turn: "turn".into(),
        ordinal: 0,
        tool: "desk_cancel_order".into(),
        slug: "desk".into(),
        source: "host".into(),
        args: json!({ "order_id": 7, "reason": "too late" }),
        args_hash: "00".into(),
        schema: json!({
            "type": "object",
            "properties": {
                "order_id": { "type": "integer", "minimum": 1 },
                "reason": { "type": "string" }
            },
            "required": ["order_id"]
        }),
        preview: Some(json!({
            "order_id": 7,
            "changes": [{ "field": "status", "before": "open", "after": "cancelled" }],
            "note": "2 × lamp for Bo."
        })),
        rule: "host writes ask the person in the chat".into(),
        editable: true,
        may_decide: true,
        created_at: Micros(NOW.0 - 5 * 60_000_000),
        expires_at: NOW.plus_seconds(2 * 3600),
        decided_by: None,
        decided_at: None,
        reason: None,
        edited_args: None,
        replaced_by: None,
    }
}

/// What is pending is read.
pub fn waiting(stage: &mut Stage, approvals: Vec<ApprovalView>) {
    let reply = Ok(ApprovalList { count: approvals.len(), approvals });
    stage.reply(Event::Place(places::Msg::Approvals(Msg::Waiting { at: NOW, reply })));
}

fn all(stage: &mut Stage, approvals: Vec<ApprovalView>) {
    let reply = Ok(ApprovalList { count: approvals.len(), approvals });
    stage.reply(Event::Place(places::Msg::Approvals(Msg::All(reply))));
}

fn ann() -> contract::ops::me::Me {
    contract::ops::me::Me {
        user_id: "ann".into(),
        tenant: Some("acme".into()),
        may_author: true,
        may_administer: false,
        enabled: true,
        is_superuser: false,
    }
}

fn decided(stage: &mut Stage, id: &str) {
    let reply = Ok(ApprovalView { status: ApprovalStatus::Approved, ..approval(id) });
    let msg = Msg::Decided { id: id.into(), decision: Decision::Approve, reply };
    stage.reply(Event::Place(places::Msg::Approvals(msg)));
}

fn inbox(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height);
    stage.keys("alt-2");
    assert_eq!(stage.state.place, PlaceId::Approvals);
    stage
}

fn titles(stage: &Stage) -> Vec<String> {
    let titles = stage.effects.iter().filter_map(|effect| match effect {
        Effect::Title(text) => Some(text.clone()),
        _ => None,
    });
    titles.collect()
}

fn notices(stage: &Stage) -> Vec<String> {
    let notices = stage.effects.iter().filter_map(|effect| match effect {
        Effect::Notice(text) => Some(text.clone()),
        _ => None,
    });
    notices.collect()
}

fn is_open(stage: &mut Stage, id: &str) -> bool {
    stage.state.layers.dialog(id).is_some()
}

#[test]
fn a_row_has_what_agent_who_age_and_time_left() {
    let mut stage = inbox(100, 24);
    assert!(stage.shows("Reading…"));
    waiting(&mut stage, vec![approval("1")]);
    let screen = stage.wait(1).screen();
    let row = screen.iter().find(|line| line.contains("desk_cancel_order")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[cells.len() - 7..], ["desk_cancel_order", "orders-desk", "ann", "5", "min", "2h", "0m"], "{row}");
    let screen = stage.wait(60_000).screen();
    let row = screen.iter().find(|line| line.contains("desk_cancel_order")).unwrap();
    assert!(row.contains("6 min") && row.contains("1h 59m"), "{row}");
    assert!(screen[0].contains("1 to approve"), "{}", screen[0]);
}

#[test]
fn two_calls_of_one_tool_are_told_apart_by_their_arguments() {
    let mut stage = inbox(80, 24);
    let other = ApprovalView { args: json!({ "order_id": 8, "reason": "a\u{1b}[2J".repeat(100) }), ..approval("2") };
    waiting(&mut stage, vec![approval("1"), other]);
    assert!(stage.shows("order_id=7, reason=\"too late\""), "{:#?}", stage.screen());
    let screen = stage.screen();
    let long = screen.iter().find(|line| line.contains("order_id=8")).unwrap();
    assert!(long.ends_with('…') && !long.contains('\u{1b}'), "{long}");
    stage.keys("/").typed("too late");
    assert!(stage.shows("order_id=7") && !stage.shows("order_id=8"), "the filter looks at them too");
    for (width, height) in [(20, 5), (20, 6), (80, 10)] {
        stage.resize(width, height);
    }
}

#[test]
fn at_the_start_the_badge_tells_and_later_ones_interrupt() {
    let mut stage = Stage::new(80, 24);
    assert_eq!(stage.called("approvals.list"), 1, "read at the start");
    waiting(&mut stage, vec![approval("1")]);
    assert_eq!((titles(&stage).as_slice(), notices(&stage).len()), (["(1) astudio".to_owned()].as_slice(), 0));
    assert!(!stage.state.layers.is_open());
    stage.event(Event::Rung);
    assert_eq!(stage.called("approvals.list"), 2, "read when the bell rang");
    let others = ApprovalView { may_decide: false, ..approval("x") };
    waiting(&mut stage, vec![approval("3"), approval("2"), others, approval("1")]);
    assert_eq!(titles(&stage).last().unwrap(), "(3) astudio");
    assert_eq!(notices(&stage), ["2 calls wait for your approval"]);
    assert!(is_open(&mut stage, "2") && !is_open(&mut stage, "3"), "one at a time, the oldest first");
    waiting(&mut stage, vec![approval("3"), approval("2"), approval("1")]);
    assert_eq!(notices(&stage).len(), 1, "told once");
}

#[test]
fn a_server_goes_on_with_a_decided_turn_by_itself() {
    let mut stage = Stage::new(80, 24);
    stage.state.me = Some(ann());
    stage.state.profile.engine = "studio.example.com".into();
    waiting(&mut stage, vec![]);
    waiting(&mut stage, vec![approval("1")]);
    stage.wait(700).keys("tab enter");
    decided(&mut stage, "1");
    assert_eq!((stage.called("approvals.decide"), stage.called("turns.resume")), (1, 0));
}

#[test]
fn the_next_one_opens_after_the_first_and_what_was_left_stays_closed() {
    let mut stage = Stage::new(80, 24);
    stage.state.me = Some(ann());
    waiting(&mut stage, vec![]);
    waiting(&mut stage, vec![approval("2"), approval("1")]);
    let asked = stage.called("approvals.list");
    stage.wait(700).keys("esc");
    assert!(!stage.state.layers.is_open());
    assert_eq!(stage.called("approvals.list"), asked + 1, "leaving looks for more");
    waiting(&mut stage, vec![approval("2"), approval("1")]);
    assert!(is_open(&mut stage, "2"));
    stage.wait(700).keys("tab enter");
    assert_eq!(stage.called("approvals.decide"), 1);
    decided(&mut stage, "2");
    assert!(!stage.state.layers.is_open() && stage.shows("Approved: desk_cancel_order."));
    assert_eq!(stage.called("turns.resume"), 1, "the turn goes on, whatever became of the process it waited in");
    waiting(&mut stage, vec![approval("1")]);
    assert!(!stage.state.layers.is_open(), "what was left is not opened by itself again");
    assert_eq!(titles(&stage).last().unwrap(), "(1) astudio");
    waiting(&mut stage, vec![]);
    assert_eq!(titles(&stage).last().unwrap(), "astudio");
}

#[test]
fn nothing_opens_over_another_layer() {
    let mut stage = Stage::new(80, 24);
    waiting(&mut stage, vec![]);
    stage.keys("ctrl-p");
    waiting(&mut stage, vec![approval("1")]);
    assert!(!is_open(&mut stage, "1") && notices(&stage) == ["orders-desk asks to run desk_cancel_order"]);
    stage.keys("esc");
    waiting(&mut stage, vec![approval("1")]);
    assert!(is_open(&mut stage, "1"), "the next look opens it");
}

#[test]
fn answered_ones_are_shown_on_request_and_expired_ones_asked_again() {
    let mut stage = inbox(100, 24);
    waiting(&mut stage, vec![approval("1")]);
    assert!(!stage.shows("status  "));
    stage.keys("a");
    let expired = ApprovalView { status: ApprovalStatus::Expired, may_decide: false, ..approval("2") };
    let rejected = ApprovalView { status: ApprovalStatus::Rejected, may_decide: false, ..approval("3") };
    all(&mut stage, vec![rejected, expired, approval("1")]);
    let screen = stage.screen();
    let place = |what: &str| screen.iter().position(|line| line.contains(what)).unwrap();
    assert!(place("pending") < place("rejected") && place("rejected") < place("expired"));
    stage.keys("down r");
    assert!(stage.called("approvals.reask") == 0 && stage.shows("this one is rejected"));
    stage.keys("down r");
    assert_eq!(stage.called("approvals.reask"), 1);
    stage.reply(Event::Place(places::Msg::Approvals(Msg::Reasked(Ok(approval("4"))))));
    assert!(stage.shows("Asked again: desk_cancel_order."));
    stage.keys("enter");
    assert!(is_open(&mut stage, "2") && stage.shows("Nobody answered in time"));
    // It is there to be read: keys scroll it, and only the key for it closes.
    stage.wait(700).keys("x down");
    assert!(is_open(&mut stage, "2"));
    stage.keys("esc");
    assert!(!is_open(&mut stage, "2"));
}

#[test]
fn the_filter_takes_letters_and_the_chat_is_a_key_away() {
    let mut stage = inbox(100, 24);
    waiting(
        &mut stage,
        vec![ApprovalView { tool: "mail_send".into(), agent: "mailer".into(), ..approval("2") }, approval("1")],
    );
    stage.keys("/").typed("cancel ann");
    assert!(!stage.shows("mail_send") && stage.shows("desk_cancel_order") && stage.cursor().is_some());
    stage.keys("enter c");
    assert_eq!(stage.state.place, PlaceId::Chat);
    stage.keys("alt-2 / esc");
    assert!(stage.shows("mail_send"));
}

#[test]
fn a_failed_reading_says_so_and_keeps_the_list() {
    let mut stage = inbox(80, 24);
    waiting(&mut stage, vec![approval("1")]);
    let reply = Err(contract::StudioError::storage_unavailable());
    stage.reply(Event::Place(places::Msg::Approvals(Msg::Waiting { at: NOW, reply })));
    assert!(stage.shows("The storage cannot be used") && stage.shows("desk_cancel_order"));
}

#[test]
fn why_there_are_none_is_said_whole() {
    let mut stage = inbox(60, 20);
    let words = "The server cannot do this: it lists no questions. With the id of a question you can still answer it.";
    let reply = Err(contract::StudioError::new(contract::Code::Unavailable, 503, words));
    stage.reply(Event::Place(places::Msg::Approvals(Msg::Waiting { at: NOW, reply })));
    assert!(stage.shows("answer it."), "{:#?}", stage.screen());
    waiting(&mut stage, Vec::new());
    assert!(stage.shows("Nothing waits for approval.") && !stage.shows("answer it."));
}

#[test]
fn it_is_drawn_at_any_size_and_rests() {
    let mut stage = inbox(200, 60);
    let many = (0..1_000).map(|n| ApprovalView { may_decide: false, ..approval(&n.to_string()) }).collect();
    waiting(&mut stage, many);
    for (width, height) in [(80, 24), (60, 16), (30, 6), (20, 5), (9, 2), (1, 1), (200, 60)] {
        stage.resize(width, height).keys("pagedown down up");
    }
    stage.keys("shift-g");
    assert!(stage.screen().iter().any(|line| line.contains('›') && line.contains("desk_cancel_order")));
    stage.input_at(stage.now + 400, What::Paste("text".into()));
    stage.wait(100);
    let wake = stage.next_wake().unwrap();
    assert!(wake > stage.now + 1_000, "no timer but the minute's");
    stage.keys("alt-1").wait(600_000);
    assert_eq!(stage.next_wake(), None, "nothing moves elsewhere");
}

#[test]
fn the_footer_offers_to_ask_again_only_what_can_be() {
    let mut stage = inbox(100, 20);
    waiting(&mut stage, vec![]);
    stage.keys("a");
    let of = |id: &str, status| ApprovalView { status, ..approval(id) };
    all(&mut stage, vec![of("2", ApprovalStatus::Consumed), of("3", ApprovalStatus::Expired)]);
    let footer = Stage::footer;
    assert!(!footer(&stage).contains("ask again"), "{}", footer(&stage));
    stage.keys("down");
    assert!(footer(&stage).contains("r ask again"), "{}", footer(&stage));
}
