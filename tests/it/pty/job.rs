//! The whole job, from a home with nothing in it to a changed order, and what comes up on the way.

use super::screen::{Screen, approvals, order};
use crate::binary::{Desk, until};
use crate::place::{Cli, Where, everywhere};

everywhere! { a_long_answer_is_stopped, agents_are_filtered_and_deleted_by_their_name }

fn whole_job(cols: u16, rows: u16) {
    let cli = Cli::new();
    let home = cli.home();
    let mut screen = Screen::open(&home, cols, rows);
    screen.see("A workbench for LLM agents").see("d demo world").key("d").see("You are ben now.").see("Tab transcript");

    screen.say("cancel order 1007").see("desk_cancel_order").see("order_id: 1007").see("\"open\" → \"cancelled\"");
    assert_eq!(order(&home, 1007), "open", "nothing was changed yet");
    screen.approve().see("Done: order 1007 is now cancelled.");
    assert_eq!(order(&home, 1007), "cancelled");

    screen
        .say("cancel order 1003")
        .see("order_id: 1003")
        .reject("not today")
        .see("The change to order 1003 was rejected");
    screen.see("{\"reason\":\"not today\"}");
    assert_eq!((order(&home, 1003).as_str(), approvals(&home, "rejected")), ("open", 1));

    // Left open, then answered elsewhere while the dialog is up.
    screen.say("cancel order 1009").dialog().key("esc").not("Approve this call?").see("1 to approve");
    assert_eq!(approvals(&home, "pending"), 1);
    screen.key("alt-2").see("Esc back").see("orders-desk").key("enter").dialog();
    let open = cli.done(&["approvals", "list", "--status", "pending"]);
    cli.done(&["approvals", "approve", open["approvals"][0]["id"].as_str().unwrap()]);
    screen.see("Approved by ben").see("Any key closes.").pause(400).key("esc").not("Any key closes.").not("to approve");
    until("the cancelled order", || order(&home, 1009) == "cancelled");

    screen.key("ctrl-q");
    assert!(screen.ends().success());
    screen.is_given_back();
}

#[test]
fn the_whole_job_on_a_small_screen() {
    whole_job(80, 24);
}

#[test]
fn the_whole_job_on_a_large_screen() {
    whole_job(200, 60);
}

fn a_long_answer_is_stopped(place: Where) {
    let desk = Desk::on(place);
    let mut screen = desk.screen(80, 24);
    screen
        .chat("slow-teller")
        .say("tell me a story")
        .see("lighthouse")
        .key("esc")
        .see("Stopped by ben.")
        .see("· stopped");
    screen.say("hello").see("Say `tell me a story`");
    assert!(!screen.shows("this one ends here"));
}

fn agents_are_filtered_and_deleted_by_their_name(place: Where) {
    let desk = Desk::on(place);
    let mut screen = desk.screen(80, 24);
    screen.see("›chaos").see("orders-desk").key("/").see("Esc close").type_text("slow").not("orders-desk");
    screen.see("›slow-teller").key("enter").see("d delete").key("d").see("goes for good");
    // Half of the name deletes nothing.
    screen.type_text("slow-").see("type slow-teller: slow-").key("enter").type_text("teller");
    screen.see("type slow-teller: slow-teller");
    desk.done(&["agents", "show", "slow-teller"]);
    screen.key("enter").not("goes for good").not("›slow-teller").see("No agent fits the filter.");
    desk.ends(&["agents", "show", "slow-teller"], 5);
}
