//! The pictures of the documentation: what the built program shows over the demo world. Times and ids, which differ each time,
//! are written over with fixed ones of the same length; everything else is as it came.

use super::screen::Screen;
use super::svg::{self, Cell, DARK, LIGHT, Palette};
use crate::binary::Desk;
use std::path::Path;

const SIZE: (u16, u16) = (112, 30);

/// What differs each time, `9` for a digit and `#` for a digit or a letter up to `f`, and what is shown.
const FIXED: &[(&str, &str)] = &[
    ("9999-99-99 99:99", "2026-01-05 09:30"),
    ("expires 9999-99-99 99:99", "expires 2026-01-06 09:30"),
    ("9999-99-99T99:99:99.999999", "2025-12-16T10:05:00.000000"),
    ("session ############", "session 21b07504ab76"),
    ("99 h 99 min left", "23 h 59 min left"),
    ("done in 9.9 s", "done in 0.1 s"),
    ("first 9.9 s", "first 0.1 s"),
    ("total 9.9 s", "total 0.2 s"),
];

/// Draws what is on screen, and compares it with the picture that is kept.
fn picture(screen: &Screen, name: &str, title: &str, palette: &Palette) -> Option<String> {
    let mut rows = screen.look(|screen| svg::cells(screen, palette));
    rows.iter_mut().for_each(|row| fix(row));
    let drawn = svg::svg(&rows, title, palette);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures").join(format!("{name}.svg"));
    if std::env::var_os("ASTUDIO_PICTURES").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    (kept != drawn).then(|| format!("docs/pictures/{name}.svg is stale: run scripts/pictures\n{}", screen.screen()))
}

/// Writes fixed times and ids over those of this run.
fn fix(row: &mut [Cell]) {
    for (pattern, fixed) in FIXED {
        let fits = |cell: &Cell, sign| match sign {
            '9' => cell.text.chars().all(|c| c.is_ascii_digit()),
            '#' => cell.text.chars().all(|c| c.is_ascii_hexdigit()),
            sign => cell.text.chars().eq([sign]),
        };
        let length = pattern.chars().count();
        let mut at = 0;
        while at + length <= row.len() {
            if row[at..at + length].iter().zip(pattern.chars()).all(|(cell, sign)| fits(cell, sign)) {
                row[at..].iter_mut().zip(fixed.chars()).for_each(|(cell, sign)| cell.text = sign.to_string());
                at += length;
            } else {
                at += 1;
            }
        }
    }
}

/// Waits until nothing moves any more, under the dialog too.
fn still(screen: &mut Screen) {
    loop {
        let before = screen.screen();
        if screen.pause(500).screen() == before {
            return;
        }
    }
}

#[test]
fn the_documentation_shows_what_the_program_shows() {
    let desk = Desk::new();
    let mut stale = Vec::new();
    let mut screen = Screen::open(&desk.home(), SIZE.0, SIZE.1);
    screen
        .see("›chaos")
        .key("down down down down down down")
        .see("›orders-desk")
        .key("space")
        .see("You work at the order desk");
    stale.extend(picture(&screen, "agents", "The agents of the demo world, with the detail of one", &DARK));
    screen.key("space").not("You work at the order desk").key("c").see("Tab transcript").see("session");
    still(screen.say("what's up with order 1020?").see("total").see("version 1").not("working"));
    stale.extend(picture(&screen, "chat", "A conversation in which the model called a tool", &DARK));
    still(screen.say("cancel order 1007").dialog());
    stale.extend(picture(&screen, "approval", "The question before a write: the call, and what would change", &DARK));
    screen.reject("not now").see("rejected").not("working").key("ctrl-q");
    screen.ends();

    desk.configure("[workbench]\ntheme = \"light\"\n");
    let mut screen = Screen::open(&desk.home(), SIZE.0, SIZE.1);
    still(screen.chat("orders-desk").see("version 1").say("cancel order 1009").dialog());
    stale.extend(picture(&screen, "approval-light", "The same on a light terminal", &LIGHT));
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}
