//! Pictures of every screen, dark and light, small and large, as text under `tests/it/pty/snapshots`. What differs from run to run is
//! masked. `ASTUDIO_SNAPSHOTS=write` writes them anew; a picture that differs is shown line by line.

use super::screen::{Opening, Screen};
use crate::binary::Desk;
use crate::place::Cli;
use regex::Regex;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use vt100::Color;

/// What differs from run to run, by what stands in its place, of the same width where a column depends on it.
const MASKS: [(&str, &str); 11] = [
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "<time>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
    (r"\b[0-9a-f]{12,64}\b…?", "<id>"),
    (r"session [0-9a-f]{4,12}\b", "session <id>"),
    // The end of a time that a layer covers.
    (r"(?m)│[\d:]+$", "│<cut>"),
    (r"\b\d+ h \d+ min left|\b\d+h \d+m\b|< 1 min|\b\d+ min\b", "<left>"),
    (r"\b\d+\.\d+ s\b|\b\d+ s\b", "<s>"),
    (r"\b\d\d:\d\d:\d\d(\.\d+)?\b", "<time>"),
    (r"v?\b0\.\d+\.\d+\b", "<version>"),
    (r"(/[\w.+-]+)+/home\b\S*", "<home>"),
];

/// The colour of what is told by colour too.
fn ink(screen: &mut Screen, text: &str) -> Color {
    let (row, col) = screen.find(text);
    screen.colour(row, col)
}

struct Album<'a> {
    name: String,
    wrong: &'a mut String,
}

impl Album<'_> {
    /// Compares the screen with its picture, or makes the picture.
    fn take(&mut self, screen: &mut Screen, of: &str) {
        screen.pause(120);
        let mut shown: String = screen.screen().lines().fold(String::new(), |mut all, line| {
            let _ = writeln!(all, "{}", line.trim_end());
            all
        });
        for (pattern, mask) in MASKS {
            shown = Regex::new(pattern).unwrap().replace_all(&shown, mask).into_owned();
        }
        // A mask has another width than what it masks, so blanks and the ends of rows behind one say nothing.
        let shown: String = shown
            .lines()
            .map(|line| {
                let masked = MASKS.iter().any(|(_, mask)| line.contains(mask));
                let line = if masked { line.split_whitespace().collect::<Vec<_>>().join(" ") } else { line.to_owned() };
                line + "\n"
            })
            .collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/pty/snapshots/{}-{of}.txt", self.name));
        if std::env::var_os("ASTUDIO_SNAPSHOTS").is_some_and(|value| value == "write") {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            return std::fs::write(path, shown).unwrap();
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        if wanted != shown {
            let _ = writeln!(
                self.wrong,
                "{}-{of}: - as it was, + as it is; ASTUDIO_SNAPSHOTS=write keeps what is",
                self.name
            );
            let (before, after): (Vec<_>, Vec<_>) = (wanted.lines().collect(), shown.lines().collect());
            for row in 0..before.len().max(after.len()) {
                let (before, after) = (before.get(row).unwrap_or(&""), after.get(row).unwrap_or(&""));
                if before != after {
                    let _ = writeln!(self.wrong, "{:3} - {before}\n    + {after}", row + 1);
                }
            }
        }
    }
}

/// All screens of a theme and a size.
fn album(theme: &str, cols: u16, rows: u16, wrong: &mut String) {
    let settings = format!("[workbench]\ntheme = \"{theme}\"\n");
    // As 16 colours name them: what warns, what failed, what asks.
    let (warn, bad, alarm) = if theme == "dark" {
        (Color::Idx(3), Color::Idx(9), Color::Idx(9))
    } else {
        (Color::Idx(5), Color::Idx(1), Color::Idx(1))
    };
    let mut album = Album { name: format!("{theme}-{cols}x{rows}"), wrong };
    let cli = Cli::new();
    std::fs::create_dir_all(cli.home()).unwrap();
    std::fs::write(cli.home().join("config.toml"), &settings).unwrap();
    let mut screen = Screen::open(&cli.home(), cols, rows);
    screen.see("A workbench for LLM agents").see("looks again");
    album.take(&mut screen, "welcome");
    drop(screen);

    let desk = Desk::with(&settings);
    let home = desk.home();
    let mut screen = Opening::new(&home, cols, rows).open();
    screen.see("›chaos").see("summariser");
    album.take(&mut screen, "agents");
    screen.key("f1").see("┌ Keys");
    album.take(&mut screen, "help");
    screen.key("esc").not("┌ Keys").key("ctrl-p").see("Esc close");
    album.take(&mut screen, "palette");
    screen.key("esc").not("Esc close").key("e").see("system prompt").see("nothing changed");
    album.take(&mut screen, "agent");
    // Dirty, then in conflict with somebody else.
    screen.key("ctrl-u").type_text("my words").see("● 1 field changed");
    album.take(&mut screen, "agent-dirty");
    let theirs = json!({ "description": "their words" }).to_string();
    desk.done(&["api", "call", "agents.patch", "--path", "name=chaos", "--json-body", &theirs]);
    screen.key("ctrl-s").see("? not decided");
    assert_eq!(ink(&mut screen, "? not decided"), warn);
    album.take(&mut screen, "conflict");
    screen.key("ctrl-r").see("✓ theirs").key("ctrl-s").see("nothing changed").key("esc").see("NAME ↑").pause(120);
    // What fails, and what waits for a person.
    screen.key("c").see("Tab transcript").say("rate limit").see("too many requests").not("Nothing was changed");
    assert_eq!(ink(&mut screen, "! The model"), bad);
    album.take(&mut screen, "chat-failed");
    screen.key("esc").see("NAME ↑").pause(120).chat("orders-desk").say("cancel order 1003").dialog();
    let (row, col) = screen.find("Approve this call?");
    assert_eq!(screen.colour(row, col - 2), alarm);
    album.take(&mut screen, "question");
    screen.key("tab").see("›Approve‹");
    let (row, col) = screen.find("›Approve‹");
    assert!(screen.is_reversed(row, col), "the focus is seen");
    screen.pause(400).key("esc").not("Approve this call?").see("waits for approval");
    assert_eq!(ink(&mut screen, "? waits"), warn);
    album.take(&mut screen, "chat-waiting");
    screen.pause(120).key("alt-2").see("Esc back").see("desk_cancel_order");
    album.take(&mut screen, "approvals");
    screen.key("alt-3").see("›Keys").see("no provider keys");
    album.take(&mut screen, "keys");
    screen.key("alt-4").see("›Audit");
    assert_eq!(ink(&mut screen, "Only an administrator"), bad, "refused");
    album.take(&mut screen, "audit-refused");
    screen.key("alt-6").see("›Settings").see("theme");
    album.take(&mut screen, "settings");
    screen.key("alt-5").see("›Log").see("1 line, following").see("workbench");
    album.take(&mut screen, "log");
    drop(screen);
    let mut screen = Opening::new(&home, cols, rows).env("ASTUDIO_AS", "ada@demo").open();
    screen.see("NAME ↑").key("alt-4").see("›Audit").see("approval");
    album.take(&mut screen, "audit");
}

#[test]
fn every_screen_looks_as_it_did() {
    let mut wrong = String::new();
    for theme in ["dark", "light"] {
        for (cols, rows) in [(80, 24), (200, 60)] {
            album(theme, cols, rows, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
