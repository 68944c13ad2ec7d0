//! A storm of keys around dialogs that come up in the real program: none of it answers them, and what is typed on purpose
//! afterwards answers exactly once, by the desk's own book.
//!
//! `ASTUDIO_STORM` says how many dialogs are opened, `ASTUDIO_SEED` where the dice begin.

use super::screen::{Opening, Screen};
use crate::binary::{Batch, Book, Desk, line, note};
use crate::interleave::{Dice, FIRST_ORDER, number, stock};
use std::time::{Duration, Instant};

/// How many dialogs.
const OPENINGS: u64 = 500;
/// How many people are at it side by side, each in a home of their own.
const PEOPLE: u64 = 10;
/// The desk's script for the storm: it takes half a second before it asks, so that the storm begins before the dialog.
const SCRIPT: &str = r#"
name: orders-desk
about: I ask for a cancellation after a while.
pace_ms: 60
types: {order_id: int}
rules:
  - when: {each: '\b(?<order_id>\d{5})\b'}
    say: "One moment please, I look for it first."
    call: {tool: desk_cancel_order, args: {order_id: "{{order_id}}"}}
    then:
      - say: "settled"
  - say: "pardon?"
"#;
/// From when on after the frame keys come in one stream. Less than the dialog's 600 ms, for this side sees the frame later.
const SETTLED: Duration = Duration::from_millis(560);
/// Most time between two keys of a stream: the dialog takes less than 300 ms for typing, by the clock of its reader.
const GAP: Duration = Duration::from_millis(250);
/// How long a dialog and its storm may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause of a person who means a key.
const MEANT_MS: u64 = 450;

/// When the keys of a storm come.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// From before the frame until nearly 600 ms after it, with any gaps.
    Around,
    /// From before the frame on, for one more second, in one stream.
    Stream,
    /// One stream that begins when the dialog is awake.
    Late,
}

/// Where the call comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asker {
    /// The chat on screen.
    Here,
    /// A chat elsewhere, while the person writes to somebody here.
    Elsewhere,
}

/// What is in the books.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Books {
    pending: i64,
    approved: i64,
    rejected: i64,
    effects: i64,
}

/// Somebody at a workbench.
struct Person {
    desk: Desk,
    studio: Book,
    book: Book,
    screen: Screen,
    elsewhere: Option<Batch>,
    dice: Dice,
    size: (u16, u16),
    /// For a failure: whose storm it was, and the keys of it with the time since it began.
    name: String,
    sent: Vec<(Duration, String)>,
    began: Instant,
}

impl Drop for Person {
    fn drop(&mut self) {
        if std::thread::panicking() {
            note(&format!("{}: {:?}", self.name, self.sent));
        }
    }
}

impl Person {
    fn new(asker: Asker, seed: u64, openings: u64) -> Self {
        let desk = Desk::with("[workbench]\nmouse = true\n");
        let home = desk.home();
        std::fs::create_dir_all(home.join("rehearsal")).unwrap();
        std::fs::write(home.join("rehearsal/orders-desk.yaml"), SCRIPT).unwrap();
        stock(&desk, FIRST_ORDER..FIRST_ORDER + openings as i64);
        let mut dice = Dice::new(seed);
        let size = dice.pick(&[(80, 24), (100, 30), (120, 40), (200, 60)]);
        let mut screen = Opening::new(&home, size.0, size.1).open();
        let (with, elsewhere) = match asker {
            Asker::Here => ("orders-desk", None),
            Asker::Elsewhere => ("greeter", Some(desk.batch())),
        };
        screen.chat(with);
        let (studio, book) = (Book::studio(&home), Book::open(&home));
        let began = Instant::now();
        Self { desk, studio, book, screen, elsewhere, dice, size, name: String::new(), sent: Vec::new(), began }
    }

    fn books(&self) -> Books {
        let count = |book: &Book, sql: &str| book.rows(sql)[0].int(0).unwrap();
        let approvals =
            |of: &str| count(&self.studio, &format!("select count(*) from approvals where status in ({of})"));
        Books {
            pending: approvals("'pending'"),
            approved: approvals("'approved', 'consumed', 'void'"),
            rejected: approvals("'rejected'"),
            effects: count(&self.book, "select count(*) from desk_effects"),
        }
    }

    fn is_open(&self) -> bool {
        self.screen.shows("Approve this call?")
    }

    /// Presses something. Before the dialog is up only what stays in the chat, and in a chat whose last words must not be said
    /// again nothing that leads to the composer.
    fn press(&mut self, asker: Asker, is_open: bool) {
        let what = match self.dice.roll(24) {
            0 if is_open || asker == Asker::Elsewhere => "paste",
            1 => "click",
            2 | 3 => "held",
            4..=8 if is_open || asker == Asker::Elsewhere => "tab",
            4..=12 => "enter",
            13..=15 => self.dice.pick(&["up", "down", "left", "right", "backtab"]),
            16 | 17 => "r",
            18 => "y",
            19 => "ctrl-y",
            _ => self.dice.pick(&["e", "b", "n", "o", "h", "1", "space", "k", "j"]),
        };
        self.sent.push((self.began.elapsed(), what.to_owned()));
        match what {
            "paste" => self.screen.paste("yes\nr\ny\n"),
            "click" => {
                let (col, row) = (self.dice.roll(self.size.0.into()), self.dice.roll(self.size.1.into()));
                self.screen.click(col as u16, row as u16)
            }
            "held" => {
                for _ in 0..self.dice.roll(8) {
                    self.screen.key("enter").pause(30);
                }
                self.screen.key("enter")
            }
            key => self.screen.key(key),
        };
    }

    /// Keys from now on until the end of the storm. Whatever the machine does, no gap is longer than it may be.
    fn storm(&mut self, asker: Asker, kind: Kind) {
        let long = Duration::from_millis(if kind == Kind::Around { SETTLED.as_millis() as u64 } else { 1_500 });
        let mut seen = None;
        let mut last = Instant::now();
        loop {
            let is_open = self.is_open();
            assert!(self.began.elapsed() < PATIENCE, "no dialog\n{}", self.screen.screen());
            let since = seen.get_or_insert_with(Instant::now).elapsed();
            if !is_open {
                if kind == Kind::Late {
                    // Somebody who presses Enter on Leave open leaves it open.
                    return;
                }
                seen = None;
            }
            let early = !is_open || since < SETTLED;
            if is_open && since >= long || kind != Kind::Around && !early && last.elapsed() > GAP {
                return;
            }
            self.press(asker, is_open);
            last = Instant::now();
            let gap = if kind == Kind::Around && self.dice.roll(4) == 0 { 400 } else { 90 };
            let gap = Duration::from_millis(1 + self.dice.roll(gap));
            if is_open && kind == Kind::Around && since + gap >= SETTLED {
                return;
            }
            std::thread::sleep(gap);
        }
    }

    /// Back to the controls, wherever the keys of the storm led to.
    fn look(&mut self) {
        self.screen.pause(MEANT_MS);
        for _ in 0..4 {
            if !self.is_open() {
                self.screen.key("alt-2").see("›Approvals").key("enter").see("Approve this call?");
            }
            let is_look = |screen: &str| screen.contains("Leave open ]") || screen.contains("Leave open‹");
            if is_look(&self.screen.screen()) {
                return;
            }
            self.screen.pause(MEANT_MS);
            if !is_look(&self.screen.screen()) {
                self.screen.key("esc").pause(100);
            }
        }
    }

    fn approve(&mut self) {
        self.screen.dialog();
        while !self.screen.shows("›Approve‹") {
            self.screen.key("tab").pause(60);
            assert!(self.is_open(), "{}", self.screen.screen());
        }
        self.screen.pause(MEANT_MS).key("enter").not("Approve this call?");
    }

    fn reject(&mut self) {
        self.screen.dialog().key("r").see("reason:").key("ctrl-u").type_text("no, not this one").see("not this one");
        self.screen.pause(MEANT_MS).key("enter").not("Approve this call?");
    }

    /// A call, a storm, and an answer on purpose.
    fn round(&mut self, asker: Asker, kind: Kind, order: i64, session: &str) {
        let before = self.books();
        assert_eq!(before.pending, 0);
        self.sent.clear();
        self.began = Instant::now();
        match &mut self.elsewhere {
            None => {
                if self.screen.shows("to write") {
                    self.screen.key("tab").not("to write");
                }
                self.screen.say(&format!("cancel {order}")).key("tab");
            }
            Some(batch) => batch.send(&line::ask("orders-desk", session, &format!("cancel {order}"))),
        }
        if kind == Kind::Late {
            self.screen.dialog().pause(self.dice.roll(300));
        } else {
            self.screen.pause(self.dice.roll(300));
        }
        self.storm(asker, kind);
        assert_eq!(self.books(), Books { pending: 1, ..before }, "the storm decided\n{}", self.screen.screen());
        assert_eq!(self.order(order), "open");

        self.look();
        let expected = if self.dice.roll(2) == 0 {
            self.approve();
            Books { approved: before.approved + 1, effects: before.effects + 1, ..before }
        } else {
            self.reject();
            Books { rejected: before.rejected + 1, ..before }
        };
        if self.screen.shows("›Approvals") {
            // Back from the inbox, where a call that was left open is answered.
            self.screen.key("esc").see("›Chat").pause(100);
        }
        match &mut self.elsewhere {
            None => {
                self.screen.until("the end of the turn", |screen| !screen.contents().contains("waits"));
            }
            Some(batch) => _ = batch.answer().unwrap().ok(),
        }
        crate::binary::until("the books", || {
            std::thread::sleep(Duration::from_millis(5));
            self.books().effects == expected.effects
        });
        assert_eq!(self.books(), expected);
        let changed = expected.effects > before.effects;
        assert_eq!(self.order(order), if changed { "cancelled" } else { "open" });
        assert_eq!(self.desk.changes(order), usize::from(changed));
    }

    fn order(&self, id: i64) -> String {
        let sql = format!("select status from desk_orders where tenant = 'demo' and order_id = {id}");
        self.book.rows(&sql)[0].text(0).unwrap()
    }
}

/// So many rounds of one person.
fn person(asker: Asker, seed: u64, openings: u64) {
    let mut person = Person::new(asker, seed, openings);
    for round in 0..openings {
        let kind = person.dice.pick(&[Kind::Around, Kind::Stream, Kind::Late]);
        person.name = format!("ASTUDIO_SEED={seed} {asker:?}, round {round}, {kind:?}, {:?}", person.size);
        person.round(asker, kind, FIRST_ORDER + round as i64, &format!("storm-{round}"));
    }
}

#[test]
fn no_storm_of_keys_decides_and_deliberate_ones_do() {
    let (openings, seed) = (number("ASTUDIO_STORM", OPENINGS), number("ASTUDIO_SEED", 1));
    std::thread::scope(|scope| {
        for n in 0..PEOPLE {
            let share = openings / PEOPLE + u64::from(n < openings % PEOPLE);
            let asker = if n % 2 == 0 { Asker::Here } else { Asker::Elsewhere };
            scope.spawn(move || person(asker, seed + n, share));
        }
    });
}
