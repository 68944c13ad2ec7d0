use super::*;
use crate::places::chat::composer::Composer;

fn keep_effects(stage: &Stage) -> Vec<Option<String>> {
    let kept = stage.effects.iter().filter_map(|effect| match effect {
        Effect::KeepUnsaved { key, text } if key == "chat-orders-desk" => Some(text.clone()),
        _ => None,
    });
    kept.collect()
}

#[test]
fn several_lines_a_real_cursor_and_at_most_a_third_of_the_screen() {
    let mut stage = chat(80, 24);
    stage.typed("ab日").keys("alt-enter").typed("second");
    let screen = stage.screen();
    assert!(screen[20].ends_with("› ab日") && screen[21].ends_with("  second"), "{screen:#?}");
    let cursor = stage.cursor().unwrap();
    let left = stage.view.middle.x + 2;
    assert_eq!((cursor.x, cursor.y), (left + 6, 21));
    stage.keys("up end");
    assert_eq!((stage.cursor().unwrap().x, stage.cursor().unwrap().y), (left + 4, 20));
    stage.keys("left backspace");
    assert!(stage.shows("› a日"));
    stage.keys("down");
    for _ in 0..20 {
        stage.keys("ctrl-j").typed("more");
    }
    assert_eq!(count(&stage, "more"), 8);
    assert_eq!(stage.cursor().unwrap().y, 21);
}

#[test]
fn a_large_paste_is_a_placeholder_that_is_sent_whole() {
    let mut composer = Composer::default();
    let large = vec!["line"; 10_000].join("\r\n");
    composer.paste("see ");
    composer.paste(&large);
    composer.paste(&large);
    composer.paste(&"x".repeat(2_500));
    let shown = |composer: &Composer| {
        let (rows, _) = composer.rows(200, 5, ratatui::style::Style::new());
        rows.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(shown(&composer), ["see [pasted 10,000 lines][pasted 10,000 lines #2][pasted 2,500 characters]"]);
    let whole = large.replace("\r\n", "\n");
    assert_eq!(composer.text(), format!("see {whole}{whole}{}", "x".repeat(2_500)));
    // A placeholder goes as a whole.
    composer.key(&crate::testing::key("backspace"));
    assert_eq!(shown(&composer), ["see [pasted 10,000 lines][pasted 10,000 lines #2]"]);
    assert_eq!(composer.take(), format!("see {whole}{whole}"));
    assert!(composer.is_empty());
    // What was sent comes back with its placeholders.
    assert!(composer.up());
    assert_eq!(composer.text(), format!("see {whole}{whole}"));
}

#[test]
fn a_paste_of_ten_thousand_lines_costs_one_frame_of_one_row() {
    let mut stage = chat(80, 24);
    stage.paste(&"a line of text\n".repeat(10_000));
    assert!(stage.shows("› [pasted 10,001 lines]"), "{:#?}", stage.screen());
    stage.keys("enter");
    let opened = stage.state.places.chat.transcript.items()[0].text().len();
    assert_eq!(opened, 150_000);
}

#[test]
fn history_begins_at_the_first_line_and_brings_back_what_was_written() {
    let mut stage = chat(80, 24);
    stage.typed("one").keys("enter");
    let entries = log(vec![started("one"), asked(), said("ok"), ended(TurnStatus::Done, "ok")]);
    turn(&mut stage, "t1");
    happen(&mut stage, &entries, 1);
    stage.typed("draft").keys("alt-enter").typed("lower").keys("up");
    assert!(stage.shows("› draft"));
    stage.keys("up");
    assert!(stage.shows("› one") && !stage.shows("lower"), "{:#?}", stage.screen());
    stage.keys("down");
    assert!(stage.shows("› draft") && stage.shows("lower"));
}

#[test]
fn clearing_keeps_the_text_in_the_history_and_twice_quits() {
    let quits = |stage: &Stage| stage.effects.iter().filter(|effect| matches!(effect, Effect::Quit)).count();
    let mut stage = chat(80, 24);
    stage.typed("precious").keys("ctrl-c");
    assert!(!stage.shows("› precious") && quits(&stage) == 0);
    stage.keys("up");
    assert!(stage.shows("› precious"));
    stage.keys("ctrl-c").wait(2_100);
    assert!(!stage.shows("again quits"), "what is told counts as long as it is told");
    stage.keys("ctrl-c");
    assert!(quits(&stage) == 0 && stage.shows("again quits"));
    stage.keys("x");
    assert!(!stage.shows("again quits"), "another key ends it");
    stage.keys("backspace ctrl-c");
    assert_eq!(quits(&stage), 0);
    stage.keys("ctrl-c");
    assert_eq!(quits(&stage), 1);
}

#[test]
fn unsent_text_is_kept_soon_offered_again_and_forgotten_when_sent() {
    let mut stage = chat(80, 24);
    stage.typed("abc");
    stage.wait(600);
    assert_eq!(keep_effects(&stage).last().unwrap().as_deref(), Some("abc"));
    let writes = keep_effects(&stage).len();
    stage.typed("0123456789");
    stage.wait(600);
    assert!(keep_effects(&stage).len() <= writes + 2, "a burst costs few writes");
    stage.keys("enter");
    assert_eq!(keep_effects(&stage).last().unwrap(), &None);
    stage.typed("next").keys("enter");
    assert_eq!(keep_effects(&stage).last().unwrap().as_deref(), Some("next"), "what is queued is not sent yet");
    assert!(stage.state.places.chat.is_unsaved());

    let mut again = chat(80, 24);
    again.reply(event(Msg::Kept { agent: AGENT.into(), text: Some("from before".into()) }));
    assert!(again.shows("› from before") && again.shows("is back"), "{:#?}", again.screen());
    again.reply(event(Msg::Kept { agent: AGENT.into(), text: Some("other".into()) }));
    assert!(!again.shows("other"));
}

#[test]
fn the_editor_s_text_takes_the_place_of_what_was_written() {
    let mut stage = chat(80, 24);
    stage.typed("draft").keys("ctrl-e");
    let text = stage.effects.iter().find_map(|effect| match effect {
        Effect::Editor { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(text.as_deref(), Some("draft"));
    stage.reply(event(Msg::Edited(Ok("better\n".into()))));
    assert!(stage.shows("› better"));
    stage.reply(event(Msg::Edited(Err("The editor ended with 1.".into()))));
    assert!(stage.shows("› better") && stage.shows("The editor ended"));
}
