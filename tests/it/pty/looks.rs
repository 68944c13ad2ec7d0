//! What the screen looks like: colours, and none of them; sizes, and their changes.

use super::screen::{Opening, Screen};
use crate::binary::Desk;
use crate::interleave::Dice;
use vt100::Color;

/// The colour of the frame around a question, and whether the selected row is reversed.
fn look(desk: &Desk, envs: &[(&str, &str)]) -> (Color, bool, bool) {
    let home = desk.home();
    let opening = envs.iter().fold(Opening::new(&home, 100, 30), |opening, (name, value)| opening.env(name, value));
    let mut screen = opening.open();
    let (row, col) = screen.find("›chaos");
    let reversed = screen.is_reversed(row, col + 1);
    screen.chat("orders-desk").say("cancel order 1003").dialog();
    let (row, col) = screen.find("Approve this call?");
    let alarm = screen.colour(row, col - 2);
    let mut coloured = false;
    screen.until("the cells", |screen| {
        let cells = (0..30).flat_map(|row| (0..100).filter_map(move |col| screen.cell(row, col)));
        coloured = cells.into_iter().any(|cell| cell.fgcolor() != Color::Default || cell.bgcolor() != Color::Default);
        true
    });
    screen.reject("no");
    (alarm, reversed, coloured)
}

#[test]
fn dark_light_and_no_colours() {
    let desk = Desk::new();
    assert_eq!(look(&desk, &[]), (Color::Idx(9), true, true), "dark, unless somebody says otherwise");
    desk.configure("[workbench]\ntheme = \"light\"\n");
    assert_eq!(look(&desk, &[]), (Color::Idx(1), true, true));
    assert_eq!(look(&desk, &[("NO_COLOR", "1")]), (Color::Default, true, false));
    desk.configure("[workbench]\ntheme = \"plain\"\n");
    assert_eq!(look(&desk, &[]), (Color::Default, true, false));
}

#[test]
fn every_size_is_survived() {
    let desk = Desk::new();
    let mut screen = Screen::open(&desk.home(), 100, 30);
    screen.chat("orders-desk").say("what's up with order 1020?").see("Order 1020:").see("total").see("Esc back");
    screen.resize(1, 1).pause(50).resize(5, 2).see("too").resize(19, 4).see("too small").resize(20, 5).see("›");
    screen.resize(60, 16).see("Order 1020:").resize(400, 120).see("Order 1020:");
    let mut dice = Dice::new(7);
    for _ in 0..200 {
        let (cols, rows) = (1 + dice.roll(200), 1 + dice.roll(60));
        screen.resize(u16::try_from(cols).unwrap(), u16::try_from(rows).unwrap());
        if dice.roll(4) == 0 {
            screen.pause(dice.roll(20));
        }
    }
    screen.resize(100, 30);
    let once = |text: &str, shown: &str| shown.matches(text).count() == 1;
    screen.until("each line once", |screen| {
        let shown = screen.contents();
        let lines = [
            "» what's up with order 1020?",
            "Order 1020:",
            "desk_get_order",
            "· tokens",
            "Esc back",
            "orders-desk · session",
        ];
        lines.iter().all(|line| once(line, &shown))
    });
    assert!(!screen.shows("panicked"));
    screen.key("ctrl-q");
    assert!(screen.ends().success());
    screen.is_given_back();
}
