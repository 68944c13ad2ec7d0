use super::*;
use std::collections::BTreeSet;

/// Turns whose words and answers are numbered.
fn many(count: usize) -> Vec<TranscriptTurn> {
    (0..count)
        .map(|n| answered(&format!("t{n}"), &format!("words {n}."), &format!("answer {n}.\n\nmore of {n}.")))
        .collect()
}

#[test]
fn five_thousand_messages_cost_what_is_in_sight() {
    let mut stage = stored(80, 24, many(2_500));
    assert!(stage.shows("answer 2499."));
    let opened = stage.view.places.chat.painted;
    assert!(opened < 60, "{opened} rows painted to open");
    for keys in ["a", "pageup", "pagedown", "tab k k k", "pageup", "pagedown", "[", "]", "end", "tab a"] {
        let before = stage.view.places.chat.painted;
        stage.keys(keys);
        let cost = stage.view.places.chat.painted - before;
        assert!(cost < 80, "{cost} rows painted for {keys}");
    }
    stage.keys("tab home");
    assert!(stage.shows("words 0."));
    assert!(stage.view.places.chat.painted < 400);
}

#[test]
fn reading_above_is_not_disturbed_and_what_is_new_is_counted() {
    let mut stage = stored(80, 24, many(20));
    stage.typed("q").keys("enter");
    turn(&mut stage, "tq");
    let entries = log(vec![started("q"), asked(), said("A\n\nB\n\nC"), ended(TurnStatus::Done, "x")]);
    happen(&mut stage, &entries[..2], 1);
    stage.keys("tab pageup");
    let body = |stage: &Stage| stage.screen()[1..18].to_vec();
    let before = body(&stage);
    assert!(stage.shows("↓ more below; End follows"), "{:#?}", stage.screen());
    text(&mut stage, "A\n\nB\n\n");
    happen(&mut stage, &entries, 3);
    assert_eq!(body(&stage), before);
    assert!(stage.shows("↓ 2 new below"), "{:#?}", stage.screen());
    stage.keys("end");
    assert!(stage.shows("total") && !stage.shows("below"), "{:#?}", stage.screen());
    // Scrolling to the end by hand follows too; scrolling on costs nothing on the way back.
    stage.keys("k k j j j j j j");
    assert!(!stage.shows("below"));
    stage.keys("k");
    assert!(stage.shows("below"));
    stage.keys("home k k k k j");
    assert!(!stage.shows("words 0.") && stage.shows("answer 0."), "{:#?}", stage.screen());
}

#[test]
fn marks_lead_from_turn_to_turn() {
    let mut stage = stored(80, 24, many(20));
    stage.keys("tab home ]");
    assert!(stage.screen()[2].contains("▌ » words 1."), "{:#?}", stage.screen());
    stage.keys("] ] [");
    assert!(stage.screen()[2].contains("▌ » words 2."), "{:#?}", stage.screen());
    stage.keys("y");
    assert_eq!(copied(&stage), "words 2.");
}

#[test]
fn a_search_counts_leads_round_and_marks_what_it_found() {
    let mut stage = stored(80, 24, many(20));
    stage.keys("tab home /").typed("ANSWER 1").keys("enter");
    assert!(stage.shows("1 of 11 for 'answer 1'"), "{:#?}", stage.screen());
    assert!(stage.shows("answer 1."));
    let row = stage.screen().iter().position(|line| line.contains("answer 1.")).unwrap();
    let hit = stage.style_at(stage.view.middle.x + 2, u16::try_from(row).unwrap());
    assert!(hit.add_modifier.contains(ratatui::style::Modifier::REVERSED));
    stage.keys("n");
    assert!(stage.shows("2 of 11") && stage.shows("answer 10."), "{:#?}", stage.screen());
    stage.keys("shift-n shift-n");
    assert!(stage.shows("11 of 11") && stage.shows("answer 19."), "{:#?}", stage.screen());
    stage.keys("/").typed("nothing like it").keys("enter");
    assert!(stage.shows("'nothing like it' is nowhere"));
    stage.keys("/ esc");
    assert!(!stage.shows("nowhere"));
}

#[test]
fn copies_are_the_source() {
    let source = "Some *emphasis* that is long enough to be broken into several rows of the screen by its width.\n\n```sh\none\n```\n\n```rust\nfn  two() {}\n\tx\n```\n";
    let mut stage = stored(60, 24, vec![answered("t1", "q", source)]);
    stage.keys("tab y");
    assert_eq!(copied(&stage), source);
    stage.keys("shift-y");
    assert_eq!(copied(&stage), "fn  two() {}\n\tx\n");
    stage.keys("shift-y");
    assert_eq!(copied(&stage), "one\n");
    stage.keys("shift-y");
    assert_eq!(copied(&stage), "fn  two() {}\n\tx\n");
}

#[test]
fn an_export_holds_everything_in_both_forms() {
    let mut stage = stored(80, 24, many(2));
    stage.keys("tab x");
    assert!(stage.called("test.transcript") >= 2);
    let turns = vec![answered("t0", "words", "an *answer*\n\n```\ncode\n```")];
    let reply = Ok(Json(TestTranscript { session: "s/1".into(), turns: turns.clone() }));
    stage.reply(event(Msg::Export { agent: AGENT.into(), reply }));
    let files: Vec<(&str, &str)> = stage
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::WriteFile { name, content } => Some((name.as_str(), content.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(files[0].0, "chat-orders-desk-s-1.md");
    assert_eq!(
        files[0].1,
        "# Chat with orders-desk, session s/1\n\n## Person\n\nwords\n\n## orders-desk\n\nan *answer*\n\n```\ncode\n```\n"
    );
    let json: serde_json::Value = serde_json::from_str(files[1].1).unwrap();
    assert_eq!(serde_json::from_value::<Vec<TranscriptTurn>>(json["turns"].clone()).unwrap(), turns);
}

#[test]
fn sessions_are_listed_and_opened_and_a_stale_one_is_moved_on_from() {
    let mut stage = stored(80, 24, many(1));
    sessions(&mut stage, &[("s2", false), ("s1", true)]);
    assert!(stage.shows("· changed since, m moves on · session s1 · version 3"), "{:#?}", stage.screen());
    stage.keys("tab s");
    sessions(&mut stage, &[("s2", false), ("s1", true)]);
    assert!(stage.shows("› s1") && stage.shows("s2") && stage.shows("v3 older"), "{:#?}", stage.screen());
    stage.keys("enter");
    assert_eq!(stage.state.places.chat.session.as_deref(), Some("s2"));
    assert!(stage.shows("Reading…") && !stage.shows("words 0."));
    loaded(&mut stage, Ok(TestTranscript { session: "s2".into(), turns: many(1) }));
    stage.keys("tab m");
    assert_eq!(stage.called("test.end"), 0);
    stage.keys("enter");
    assert_eq!(stage.called("test.end"), 1);
    let opening = stage.state.places.chat.opening;
    let over =
        contract::ops::test::TestEnded { message: "The test session has ended.".into(), agent_name: AGENT.into() };
    stage.reply(event(Msg::MovedOn { opening, reply: Ok(Json(over)) }));
    loaded(&mut stage, Err(contract::StudioError::not_found("Session", "default")));
    assert!(stage.shows("Nothing was said yet.") && stage.shows("new session"), "{:#?}", stage.screen());
}

#[test]
fn a_resize_breaks_lines_anew_and_doubles_none() {
    let turns: Vec<TranscriptTurn> = (0..4)
        .map(|n| answered(&format!("t{n}"), &format!("w{n}."), &format!("u{n}a x{n}b 日本語 v{n}c | y{n}d 👨‍👩‍👧 z{n}e")))
        .collect();
    let mut stage = stored(100, 50, turns);
    let marks = || {
        (0..4).flat_map(|n| {
            ["a", "b", "c", "d", "e"].into_iter().zip(["u", "x", "v", "y", "z"]).map(move |(l, f)| format!("{f}{n}{l}"))
        })
    };
    for (width, height) in [(30, 50), (24, 50), (100, 50), (61, 50), (200, 60), (100, 50)] {
        stage.resize(width, height);
        let all = stage.screen().join("\n");
        for mark in marks() {
            assert_eq!(all.matches(&mark).count(), 1, "{mark} at {width}: {all}");
        }
    }
    let lines: Vec<String> = stage.screen().into_iter().filter(|line| line.contains('日')).collect();
    assert_eq!(lines.len(), lines.iter().collect::<BTreeSet<_>>().len());
}

#[test]
fn no_size_is_too_small() {
    let source = "# H\n\n> - quote\n\n| a | b |\n|---|---|\n| 日本 | 👨‍👩‍👧 |\n\n```rust\nlet x;\n```";
    let entries = log(vec![started("日本語"), asked(), wants(&["desk_book"]), said(source), asked()]);
    let open = TranscriptTurn { turn: "t1".into(), status: TurnStatus::Running, events: entries };
    let mut stage = stored(80, 24, vec![answered("t0", "q", source), open]);
    stage.typed("queued text 日本").keys("enter").typed("日本 and more");
    for focus in ["", "tab", "[ enter", "/", "esc s"] {
        stage.keys(focus);
        for (width, height) in [(1, 1), (20, 5), (21, 6), (24, 8), (60, 16), (2, 4), (3, 200), (200, 3), (80, 24)] {
            stage.resize(width, height).keys("up").keys("down");
        }
    }
    assert!(stage.shows("Sessions"));
}

#[test]
fn what_can_be_done_with_an_answer_is_told_at_80_columns() {
    let mut stage = stored(80, 24, vec![answered("t1", "one?", "uno")]);
    stage.keys("tab");
    let (screen, footer) = (stage.screen(), stage.footer());
    for told in ["a ask again", "c compare", "s sessions", "m move on", "x export", "Esc back", "F1 help"] {
        assert!(footer.contains(told), "{told}: {screen:#?}");
    }
    assert!(!footer.contains("follow") && !footer.contains("unfold"), "nothing to follow or to unfold: {footer}");
    // Help tells them from the composer too.
    stage.resize(80, 60).keys("tab f1");
    stage.keys("pagedown");
    assert!(stage.shows("Ask the selected question once more"), "{:#?}", stage.screen());
}
