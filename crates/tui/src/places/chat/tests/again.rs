//! Asking again, and asking another model the same.

use super::*;
use crate::places::chat::compare::News;
use serde_json::json;

fn tell(stage: &mut Stage, news: News) {
    stage.reply(event(Msg::Compare(news)));
}

/// The choice of a model is on screen.
fn choosing(stage: &mut Stage, item: usize) {
    let opening = stage.state.places.chat.opening;
    let rows = json!([
        { "provider": "lab", "available": true, "needs_key": true, "credentials": [], "models": ["big"] },
        { "provider": "rehearsal", "available": true, "needs_key": false, "credentials": [], "models": ["faq"] },
    ]);
    tell(stage, News::Models { opening, item, reply: Ok(Json(rows)) });
}

/// What a layer sent to the chat comes in.
fn deliver(stage: &mut Stage) {
    let at = stage.effects.iter().position(|effect| matches!(effect, Effect::Send(_))).unwrap();
    let Effect::Send(sent) = stage.effects.remove(at) else { unreachable!() };
    stage.event(*sent);
}

fn watched(stage: &mut Stage, what: Watched) {
    tell(stage, News::Watched { number: 1, what: Box::new(Ok(what)) });
}

/// Two questions were asked; the other model is asked the last one.
fn comparing(width: u16, height: u16) -> Stage {
    let mut stage = stored(width, height, vec![answered("t1", "one?", "uno"), answered("t2", "two?", "due")]);
    stage.keys("tab c");
    assert_eq!(stage.called("catalog.get"), 1);
    choosing(&mut stage, 3);
    assert!(stage.shows("rehearsal:faq") && stage.shows("no key here"), "{:#?}", stage.screen());
    stage.keys("enter");
    deliver(&mut stage);
    stage
}

#[test]
fn the_last_question_or_the_selected_one_is_asked_once_more() {
    let mut stage = stored(80, 24, vec![answered("t1", "one?", "uno"), answered("t2", "two?", "due")]);
    let before = watches(&stage);
    stage.keys("tab a");
    assert_eq!(watches(&stage), before + 1);
    assert_eq!(count(&stage, "» two?"), 2, "{:#?}", stage.screen());
    let mut stage = stored(80, 24, vec![answered("t1", "one?", "uno"), answered("t2", "two?", "due")]);
    stage.keys("tab [ [ a");
    assert_eq!((count(&stage, "» one?"), count(&stage, "» two?")), (2, 1), "{:#?}", stage.screen());
    let mut stage = chat(80, 24);
    stage.keys("tab a");
    assert!(stage.shows("Nothing was asked yet."));
}

#[test]
fn two_answers_stand_side_by_side_where_there_is_room() {
    let mut stage = comparing(140, 24);
    assert!(
        stage.shows("rehearsal:x") && stage.shows("rehearsal:faq") && stage.shows("· working"),
        "{:#?}",
        stage.screen()
    );
    watched(&mut stage, Watched::Turn { turn: "o1".into(), session: "compare~1".into() });
    watched(&mut stage, Watched::Text { text: "zwei".into() });
    let both = stage.screen().into_iter().find(|line| line.contains("due")).unwrap();
    assert!(both.contains("zwei") && both.contains('│'), "{both}");
    for entry in log(vec![started("two?"), asked(), said("zwei!"), ended(TurnStatus::Done, "zwei!")]) {
        watched(&mut stage, Watched::Event { entry });
    }
    assert!(stage.shows("zwei!") && !stage.shows("working"), "{:#?}", stage.screen());
    stage.effects.clear();
    stage.keys("esc");
    assert!(stage.shows("» one?") && !stage.shows("zwei"), "{:#?}", stage.screen());
    assert_eq!(stage.called("turns.interrupt"), 0, "it was over");
}

#[test]
fn on_a_narrow_screen_one_is_read_at_a_time() {
    let mut stage = comparing(80, 24);
    watched(&mut stage, Watched::Turn { turn: "o1".into(), session: "compare~1".into() });
    watched(&mut stage, Watched::Text { text: "zwei".into() });
    assert!(stage.shows("› rehearsal:faq") && stage.shows("zwei") && !stage.shows("due"), "{:#?}", stage.screen());
    stage.keys("tab");
    assert!(stage.shows("› rehearsal:x") && stage.shows("due") && !stage.shows("zwei"), "{:#?}", stage.screen());
    for (width, height) in [(1, 1), (20, 5), (21, 6), (61, 17), (300, 60)] {
        stage.resize(width, height);
    }
}

#[test]
fn each_answer_says_on_which_version_it_runs() {
    let mut stage = comparing(140, 24);
    watched(&mut stage, Watched::Turn { turn: "o1".into(), session: "compare~1".into() });
    let now = TurnEvent::Started {
        text: "two?".into(),
        agent_version: 5,
        model: "rehearsal:faq".into(),
        limits: Limits::default(),
    };
    for entry in log(vec![now]) {
        watched(&mut stage, Watched::Event { entry });
    }
    assert!(
        stage.shows("rehearsal:x · version 3") && stage.shows("rehearsal:faq · version 5"),
        "{:#?}",
        stage.screen()
    );
}

#[test]
fn the_end_of_a_long_answer_can_be_reached() {
    for width in [80, 140] {
        let mut stage = comparing(width, 24);
        watched(&mut stage, Watched::Turn { turn: "o1".into(), session: "compare~1".into() });
        let lines: Vec<String> = (0..200).map(|n| format!("line {n}.")).collect();
        watched(&mut stage, Watched::Text { text: lines.join("\n\n") });
        assert!(stage.shows("line 0.") && stage.shows("more below"), "{:#?}", stage.screen());
        stage.keys("pagedown");
        assert!(!stage.shows("line 0.") && stage.shows("more above"));
        stage.keys("end");
        assert!(stage.shows("line 199.") && !stage.shows("more below"), "{:#?}", stage.screen());
        watched(&mut stage, Watched::Text { text: "\n\nline 200.".into() });
        assert!(stage.shows("line 200."), "and stays there while it grows");
        stage.keys("home");
        assert!(stage.shows("line 0.") && !stage.shows("more above"));
    }
}

fn is_watched(stage: &Stage) -> bool {
    !stage.effects.iter().any(|effect| matches!(effect, Effect::Unwatch { key } if key == "chat-compare-1"))
}

#[test]
fn closing_stops_what_still_runs_there_and_ends_its_session() {
    let mut stage = comparing(100, 24);
    watched(&mut stage, Watched::Turn { turn: "o1".into(), session: "compare~1".into() });
    stage.keys("esc");
    assert_eq!((stage.called("turns.interrupt"), stage.called("test.end")), (1, 1));
    assert!(!is_watched(&stage));
    watched(&mut stage, Watched::Text { text: "late".into() });
    assert!(!stage.shows("late"));
}

#[test]
fn closed_before_it_has_begun_it_is_stopped_when_it_begins() {
    let mut stage = comparing(100, 24);
    stage.keys("esc");
    assert_eq!((stage.called("turns.interrupt"), stage.called("test.end")), (0, 0));
    assert!(is_watched(&stage));
    watched(&mut stage, Watched::Turn { turn: "o1".into(), session: "compare~1".into() });
    assert_eq!((stage.called("turns.interrupt"), stage.called("test.end")), (1, 1));
    assert!(!is_watched(&stage));
    // One that never began leaves nothing behind.
    let mut stage = comparing(100, 24);
    stage.keys("esc");
    tell(&mut stage, News::Ended { number: 1 });
    assert_eq!((stage.called("turns.interrupt"), stage.called("test.end")), (0, 1));
}

#[test]
fn sessions_of_comparisons_are_not_listed() {
    let mut stage = comparing(100, 24);
    stage.keys("esc s");
    sessions(&mut stage, &[("s1", false), ("compare~1790000000000", false)]);
    assert!(stage.shows("s1") && !stage.shows("compare~"), "{:#?}", stage.screen());
}

#[test]
fn a_refusal_and_a_wait_for_a_person_are_told() {
    let mut stage = comparing(100, 24);
    let error = contract::StudioError::new(contract::Code::NotManageable, 403, "Only its managers may do this.");
    tell(&mut stage, News::Watched { number: 1, what: Box::new(Err(error)) });
    assert!(stage.shows("Only its managers may do this."), "{:#?}", stage.screen());
    let mut stage = comparing(100, 24);
    watched(&mut stage, Watched::Turn { turn: "o1".into(), session: "compare~1".into() });
    watched(&mut stage, Watched::Waiting { approvals: vec!["a".into()], unknown: Vec::new() });
    assert!(stage.shows("waits for a person"), "{:#?}", stage.screen());
}

#[test]
fn an_answer_that_is_not_there_is_not_compared() {
    let mut stage = chat(80, 24);
    stage.typed("q").keys("enter");
    turn(&mut stage, "t1");
    stage.keys("tab c");
    assert_eq!(stage.called("catalog.get"), 0);
    assert!(stage.shows("Its answer is not there yet"), "{:#?}", stage.screen());
}
