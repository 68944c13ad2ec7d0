//! Keys that were on their way when a question came up: none of them answers it.

use super::screen::{Screen, approvals};
use crate::binary::Desk;
use crate::interleave::Dice;
use std::time::{Duration, Instant};

/// How often.
const ROUNDS: i64 = 20;
/// Most time between two keys of a burst, well within what the dialog takes for typing.
const GAP: Duration = Duration::from_millis(250);
/// What people's fingers do: everything that moves the focus, answers, copies or opens.
const KEYS: [&str; 9] = ["enter", "enter", "right", "left", "y", "r", "ctrl-y", "e", "backtab"];

#[test]
fn what_was_typed_ahead_answers_nothing() {
    let desk = Desk::new();
    let home = desk.home();
    let mut screen = Screen::open(&home, 100, 30);
    screen.chat("orders-desk");
    let mut dice = Dice::new(1);
    for round in 0..ROUNDS {
        screen.type_text("cancel order 1008").see("› cancel order 1008").key("enter tab enter enter y r ctrl-y");
        if round > 0 {
            let mut last = Instant::now();
            for _ in 0..10 + dice.roll(10) {
                screen.pause(dice.roll(120));
                // A machine that paused made a pause in the typing, too.
                if last.elapsed() > GAP {
                    break;
                }
                screen.key(dice.pick(&KEYS));
                last = Instant::now();
            }
        }
        screen.dialog();
        assert_eq!(approvals(&home, "pending"), 1, "round {round}\n{}", screen.screen());
        assert_eq!(approvals(&home, "rejected"), round, "round {round}\n{}", screen.screen());
        screen.reject("no").not("to approve");
        assert_eq!(approvals(&home, "rejected"), round + 1);
        screen.until("the end of the turn", |screen| {
            screen.contents().contains("total") && !screen.contents().contains("waits")
        });
        if screen.shows("to write") {
            screen.key("tab").not("to write");
        }
    }
    assert_eq!(desk.changes(1008), 0);
}
