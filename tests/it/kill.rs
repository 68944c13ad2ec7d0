//! Kills and full disks: what was acknowledged is there, nothing ran twice, the journal holds, the other process goes on.
//!
//! `ASTUDIO_KILLS` says how many kills, `ASTUDIO_SEED` where the dice begin.

use crate::binary::{Answer, Batch, Desk, line, note, text};
use crate::interleave::{Dice, FIRST_ORDER, number, stock};
use crate::ledger::{Acknowledged, Ledger, Said};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Places at which the process can be told to kill itself.
const PLACES: [&str; 5] = ["before_commit", "after_commit", "call_started", "effect_done", "end_written"];

fn create(name: &str) -> Value {
    json!({ "id": "agents.create", "body": { "name": name, "llm": "rehearsal:greeter" } })
}

fn patch(name: &str, about: &str) -> Value {
    json!({ "id": "agents.patch", "path": { "name": name }, "body": { "description": about } })
}

fn get(name: &str) -> Value {
    json!({ "id": "agents.get", "path": { "name": name } })
}

/// Somebody who writes through one process, and keeps what they were told.
struct Writer {
    name: &'static str,
    next: i64,
    orders: std::ops::Range<i64>,
    /// The last description that was acknowledged, by agent, with those sent since.
    agents: BTreeMap<String, Vec<String>>,
    said: Acknowledged,
}

impl Writer {
    fn new(name: &'static str, orders: std::ops::Range<i64>) -> Self {
        Self { name, next: 0, orders, agents: BTreeMap::new(), said: Vec::new() }
    }

    /// Makes an agent, changes it, asks for a refund and approves it. Answers whether the process lived through it.
    fn write(&mut self, to: &mut Batch) -> bool {
        self.next += 1;
        let agent = format!("{}-{}", self.name, self.next);
        let first = format!("about {agent}");
        to.send(&create(&agent));
        to.send(&patch(&agent, &first));
        let order = self.orders.next().expect("there are orders enough");
        to.send(&line::ask("orders-desk", &agent, &format!("refund 3 euro of order {order}")));
        let Some(made) = to.answer() else { return false };
        made.ok();
        self.agents.insert(agent.clone(), Vec::new());
        let Some(patched) = to.answer() else { return false };
        patched.ok();
        self.agents.insert(agent.clone(), vec![first]);
        let Some(asked) = to.answer() else { return false };
        let asked = asked.approvals();
        let second = format!("more about {agent}");
        to.send(&patch(&agent, &second));
        for id in &asked {
            to.send(&line::approve(id));
        }
        if to.answer().is_none() {
            return false;
        }
        self.agents.insert(agent, vec![second]);
        for id in asked {
            let Some(approved) = to.answer() else { return false };
            approved.ok();
            self.said.push((id, Said::Yes));
        }
        true
    }

    /// Everything that was acknowledged is there.
    fn check(&self, reader: &mut Batch, from: i64) {
        for (name, abouts) in self.agents.iter().filter(|(name, _)| number_of(name) >= from) {
            let found = reader.call(&get(name)).ok();
            let about = text(&found["description"]);
            let later = format!("more about {name}");
            assert!(
                abouts.is_empty() || abouts.contains(&about) || about == later,
                "{name}: {about:?}, acknowledged {abouts:?}"
            );
        }
    }
}

fn number_of(name: &str) -> i64 {
    name.rsplit('-').next().and_then(|n| n.parse().ok()).unwrap()
}

/// Brings the turns that the victim left to their end, through a process that lives.
fn finish(desk: &Desk, through: &mut Batch, said: &mut Acknowledged) {
    let studio = crate::binary::Book::studio(&desk.home());
    let since = Instant::now();
    loop {
        let open = studio.rows("select id from turns where status in ('running', 'waiting')");
        if open.is_empty() {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "turns hang: {open:?}");
        for row in open {
            let answer = through.call(&line::of("turns.resume", &row.text(0).unwrap())).ok();
            for id in (Answer { status: 200, body: answer }).approvals() {
                if through.call(&line::approve(&id)).is_ok() {
                    said.push((id, Said::Yes));
                }
            }
        }
    }
}

fn verify(through: &mut Batch) {
    let report = through.call(&json!({ "id": "audit.verify", "as": "ada" })).ok();
    assert_eq!(report["ok"], true, "the journal does not hold: {report}");
}

#[test]
fn a_kill_at_any_point_loses_and_repeats_nothing() {
    let seed = number("ASTUDIO_SEED", u64::from(std::process::id()));
    let kills = i64::try_from(number("ASTUDIO_KILLS", 200)).unwrap();
    let since = Instant::now();
    let mut dice = Dice::new(seed);
    let desk = Desk::new();
    let middle = FIRST_ORDER + 20 * kills;
    stock(&desk, FIRST_ORDER..middle + 20 * kills);
    let mut survivor = desk.batch();
    let mut living = Writer::new("living", FIRST_ORDER..middle);
    let mut dying = Writer::new("dying", middle..middle + 20 * kills);
    let mut by_place: BTreeMap<String, usize> = BTreeMap::new();
    for kill in 0..kills {
        let (living_from, dying_from) = (living.next, dying.next);
        let place = if cfg!(feature = "failpoints") && dice.roll(3) > 0 {
            let name = dice.pick(&PLACES);
            // A round of work passes about ten commits and one call.
            let pass = if name.ends_with("commit") { 1 + dice.roll(14) } else { 1 + dice.roll(2) };
            Some((name, format!("{name}@{pass}=kill")))
        } else {
            None
        };
        let mut victim = match &place {
            Some((_, fault)) => desk.faulty_batch(fault),
            None => desk.batch(),
        };
        if place.is_none() {
            let (pid, moment) = (victim.pid(), Duration::from_micros(dice.roll(150_000)));
            // A random moment, on purpose. Its process number cannot be anybody else's before it is waited for.
            std::thread::spawn(move || {
                std::thread::sleep(moment);
                Command::new("kill").args(["-9", &pid.to_string()]).status()
            });
        }
        while dying.write(&mut victim) {
            assert!(living.write(&mut survivor), "the other process goes on");
        }
        *by_place.entry(place.map_or("at random".into(), |(name, _)| name.to_owned())).or_default() += 1;
        victim.kill();
        assert!(living.write(&mut survivor), "the other process goes on");
        living.check(&mut survivor, living_from);
        dying.check(&mut survivor, dying_from);
        let mut said = std::mem::take(&mut dying.said);
        finish(&desk, &mut survivor, &mut said);
        dying.said = said;
        if kill % 10 == 9 || kill + 1 == kills {
            verify(&mut survivor);
            let said: Acknowledged = living.said.iter().chain(&dying.said).cloned().collect();
            let faults = Ledger::read(&desk.home()).faults(&said, true);
            assert!(faults.is_empty(), "ASTUDIO_SEED={seed}, after kill {kill} of {by_place:?}: {faults:#?}");
        }
    }
    living.check(&mut survivor, 0);
    dying.check(&mut survivor, 0);
    drop(survivor);
    assert_eq!(desk.done(&["audit", "verify", "--as", "ada"])["ok"], true);
    let effects = Ledger::read(&desk.home()).effects();
    assert!(effects as i64 > kills, "too little was done: {effects}");
    note(&format!("{kills} kills {by_place:?}, {effects} effects in {:?}", since.elapsed()));
}

/// One commit fails, whichever it is: whoever asked is told, nothing hangs, and the job can be finished.
#[cfg(feature = "failpoints")]
#[test]
fn a_commit_that_fails_is_told_and_the_job_can_be_finished() {
    let desk = Desk::new();
    stock(&desk, FIRST_ORDER..FIRST_ORDER + 40);
    let mut said = Acknowledged::new();
    let (mut refused, mut cut_short) = (0, 0);
    for n in 1..=30 {
        let order = FIRST_ORDER + n;
        let mut process = desk.faulty_batch(&format!("before_commit@{n}=error"));
        let mut call = |request: &Value| -> Answer {
            let since = Instant::now();
            loop {
                let answer = process.call(request);
                // An ask whose turn has begun is not asked again.
                if answer.is_ok() || !answer.body["details"]["turn"].is_null() {
                    return answer;
                }
                refused += 1;
                assert_eq!(
                    (answer.status, &answer.body["code"]),
                    (503, &json!("studio_storage_unavailable")),
                    "{answer:?}"
                );
                assert!(since.elapsed() < Duration::from_secs(20), "commit {n}: {answer:?}");
            }
        };
        let words = format!("refund 3 euro of order {order}");
        let mut asked = call(&line::ask("orders-desk", &format!("s{n}"), &words));
        if !asked.is_ok() {
            cut_short += 1;
            let turn = text(&asked.body["details"]["turn"]);
            asked = call(&line::of("turns.resume", &turn));
        }
        let turn = text(&asked.body["turn"]);
        for id in asked.approvals() {
            call(&line::approve(&id));
            said.push((id, Said::Yes));
        }
        let since = Instant::now();
        while call(&line::of("turns.resume", &turn)).body["status"] != "done" {
            assert!(since.elapsed() < Duration::from_secs(20), "commit {n}: the turn hangs");
        }
        assert_eq!(desk.changes(order), 1, "commit {n}");
    }
    let mut healthy = desk.batch();
    finish(&desk, &mut healthy, &mut said);
    verify(&mut healthy);
    drop(healthy);
    let faults = Ledger::read(&desk.home()).faults(&said, true);
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(refused > 3 && cut_short > 0, "the fault was never met: {refused}, {cut_short}");
    note(&format!("30 failing commits: {refused} refusals, {cut_short} asks cut short"));
}

/// How a disk of a certain size is had.
enum Disk {
    /// A file system of its own.
    Mounted(TempDir),
    /// A limit on the size of files of the process.
    Limited,
}

impl Disk {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=6m,mode=700", "astudio-test"])
            .arg(dir.path())
            .output();
        if mounted.is_ok_and(|out| out.status.success()) { Self::Mounted(dir) } else { Self::Limited }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Self::Mounted(dir) = self {
            let _ = Command::new("umount").arg(dir.path()).status();
        }
    }
}

/// A process whose files may not grow beyond so many blocks of 1024 bytes.
fn limited(desk: &Desk, kilobytes: u64) -> Batch {
    let program = desk.command(&[]);
    let mut shell = Command::new("/bin/bash");
    // The signal is ignored, so that the process sees a failing write as on a full disk.
    let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" api batch");
    shell.arg("-c").arg(script).arg(program.get_program()).env_clear();
    shell.envs(program.get_envs().filter_map(|(k, v)| v.map(|v| (k, v))));
    Batch::start(shell)
}

fn size_of(home: &Path, name: &str) -> u64 {
    std::fs::metadata(home.join(name)).map_or(0, |m| m.len())
}

/// Writes until there is no room, and checks that this is said as it is.
fn fill(to: &mut Batch) -> Vec<String> {
    let mut made = Vec::new();
    for n in 0..400 {
        let name = format!("full-{n}");
        let body =
            json!({ "name": name, "llm": "rehearsal:greeter", "config": { "system_prompt": "x".repeat(60_000) } });
        let answer = to.call(&json!({ "id": "agents.create", "body": body }));
        if !answer.is_ok() {
            assert_eq!(
                (answer.status, &answer.body["code"]),
                (503, &json!("studio_storage_unavailable")),
                "{answer:?}"
            );
            return made;
        }
        made.push(name);
    }
    panic!("the disk never filled up");
}

/// What must hold on a full disk, and after there is room again.
fn full_disk(desk: &Desk, mut full: Batch, make_room: impl FnOnce(&Desk, Batch) -> Batch) {
    stock(desk, FIRST_ORDER..FIRST_ORDER + 10);
    // A question that is open when the disk fills up.
    let waiting = full.call(&line::ask("orders-desk", "before", &format!("refund 3 euro of order {FIRST_ORDER}")));
    let open = waiting.approvals();
    let turn = text(&waiting.body["turn"]);
    assert_eq!(open.len(), 1, "{waiting:?}");
    let made = fill(&mut full);
    assert!(!made.is_empty());
    // Smaller ones fill the last gaps.
    let mut last = full.call(&create("last-0"));
    for n in 1..400 {
        if !last.is_ok() {
            break;
        }
        last = full.call(&create(&format!("last-{n}")));
    }
    assert_eq!((last.status, &last.body["code"]), (503, &json!("studio_storage_unavailable")), "{last:?}");
    let asked = full.call(&line::ask("orders-desk", "during", "cancel order 1007"));
    assert_eq!((asked.status, &asked.body["code"]), (503, &json!("studio_storage_unavailable")), "{asked:?}");
    let said = full.call(&line::approve(&open[0]));
    let acknowledged = match said.status {
        200 => true,
        503 => false,
        _ => panic!("{said:?}"),
    };
    // Reading goes on.
    assert_eq!(full.call(&get(&made[0])).ok()["name"], made[0]);

    let mut roomy = make_room(desk, full);
    roomy.call(&create("afterwards")).ok();
    for name in &made {
        assert_eq!(roomy.call(&get(name)).ok()["name"], *name);
    }
    if !acknowledged {
        roomy.call(&line::approve(&open[0])).ok();
    }
    let since = Instant::now();
    let end = loop {
        let answer = roomy.call(&line::of("turns.resume", &turn)).ok();
        if answer["status"] == "done" {
            break answer;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "{answer}");
    };
    assert!(text(&end["response"]).contains(&FIRST_ORDER.to_string()), "{end}");
    assert_eq!(desk.changes(FIRST_ORDER), 1);
    let mut rest = Acknowledged::new();
    finish(desk, &mut roomy, &mut rest);
    verify(&mut roomy);
    drop(roomy);
    let faults = Ledger::read(&desk.home()).faults(&vec![(open[0].clone(), Said::Yes)], true);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_full_disk_refuses_whole_writes_and_is_forgiven() {
    let disk = Disk::new();
    let desk = match &disk {
        Disk::Mounted(dir) => Desk::at(dir.path()),
        Disk::Limited => Desk::new(),
    };
    match &disk {
        Disk::Mounted(dir) => {
            // Something that can be thrown away afterwards.
            std::fs::write(dir.path().join("ballast"), vec![7; 1 << 20]).unwrap();
            let full = desk.batch();
            let ballast = dir.path().join("ballast");
            full_disk(&desk, full, |_, batch| {
                std::fs::remove_file(&ballast).unwrap();
                batch
            });
            note("full disk: a file system of its own; the process lived on");
        }
        Disk::Limited => {
            let base = size_of(&desk.home(), "astudio.db").max(size_of(&desk.home(), "astudio.db-wal"));
            let full = limited(&desk, base / 1024 + 1500);
            full_disk(&desk, full, |desk, batch| {
                drop(batch);
                desk.batch()
            });
            note("full disk: a limit on the size of files; another process went on");
        }
    }
}

/// A size limit reaches the program even where no file system can be mounted.
#[test]
fn files_that_may_not_grow_refuse_whole_writes() {
    let desk = Desk::new();
    let base = size_of(&desk.home(), "astudio.db").max(size_of(&desk.home(), "astudio.db-wal"));
    let full = limited(&desk, base / 1024 + 1500);
    full_disk(&desk, full, |desk, batch| {
        drop(batch);
        desk.batch()
    });
}
