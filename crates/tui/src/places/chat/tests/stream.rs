use super::*;
use crate::event::Event;
use contract::Code;

#[test]
fn a_piece_settles_by_line_and_the_whole_answer_takes_its_place() {
    let mut stage = chat(80, 24);
    stage.typed("hello there").keys("enter");
    assert!(stage.shows("» hello there") && stage.shows("working"), "{:#?}", stage.screen());
    let entries =
        log(vec![started("hello there"), asked(), said("# One\n\nTwo **bold** end"), ended(TurnStatus::Done, "x")]);
    turn(&mut stage, "t1");
    happen(&mut stage, &entries[..2], 1);
    assert_eq!(count(&stage, "hello there"), 1);
    text(&mut stage, "# One\n\nTwo **bo");
    // Not whole yet: shown as it is.
    assert!(stage.shows("# One") && stage.shows("Two **bo"), "{:#?}", stage.screen());
    text(&mut stage, "ld**\n");
    assert!(stage.shows("Two bold") && !stage.shows("**"), "{:#?}", stage.screen());
    text(&mut stage, "end");
    assert!(stage.shows("Two bold end"), "words go on in the row: {:#?}", stage.screen());
    happen(&mut stage, &entries, 3);
    assert_eq!((count(&stage, "# One"), count(&stage, "Two bold end")), (1, 1), "{:#?}", stage.screen());
    assert!(stage.shows("tokens 1,200 in, 30 out, 10 cached · first 0."), "{:#?}", stage.screen());
    assert!(stage.shows("total 3.0 s") && !stage.shows("working"));
    assert_eq!(stage.next_wake().filter(|at| *at < stage.now), None);
}

#[test]
fn a_text_that_grows_reads_as_the_same_text_whole() {
    let source = "Intro line\n\n- a\n- b\n\n```rust\nlet x = 1;\n\nlet y;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nlast words\n";
    let mut stage = chat(60, 40);
    stage.typed("q").keys("enter");
    turn(&mut stage, "t1");
    happen(&mut stage, &log(vec![started("q"), asked()]), 1);
    for piece in source.as_bytes().chunks(3) {
        text(&mut stage, std::str::from_utf8(piece).unwrap());
    }
    let plain = |stage: &Stage| -> Vec<String> {
        let screen = stage.screen();
        let end = screen.iter().position(|line| line.contains("last words")).unwrap();
        screen[2..=end].iter().map(|line| line.trim().to_owned()).collect()
    };
    let growing = plain(&stage);
    happen(&mut stage, &log(vec![started("q"), asked(), said(source)]), 3);
    assert_eq!(growing, plain(&stage));
}

#[test]
fn what_streams_costs_by_what_is_new() {
    let mut stage = chat(80, 24);
    stage.typed("q").keys("enter");
    turn(&mut stage, "t1");
    happen(&mut stage, &log(vec![started("q"), asked()]), 1);
    for number in 0..2_000 {
        text(&mut stage, &format!("Paragraph {number} with some words.\n\n"));
    }
    let before = stage.view.places.chat.painted;
    text(&mut stage, "One more.\n\n");
    assert!(stage.view.places.chat.painted - before < 10, "{}", stage.view.places.chat.painted - before);
}

#[test]
fn a_failure_is_shown_once_and_the_partial_answer_stays() {
    let mut stage = chat(80, 24);
    stage.typed("q").keys("enter");
    turn(&mut stage, "t1");
    let entries = log(vec![
        started("q"),
        asked(),
        TurnEvent::ModelFailed { status: Some(429), message: "slow down, request req_1".into() },
        ended(TurnStatus::Failed, "slow down, request req_1"),
    ]);
    happen(&mut stage, &entries[..2], 1);
    text(&mut stage, "partial words");
    happen(&mut stage, &entries, 3);
    assert_eq!(count(&stage, "slow down, request req_1"), 1);
    assert!(stage.shows("(429)") && stage.shows("partial words") && stage.shows("ended without an answer"));
}

#[test]
fn queued_texts_go_one_by_one_when_a_turn_ends() {
    let mut stage = chat(80, 24);
    stage.typed("first").keys("enter").typed("second").keys("enter").typed("third").keys("enter");
    assert_eq!(watches(&stage), 1);
    assert!(stage.shows("queued: second") && stage.shows("queued: third"), "{:#?}", stage.screen());
    for (id, words, left) in [("t1", "first", 1), ("t2", "second", 0), ("t3", "third", 0)] {
        turn(&mut stage, id);
        happen(&mut stage, &log(vec![started(words), asked(), said("ok"), ended(TurnStatus::Done, "ok")]), 1);
        assert_eq!(count(&stage, "queued"), left, "{words}");
    }
    assert_eq!(watches(&stage), 3);
    assert!(["» first", "» second", "» third"].iter().all(|words| stage.shows(words)));
}

#[test]
fn escape_stops_the_turn_and_gives_the_queue_back() {
    let mut stage = chat(80, 24);
    stage.typed("first").keys("enter").typed("second").keys("enter esc");
    // There is nothing to stop by name yet.
    assert_eq!(stage.called("turns.interrupt"), 0);
    turn(&mut stage, "t1");
    assert_eq!(stage.called("turns.interrupt"), 1);
    let entries = log(vec![
        started("first"),
        asked(),
        TurnEvent::Interrupted { by: "ana".into() },
        ended(TurnStatus::Interrupted, ""),
    ]);
    happen(&mut stage, &entries[..2], 1);
    text(&mut stage, "half an ans");
    happen(&mut stage, &entries, 3);
    assert!(stage.shows("half an ans") && stage.shows("Stopped by ana."), "{:#?}", stage.screen());
    assert!(!stage.shows("queued: ") && stage.shows("› second"), "{:#?}", stage.screen());
    assert_eq!(watches(&stage), 1);
    stage.keys("esc");
    assert_ne!(stage.state.place, PlaceId::Chat);
}

#[test]
fn a_refused_ask_gives_the_words_back() {
    let mut stage = chat(80, 24);
    stage.typed("my words").keys("enter");
    let watch = stage.state.places.chat.watch;
    let error = contract::StudioError::new(Code::KeySourceRequired, 409, "This model needs a key.");
    stage.reply(event(Msg::Watched { watch, what: Box::new(Err(error)) }));
    watch_ended(&mut stage);
    assert!(stage.shows("› my words") && stage.shows("! This model needs a key."), "{:#?}", stage.screen());
    assert!(!stage.shows("» my words") && !stage.shows("working"));
    stage.keys("enter");
    assert_eq!(watches(&stage), 2);
}

#[test]
fn an_open_turn_is_followed_and_driven_and_not_told_twice() {
    let entries = log(vec![started("q"), asked(), wants(&["desk_book"])]);
    let open = TranscriptTurn { turn: "t1".into(), status: TurnStatus::Running, events: entries.clone() };
    let mut stage = stored(80, 24, vec![open]);
    assert_eq!((watches(&stage), stage.called("turns.resume")), (1, 1));
    turn(&mut stage, "t1");
    happen(&mut stage, &entries, 1);
    assert_eq!((count(&stage, "desk_book"), count(&stage, "» q")), (1, 1));
    // The stream breaks: it is taken up again, later and later.
    watch_ended(&mut stage);
    assert_eq!(watches(&stage), 1);
    stage.wait(1_000);
    assert_eq!((watches(&stage), stage.called("turns.resume")), (2, 2));
    turn(&mut stage, "t1");
    watch_ended(&mut stage);
    stage.wait(1_500);
    assert_eq!(watches(&stage), 2);
    stage.wait(600);
    assert_eq!(watches(&stage), 3);
    turn(&mut stage, "t1");
    let all = log(vec![
        started("q"),
        asked(),
        wants(&["desk_book"]),
        asked(),
        said("done so"),
        ended(TurnStatus::Done, "done so"),
    ]);
    happen(&mut stage, &all, 1);
    assert_eq!((count(&stage, "done so"), count(&stage, "desk_book")), (1, 1), "{:#?}", stage.screen());
    watch_ended(&mut stage);
    stage.wait(60_000);
    assert_eq!(watches(&stage), 3);
}

#[test]
fn nothing_moves_by_itself_but_while_the_model_works() {
    let mut stage = chat(80, 24);
    stage.wait(20_000);
    assert_eq!(stage.next_wake(), None);
    stage.typed("q").keys("enter");
    stage.wait(3_000);
    assert!(stage.shows("working 3.0 s") || stage.shows("working 2.0 s"), "{:#?}", stage.screen());
    turn(&mut stage, "t1");
    happen(&mut stage, &log(vec![started("q"), asked(), said("a"), ended(TurnStatus::Done, "a")]), 1);
    stage.wait(20_000);
    assert_eq!(stage.next_wake(), None);
    let mut still = chat(80, 24);
    still.state.still = true;
    still.keys("tab tab").typed("q").keys("enter");
    still.wait(20_000);
    assert_eq!(still.next_wake(), None);
    assert!(still.shows("working"));
}

#[test]
fn late_answers_for_another_chat_change_nothing() {
    let mut stage = chat(80, 24);
    stage.typed("q").keys("enter");
    let (watch, opening) = (stage.state.places.chat.watch, stage.state.places.chat.opening);
    stage.typed("draft here");
    go(&mut stage, "other", None);
    assert!(!stage.shows("draft here") && !stage.shows("» q"));
    loaded(&mut stage, Err(contract::StudioError::not_found("Session", "default")));
    let late = Watched::Text { text: "late words".into() };
    stage.reply(event(Msg::Watched { watch, what: Box::new(Ok(late)) }));
    let turns = vec![answered("t9", "old", "old answer")];
    let reply = Ok(Json(TestTranscript { session: "s9".into(), turns }));
    stage.reply(event(Msg::Loaded { opening, reply }));
    assert!(stage.shows("Nothing was said yet.") && !stage.shows("late words"), "{:#?}", stage.screen());
    // What was typed is there again, and so is what was sent without an answer that it was taken.
    go(&mut stage, AGENT, None);
    assert!(stage.shows("draft here") && stage.shows("› q"), "{:#?}", stage.screen());
    stage.keys("ctrl-c");
    go(&mut stage, "other", None);
    go(&mut stage, AGENT, None);
    assert!(!stage.shows("draft here"));
}

#[test]
fn the_first_word_is_timed_from_the_question_to_the_model() {
    let mut stage = chat(100, 30);
    stage.typed("q").keys("enter");
    turn(&mut stage, "t1");
    let again = TurnEvent::ModelAsked { step: 2, attempt: 1, cut: 0 };
    let entries =
        log(vec![started("q"), asked(), wants(&["desk"]), again, said("Done."), ended(TurnStatus::Done, "x")]);
    happen(&mut stage, &entries[..3], 1);
    // A person takes their time with the call.
    stage.wait(90_000);
    happen(&mut stage, &entries[..4], 4);
    stage.wait(1_500);
    text(&mut stage, "Done.");
    happen(&mut stage, &entries, 5);
    assert!(stage.shows("first 1.5 s"), "{:#?}", stage.screen());
}

#[test]
fn esc_is_told_as_stop_while_the_model_works_and_as_back_after() {
    let mut stage = chat(80, 24);
    stage.typed("q").keys("enter");
    turn(&mut stage, "t1");
    assert!(stage.shows("Esc stop "), "{:#?}", stage.screen());
    happen(&mut stage, &log(vec![started("q"), asked(), said("a"), ended(TurnStatus::Done, "a")]), 1);
    assert!(stage.shows("Esc back") && !stage.shows("Esc stop "), "{:#?}", stage.screen());
}

#[test]
fn a_server_that_keeps_no_transcripts_says_so_whole_and_answers() {
    let lacking = || {
        let words =
            "The server cannot do this: it keeps no transcripts. You can ask; what was said before is not shown.";
        contract::StudioError::new(contract::Code::Unavailable, 503, words)
    };
    let mut stage = Stage::new(60, 20);
    go(&mut stage, AGENT, None);
    loaded(&mut stage, Err(lacking()));
    assert!(stage.shows("is not shown."), "{:#?}", stage.screen());
    // What was written before it was known is asked all the same.
    let mut stage = Stage::new(60, 20);
    go(&mut stage, AGENT, None);
    stage.typed("hello").keys("enter");
    assert!(stage.shows("queued: hello"), "{:#?}", stage.screen());
    loaded(&mut stage, Err(lacking()));
    assert!(stage.shows("» hello") && !stage.shows("queued: "), "{:#?}", stage.screen());
}

#[test]
fn while_the_server_is_away_nobody_counts_and_the_end_is_told_once() {
    use client::Connection;
    let mut stage = chat(80, 24);
    stage.typed("q").keys("enter");
    turn(&mut stage, "t1");
    assert!(stage.shows("working"));
    let at = stage.now;
    stage.event(Event::Connection { at, connection: Connection::Offline });
    watch_ended(&mut stage);
    assert!(stage.shows("waiting for the server") && !stage.shows("working"), "{:#?}", stage.screen());
    assert!(!stage.shows("the connection broke"), "one line says it");
    let screen = stage.screen();
    stage.wait(900);
    assert_eq!(screen, stage.screen(), "nothing is counted");
    let at = stage.now;
    stage.event(Event::Connection { at, connection: Connection::Connected });
    stage.wait(2_000);
    assert!(stage.shows("working"), "{:#?}", stage.screen());
    stage.keys("alt-1");
    let entries = log(vec![started("q"), asked(), said("a"), ended(TurnStatus::Done, "a")]);
    happen(&mut stage, &entries, 1);
    assert_eq!(count(&stage, "the turn is over"), 1);
    stage.state.toasts.clear();
    happen(&mut stage, &entries, 1);
    assert_eq!(count(&stage, "the turn is over"), 0, "a log that is read again tells nothing new");
}
