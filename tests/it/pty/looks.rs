//! What the screen looks like: colours, and none of them.

use super::screen::Opening;
use crate::binary::Desk;
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
