//! Every way out gives the terminal back as it was.

use super::screen::{Opening, Screen};
use crate::binary::Desk;
use std::os::unix::fs::PermissionsExt as _;

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
    screen.type_text(&format!("echo modes $({MODES})")).key("enter").see("modes 5");
    screen.type_text("exit").key("enter");
    assert!(screen.ends().success());
}

/// What is said of a terminal whose modes are those of a shell.
const MODES: &str = "stty -a | tr ' ' '\\n' | grep -cx -e icanon -e echo -e isig -e icrnl -e opost";

#[test]
fn the_editor_gets_the_terminal_and_gives_it_back() {
    let desk = Desk::new();
    let home = desk.home();
    let editor = home.join("editor");
    let script = format!("#!/bin/sh\necho modes $({MODES})\nread answer\necho \"$answer, and more\" >> \"$1\"\n");
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut screen = Opening::new(&home, 80, 24).env("EDITOR", editor.to_str().unwrap()).open();
    screen.chat("greeter").type_text("hello").see("› hello").key("ctrl-e").see("modes 5");
    screen.until("the ordinary screen", |screen| {
        !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
    });
    // The editor has the keys to itself: none is read by the workbench.
    screen.type_text("typed there").see("typed there").key("enter").see("typed there, and more").not("modes 5");
    screen.until("our screen", |screen| screen.alternate_screen() && screen.bracketed_paste());
    screen.type_text("!").see("typed there, and more!").key("ctrl-q");
    assert!(screen.ends().success());
    screen.is_given_back();
}

#[test]
fn an_editor_that_fails_costs_no_text() {
    let desk = Desk::new();
    let home = desk.home();
    for (editor, said) in [("/nonexistent/editor", "could not be started"), ("false", "nothing was taken over")] {
        let mut screen = Opening::new(&home, 80, 24).env("EDITOR", editor).open();
        screen.chat("greeter").key("ctrl-u").type_text("hello").see("› hello").key("ctrl-e").see(said).see("› hello");
        screen.key("ctrl-q");
        assert!(screen.ends().success());
        screen.is_given_back();
    }
}

#[cfg(feature = "failpoints")]
#[test]
fn a_panic_gives_the_terminal_back_and_is_readable() {
    let desk = Desk::new();
    let home = desk.home();
    let mut screen = Opening::new(&home, 80, 24).env("ASTUDIO_FAULT", "workbench_panic=error").open();
    screen.see("NAME").key("f9").see("The mouse is captured").key("c");
    assert!(!screen.ends().success());
    screen.see("a fault of the test").is_given_back();
}
