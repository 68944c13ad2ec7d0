//! The reckoning: what the desk has done against what people have said, from the two databases alone.

use crate::binary::Book;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What somebody was told that they had decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    Yes,
    /// Yes, with these arguments.
    Edited(Value),
    No,
    TakenBack,
}

/// Decisions that were acknowledged, by approval.
pub type Acknowledged = Vec<(String, Said)>;

#[derive(Debug)]
struct Approval {
    id: String,
    turn: String,
    ordinal: i64,
    status: String,
    method: String,
    args: Value,
    decided: bool,
    decided_by: Option<String>,
}

/// How a call went, by the log of its turn.
#[derive(Debug, Default)]
struct Run {
    started: Vec<String>,
    /// Whether the tool said that it changed something.
    ended: Vec<bool>,
    settled: Vec<(String, bool)>,
}

/// A reckoning over a home in which nothing happens any more.
pub struct Ledger {
    approvals: Vec<Approval>,
    runs: BTreeMap<(String, i64), Run>,
    /// Statuses of turns.
    turns: BTreeMap<String, String>,
    /// What the journal says about each approval.
    journal: BTreeMap<String, Vec<String>>,
    effects: Vec<crate::binary::Effect>,
    /// Status and what was paid back, in cents.
    orders: BTreeMap<i64, (String, i64)>,
    faults: Vec<String>,
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

impl Ledger {
    /// Reads both databases of a home.
    pub fn read(home: &Path) -> Self {
        let studio = Book::studio(home);
        let desk = Book::open(home);
        let sql = "select id, turn_id, ordinal, status, method, coalesce(edited_args, args), decided_at, decided_by from approvals";
        let approvals = studio.rows(sql).into_iter().map(|row| Approval {
            id: row.text(0).unwrap(),
            turn: row.text(1).unwrap(),
            ordinal: row.int(2).unwrap(),
            status: row.text(3).unwrap(),
            method: row.text(4).unwrap(),
            args: json(row.str(5).unwrap()),
            decided: row.opt_int(6).unwrap().is_some(),
            decided_by: row.opt_text(7).unwrap(),
        });
        let approvals = approvals.collect();
        let mut faults = Vec::new();
        let mut runs: BTreeMap<(String, i64), Run> = BTreeMap::new();
        let mut last: BTreeMap<String, i64> = BTreeMap::new();
        for row in studio.rows("select turn_id, seq, kind, body from turn_events order by turn_id, seq") {
            let (turn, seq, kind, body) =
                (row.text(0).unwrap(), row.int(1).unwrap(), row.text(2).unwrap(), json(row.str(3).unwrap()));
            let before = last.insert(turn.clone(), seq).unwrap_or_default();
            if seq != before + 1 {
                faults.push(format!("turn {turn}: event {seq} follows {before}"));
            }
            let Some(ordinal) = body["ordinal"].as_i64() else { continue };
            let run = runs.entry((turn, ordinal)).or_default();
            match kind.as_str() {
                "call_started" => run.started.extend(body["approval"].as_str().map(str::to_owned)),
                "call_ended" => run.ended.push(body["result"]["value"]["changed"] == true),
                "unknown_settled" => {
                    run.settled.push((body["by"].as_str().unwrap().to_owned(), body["ran"].as_bool().unwrap()));
                }
                _ => {}
            }
        }
        let pairs = |sql: &str| studio.rows(sql).into_iter().map(|row| (row.text(0).unwrap(), row.text(1).unwrap()));
        let turns = pairs("select id, status from turns").collect();
        let mut journal: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (action, body) in pairs("select action, body from audit where action like 'approval.%' order by at, id") {
            if let Some(id) = json(&body)["approval"].as_str() {
                journal.entry(id.to_owned()).or_default().push(action.trim_start_matches("approval.").to_owned());
            }
        }
        let orders = desk.rows("select order_id, status, refunded from desk_orders where tenant = 'demo'").into_iter();
        let orders = orders.map(|row| (row.int(0).unwrap(), (row.text(1).unwrap(), row.int(2).unwrap()))).collect();
        Self { approvals, runs, turns, journal, effects: desk.effects(), orders, faults }
    }

    /// How many changes the desk has made.
    pub fn effects(&self) -> usize {
        self.effects.len()
    }

    /// How many approvals stand at this status.
    pub fn count(&self, status: &str) -> usize {
        self.approvals.iter().filter(|a| a.status == status).count()
    }

    /// Everything that is not as it must be. `settled`: every turn must be over.
    pub fn faults(mut self, said: &Acknowledged, settled: bool) -> Vec<String> {
        self.effects_have_a_yes();
        self.consumptions_ran_once();
        self.orders_add_up();
        self.nothing_hangs(settled);
        self.nothing_said_is_lost(said);
        self.faults
    }

    fn fault(&mut self, text: String) {
        self.faults.push(text);
    }

    fn effects_have_a_yes(&mut self) {
        let by_id: BTreeMap<String, (String, bool)> =
            self.approvals.iter().map(|a| (a.id.clone(), (a.status.clone(), a.decided))).collect();
        for effect in self.effects.clone() {
            match by_id.get(&effect.key) {
                None => self.fault(format!("order {}: a change without an approval", effect.order)),
                Some((status, decided)) if status != "consumed" || !decided => {
                    self.fault(format!(
                        "order {}: a change on an approval that is {status}, decided: {decided}",
                        effect.order
                    ));
                }
                Some(_) => {}
            }
            let told = self.journal.get(&effect.key).cloned().unwrap_or_default();
            if told != ["requested", "approved", "consumed"] {
                self.fault(format!("order {}: a change after {told:?}", effect.order));
            }
        }
    }

    fn consumptions_ran_once(&mut self) {
        let changed: BTreeSet<String> = self.effects.iter().map(|e| e.key.clone()).collect();
        let mut started: Vec<String> = self.runs.values().flat_map(|run| run.started.clone()).collect();
        let before = started.len();
        started.sort();
        started.dedup();
        if started.len() != before {
            self.fault("an approval was used for two runs".into());
        }
        let mut faults = Vec::new();
        for a in &self.approvals {
            let none = Run::default();
            let run = self.runs.get(&(a.turn.clone(), a.ordinal)).unwrap_or(&none);
            let ran = run.started.contains(&a.id);
            if ran != (a.status == "consumed") {
                faults.push(format!("approval {} is {}, and started: {ran}", a.id, a.status));
            }
            if run.started.len() > 1 || run.ended.len() > 1 || run.settled.len() > 1 {
                faults.push(format!("the call of approval {} ran twice: {run:?}", a.id));
            }
            let open = self.turns.get(&a.turn).is_some_and(|status| status == "running" || status == "waiting");
            let told = match (run.ended.as_slice(), run.settled.as_slice()) {
                ([changed], []) => Some(*changed),
                // A person may say what they like; the tool must know.
                ([], [(by, ran)]) if by == "tool" => Some(*ran),
                ([], [_]) => None,
                ([], []) if open || !ran => None,
                // An interrupted turn may end with a call whose outcome nobody knows.
                ([], []) => None,
                (ended, settled) => {
                    faults.push(format!("approval {} has ends {ended:?} and {settled:?}", a.id));
                    None
                }
            };
            if told.is_some_and(|told| told != changed.contains(&a.id)) {
                faults.push(format!("approval {}: told changed = {told:?}, which is not so", a.id));
            }
        }
        self.faults.extend(faults);
    }

    fn orders_add_up(&mut self) {
        let mut refunded: BTreeMap<i64, i64> = BTreeMap::new();
        let mut cancelled: BTreeSet<i64> = BTreeSet::new();
        let by_id: BTreeMap<&str, &Approval> = self.approvals.iter().map(|a| (a.id.as_str(), a)).collect();
        let mut faults = Vec::new();
        for effect in &self.effects {
            let Some(a) = by_id.get(effect.key.as_str()) else { continue };
            if a.args["order_id"] != effect.order || a.method != effect.method {
                faults.push(format!("approval {} changed another order than it was for", a.id));
            }
            match effect.method.as_str() {
                "cancel_order" => drop(cancelled.insert(effect.order)),
                _ => {
                    #[allow(clippy::cast_possible_truncation)]
                    let cents = a.args["amount"].as_f64().map_or(0, |amount| (amount * 100.0).round() as i64);
                    *refunded.entry(effect.order).or_default() += cents;
                }
            }
        }
        for (order, (status, paid_back)) in self.orders.range(crate::interleave::FIRST_ORDER..) {
            if *paid_back != refunded.get(order).copied().unwrap_or_default() {
                faults.push(format!("order {order}: {paid_back} paid back, approved: {:?}", refunded.get(order)));
            }
            if (status == "cancelled") != cancelled.contains(order) {
                faults.push(format!("order {order} is {status}, which nobody approved"));
            }
        }
        self.faults.extend(faults);
    }

    fn nothing_hangs(&mut self, settled: bool) {
        let mut faults = Vec::new();
        for a in &self.approvals {
            let turn = self.turns.get(&a.turn).map_or("gone", String::as_str);
            let over = !matches!(turn, "running" | "waiting");
            if over && matches!(a.status.as_str(), "pending" | "approved") {
                faults.push(format!("approval {} is {} though its turn is {turn}", a.id, a.status));
            }
        }
        if settled {
            let open = self.turns.iter().filter(|(_, status)| matches!(status.as_str(), "running" | "waiting"));
            faults.extend(open.map(|(id, status)| format!("turn {id} is {status} for ever")));
        }
        self.faults.extend(faults);
    }

    fn nothing_said_is_lost(&mut self, said: &Acknowledged) {
        let mut faults = Vec::new();
        let mut answered = BTreeSet::new();
        for (id, what) in said {
            if !answered.insert(id) {
                faults.push(format!("approval {id}: two people were told that they had decided"));
            }
            let Some(a) = self.approvals.iter().find(|a| a.id == *id) else {
                faults.push(format!("approval {id}: {what:?} was acknowledged and is lost"));
                continue;
            };
            let stands = match what {
                Said::Yes => matches!(a.status.as_str(), "approved" | "consumed" | "void"),
                Said::Edited(args) => matches!(a.status.as_str(), "approved" | "consumed" | "void") && a.args == *args,
                Said::No => a.status == "rejected",
                Said::TakenBack => a.status == "withdrawn",
            };
            if !stands || a.decided_by.is_none() {
                faults
                    .push(format!("approval {id}: {what:?} was acknowledged, and it is {} with {}", a.status, a.args));
            }
            let ran = self.effects.iter().any(|e| e.key == *id);
            if ran && matches!(what, Said::No | Said::TakenBack) {
                faults.push(format!("approval {id}: {what:?}, and it ran"));
            }
        }
        self.faults.extend(faults);
    }
}
