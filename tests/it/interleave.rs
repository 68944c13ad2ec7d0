//! Random interleavings on the real store: two living processes on one home, people who decide at the same moment, changed
//! records, expiry at the edge, and now and then a process that is killed. Afterwards the books must agree.
//!
//! `ASTUDIO_INTERLEAVINGS` says how many, `ASTUDIO_SEED` where the dice begin. A seed repeats what is asked and in which
//! order; when the processes get to it is theirs.

use crate::binary::{Answer, Batch, Book, Desk, line, note};
use crate::ledger::{Acknowledged, Ledger, Said};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use toolkits::desk::{Money, Order, Status};

/// The first of the orders that only these tests touch.
pub const FIRST_ORDER: i64 = 50_001;

/// How many turns are open at once in a home.
const AT_ONCE: usize = 12;
/// How many things are done to each.
const STEPS: usize = 6;
/// A turn that can go on and does not for so long hangs.
const HANGS: Duration = Duration::from_secs(30);

/// A small generator, so that a run can be named by its seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize].clone()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.roll(i as u64 + 1) as usize);
        }
    }
}

/// A number of the environment.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |n| n.parse().unwrap())
}

/// Open orders that only the caller touches.
pub fn stock(desk: &Desk, orders: std::ops::Range<i64>) {
    let order = |order_id| Order {
        order_id,
        customer: "Ada Novak".into(),
        item: "Wall clock".into(),
        quantity: 1,
        total: Money(1_000_000),
        currency: "EUR".into(),
        status: Status::Open,
        placed_at: astudio::contract::Micros(1_793_606_400_000_000 + order_id),
        refunded: Money(0),
    };
    let orders: Vec<Order> = orders.map(order).collect();
    toolkits::desk::stock(&desk.home().join("desk.db"), "demo", &orders, true).unwrap();
}

/// What is done in a home.
#[derive(Clone, Default)]
struct Plan {
    settings: &'static str,
    fault: &'static str,
    count: usize,
    seed: u64,
    kills: bool,
    edge: Edge,
}

/// Which end of time is met on purpose; each lies a second after its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Edge {
    #[default]
    None,
    /// Approvals expire while people answer.
    Expiry,
    /// Nobody drives what was approved until its yes is too old.
    Void,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Ask,
    Approve,
    Reject,
    Edit,
    BadEdit,
    Withdraw,
    Resume,
    Interrupt,
    Look,
}

const DECISIONS: [Act; 8] =
    [Act::Approve, Act::Approve, Act::Approve, Act::Reject, Act::Edit, Act::Withdraw, Act::Resume, Act::Interrupt];

/// One interleaving: a session, its orders, its turn.
struct Case {
    order: i64,
    words: String,
    session: String,
    /// Who asked.
    home: usize,
    turn: Option<String>,
    /// Approvals with arguments that a person could give instead.
    approvals: Vec<(String, Value)>,
    steps: usize,
}

/// A line that was sent: what for, and what it decides on.
struct Sent {
    case: usize,
    act: Act,
    on: Option<(String, Value)>,
}

struct World {
    desk: Desk,
    plan: Plan,
    dice: Dice,
    processes: [Batch; 2],
    said: Acknowledged,
    faults: Vec<String>,
    statuses: BTreeMap<(String, u16), usize>,
    killed: usize,
    tampered: usize,
}

impl World {
    fn new(plan: Plan) -> Self {
        let mut desk = Desk::with(plan.settings);
        stock(&desk, FIRST_ORDER..FIRST_ORDER + 2 * plan.count as i64);
        if !plan.fault.is_empty() {
            desk.set_env("ASTUDIO_FAULT", plan.fault);
        }
        Self {
            processes: [desk.batch(), desk.batch()],
            desk,
            dice: Dice::new(plan.seed),
            plan,
            said: Vec::new(),
            faults: Vec::new(),
            statuses: BTreeMap::new(),
            killed: 0,
            tampered: 0,
        }
    }

    fn case(&mut self, n: usize) -> Case {
        let order = FIRST_ORDER + 2 * n as i64;
        let words = match self.dice.roll(5) {
            0 | 1 => format!("cancel order {order}"),
            2 => format!("please cancel {order} and {}", order + 1),
            _ => format!("refund 3 euro of order {order}"),
        };
        Case {
            order,
            words,
            session: format!("s{n}"),
            home: self.dice.roll(2) as usize,
            turn: None,
            approvals: Vec::new(),
            steps: STEPS,
        }
    }

    /// The line for an act, unless there is nothing yet to do it to.
    fn line(&mut self, case: &Case, act: Act) -> Option<(Value, Option<(String, Value)>)> {
        let turn = case.turn.as_deref();
        let on = (!case.approvals.is_empty()).then(|| self.dice.pick(&case.approvals));
        let request = match act {
            Act::Ask => return Some((line::ask("orders-desk", &case.session, &case.words), None)),
            Act::Approve => line::approve(&on.as_ref()?.0),
            Act::Reject => line::reject(&on.as_ref()?.0),
            Act::Withdraw => line::of("approvals.withdraw", &on.as_ref()?.0),
            Act::Edit => line::decide(&on.as_ref()?.0, &json!({ "decision": "approve", "args": on.as_ref()?.1 })),
            Act::BadEdit => {
                line::decide(&on.as_ref()?.0, &json!({ "decision": "approve", "args": { "order_id": "all" } }))
            }
            Act::Resume => line::of("turns.resume", turn?),
            Act::Interrupt => line::of("turns.interrupt", turn?),
            Act::Look => line::of("turns.get", turn?),
        };
        Some((request, on))
    }

    /// What is done to a case next, and at which processes.
    fn next(&mut self, case: &Case) -> Vec<(usize, Act)> {
        let p = self.dice.roll(2) as usize;
        if case.turn.is_none() {
            return vec![(case.home, Act::Ask)];
        }
        match self.dice.roll(20) {
            // Two at the same moment.
            0..=5 => {
                let (a, b) = (self.dice.pick(&DECISIONS), self.dice.pick(&DECISIONS));
                vec![(0, a), (1, b)]
            }
            6..=8 => vec![(p, Act::Approve)],
            9 => vec![(p, Act::Reject)],
            10 | 11 => vec![(p, Act::Edit)],
            12 => vec![(p, Act::BadEdit)],
            13 => vec![(p, Act::Withdraw)],
            14..=16 => vec![(p, Act::Resume)],
            17 => vec![(p, Act::Interrupt)],
            18 => vec![(p, Act::Ask)],
            _ => vec![(p, Act::Look)],
        }
    }

    /// One thing is done to each case, or to each second one, at the same time in both processes.
    fn round(&mut self, cases: &mut [Case], each: usize) {
        let mut queues: [Vec<(Value, Sent)>; 2] = [Vec::new(), Vec::new()];
        let mut pairs: [Vec<(Value, Sent)>; 2] = [Vec::new(), Vec::new()];
        for (n, case) in cases.iter_mut().enumerate().step_by(each).filter(|(_, case)| case.steps > 0) {
            case.steps -= 1;
            let acts = self.next(case);
            for &(p, act) in &acts {
                if let Some((request, on)) = self.line(case, act) {
                    let sent = Sent { case: n, act, on };
                    let queue = if acts.len() == 2 { &mut pairs } else { &mut queues };
                    queue[p].push((request, sent));
                }
            }
            if self.dice.roll(60) == 0 {
                self.tamper(case);
            }
        }
        let mut sent: [Vec<Sent>; 2] = [Vec::new(), Vec::new()];
        let mut lines = Vec::new();
        for p in 0..2 {
            self.dice.shuffle(&mut queues[p]);
            // Pairs go first, so that both processes are at them together.
            for (request, what) in pairs[p].drain(..).chain(queues[p].drain(..)) {
                lines.push((p, sent[p].len(), request));
                sent[p].push(what);
            }
        }
        lines.sort_by_key(|(p, at, _)| (*at, *p));
        for (p, _, request) in &lines {
            self.processes[*p].send(request);
        }
        if self.plan.kills && self.dice.roll(12) == 0 {
            let p = self.dice.roll(2) as usize;
            // A random moment, on purpose.
            std::thread::sleep(Duration::from_micros(self.dice.roll(30_000)));
            self.processes[p].kill();
            self.killed += 1;
        }
        for (p, sent) in sent.into_iter().enumerate() {
            for what in sent {
                match self.processes[p].answer() {
                    Some(answer) => self.hear(&mut cases[what.case], &what, &answer),
                    None => {
                        self.processes[p] = self.desk.batch();
                        break;
                    }
                }
            }
        }
    }

    /// Ends both processes, so that nobody drives any turn, and starts two others.
    fn restart(&mut self) {
        for process in &mut self.processes {
            process.kill();
            *process = self.desk.batch();
        }
        self.killed += 2;
    }

    /// Changes the stored record behind the program's back, as if the arguments or the tool had become others.
    fn tamper(&mut self, case: &Case) {
        let Some((id, _)) = case.approvals.first() else { return };
        let what = self.dice.pick(&[r#"args = '{"order_id":1020}'"#, "digest = 'another tool'"]);
        let sql = format!("update approvals set {what} where id = '{id}' and status = 'pending'");
        self.tampered += Book::studio(&self.desk.home()).tamper(&sql) as usize;
    }

    fn hear(&mut self, case: &mut Case, sent: &Sent, answer: &Answer) {
        *self.statuses.entry((format!("{:?}", sent.act), answer.status)).or_default() += 1;
        let expected: &[u16] = match sent.act {
            Act::Ask => &[200, 409],
            Act::Approve | Act::Reject => &[200, 409, 410],
            Act::Edit => &[200, 409, 410, 422],
            Act::BadEdit => &[409, 410, 422],
            Act::Withdraw => &[200, 409, 410],
            Act::Resume | Act::Interrupt | Act::Look => &[200],
        };
        if !expected.contains(&answer.status) {
            self.faults.push(format!("{:?} of order {} answered {answer:?}", sent.act, case.order));
        }
        if !answer.is_ok() {
            return;
        }
        if sent.act == Act::Ask {
            case.turn = answer.body["turn"].as_str().map(str::to_owned);
            for call in answer.body["tool_calls"].as_array().into_iter().flatten() {
                let Some(id) = call["approval"].as_str() else { continue };
                let mut args = json!({ "order_id": call["args"]["order_id"] });
                let (key, value) = if call["tool"] == "desk_refund_order" {
                    ("amount", json!(2.5))
                } else {
                    ("reason", json!("edited"))
                };
                args[key] = value;
                case.approvals.push((id.to_owned(), args));
            }
        }
        if let Some((id, args)) = &sent.on {
            let said = match sent.act {
                Act::Approve => Said::Yes,
                Act::Edit => Said::Edited(args.clone()),
                Act::Reject => Said::No,
                Act::Withdraw => Said::TakenBack,
                _ => return,
            };
            self.said.push((id.clone(), said));
        }
    }

    /// Brings every turn to its end.
    fn settle(&mut self, cases: &[Case]) {
        let since = Instant::now();
        let homes: BTreeMap<&str, usize> =
            cases.iter().filter_map(|case| case.turn.as_deref().map(|turn| (turn, case.home))).collect();
        let book = Book::studio(&self.desk.home());
        loop {
            let open = book.rows("select id from turns where status in ('running', 'waiting')");
            if open.is_empty() {
                return;
            }
            if since.elapsed() > HANGS {
                let ids: Vec<String> = open.iter().map(|row| row.text(0).unwrap()).collect();
                self.faults.push(format!("turns hang: {ids:?}"));
                return;
            }
            for row in open {
                let turn = row.text(0).unwrap();
                // Only where it was asked: a driver there that has slept through a change is not helped by this.
                let p = homes.get(turn.as_str()).copied().unwrap_or_default();
                let Some(answer) = self.call(p, &line::of("turns.resume", &turn)) else { continue };
                for id in answer.approvals() {
                    let yes = self.dice.roll(2) == 0;
                    let p = self.dice.roll(2) as usize;
                    let request = if yes { line::approve(&id) } else { line::reject(&id) };
                    if self.call(p, &request).is_some_and(|answer| answer.is_ok()) {
                        self.said.push((id, if yes { Said::Yes } else { Said::No }));
                    }
                }
                for ordinal in answer.body["metadata"]["unknown_calls"].as_array().into_iter().flatten() {
                    self.call(p, &line::settle(&turn, ordinal.as_u64().unwrap(), false));
                }
            }
        }
    }

    fn call(&mut self, p: usize, request: &Value) -> Option<Answer> {
        let answer = self.processes[p].answer_to(request);
        if answer.is_none() {
            self.processes[p] = self.desk.batch();
        }
        answer
    }

    fn run(mut self) -> Outcome {
        let mut n = 0;
        while n < self.plan.count && self.faults.is_empty() {
            let many = AT_ONCE.min(self.plan.count - n);
            let mut cases: Vec<Case> = (n..n + many).map(|n| self.case(n)).collect();
            let mut since = Instant::now();
            let edge_at = 3 + self.dice.roll(STEPS as u64 - 3) as usize;
            for step in 0..STEPS {
                if step == 1 && self.plan.edge == Edge::Void {
                    self.restart();
                    since = Instant::now();
                }
                if step == edge_at && self.plan.edge != Edge::None {
                    // Shortly before or after the second is over, on purpose.
                    let moment = Duration::from_micros(950_000 + self.dice.roll(400_000));
                    std::thread::sleep(moment.saturating_sub(since.elapsed()));
                }
                // Every second question meets its end without having been touched before.
                let calm = self.plan.edge == Edge::Expiry && (1..edge_at).contains(&step);
                self.round(&mut cases, if calm { 2 } else { 1 });
            }
            self.settle(&cases);
            n += many;
        }
        let ledger = Ledger::read(&self.desk.home());
        let (effects, consumed) = (ledger.effects(), ledger.count("consumed"));
        let ends = ["rejected", "expired", "withdrawn", "void"].map(|s| (s, ledger.count(s))).into();
        let mut faults = self.faults;
        faults.extend(ledger.faults(&self.said, true));
        if self.plan.fault.is_empty() {
            let report = self.desk.done(&["audit", "verify", "--as", "ada"]);
            if report["ok"] != true {
                faults.push(format!("the journal does not hold: {report}"));
            }
        }
        Outcome {
            cases: n,
            effects,
            consumed,
            ends,
            answers: self.statuses,
            killed: self.killed,
            tampered: self.tampered,
            faults,
        }
    }
}

#[derive(Debug)]
#[allow(dead_code, reason = "said when a test fails")]
struct Outcome {
    cases: usize,
    effects: usize,
    consumed: usize,
    /// Approvals that did not run, by how they ended.
    ends: BTreeMap<&'static str, usize>,
    answers: BTreeMap<(String, u16), usize>,
    killed: usize,
    tampered: usize,
    faults: Vec<String>,
}

fn run(plan: Plan) -> Outcome {
    World::new(plan).run()
}

/// Short lives for approvals, so that answers meet their end.
const EXPIRES: &str = "[turn]\napproval_seconds = 1\n";
/// A yes that has to be used at once, which a killed process does not.
const VOIDS: &str = "[turn]\nvoid_seconds = 1\n";

#[test]
fn no_interleaving_runs_what_nobody_approved() {
    let seed = number("ASTUDIO_SEED", u64::from(std::process::id()));
    let count = number("ASTUDIO_INTERLEAVINGS", 2_000) as usize;
    let since = Instant::now();
    let plan = |share: usize, n: u64, kills, edge| {
        let settings = match edge {
            Edge::None => "",
            Edge::Expiry => EXPIRES,
            Edge::Void => VOIDS,
        };
        Plan { settings, fault: "", count: count * share / 100, seed: seed + n, kills, edge }
    };
    // Each row is a thread; each plan has a home of its own.
    let plans = [
        vec![plan(40, 0, false, Edge::None), plan(10, 1, false, Edge::Expiry)],
        vec![plan(35, 2, true, Edge::None), plan(10, 3, false, Edge::Void), plan(5, 4, true, Edge::Expiry)],
    ];
    let outcomes: Vec<(u64, Outcome)> = std::thread::scope(|scope| {
        let run_all = |plans: Vec<Plan>| plans.into_iter().map(|plan| (plan.seed, run(plan))).collect::<Vec<_>>();
        let threads = plans.map(|plans| scope.spawn(move || run_all(plans)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for (home, outcome) in &outcomes {
        assert!(outcome.faults.is_empty(), "ASTUDIO_SEED={seed}, home {home}: {outcome:#?}");
    }
    let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(|(_, outcome)| of(outcome)).sum::<usize>();
    let (cases, effects, killed) = (sum(|o| o.cases), sum(|o| o.effects), sum(|o| o.killed));
    assert!(cases * 100 >= count * 99 && effects > cases / 10, "too little happened: {outcomes:?}");
    let ends = |status: &str| outcomes.iter().map(|(_, o)| o.ends[status]).sum::<usize>();
    let rare = [killed, sum(|o| o.tampered), ends("expired"), ends("void")];
    assert!(count < 1000 || rare.iter().all(|n| *n > 10), "too little happened, {rare:?}: {outcomes:?}");
    note(&format!("{cases} interleavings, {effects} effects, {killed} kills in {:?}: {outcomes:?}", since.elapsed()));
}

/// The build in which an approval can be consumed whatever its status is: the reckoning must notice.
#[cfg(feature = "failpoints")]
#[test]
fn a_build_that_does_not_compare_is_caught() {
    let seed = number("ASTUDIO_SEED", 7);
    let outcome = run(Plan { fault: "consume_without_cas", count: 50, seed, ..Plan::default() });
    let wrong: Vec<&String> = outcome.faults.iter().filter(|f| f.contains("a change")).collect();
    assert!(outcome.cases > 0 && !wrong.is_empty(), "nobody noticed: {outcome:#?}");
    note(&format!("caught: {} faults, such as {}", outcome.faults.len(), wrong[0]));
}
