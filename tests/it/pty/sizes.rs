//! Every size, and its changes while the program draws: nothing panics, no line is lost or shown twice.
//!
//! `ASTUDIO_RESIZES` says how many changes, `ASTUDIO_SEED` where the dice begin.

use super::screen::{Opening, Screen};
use crate::binary::Desk;
use crate::interleave::{Dice, number};
use std::collections::BTreeMap;

/// How many changes of the size.
const RESIZES: u64 = 1_000;

/// So many random sizes from one cell to a wall of them, some for an instant and some for some frames.
fn storm(screen: &mut Screen, count: u64, dice: &mut Dice) {
    for _ in 0..count {
        let (cols, rows) = match dice.roll(4) {
            0 => (1 + dice.roll(24), 1 + dice.roll(8)),
            1 => (1 + dice.roll(100), 1 + dice.roll(40)),
            _ => (1 + dice.roll(400), 1 + dice.roll(120)),
        };
        screen.resize(u16::try_from(cols).unwrap(), u16::try_from(rows).unwrap());
        if dice.roll(3) == 0 {
            screen.pause(dice.roll(40));
        }
    }
}

/// The screen is what a whole new drawing makes of it.
#[track_caller]
pub fn is_fresh(screen: &mut Screen, name: &str) {
    let before = screen.rows();
    let drawn = screen.bytes().len();
    screen.key("ctrl-l").until("another frame", |_| true);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while screen.bytes().len() < drawn + 500 {
        assert!(std::time::Instant::now() < end, "{name}: nothing is drawn anew");
        screen.pause(5);
    }
    screen.pause(100);
    for (row, (fresh, before)) in screen.rows().into_iter().zip(before).enumerate() {
        let other = fresh.iter().zip(&before).position(|(fresh, before)| fresh != before);
        assert_eq!(other.map(|col| (row, col, &fresh[col], &before[col])), None, "{name}\n{}", screen.screen());
    }
}

#[test]
fn a_thousand_sizes_leave_each_line_once() {
    let desk = Desk::new();
    let (count, seed) = (number("ASTUDIO_RESIZES", RESIZES), number("ASTUDIO_SEED", 7));
    let mut dice = Dice::new(seed);
    let name = format!("ASTUDIO_SEED={seed}");
    let mut screen = Screen::open(&desk.home(), 100, 30);
    screen.resize(1, 1).pause(50).resize(5, 2).see("too").resize(19, 4).see("too small").resize(20, 5).see("›");
    screen.resize(60, 16).see("orders-desk").resize(400, 120).see("orders-desk").resize(100, 30).see("slow-teller");

    // While an answer streams in.
    screen.chat("slow-teller").say("tell me a story").see("lighthouse");
    storm(&mut screen, count / 2, &mut dice);
    screen.resize(100, 50).see("this one ends here.").see("· tokens").see("Tab transcript").see("· version 1");
    is_fresh(&mut screen, &name);
    let shown = screen.screen();
    let mut times = BTreeMap::new();
    for line in shown.lines().map(|line| line.chars().skip(13).collect::<String>()) {
        let words = line.trim().to_owned();
        if words.split_whitespace().count() > 3 {
            *times.entry(words).or_insert(0) += 1;
        }
    }
    assert!(times.len() > 15, "{name}\n{shown}");
    assert!(times.values().all(|times| *times == 1), "{name}: {times:?}\n{shown}");

    // In a question, a list and a form, with nothing but the size changing.
    screen.key("esc").see("NAME ↑").key("/ ctrl-u").type_text("orders").see("›orders-desk").key("enter c");
    screen.see("Tab transcript").say("cancel order 1003").dialog();
    storm(&mut screen, count / 4, &mut dice);
    screen.resize(100, 30).dialog().see("order_id: 1003");
    screen.until("one question", |screen| screen.contents().matches("Approve this call?").count() == 1);
    screen.reject("no").see("· tokens").key("esc").see("NAME ↑").key("e").see("system prompt");
    storm(&mut screen, count / 4, &mut dice);
    screen.resize(100, 30).see("system prompt").see("nothing changed").pause(100);
    is_fresh(&mut screen, &name);

    assert!(!screen.shows("panicked"));
    screen.key("ctrl-q");
    assert!(screen.ends().success());
    screen.is_given_back();
}

#[test]
fn a_start_at_any_size_is_survived() {
    let desk = Desk::new();
    let home = desk.home();
    for (cols, rows) in [(1, 1), (2, 1), (1, 50), (400, 1), (20, 5), (400, 120)] {
        let mut screen = Opening::new(&home, cols, rows).open();
        screen.until("a frame", |screen| screen.alternate_screen()).pause(50);
        screen.resize(80, 24).see("›chaos").key("ctrl-q");
        assert!(screen.ends().success());
        screen.is_given_back();
    }
}

/// Nothing comes after such a key that would bring it along.
#[test]
fn a_key_at_the_moment_of_a_change_arrives_without_another() {
    let desk = Desk::new();
    let mut screen = Screen::open(&desk.home(), 100, 30);
    screen.see("›chaos").key("/").see("/ ");
    for turn in 0..150u16 {
        let letter = char::from(b'a' + u8::try_from(turn % 26).unwrap());
        screen.pause(u64::from(turn % 7)).resize(100 + turn % 2, 30).type_text(&letter.to_string());
        screen.see(&format!("/ {letter}")).key("backspace").not(&format!("/ {letter}"));
    }
    screen.key("ctrl-q");
    assert!(screen.ends().success());
}
