//! The typing guard: what was typed for something else must not answer a question that came up meanwhile. Pure, by the times at
//! which the reader read the input.

use crate::event::Ms;
use crossterm::event::{KeyEvent, KeyEventKind};

/// How long after the frame with the dialog was written out keys do nothing, in milliseconds: a person needs that long to see it.
pub const SETTLE_MS: Ms = 600;
/// How long the keyboard must have been quiet, in milliseconds: within a stream of typing it never is.
pub const QUIET_MS: Ms = 300;

/// What the guard says of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It may mean something.
    Awake,
    /// It means nothing. The guard can wake at this time; none = not before the dialog was on screen.
    Asleep(Option<Ms>),
    /// It means nothing, and the dialog was under something else since the last one: it begins anew.
    Hidden(Ms),
}

/// The guard of one dialog.
#[derive(Debug, Default)]
pub struct Guard {
    flushed: Option<Ms>,
    last: Option<Ms>,
    awake: bool,
    shown_awake: bool,
    /// For the tests that show what happens without it: every input means something.
    #[cfg(test)]
    pub open: bool,
    /// The same: every key that decides counts as deliberate.
    #[cfg(test)]
    pub hasty: bool,
}

impl Guard {
    /// The frame with the dialog was written out. The first time, answers when the guard can wake.
    pub fn drawn(&mut self, at: Ms) -> Option<Ms> {
        if self.flushed.is_some() {
            return None;
        }
        self.flushed = Some(at);
        Some(at + SETTLE_MS)
    }

    /// Begins anew with the next frame: what is on screen has another meaning now.
    pub fn rearm(&mut self) {
        self.flushed = None;
        self.awake = false;
        self.shown_awake = false;
    }

    /// An input came in at this time, and none in the `quiet` milliseconds before. Every input of the dialog goes through here.
    pub fn input(&mut self, at: Ms, quiet: Ms) -> Verdict {
        #[cfg(test)]
        if self.open {
            return Verdict::Awake;
        }
        let seen = self.last.replace(at);
        let Some(flushed) = self.flushed else { return Verdict::Asleep(None) };
        let before = at.saturating_sub(quiet);
        if before > flushed && Some(before) != seen {
            // Somebody else got the input before this one.
            self.rearm();
            self.flushed = Some(at);
            return Verdict::Hidden(at + SETTLE_MS);
        }
        if !self.awake && (at < flushed + SETTLE_MS || quiet < QUIET_MS) {
            self.shown_awake = false;
            return Verdict::Asleep(Some((flushed + SETTLE_MS).max(at + QUIET_MS)));
        }
        self.awake = true;
        self.shown_awake = true;
        Verdict::Awake
    }

    /// Whether a key is pressed on purpose, not held and not one of a row: what answers must be.
    pub fn is_deliberate(&self, key: &KeyEvent, quiet: Ms) -> bool {
        #[cfg(test)]
        if self.hasty {
            return true;
        }
        key.kind == KeyEventKind::Press && quiet >= QUIET_MS
    }

    /// Whether the controls are shown as awake.
    pub fn looks_awake(&self) -> bool {
        self.shown_awake
    }

    /// Time has passed. Says whether the controls look different now. Only the look: an input read before this time may still
    /// be on its way, and is judged by its own.
    pub fn tick(&mut self, now: Ms) -> bool {
        let Some(flushed) = self.flushed.filter(|_| !self.shown_awake) else { return false };
        let quiet = self.last.is_none_or(|last| now >= last + QUIET_MS);
        self.shown_awake = now >= flushed + SETTLE_MS && quiet;
        self.shown_awake
    }
}

#[cfg(test)]
mod tests {
    use super::{Guard, Verdict};

    #[test]
    fn wakes_after_the_frame_and_a_quiet_keyboard() {
        let mut guard = Guard::default();
        assert_eq!(guard.input(900, 5_000), Verdict::Asleep(None), "before the frame");
        assert_eq!(guard.drawn(1_000), Some(1_600));
        assert_eq!(guard.drawn(1_300), None);
        assert_eq!(guard.input(1_599, 699), Verdict::Asleep(Some(1_899)), "too soon");
        assert_eq!(guard.input(1_898, 299), Verdict::Asleep(Some(2_198)), "not quiet");
        assert!(!guard.tick(2_197) && guard.tick(2_198) && guard.looks_awake());
        assert_eq!(guard.input(2_198, 300), Verdict::Awake);
        assert_eq!(guard.input(2_199, 1), Verdict::Awake, "typing a reason");
        assert_eq!(guard.input(9_000, 10), Verdict::Hidden(9_600), "a key in between went elsewhere");
        assert_eq!(guard.input(9_599, 599), Verdict::Asleep(Some(9_899)));
    }

    #[test]
    fn what_was_read_before_the_wake_is_judged_by_its_own_time() {
        let mut guard = Guard::default();
        guard.drawn(1_000);
        assert!(guard.tick(1_600));
        assert_eq!(guard.input(1_590, 900), Verdict::Asleep(Some(1_890)), "processed late, read early");
        assert!(!guard.looks_awake());
    }
}
