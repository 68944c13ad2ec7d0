//! Another program of this kind, run in turn with the workbench, in the same terminal.
//!
//! `scripts/bench --peers` lays it into a folder: `run` starts it without a network, `home` is its home, `about` names it.

use super::Plan;
use super::home::{Home, NEW};
use super::keys::{letters, paste_one};
use super::report::{Report, Unit, median, quantile};
use super::rest::{QUIET, still};
use super::screen::Screen;
use portable_pty::CommandBuilder;
use std::path::Path;
use std::time::Duration;

/// What is on its screen when one can write.
const READY: &str = "Ask Codex";

fn open(folder: &Path) -> Screen {
    let mut command = CommandBuilder::new(folder.join("run"));
    command.env_clear();
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.env("HOME", folder.join("home"));
    command.env("LANG", "C.UTF-8");
    command.cwd(folder.join("home"));
    Screen::start(command, READY)
}

/// What is comparable: how it begins, what it takes at rest, how fast its composer is.
pub fn beside(folder: &Path, home: &Home, plan: &Plan, report: &mut Report) {
    let about = std::fs::read_to_string(folder.join("about")).unwrap();
    let mut ours = Figures::default();
    let mut theirs = Figures::default();
    // A program may make its home at the first start.
    drop((home.open(), open(folder)));
    for _ in 0..plan.starts {
        ours.began(&home.open());
        theirs.began(&open(folder));
    }
    ours.use_(&home.chat(NEW), plan);
    theirs.use_(&open(folder), plan);
    report.beside("astudio", about.trim(), ours.rows(), theirs.rows());
}

/// Figures of one program.
#[derive(Default)]
struct Figures {
    bytes: Vec<f64>,
    pictures: Vec<f64>,
    at_rest: Option<(f64, f64)>,
    memory: Option<f64>,
    letters: Vec<f64>,
    pastes: Vec<f64>,
}

impl Figures {
    fn began(&mut self, screen: &Screen) {
        let (byte, picture) = screen.began();
        self.bytes.push(byte);
        self.pictures.push(picture);
    }

    fn use_(&mut self, screen: &Screen, plan: &Plan) {
        // Much that a program does by itself, it does in its first seconds.
        std::thread::sleep(Duration::from_secs(3).min(plan.idle));
        self.at_rest = still(screen, plan.idle);
        self.memory = screen.memory();
        self.letters = letters(screen, plan.keys);
        screen.send("\x15");
        screen.quiet(QUIET);
        self.pastes = (0..plan.pastes).map(|_| paste_one(screen, plan.lines)).collect();
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let known = |unit: Unit, figure: Option<f64>| figure.map_or("unknown".into(), |figure| unit.show(figure));
        vec![
            ("first byte", Unit::Millis.show(median(&self.bytes))),
            ("first picture one can work with", Unit::Millis.show(median(&self.pictures))),
            ("processor when idle", known(Unit::Percent, self.at_rest.map(|rest| rest.0))),
            ("written when idle", known(Unit::Bytes, self.at_rest.map(|rest| rest.1))),
            ("memory", known(Unit::Mebibytes, self.memory)),
            ("key to screen in an empty conversation: median", Unit::Millis.show(median(&self.letters))),
            ("the same: 99 of 100 within", Unit::Millis.show(quantile(&self.letters, 0.99))),
            ("paste of 10,000 lines", Unit::Millis.show(median(&self.pastes))),
        ]
    }
}
