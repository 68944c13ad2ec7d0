//! Text of others that holds control bytes: none of it reaches the terminal.

use super::screen::Screen;
use crate::binary::Desk;
use serde_json::json;
use std::collections::BTreeSet;

/// Sequences that would do something: colours, a cleared screen, a title, the clipboard, a device report, C1, bidi, a bell.
const EVIL: &str = "A\x1b[31mB\x1b[2JC\x1b]0;owned\x07D\x1b]52;c;ZXZpbA==\x07E\x1b[6nF\u{9b}35mG\u{9d}0;x\u{9c}H\u{202e}I\u{2066}J\x1bPqK\x1b\\L\x07M\rN\x08O";

/// What the program sends: the ends of its control sequences, with the mark of a private one, and the numbers of its commands
/// to the operating system's side of the terminal.
fn sequences(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for piece in text.split('\x1b').skip(1) {
        let (kind, rest) = piece.split_at(1);
        let end = |c: char| ('@'..='~').contains(&c);
        found.insert(match kind {
            "[" => {
                let private = if rest.starts_with(['?', '>', '<', '=']) { &rest[..1] } else { "" };
                format!("[{private}{}", rest.chars().find(|c| end(*c)).unwrap())
            }
            "]" => format!("]{}", rest.split(';').next().unwrap()),
            other => other.to_owned(),
        });
    }
    found
}

#[test]
fn no_text_of_others_controls_the_terminal() {
    let desk = Desk::new();
    let description = json!({ "description": EVIL, "system_prompt": format!("Prompt {EVIL}") }).to_string();
    desk.done(&["api", "call", "agents.patch", "--path", "name=chaos", "--json-body", &description]);
    let mut screen = Screen::open(&desk.home(), 120, 40);
    // As a description and a prompt in the list's detail, and in the form.
    screen
        .see("›chaos")
        .key("space")
        .see("A␛[31mB␛[2JC")
        .key("e")
        .not("NAME ↑")
        .see("nothing changed")
        .key("esc")
        .see("NAME ↑");
    // As the answer of a model.
    screen
        .key("/")
        .see("Esc close")
        .type_text("manual")
        .see("›manual")
        .key("enter")
        .key("c")
        .see("Nothing was said yet.");
    screen.paste(&format!("say {EVIL}")).see("› say A").key("enter").see("total");
    // As an argument of a call, in the dialog and in the transcript, and as the reason of a rejection.
    let call = json!({ "order_id": 1003, "reason": EVIL });
    screen.paste(&format!("call desk_cancel_order {call}")).see("› call desk").key("enter").dialog();
    screen
        .key("r")
        .see("reason:")
        .paste(EVIL)
        .pause(super::screen::DELIBERATE_MS)
        .key("enter")
        .not("Approve this call?")
        .see("rejected");
    screen.key("ctrl-q");
    assert!(screen.ends().success());
    screen.is_given_back();

    let bytes = screen.bytes();
    let text = String::from_utf8(bytes).unwrap();
    for piece in ["\x1b[31m", "owned\x07", "ZXZpbA==\x07", "\x1b[6n", "\x1bP", "\x1b]0;", "\x08"] {
        assert!(!text.contains(piece), "{piece:?} was sent");
    }
    let bad = |c: char| matches!(c, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    assert_eq!(text.chars().find(|c| bad(*c)), None);
    let ours: BTreeSet<String> = ["[H", "[m", "[J", "[?h", "[?l", "]2"].map(str::to_owned).into();
    let sent = sequences(&text);
    assert!(sent.is_subset(&ours), "{sent:?}");
}
