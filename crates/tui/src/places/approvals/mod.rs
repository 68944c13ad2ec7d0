//! The inbox: approvals that wait for the caller, over all agents and sessions, and those that were answered. It reads them at
//! the start and whenever the home changes, tells the person of new ones, and opens their dialogs one after another.

pub mod dialog;
mod list;
#[cfg(test)]
pub(crate) mod tests;

pub use list::View;

use crate::action::{Action, Context, Need};
use crate::effect::{self, Effect};
use crate::event::{Event, Input, Ms, What};
use crate::layers::{Layer, Layers};
use crate::places::{self, Go};
use crate::state::{Ctx, State};
use crate::widgets::Line as LineInput;
use contract::Micros;
use contract::ops::approvals::{
    ApprovalList, ApprovalStatus, ApprovalView, ApprovalsQuery, Decision, GetApproval, ListApprovals, ReaskApproval,
};
use contract::ops::common::IdPath;
use contract::ops::turns::ResumeTurn;
use contract::wire::{NoBody, NoPath, NoQuery};
use crossterm::event::MouseEventKind;
use dialog::{Dialog, News};
use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use text::Safe;

/// How often ages and times left are worked out again while the inbox is on screen, in milliseconds.
const MINUTE: Ms = 60_000;

/// A message for the inbox.
#[derive(Debug)]
pub enum Msg {
    /// The approvals that are pending.
    Waiting {
        /// When, by this machine's clock.
        at: Micros,
        /// Which.
        reply: contract::Result<ApprovalList>,
    },
    /// All approvals.
    All(contract::Result<ApprovalList>),
    /// One approval, to be shown.
    Show(contract::Result<ApprovalView>),
    /// The answer to a decision.
    Decided {
        /// On which approval.
        id: String,
        /// Which.
        decision: Decision,
        /// What came of it.
        reply: contract::Result<ApprovalView>,
    },
    /// The answer to asking again.
    Reasked(contract::Result<ApprovalView>),
}

/// The inbox.
#[derive(Default)]
pub struct Place {
    /// Pending ones, newest first; none = not read yet.
    waiting: Option<Vec<ApprovalView>>,
    /// All of them, while they are shown.
    all: Option<Vec<ApprovalView>>,
    show_all: bool,
    error: Option<Safe<'static>>,
    /// Id of the selected row, and where it was, for when it goes.
    selected: (String, usize),
    filter: LineInput,
    filtering: bool,
    /// Pending ones that the person was told of.
    told: BTreeSet<String>,
    /// New ones whose dialog has not been opened, oldest first.
    queue: VecDeque<String>,
    /// This machine's clock at a time of ours.
    clock: Option<(Ms, Micros)>,
    /// The same, as of an answer: its time of ours comes with the next tick.
    read_at: Option<Micros>,
    due: Ms,
    titled: usize,
    /// Rows on the last frame, for pages.
    rows: Cell<usize>,
}

/// Reads what is pending.
fn read_waiting() -> Effect {
    let query = ApprovalsQuery { status: Some(ApprovalStatus::Pending), ..ApprovalsQuery::default() };
    effect::call::<ListApprovals>(NoPath {}, query, NoBody, |reply| {
        Event::Place(places::Msg::Approvals(Msg::Waiting { at: Micros::now(), reply: reply.map(|json| json.0) }))
    })
}

fn read_all() -> Effect {
    effect::call::<ListApprovals>(NoPath {}, ApprovalsQuery::default(), NoBody, |reply| {
        Event::Place(places::Msg::Approvals(Msg::All(reply.map(|json| json.0))))
    })
}

/// Reads an approval for its open dialog.
fn read_one(id: &str) -> Effect {
    let id = id.to_owned();
    effect::call::<GetApproval>(IdPath { id: id.clone() }, NoQuery, NoBody, move |reply| {
        let what = News::Read { at: Micros::now(), reply: reply.map(|json| json.0) };
        Event::Layer(crate::layers::Msg::Dialog(dialog::Msg { id, what }))
    })
}

/// Reads an approval and opens its dialog; for a chat that shows a call which waits.
pub fn show(id: &str) -> Effect {
    effect::call::<GetApproval>(IdPath { id: id.to_owned() }, NoQuery, NoBody, |reply| {
        Event::Place(places::Msg::Approvals(Msg::Show(reply.map(|json| json.0))))
    })
}

/// Whether it can be asked again.
fn may_reask(approval: &ApprovalView) -> bool {
    matches!(approval.status, ApprovalStatus::Expired | ApprovalStatus::Void) && approval.replaced_by.is_none()
}

impl Place {
    /// Contexts of the inbox.
    pub fn contexts(&self) -> Vec<Context> {
        if self.filtering { vec![Context::Layer] } else { vec![Context::Approvals, Context::List] }
    }

    /// Whether the filter is being typed.
    pub fn wants_text(&self) -> bool {
        self.filtering
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, _: &State) -> bool {
        let shown = self.shown();
        let current = shown.get(self.index(&shown));
        match need {
            Need::Rows | Need::Filter => current.is_some() || !self.filter.text().is_empty(),
            Need::Row => current.is_some(),
            Need::Reaskable => current.is_some_and(|approval| may_reask(approval)),
            _ => true,
        }
    }

    /// The inbox is on screen now.
    pub fn enter(&mut self, ctx: &mut Ctx<'_>) {
        self.watch(ctx);
    }

    /// Reads everything that is shown.
    pub fn refresh(&mut self, ctx: &mut Ctx<'_>) {
        self.watch(ctx);
    }

    /// Reads what is pending; at the start, and whenever the home changed.
    pub fn watch(&mut self, ctx: &mut Ctx<'_>) {
        ctx.effects.push(read_waiting());
        if self.show_all {
            ctx.effects.push(read_all());
        }
    }

    /// Ids of the pending ones that the caller may decide, newest first.
    pub fn pending(&self) -> Vec<String> {
        self.decidable().map(|approval| approval.id.clone()).collect()
    }

    fn decidable(&self) -> impl Iterator<Item = &ApprovalView> {
        self.waiting.iter().flatten().filter(|approval| approval.may_decide)
    }

    /// What the list shows: pending ones first, each kind newest first.
    fn shown(&self) -> Vec<&ApprovalView> {
        let query = self.filter.text().to_lowercase();
        let matches = |approval: &&ApprovalView| {
            let arguments = approval.arguments();
            let fields = [&approval.tool, &approval.agent, &approval.requested_by, &approval.session, &arguments];
            query.split_whitespace().all(|word| fields.iter().any(|field| field.to_lowercase().contains(word)))
        };
        let waiting = self.waiting.iter().flatten();
        let answered = self.all.iter().flatten().filter(|approval| approval.status != ApprovalStatus::Pending);
        waiting.chain(answered.filter(|_| self.show_all)).filter(matches).collect()
    }

    /// Where the selection is among the shown.
    fn index(&self, shown: &[&ApprovalView]) -> usize {
        let found = shown.iter().position(|approval| approval.id == self.selected.0);
        found.unwrap_or(self.selected.1).min(shown.len().saturating_sub(1))
    }

    fn current(&self) -> Option<ApprovalView> {
        let shown = self.shown();
        shown.get(self.index(&shown)).map(|approval| (*approval).clone())
    }

    fn select(&mut self, to: impl FnOnce(usize, usize) -> usize) {
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        let index = to(self.index(&shown), last).min(last);
        self.selected = (shown.get(index).map(|approval| approval.id.clone()).unwrap_or_default(), index);
    }

    /// Takes an action.
    pub fn act(&mut self, action: Action, _: &Input, ctx: &mut Ctx<'_>) {
        let page = self.rows.get().max(2) - 1;
        match action {
            Action::Up | Action::LayerUp => self.select(|at, _| at.saturating_sub(1)),
            Action::Down | Action::LayerDown => self.select(|at, _| at + 1),
            Action::PageUp => self.select(|at, _| at.saturating_sub(page)),
            Action::PageDown => self.select(|at, _| at + page),
            Action::First => self.select(|_, _| 0),
            Action::Last => self.select(|_, last| last),
            Action::Filter => self.filtering = true,
            Action::LayerEnter => self.filtering = false,
            Action::LayerClose => {
                self.filtering = false;
                self.filter.clear();
            }
            Action::Refresh => self.refresh(ctx),
            Action::ShowDecided => {
                self.show_all = !self.show_all;
                self.watch(ctx);
            }
            Action::LeaveApprovals => *ctx.go = Some(Go::Back),
            _ => {
                if let Some(current) = self.current() {
                    self.act_on(current, action, ctx);
                }
            }
        }
    }

    fn act_on(&mut self, current: ApprovalView, action: Action, ctx: &mut Ctx<'_>) {
        match action {
            Action::OpenApproval | Action::Open => {
                self.queue.retain(|id| *id != current.id);
                ctx.open.push(Layer::Approval(Box::new(Dialog::new(current))));
            }
            Action::GoToChat => *ctx.go = Some(Go::Chat { agent: current.agent, session: Some(current.session) }),
            Action::Reask => match (current.status, &current.replaced_by) {
                (_, Some(_)) => ctx.complain("This one was asked again already."),
                (ApprovalStatus::Expired | ApprovalStatus::Void, None) => {
                    ctx.effects.push(effect::call::<ReaskApproval>(
                        IdPath { id: current.id },
                        NoQuery,
                        NoBody,
                        |reply| Event::Place(places::Msg::Approvals(Msg::Reasked(reply.map(|json| json.0)))),
                    ));
                }
                (other, None) => {
                    ctx.complain(format!(
                        "Only an expired or void approval is asked again; this one is {}.",
                        other.as_str()
                    ));
                }
            },
            _ => {}
        }
    }

    /// Takes typing into the filter, and the wheel.
    pub fn input(&mut self, input: &Input, _: &mut Ctx<'_>) {
        match &input.what {
            What::Key(key) if self.filtering => _ = self.filter.key(key),
            What::Paste(text) if self.filtering => _ = self.filter.paste(text),
            What::Mouse(mouse) if mouse.kind == MouseEventKind::ScrollDown => self.select(|at, _| at + 3),
            What::Mouse(mouse) if mouse.kind == MouseEventKind::ScrollUp => self.select(|at, _| at.saturating_sub(3)),
            _ => {}
        }
    }

    /// A time has come while the inbox is on screen. Says whether something changed.
    pub fn tick(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let settled = self.read_at.take().map(|at| self.clock = Some((ctx.now, at))).is_some();
        if !settled && ctx.now < self.due {
            return false;
        }
        self.due = ctx.now + MINUTE;
        if self.shown().is_empty() {
            return settled;
        }
        ctx.effects.push(Effect::Wake(self.due));
        let now = list::wall(self.clock, ctx.now);
        if !settled && self.waiting.iter().flatten().any(|approval| now.is_some_and(|now| approval.expires_at <= now)) {
            self.watch(ctx);
        }
        if let Some(now) = now {
            self.clock = Some((ctx.now, now));
        }
        true
    }

    /// Takes a message.
    pub fn update(&mut self, msg: Msg, layers: &mut Layers, ctx: &mut Ctx<'_>) {
        match msg {
            Msg::Waiting { at, reply } => {
                self.error = reply.as_ref().err().map(|error| Safe::clean(&error.message).into_owned());
                if let Ok(list) = reply {
                    self.read_at = Some(at);
                    ctx.effects.push(Effect::Wake(ctx.now));
                    self.take_waiting(list.approvals, layers, ctx);
                }
            }
            Msg::All(Ok(list)) => self.all = Some(list.approvals),
            Msg::All(Err(error)) => self.error = Some(Safe::clean(&error.message).into_owned()),
            Msg::Show(Ok(approval)) => {
                self.queue.retain(|id| *id != approval.id);
                ctx.open.push(Layer::Approval(Box::new(Dialog::new(approval))));
            }
            Msg::Show(Err(error)) => ctx.complain(&error.message),
            Msg::Decided { id, decision, reply } => self.decided(id, decision, reply, layers, ctx),
            Msg::Reasked(Ok(approval)) => {
                ctx.tell(format!("Asked again: {}.", approval.tool));
                self.watch(ctx);
            }
            Msg::Reasked(Err(error)) => ctx.complain(&error.message),
        }
    }

    fn take_waiting(&mut self, now: Vec<ApprovalView>, layers: &mut Layers, ctx: &mut Ctx<'_>) {
        let first = self.waiting.is_none();
        let before = self.waiting.replace(now).unwrap_or_default();
        let pending: BTreeSet<String> = self.pending().into_iter().collect();
        for gone in before.iter().filter(|old| !self.waiting.iter().flatten().any(|new| new.id == old.id)) {
            ctx.effects.push(dialog::drop_kept(&gone.id));
            // Somebody answered it, or nobody did: its dialog finds out how.
            if layers.dialog(&gone.id).is_some() {
                ctx.effects.push(read_one(&gone.id));
            }
        }
        self.queue.retain(|id| pending.contains(id));
        let new: Vec<ApprovalView> =
            self.decidable().filter(|approval| !self.told.contains(&approval.id)).cloned().collect();
        self.told = pending;
        // What waited before the workbench began is told by the badge; only what comes up now interrupts.
        if !first && let Some(newest) = new.first() {
            self.queue.extend(new.iter().rev().map(|approval| approval.id.clone()));
            ctx.effects.push(Effect::Notice(match new.len() {
                1 => format!("{} asks to run {}", newest.agent, newest.tool),
                more => format!("{more} calls wait for your approval"),
            }));
        }
        self.mark_title(ctx);
        self.open_next(layers, ctx);
    }

    fn mark_title(&mut self, ctx: &mut Ctx<'_>) {
        let count = self.decidable().count();
        if count != self.titled {
            self.titled = count;
            ctx.effects.push(Effect::Title(if count == 0 { "astudio".into() } else { format!("({count}) astudio") }));
        }
    }

    /// Opens the dialog of the next new one, unless something else lies on top.
    fn open_next(&mut self, layers: &Layers, ctx: &mut Ctx<'_>) {
        if layers.is_open() || !ctx.open.is_empty() {
            return;
        }
        while let Some(id) = self.queue.pop_front() {
            if let Some(approval) = self.decidable().find(|approval| approval.id == id) {
                ctx.open.push(Layer::Approval(Box::new(Dialog::new(approval.clone()))));
                return;
            }
        }
    }

    fn decided(
        &mut self,
        id: String,
        decision: Decision,
        reply: contract::Result<ApprovalView>,
        layers: &mut Layers,
        ctx: &mut Ctx<'_>,
    ) {
        let name =
            self.waiting.iter().flatten().find(|approval| approval.id == id).map(|approval| approval.tool.clone());
        let name = name.unwrap_or_else(|| "the call".to_owned());
        let open = layers.dialog(&id).is_some();
        // The process in which the call waited may be gone; then this one goes on with the turn. A server does so itself.
        if let Ok(view) = &reply
            && !ctx.on_server
            && ctx.me.is_some_and(|me| me.user_id == view.requested_by)
        {
            let path = IdPath { id: view.turn.clone() };
            ctx.effects.push(effect::call::<ResumeTurn>(path, NoQuery, NoBody, |_| Event::Rung));
        }
        match &reply {
            Ok(_) => ctx.tell(match decision {
                Decision::Approve => format!("Approved: {name}."),
                Decision::Reject => format!("Rejected: {name}."),
            }),
            // Its dialog was left meanwhile.
            Err(error) if !open => ctx.complain(&error.message),
            Err(_) => {}
        }
        if reply.is_ok() {
            ctx.effects.push(dialog::drop_kept(&id));
            if let Some(waiting) = &mut self.waiting {
                waiting.retain(|approval| approval.id != id);
                self.mark_title(ctx);
            }
        }
        let news = dialog::Msg { id: id.clone(), what: News::Decided(reply) };
        if layers.dialog(&id).is_some_and(|dialog| dialog.update(news, ctx)) {
            layers.close_dialog(&id);
        }
        self.watch(ctx);
        self.open_next(layers, ctx);
    }
}
