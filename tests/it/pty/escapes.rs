//! Text of others that holds control bytes, in every field that is shown: none of it reaches the terminal. What the program sends is
//! read byte by byte, and only what it writes itself is let through.

use super::screen::{DELIBERATE_MS, Opening, Screen};
use crate::binary::{Desk, line};
use fakes::{Answer, Fake, Protocol};
use serde_json::json;

/// What would do something: colours, moves and erasures, titles, colours of the palette, folders, links, notices, the clipboard,
/// reports that make the terminal type, strings of device control, 8-bit forms, split and unfinished ones, directions, overprints.
const EVIL: [&str; 26] = [
    "\x1b[31mred",
    "\x1b[2J\x1b[H",
    "\x1b[5A\x1b[K",
    "\x1b]0;owned\x07",
    "\x1b]2;owned\x1b\\",
    "\x1b]4;1;#ff0000\x07",
    "\x1b]11;?\x07",
    "\x1b]7;file://x/y\x07",
    "\x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
    "\x1b]8;;http://open",
    "\x1b]9;note\x07",
    "\x1b]777;notify;a;b\x07",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]52;c;?\x07",
    "\x1b[6n",
    "\x1b[c\x1b[>c",
    "\x1bPq#0\x1b\\",
    "\x1b_apc\x1b\\",
    "\x1b^pm\x1b\\",
    "\u{9b}35m\u{9d}0;x\u{9c}\u{90}q\u{9c}",
    "\x1b",
    "\x1b[?1049l\x1b[?1003h",
    "\x07\x07\x07",
    "gone\rover\x08\x08print\x7f",
    "\u{202e}cba\u{202c}\u{2066}x\u{2069}\u{200f}",
    "\u{e0041}\u{200b}\u{feff}\u{ad}",
];

fn evil() -> String {
    EVIL.iter().enumerate().map(|(n, piece)| format!("{}{piece}", char::from(b'A' + n as u8))).collect()
}

/// Fails at the first thing in what was sent that is neither text nor one of the program's own sequences.
#[track_caller]
fn only_ours(bytes: &[u8]) {
    let sent = std::str::from_utf8(bytes).unwrap();
    let mut rest = sent;
    while let Some(c) = rest.chars().next() {
        let near: String = rest.chars().take(40).collect();
        rest = &rest[c.len_utf8()..];
        match c {
            '\x1b' => rest = sequence(rest).unwrap_or_else(|| panic!("{near:?} was sent")),
            // The bell of a new question.
            '\x07' => {}
            // What is printed when the screen is given back.
            '\r' | '\n' => {}
            c => {
                let hidden = matches!(c, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}');
                assert!(!c.is_control() && !hidden, "{near:?} was sent");
            }
        }
    }
}

/// What follows a sequence of ours; none for another one.
fn sequence(rest: &str) -> Option<&str> {
    if let Some(rest) = rest.strip_prefix("]2;") {
        let (title, rest) = rest.split_once('\x07')?;
        let count = title.strip_suffix("astudio")?;
        let digits = count.strip_prefix('(').and_then(|count| count.strip_suffix(") "));
        return (count.is_empty() || digits.is_some_and(|d| d.parse::<u32>().is_ok())).then_some(rest);
    }
    let rest = rest.strip_prefix('[')?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | '?'))?;
    let (numbers, rest) = rest.split_at(end);
    let kind = rest.chars().next()?;
    let modes = ["?25", "?1000", "?1002", "?1003", "?1004", "?1006", "?1015", "?1049", "?2004", "?2026"];
    let ours = match kind {
        'H' | 'm' => !numbers.contains('?'),
        'J' => matches!(numbers, "" | "2"),
        'h' | 'l' => modes.contains(&numbers),
        _ => false,
    };
    ours.then(|| &rest[1..])
}

/// Leaves, and checks all that was sent.
#[track_caller]
fn leave(mut screen: Screen) {
    screen.key("ctrl-q");
    assert!(screen.ends().success());
    screen.is_given_back();
    only_ours(&screen.bytes());
}

#[test]
fn what_is_let_through_is_ours() {
    only_ours(b"\x1b[?1049h\x1b[1;1Htext\x1b[0m\x1b]2;(2) astudio\x07");
    for evil in EVIL.iter().filter(|evil| **evil != "\x07\x07\x07") {
        let shown = std::panic::catch_unwind(|| only_ours(evil.as_bytes()));
        let ours = ["\x1b[31mred", "\x1b[2J\x1b[H", "\x1b[?1049l\x1b[?1003h"];
        assert_eq!(shown.is_ok(), ours.contains(evil), "{evil:?}");
    }
}

#[test]
fn no_words_of_a_conversation_control_the_terminal() {
    let desk = Desk::new();
    let evil = evil();
    let body = json!({ "description": evil, "system_prompt": format!("Prompt {evil}") }).to_string();
    desk.done(&["api", "call", "agents.patch", "--path", "name=chaos", "--json-body", &body]);
    // What a tool answers, and what it says will change.
    let text = evil.replace('\'', "''");
    desk.book().tamper(&format!("update desk_orders set customer = '{text}', item = '{text}' where tenant = 'demo'"));
    let mut screen = Screen::open(&desk.home(), 120, 60);
    // As a description and a prompt, in the list's detail and in the form; and as what is searched for.
    screen.see("›chaos").key("space").see("A␛[31m").key("e").see("system prompt").see("nothing changed").key("ctrl-f");
    screen
        .see("search:")
        .paste(&evil)
        .pause(100)
        .key("esc")
        .pause(120)
        .key("esc")
        .pause(120)
        .see("NAME ↑")
        .key("/")
        .paste(&evil)
        .pause(100);
    screen.key("ctrl-u").type_text("manual").see("›manual").key("enter").key("c").see("Nothing was said yet.");
    // As what a person writes, the answer of a model, and the answer of a tool.
    screen.paste(&format!("say {evil}")).see("› say A").key("enter").see("total");
    screen.paste("call desk_get_order {\"order_id\":1003}").see("› call").key("enter").see("desk_get_order ✓");
    screen.see("customer").key("tab").see("Tab write").key("enter").pause(200).key("tab").see("Tab transcript");
    // As an argument of a call, in its preview, in the form for it, and as the reason of a rejection.
    let call = json!({ "order_id": 1007, "reason": evil });
    screen.paste(&format!("call desk_cancel_order {call}")).see("› call desk").key("enter").dialog();
    screen
        .key("e")
        .see("takes the changes")
        .pause(50)
        .key("esc")
        .pause(120)
        .see("Reject…")
        .key("r")
        .see("reason:")
        .paste(&evil);
    screen.pause(DELIBERATE_MS).key("enter").not("Approve this call?").see("rejected");
    // As the name of a tool, and in the journal, the log and the inbox.
    screen.paste(&format!("call {} {{}}", evil.replace(char::is_whitespace, ""))).see("› call").key("enter").pause(400);
    screen
        .key("alt-2")
        .see("Esc back")
        .key("a")
        .see("rejected")
        .paste(&evil)
        .key("/")
        .paste(&evil)
        .pause(100)
        .key("esc")
        .pause(120);
    screen.key("alt-4").see("Only an administrator").pause(200).key("/").paste(&evil).pause(100).key("esc").pause(120);
    screen.key("alt-5").see("follow").pause(200).key("/").paste(&evil).pause(100).key("esc").pause(120);
    leave(screen);
}

#[test]
fn no_names_and_no_faults_control_the_terminal() {
    let evil = evil();
    let said = evil.clone();
    let fake = Fake::answering(Protocol::OpenAi, move |request| match request.user_text().as_str() {
        "status" => Answer::status(400, "application/json", &json!({ "error": { "message": said } }).to_string()),
        "page" => Answer::status(503, "text/html", &said),
        "stream" => Answer::text("so far ").then_error(json!({ "message": said, "type": said })),
        _ => Answer::text(&said).then_reasoning(&[&said], None).finish(&said),
    });
    // The folder has such a name, too.
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join(format!("home {}", evil.replace('/', "_").chars().take(60).collect::<String>()));
    std::fs::create_dir_all(&folder).unwrap();
    let desk = Desk::at(&folder);
    desk.configure(&format!("[providers.lab]\nbase_url = \"{}\"\n", fake.base_url()));
    let body = json!({ "name": "lab", "llm": "lab:fake-model", "description": "x" });
    let mut batch = desk.batch();
    batch.call(&json!({ "id": "agents.create", "body": body })).ok();
    // Whether or not such names are taken, what is shown of them is harmless.
    let _ = batch.call(&line::ask("greeter", &evil, "hello"));
    let _ = batch.call(
        &json!({ "id": "agents.create", "body": { "name": "odd", "llm": format!("lab:{evil}"), "category": evil } }),
    );
    let mut screen = Screen::open(&desk.home(), 120, 60);
    screen.chat("lab");
    for (n, words) in ["hello", "status", "page", "stream"].iter().enumerate() {
        screen.say(words);
        screen.until("the end", |screen| {
            screen.contents().matches("total").count() > n && !screen.contents().contains("Esc stops")
        });
    }
    // What is typed where names are asked for.
    screen
        .key("alt-1")
        .see("NAME ↑")
        .key("n")
        .see("New agent")
        .paste(&evil)
        .pause(100)
        .key("ctrl-s")
        .pause(300)
        .key("esc")
        .pause(120);
    screen
        .key("alt-3")
        .see("add")
        .key("n")
        .pause(100)
        .paste(&evil)
        .pause(100)
        .key("enter")
        .pause(200)
        .key("esc")
        .pause(100);
    screen
        .key("alt-6")
        .see("theme")
        .key("enter")
        .pause(300)
        .key("ctrl-p")
        .see("Esc close")
        .paste(&evil)
        .pause(100)
        .key("esc")
        .pause(120);
    screen.key("alt-5").see("follow").pause(200);
    leave(screen);
}

#[test]
fn no_row_of_the_journal_controls_the_terminal() {
    let desk = Desk::new();
    // What an argument cannot hold is not sent: bytes of zero end one.
    let evil = evil().replace('\0', "");
    for (n, name) in
        [evil.clone(), format!("x\u{1b}]0;title\u{7}{}", &evil.chars().take(40).collect::<String>())].iter().enumerate()
    {
        let id = format!("odd-{n}");
        // Whether or not such a name is taken, what is shown of it is harmless.
        let _ = desk.json(&["--as", "ada@demo", "users", "create", &id, "--name", name]);
        let _ = desk.json(&["--as", "ada@demo", "tokens", "create", name]);
    }
    let asking = desk.start(&["ask", "orders-desk", "cancel order 1007", "--no-wait"]);
    asking.end();
    let id = desk.wait_pending(1).remove(0);
    desk.done(&["approvals", "reject", &id, "--reason", &evil]);
    let mut screen = Opening::new(&desk.home(), 120, 40).env("ASTUDIO_AS", "ada@demo").open();
    screen.see("NAME ↑").key("alt-4").see("approval.rejected");
    for _ in 0..12 {
        screen.key("enter").pause(60).key("enter").pause(30).key("down").pause(30);
    }
    leave(screen);
}

#[test]
fn no_fault_of_the_settings_controls_the_terminal() {
    let desk = Desk::new();
    for setting in ["theme", "keys", "odd"] {
        let value = toml_text(&evil());
        let settings = match setting {
            "theme" => format!("[workbench]\ntheme = {value}\n"),
            "keys" => format!("[workbench.keys]\nquit = [{value}]\n{value} = [\"x\"]\n"),
            _ => format!("[{value}]\n"),
        };
        desk.configure(&settings);
        let mut screen = Screen::open(&desk.home(), 120, 40);
        assert!(!screen.ends().success());
        screen.until("why", |screen| screen.contents().len() > 20);
        only_ours(&screen.bytes());
    }
}

/// As a text of TOML.
fn toml_text(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_string() } else { format!("\\U{:08X}", u32::from(c)) })
        .collect();
    format!("\"{escaped}\"")
}
