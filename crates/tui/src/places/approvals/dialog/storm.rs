//! A storm of keys over dialogs that come up while somebody types: none of it may decide, and what is typed on purpose afterwards
//! must decide exactly once.

#![allow(clippy::unwrap_used)]

use super::{Dialog, Focus, Mode};
use crate::effect::Effect;
use crate::event::{Event, Input, Ms, What};
use crate::layers::Layer;
use crate::places::approvals::tests::approval;
use crate::testing::{Stage, key};
use contract::ops::approvals::{Decision, DecisionBody};
use crossterm::event::{KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

const OPENINGS: u64 = 500;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn what(&mut self) -> What {
        let names =
            ["tab", "enter", "r", "y", "ctrl-y", "up", "down", "left", "right", "backtab", "e", "a", "x", "space", "1"];
        match self.roll(20) {
            0 => What::Paste("yes\n".into()),
            1 => What::Mouse(MouseEvent {
                kind: MouseEventKind::Down(MouseButton::Left),
                column: self.roll(80) as u16,
                row: self.roll(24) as u16,
                modifiers: KeyModifiers::NONE,
            }),
            2 | 3 => {
                let mut held = key("enter");
                held.kind = KeyEventKind::Repeat;
                What::Key(held)
            }
            4..=6 => What::Key(key("enter")),
            7..=9 => What::Key(key("tab")),
            _ => What::Key(key(names[self.roll(names.len() as u64) as usize])),
        }
    }
}

/// When the inputs of a storm come, around a frame at `flush`, and from when on they are one stream.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// From 500 ms before the frame until just under 600 ms after it, with any gaps.
    Around,
    /// From before the frame on, for seconds, with gaps under 300 ms.
    Stream,
    /// The same after one pause, in which the guard wakes.
    Late,
}

fn times(kind: Kind, flush: Ms, dice: &mut Dice) -> Vec<Ms> {
    let mut at = flush - dice.roll(501);
    let mut times = Vec::new();
    match kind {
        Kind::Around => {
            while at < flush + 600 {
                times.push(at);
                at += 1 + if dice.roll(3) == 0 { dice.roll(500) } else { dice.roll(60) };
            }
        }
        Kind::Stream | Kind::Late => {
            if matches!(kind, Kind::Late) {
                at = flush + 600 + dice.roll(2_000);
            }
            while at < flush + 4_000 {
                times.push(at);
                at += 1 + if dice.roll(3) == 0 { dice.roll(299) } else { dice.roll(60) };
            }
        }
    }
    times
}

fn decisions(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| matches!(effect, Effect::Call { name: "approvals.decide", .. })).count()
}

fn open(stage: &mut Stage, id: &str) {
    stage.state.layers.push(Layer::Approval(Box::new(Dialog::new(approval(id)))), stage.now);
    stage.state.dirty = true;
}

/// One opening: the dialog comes up somewhere in the storm, its frame at `flush`. Answers how often something was decided, and
/// the time of the last input.
fn storm(stage: &mut Stage, id: &str, kind: Kind, flush: Ms, dice: &mut Dice, weaken: fn(&mut Dialog)) -> (usize, Ms) {
    let opened = flush - dice.roll(500);
    let (mut is_open, mut is_drawn, mut count, mut last) = (false, false, 0, flush);
    let times = times(kind, flush, dice);
    for at in times.into_iter().chain([Ms::MAX]) {
        if !is_open && at >= opened {
            open(stage, id);
            weaken(stage.state.layers.dialog(id).unwrap());
            is_open = true;
        }
        if !is_drawn && at >= flush {
            stage.now = flush;
            stage.draw();
            is_drawn = true;
        }
        if at == Ms::MAX {
            break;
        }
        last = at;
        count += decisions(&stage.state.update(Event::Input(Input { at, what: dice.what() })));
    }
    (count, last.max(flush + 600))
}

fn dialog<'a>(stage: &'a mut Stage, id: &str) -> &'a mut Dialog {
    stage.state.layers.dialog(id).unwrap()
}

#[test]
fn no_storm_decides_and_deliberate_keys_do() {
    let mut dice = Dice(0x5EED);
    let mut stage = Stage::new(80, 24);
    let mut flush = 20_000;
    for opening in 0..OPENINGS {
        let id = format!("id-{opening}");
        let kind = [Kind::Around, Kind::Stream, Kind::Late][opening as usize % 3];
        let (count, last) = storm(&mut stage, &id, kind, flush, &mut dice, |_| ());
        assert_eq!(count, 0, "{opening} {kind:?}");
        if matches!(kind, Kind::Late) && stage.state.layers.dialog(&id).is_none() {
            // Enter on Leave open is no decision, and may be quick: it stays pending, and is opened again.
            stage.now = last;
            open(&mut stage, &id);
            stage.draw().wait(700);
        }
        let last = last.max(stage.now);
        assert!(dialog(&mut stage, &id).in_flight().is_none());
        if !matches!(kind, Kind::Late) {
            assert_eq!(dialog(&mut stage, &id).focus, Focus::Text, "nothing got through in {opening}");
        }
        stage.now = last;
        // A pause, and back from wherever a late key led to.
        for _ in 0..4 {
            if dialog(&mut stage, &id).mode != Mode::Look {
                stage.keys("esc");
            }
        }
        stage.effects.clear();
        let expected = if opening % 2 == 0 {
            while dialog(&mut stage, &id).focus != Focus::Approve {
                stage.keys("tab");
            }
            stage.keys("enter");
            DecisionBody { decision: Decision::Approve, args: None, reason: None }
        } else {
            stage.keys("r");
            dialog(&mut stage, &id).reason.clear();
            stage.typed("no, not this one").keys("enter");
            DecisionBody { decision: Decision::Reject, args: None, reason: Some("no, not this one".into()) }
        };
        // While it is on its way, nothing is sent again.
        stage.keys("enter tab enter");
        assert_eq!(stage.called("approvals.decide"), 1, "{opening} {kind:?}");
        let sent = dialog(&mut stage, &id).in_flight().unwrap();
        assert_eq!(serde_json::to_value(sent).unwrap(), serde_json::to_value(&expected).unwrap());
        stage.state.layers.close_dialog(&id);
        flush = stage.now + 5_000;
    }
}

fn decided_without(weaken: fn(&mut Dialog), kind: Kind) -> usize {
    let mut dice = Dice(0x5EED);
    let mut stage = Stage::new(80, 24);
    let mut total = 0;
    let mut flush = 20_000;
    for opening in 0..60 {
        let id = format!("id-{opening}");
        total += storm(&mut stage, &id, kind, flush, &mut dice, weaken).0;
        stage.state.layers.close_dialog(&id);
        flush += 10_000;
    }
    total
}

#[test]
fn without_the_guard_the_storm_decides() {
    let off = |dialog: &mut Dialog| {
        dialog.guard.open = true;
        dialog.guard.hasty = true;
    };
    for kind in [Kind::Around, Kind::Stream, Kind::Late] {
        assert!(decided_without(off, kind) > 10, "{kind:?}: the storm must be strong enough to show a broken guard");
    }
    let hasty = |dialog: &mut Dialog| dialog.guard.hasty = true;
    assert!(decided_without(hasty, Kind::Late) > 10, "the pause before the deciding key matters by itself");
}
