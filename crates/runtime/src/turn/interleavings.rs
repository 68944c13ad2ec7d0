//! Random interleavings of processes, people, crashes and the clock over the pure rules: the fold of a turn, what follows
//! from it, and the life of an approval. Transactions are atomic here; everything between two of them can be cut.

use super::drive::not_approved_status;
use super::state::{CallState, Effect, State};
use contract::chat::{Block, Finish};
use contract::ops::approvals::ApprovalStatus as Status;
use contract::turn::{CallResult, Limits, LoggedEvent, PlannedCall, TurnEvent, TurnStatus};
use contract::{Code, Micros};
use std::collections::BTreeMap;
use trust::approvals::life::{Act, Life, Who};

const VOID: i64 = 600;
const LIFE: i64 = 3600;

/// A small generator, so that a failing run can be named by its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

#[derive(Clone)]
struct Approval {
    ordinal: u32,
    life: Life,
    /// Digest of the tool that was approved.
    digest: u32,
    said_yes: u32,
}

/// A driver between two of its transactions.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there are two of them")]
enum At {
    Idle,
    Working {
        epoch: i64,
        state: State,
    },
    /// It holds a consumed approval and has not called the tool yet.
    Holding {
        epoch: i64,
        ordinal: u32,
        approval: usize,
    },
    /// The tool has acted; its end is not written.
    Acted {
        epoch: i64,
        ordinal: u32,
    },
}

struct World {
    dice: Dice,
    /// False: consuming does not compare the status. Shows that the invariants notice.
    cas: bool,
    now: i64,
    log: Vec<LoggedEvent>,
    epoch: i64,
    /// The living process that holds the lease.
    holder: Option<usize>,
    stop_asked: bool,
    digest: u32,
    approvals: Vec<Approval>,
    drivers: [At; 2],
    /// How often the tool acted, by call; with the approval under which it did.
    effects: BTreeMap<u32, Vec<usize>>,
    faults: Vec<String>,
}

impl World {
    fn new(seed: u64, cas: bool) -> Self {
        let mut world = Self {
            dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            cas,
            now: 0,
            log: Vec::new(),
            epoch: 0,
            holder: None,
            stop_asked: false,
            digest: 0,
            approvals: Vec::new(),
            drivers: [At::Idle, At::Idle],
            effects: BTreeMap::new(),
            faults: Vec::new(),
        };
        let limits = Limits { steps: 4, ..Limits::default() };
        world.write(TurnEvent::Started { text: "go".into(), agent_version: 1, model: "m".into(), limits });
        world
    }

    fn write(&mut self, event: TurnEvent) {
        let seq = self.log.len() as i64 + 1;
        self.log.push(LoggedEvent { seq, at: Micros(self.now), event });
    }

    /// One transaction of a driver: refused when its lease is not the newest.
    fn append(&mut self, epoch: i64, event: TurnEvent) -> bool {
        let fenced = epoch == self.epoch && self.holder.is_some();
        if fenced {
            self.write(event);
        }
        fenced
    }

    fn over(&self) -> bool {
        self.log.iter().any(|e| matches!(e.event, TurnEvent::Ended { .. }))
    }

    fn step(&mut self) {
        match self.dice.roll(20) {
            0..=12 => {
                let who = self.dice.roll(2) as usize;
                self.drive(who);
            }
            13..=15 => self.person(),
            16 => self.now += [1, 60, 700, 4000][self.dice.roll(4) as usize] * 1_000_000,
            17 => {
                // kill -9: what was not written is gone, and the lease is free for others.
                let who = self.dice.roll(2) as usize;
                self.drivers[who] = At::Idle;
                if self.holder == Some(who) {
                    self.holder = None;
                }
            }
            18 if self.dice.roll(8) == 0 => self.digest += 1,
            19 if self.dice.roll(12) == 0 && !self.over() => {
                // Stopping ends what is open in the same transaction.
                self.stop_asked = true;
                self.end_open();
            }
            _ => {}
        }
    }

    fn person(&mut self) {
        if self.approvals.is_empty() {
            return;
        }
        let which = self.dice.roll(self.approvals.len() as u64) as usize;
        let user = ["ann", "ann", "bob"][self.dice.roll(3) as usize];
        let act = [Act::Approve, Act::Approve, Act::Reject, Act::Withdraw][self.dice.roll(4) as usize];
        let who = Who { user, ..Who::default() };
        let now = Micros(self.now);
        let approval = &mut self.approvals[which];
        if let Ok(next) = approval.life.after(act, &who, now, VOID) {
            approval.life.status = next;
            approval.life.decided_at = Some(now);
            approval.said_yes += u32::from(act == Act::Approve);
            if user != "ann" {
                self.faults.push(format!("{user} decided what only ann may"));
            }
        }
    }

    fn drive(&mut self, who: usize) {
        match self.drivers[who].clone() {
            At::Idle => {
                if self.holder.is_none() && !self.over() {
                    self.epoch += 1;
                    self.holder = Some(who);
                    self.drivers[who] = At::Working { epoch: self.epoch, state: State::of(&self.log) };
                }
            }
            At::Working { epoch, state } => self.work(who, epoch, state),
            At::Holding { epoch, ordinal, approval } => {
                // The tool acts outside of every transaction.
                self.effects.entry(ordinal).or_default().push(approval);
                self.drivers[who] = At::Acted { epoch, ordinal };
            }
            At::Acted { epoch, ordinal } => {
                let result = CallResult { ok: true, value: 1.into(), error: None, code: None };
                let written = self.append(epoch, TurnEvent::CallEnded { ordinal, result });
                self.again(who, epoch, written);
            }
        }
    }

    fn again(&mut self, who: usize, epoch: i64, written: bool) {
        self.drivers[who] = if written { At::Working { epoch, state: State::of(&self.log) } } else { At::Idle };
    }

    fn work(&mut self, who: usize, epoch: i64, state: State) {
        let lost = state.lost_writes(epoch);
        if let Some(&ordinal) = lost.first() {
            let written = self.append(epoch, TurnEvent::CallUnknown { ordinal });
            return self.again(who, epoch, written);
        }
        if self.stop_asked && !state.interrupted && state.ended.is_none() {
            let written = self.append(epoch, TurnEvent::Interrupted { by: "ann".into() });
            return self.again(who, epoch, written);
        }
        let effects = state.next();
        let pick = self.dice.roll(effects.len().max(1) as u64) as usize;
        let Some(effect) = effects.get(pick).cloned() else {
            self.leave(who);
            return;
        };
        let event = match effect {
            Effect::AskModel if state.steps.last().is_none_or(|step| step.blocks.is_some()) => {
                TurnEvent::ModelAsked { step: state.steps.len() as u32 + 1, attempt: 1, cut: 0 }
            }
            Effect::AskModel => self.reply(&state),
            Effect::Check(ordinal) => match self.dice.roll(8) {
                0 => TurnEvent::CallRefused { ordinal, code: Code::InvalidArgs, message: String::new() },
                kind => TurnEvent::CallChecked {
                    ordinal,
                    tool: "t".into(),
                    needs_approval: kind > 2,
                    args: 1.into(),
                    args_hash: "h".into(),
                    digest: self.digest.to_string(),
                },
            },
            Effect::OpenApproval(ordinal) => return self.ask(who, epoch, ordinal),
            Effect::RunRead(ordinal) => match state.calls[ordinal as usize].state {
                CallState::Started(at) if at == epoch => {
                    let result = CallResult { ok: true, value: 0.into(), error: None, code: None };
                    TurnEvent::CallEnded { ordinal, result }
                }
                _ => TurnEvent::CallStarted { ordinal, epoch, approval: None, edited_args: None },
            },
            Effect::TryWrite(ordinal) => return self.try_write(who, epoch, ordinal),
            Effect::HitLimit(limit) => TurnEvent::LimitHit { limit },
            Effect::Finish(status, text) => {
                let written = self.append(epoch, TurnEvent::Ended { status, text });
                if written {
                    self.end_open();
                    self.leave(who);
                }
                return self.drivers[who] = At::Idle;
            }
            Effect::Await => {
                self.leave(who);
                return;
            }
        };
        let written = self.append(epoch, event);
        self.again(who, epoch, written);
    }

    fn end_open(&mut self) {
        for approval in &mut self.approvals {
            approval.life.status = match approval.life.status {
                Status::Pending => Status::Withdrawn,
                Status::Approved => Status::Void,
                other => other,
            };
        }
    }

    fn leave(&mut self, who: usize) {
        if self.holder == Some(who) {
            self.holder = None;
        }
        self.drivers[who] = At::Idle;
    }

    fn reply(&mut self, state: &State) -> TurnEvent {
        let first = state.calls.len() as u32;
        let count = if state.steps.len() < 3 { self.dice.roll(4) as u32 } else { 0 };
        let calls = (first..first + count)
            .map(|ordinal| PlannedCall {
                ordinal,
                model_call_id: String::new(),
                tool: "t".into(),
                args_text: "{}".into(),
            })
            .collect();
        TurnEvent::ModelReplied {
            blocks: vec![Block::Text { text: "x".into() }],
            calls,
            usage: None,
            finish: Finish::Stop,
        }
    }

    fn ask(&mut self, who: usize, epoch: i64, ordinal: u32) {
        let id = self.approvals.len();
        let written = self.append(epoch, TurnEvent::ApprovalAsked { ordinal, approval: id.to_string() });
        if written {
            self.approvals.push(Approval {
                ordinal,
                life: Life {
                    status: Status::Pending,
                    asker: "ann".into(),
                    deciders: "asker".into(),
                    four_eyes: false,
                    expires_at: Micros(self.now).plus_seconds(LIFE),
                    decided_at: None,
                },
                digest: self.digest,
                said_yes: 0,
            });
        }
        self.again(who, epoch, written);
    }

    /// One transaction: consume, with "call started" and its fence, or find out why not.
    fn try_write(&mut self, who: usize, epoch: i64, ordinal: u32) {
        let Some(id) = self.approvals.iter().rposition(|a| a.ordinal == ordinal) else { return };
        let (now, digest) = (Micros(self.now), self.digest);
        let nobody = Who::default();
        let approval = &self.approvals[id];
        let consumed = match approval.life.after(Act::Consume, &nobody, now, VOID) {
            Ok(_) => approval.digest == digest,
            Err(_) => !self.cas,
        };
        if consumed {
            let started = TurnEvent::CallStarted { ordinal, epoch, approval: Some(id.to_string()), edited_args: None };
            if self.append(epoch, started) {
                self.approvals[id].life.status = Status::Consumed;
                self.drivers[who] = At::Holding { epoch, ordinal, approval: id };
            } else {
                self.drivers[who] = At::Idle;
            }
            return;
        }
        let mut status = self.approvals[id].life.status_at(now, VOID);
        if status == Status::Approved {
            status = Status::Void;
        }
        self.approvals[id].life.status = status;
        match not_approved_status(status, None) {
            Some(how) => {
                let settled = TurnEvent::ApprovalSettled { ordinal, approval: id.to_string(), how };
                let written = self.append(epoch, settled);
                self.again(who, epoch, written);
            }
            None => self.leave(who),
        }
    }

    fn check(&mut self, seed: u64) {
        let mut faults = std::mem::take(&mut self.faults);
        for (ordinal, ran) in &self.effects {
            if ran.len() > 1 {
                faults.push(format!("call {ordinal} acted {} times", ran.len()));
            }
            for id in ran {
                let approval = &self.approvals[*id];
                if approval.said_yes != 1 {
                    faults.push(format!("call {ordinal} acted after {} approvals", approval.said_yes));
                }
                if approval.life.status != Status::Consumed {
                    faults.push(format!("call {ordinal} acted, its approval is {:?}", approval.life.status));
                }
            }
        }
        for (id, approval) in self.approvals.iter().enumerate() {
            let started = self.log.iter().filter(
                |e| matches!(&e.event, TurnEvent::CallStarted { approval: Some(a), .. } if *a == id.to_string()),
            );
            let started = started.count();
            if started != usize::from(approval.life.status == Status::Consumed) {
                faults.push(format!("approval {id} is {:?} and started {started} times", approval.life.status));
            }
        }
        assert!(faults.is_empty(), "seed {seed}: {faults:?}");
    }

    /// Lets everybody finish: no more crashes, every question answered.
    fn settle(&mut self) {
        for _ in 0..4000 {
            if self.over() {
                break;
            }
            let unknown = State::of(&self.log).calls.into_iter().find(|c| c.state == CallState::Unknown);
            if let (Some(call), None) = (unknown, self.holder) {
                let (ordinal, by) = (call.planned.ordinal, "ann".into());
                self.write(TurnEvent::UnknownSettled { ordinal, by, ran: true, note: None });
            }
            self.person();
            let who = self.dice.roll(2) as usize;
            self.drive(who);
        }
    }
}

fn run(seeds: std::ops::Range<u64>, cas: bool) {
    for seed in seeds {
        let mut world = World::new(seed + 1, cas);
        for _ in 0..60 {
            world.step();
        }
        world.check(seed);
        world.settle();
        world.check(seed);
        let state = State::of(&world.log);
        assert!(state.ended.is_some(), "seed {seed}: the turn never ended: {:?}", state.next());
        for approval in &world.approvals {
            let open = matches!(approval.life.status, Status::Pending | Status::Approved);
            assert!(!open, "seed {seed}: an approval was left {:?} by a turn that is over", approval.life.status);
        }
        // A turn that is done told the model of every call, in its order.
        if matches!(state.ended, Some((TurnStatus::Done, _))) {
            assert!(state.calls.iter().all(|call| call.state.is_over()), "seed {seed}");
        }
    }
}

#[test]
fn no_interleaving_runs_a_write_wrongly_or_loses_an_approval() {
    let count: u64 = std::env::var("ASTUDIO_MODEL_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let half = count / 2;
    std::thread::scope(|threads| {
        threads.spawn(|| run(0..half, true));
        run(half..count, true);
    });
}

#[test]
fn the_model_notices_a_consumption_without_its_compare_and_set() {
    let noticed = std::panic::catch_unwind(|| run(0..2_000, false));
    assert!(noticed.is_err(), "2,000 runs without the compare-and-set and nothing was noticed");
}
