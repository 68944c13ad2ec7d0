//! Every way out gives the terminal back as it was.

use super::screen::{Opening, Screen};
use crate::binary::Desk;

#[test]
fn keys_and_signals_give_the_terminal_back() {
    let desk = Desk::new();
    let home = desk.home();
    for way in ["keys", "-TERM", "-HUP", "-INT"] {
        let mut screen = Screen::open(&home, 80, 24);
        screen.see("NAME").key("f9").see("The mouse is captured");
        match way {
            "keys" => screen.key("ctrl-q"),
            signal => screen.signal(signal),
        };
        assert!(screen.ends().success(), "{way}");
        screen.is_given_back();
    }
}

#[test]
fn unsent_text_survives_a_signal_and_is_offered_again() {
    let desk = Desk::new();
    let home = desk.home();
    let mut screen = Screen::open(&home, 80, 24);
    screen.chat("greeter").type_text("half a thought").see("› half a thought").signal("-TERM").ends();
    let mut screen = Screen::open(&home, 80, 24);
    screen.chat("greeter").see("half a thought");
}

#[test]
fn a_closed_terminal_ends_the_program() {
    let desk = Desk::new();
    let mut screen = Screen::open(&desk.home(), 80, 24);
    screen.see("NAME").close().ends();
}

#[test]
fn a_terminal_that_goes_away_in_silence_ends_the_program() {
    let desk = Desk::new();
    let home = desk.home();
    let mut screen = Opening::new(&home, 80, 24).without_hangup().open();
    screen.see("NAME").key("ctrl-p").see("palette").key("esc").close().ends();
}

#[test]
fn the_shell_gets_the_terminal_and_fg_comes_back() {
    let desk = Desk::new();
    let home = desk.home();
    let mut screen = Opening::new(&home, 80, 24).shell();
    screen.see("shell>").type_text("astudio").key("enter").see("›chaos");
    screen.key("ctrl-z").see("Stopped").not("›chaos").until("the ordinary screen", |screen| !screen.alternate_screen());
    // The shell reads lines again, and what is typed is seen.
    screen.type_text("echo $((6*7))").key("enter").see("42").type_text("fg").key("enter").see("›chaos").not("Stopped");
    screen
        .key("down")
        .see("›faq")
        .key("ctrl-q")
        .not("›faq")
        .until("the prompt", |screen| screen.contents().trim_end().ends_with("shell>"));
    let modes = "echo modes $(stty -a | tr ' ' '\\n' | grep -cx -e icanon -e echo -e isig -e icrnl -e opost)";
    screen.type_text(modes).key("enter").see("modes 5");
    screen.type_text("exit").key("enter");
    assert!(screen.ends().success());
}
