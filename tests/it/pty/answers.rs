//! The ways in which a call is answered, and what comes of each: at once, changed first, later, after a restart, elsewhere.

use super::screen::{Screen, approvals, order};
use crate::binary::{Desk, text, until};
use serde_json::json;

#[test]
fn changed_arguments_are_what_runs() {
    let desk = Desk::new();
    let home = desk.home();
    let mut screen = Screen::open(&home, 100, 40);
    screen.chat("orders-desk").say("cancel order 1003").dialog().key("e").see("takes the changes");
    // What does not fit the schema stays in the form, and nothing runs.
    screen.key("ctrl-u").type_text("soon").see("soon").key("ctrl-s").pause(200).see("takes the changes").see("soon");
    screen.key("ctrl-u").type_text("1009").see("1009").key("ctrl-s").see("Arguments that were changed");
    screen.see("Arguments that will run").see("order_id: 1009");
    assert_eq!(approvals(&home, "pending"), 1);
    screen.approve();
    until("the cancelled order", || order(&home, 1009) == "cancelled");
    assert_eq!((order(&home, 1003).as_str(), desk.effects().len()), ("open", 1));
    let used = desk.done(&["approvals", "list", "--status", "consumed"])["approvals"][0].clone();
    assert_eq!((&used["args"]["order_id"], &used["edited_args"]["order_id"]), (&json!(1003), &json!(1009)));
}

#[test]
fn a_reason_reaches_the_record_and_the_model() {
    let desk = Desk::new();
    let mut screen = Screen::open(&desk.home(), 80, 24);
    screen.chat("orders-desk").say("cancel order 1003").reject("the customer called again");
    screen.see("rejected").see("the customer called again");
    let rejected = desk.done(&["approvals", "list", "--status", "rejected"])["approvals"][0].clone();
    assert_eq!(text(&rejected["reason"]), "the customer called again");
    assert_eq!(desk.changes(1003), 0);
}

/// Leaves a call open, ends the program, and answers the call in the inbox of the next one.
fn left_open(end: impl FnOnce(&mut Screen)) {
    let desk = Desk::new();
    let home = desk.home();
    let mut screen = Screen::open(&home, 80, 24);
    screen
        .chat("orders-desk")
        .say("cancel order 1003")
        .dialog()
        .key("esc")
        .not("Approve this call?")
        .see("1 to approve");
    end(&mut screen);
    drop(screen);
    assert_eq!((approvals(&home, "pending"), order(&home, 1003).as_str()), (1, "open"));
    let mut screen = Screen::open(&home, 80, 24);
    // What waits from before is told and interrupts nobody.
    screen.see("NAME").see("1 to approve").pause(300).not("Approve this call?");
    screen.key("alt-2").see("desk_cancel_order").key("enter").approve().not("to approve");
    until("the cancelled order", || order(&home, 1003) == "cancelled");
    assert_eq!(desk.changes(1003), 1);
    // The turn that waited comes to its end in the chat it came from.
    screen.key("alt-1").chat("orders-desk").see("Done: order 1003 is now cancelled.");
}

#[test]
fn a_call_left_open_is_answered_after_a_restart() {
    left_open(|screen| _ = screen.key("ctrl-q").ends());
}

#[test]
fn a_call_left_open_is_answered_after_a_kill() {
    left_open(|screen| _ = screen.signal("-KILL").ends());
}

#[test]
fn an_answer_from_elsewhere_ends_the_dialog() {
    let desk = Desk::new();
    let home = desk.home();
    let mut screen = Screen::open(&home, 80, 24);
    screen.chat("orders-desk").say("cancel order 1003").dialog().key("tab").see("›Approve‹");
    let id = desk.wait_pending(1)[0].clone();
    desk.done(&["approvals", "reject", &id, "--reason", "not from there"]);
    // The Enter that was meant for the question finds another screen, and decides nothing.
    screen.see("Rejected by ben").key("enter").see("Any key closes.").pause(400).key("enter").not("Any key closes.");
    screen.see("not from there");
    assert_eq!((approvals(&home, "rejected"), order(&home, 1003).as_str()), (1, "open"));
    assert_eq!(desk.changes(1003), 0);
}
