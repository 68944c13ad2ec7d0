//! The dialog of one approval: everything a person must see before a host write runs, and the only place from which it is
//! allowed to run. No key that was meant for something else gets through ([`guard`]); approving takes moving the focus to
//! Approve and Enter, rejecting a reason line and Enter, and both a quiet keyboard before that Enter.

mod edit;
mod ending;
mod face;
pub mod guard;
mod kept;
mod news;
mod rows;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod tests;

pub(super) use ending::time_left;
pub use face::View;
pub(super) use kept::drop_kept;

use super::{Msg as PlaceMsg, read_one, read_waiting};
use crate::action::{Action, Context, Info, Need};
use crate::effect::{self, Effect};
use crate::event::{Event, Input, Ms, What};
use crate::keymap::Key;
use crate::layers::Done;
use crate::places;
use crate::state::{Ctx, State};
use crate::widgets::Line as LineInput;
use contract::Micros;
use contract::ops::approvals::{ApprovalView, DecideApproval, Decision, DecisionBody};
use contract::ops::common::IdPath;
use contract::wire::NoQuery;
use crossterm::event::{KeyCode, KeyEvent, MouseEventKind};
use edit::Editor;
use ending::ended;
use guard::{Guard, Verdict};
use serde_json::Value;
use std::cell::Cell;
use text::Safe;

/// How long an Enter is taken for the one that opened the reason line, still held, in milliseconds.
const HELD_MS: Ms = 1_000;
/// When an approval whose time is over, but which the server still calls pending, is looked at again.
const LOOK_AGAIN_MS: Ms = 5_000;

/// A message for the dialog of an approval.
#[derive(Debug)]
pub struct Msg {
    /// The approval.
    pub id: String,
    /// What it is.
    pub what: News,
}

/// What a dialog is told.
#[derive(Debug)]
pub enum News {
    /// The approval was read again.
    Read {
        /// When, by this machine's clock.
        at: Micros,
        /// What it is now.
        reply: contract::Result<ApprovalView>,
    },
    /// The answer to a decision.
    Decided(contract::Result<ApprovalView>),
    /// What was kept of changed arguments.
    Kept(Option<String>),
}

/// What has the focus. It begins on the text, where Enter does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Focus {
    Text,
    Approve,
    Reject,
    Edit,
    Leave,
}

/// What the keys are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Look,
    Reason,
    Edit,
}

/// What the last frame showed of the rows. Written by drawing: only what was on screen counts as seen.
#[derive(Clone, Copy, Debug)]
struct Shown {
    first: usize,
    rows: usize,
    total: usize,
    width: u16,
}

/// The dialog of one approval.
pub struct Dialog {
    view: ApprovalView,
    guard: Guard,
    focus: Focus,
    mode: Mode,
    reason: LineInput,
    /// Whether the reason line was opened by Enter and nothing was typed since.
    reason_by_enter: bool,
    editor: Option<Editor>,
    edited: Option<Value>,
    /// Whether what was kept has been asked for.
    asked_kept: bool,
    /// Whether something is kept.
    was_kept: bool,
    /// When what is typed is to be kept.
    keep_at: Option<Ms>,
    /// Counts what changes the rows.
    revision: u32,
    scroll: usize,
    /// Rows from the top that were all on screen.
    seen_to: usize,
    seen_end: bool,
    seen_width: u16,
    shown: Cell<Option<Shown>>,
    /// Whether the frame that is written out now holds the dialog.
    painted: Cell<bool>,
    /// This machine's clock at a time of ours.
    clock: Option<(Ms, Micros)>,
    count: String,
    count_due: Ms,
    /// The decision that is on its way; controls are off meanwhile.
    sent: Option<DecisionBody>,
    note: Option<Safe<'static>>,
    /// How it ended, when it is no longer open.
    over: Option<Safe<'static>>,
    /// Whether it was over when it was opened: then it is for reading.
    history: bool,
    changed: bool,
}

impl Dialog {
    /// The dialog of an approval, pending or not.
    pub fn new(view: ApprovalView) -> Self {
        let over = ended(&view);
        Self {
            guard: Guard::default(),
            focus: Focus::Text,
            mode: Mode::Look,
            reason: LineInput::default(),
            reason_by_enter: false,
            editor: None,
            edited: None,
            asked_kept: false,
            was_kept: false,
            keep_at: None,
            revision: 0,
            scroll: 0,
            seen_to: 0,
            seen_end: false,
            seen_width: 0,
            shown: Cell::new(None),
            painted: Cell::new(false),
            clock: None,
            count: String::new(),
            count_due: 0,
            sent: None,
            note: None,
            history: over.is_some(),
            over,
            changed: false,
            view,
        }
    }

    /// The approval.
    pub fn id(&self) -> &str {
        &self.view.id
    }

    /// Contexts whose keys count.
    pub fn contexts(&self) -> Vec<Context> {
        match (self.mode, &self.editor) {
            (Mode::Edit, Some(editor)) => editor.contexts(),
            (Mode::Reason, _) => vec![Context::Layer],
            _ => vec![Context::Dialog],
        }
    }

    /// The word for an action in the footer; empty = it does nothing now.
    pub fn label(&self, info: &Info) -> &'static str {
        match info.action {
            Action::DialogEnter if self.history => "close",
            Action::DialogEnter if self.over.is_some() || !self.view.may_decide => "",
            Action::DialogLeave if self.over.is_some() => "close",
            _ => info.label,
        }
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, _: &State) -> bool {
        match (need, &self.editor) {
            (Need::Decide, _) => self.over.is_none() && self.view.may_decide,
            (Need::Arguments, _) => self.view.editable,
            (Need::Choices, Some(editor)) => editor.has_choices(),
            _ => true,
        }
    }

    /// The decision that is on its way.
    pub fn in_flight(&self) -> Option<&DecisionBody> {
        self.sent.as_ref()
    }

    /// Why nothing can be decided here now; none = it can.
    fn asleep(&self) -> Option<&'static str> {
        if self.sent.is_some() {
            Some("The answer is on its way…")
        } else if !self.guard.looks_awake() {
            Some("Asleep: wakes when the keyboard is quiet.")
        } else if !self.view.may_decide {
            Some("Somebody else decides this; see the rule.")
        } else {
            None
        }
    }

    /// Takes an input.
    pub fn input(&mut self, input: &Input, action: Option<Action>, quiet: Ms, ctx: &mut Ctx<'_>) -> Done {
        match self.guard.input(input.at, quiet) {
            Verdict::Awake => {}
            Verdict::Asleep(wake) => {
                ctx.effects.extend(wake.map(Effect::Wake));
                return Done::Stay;
            }
            Verdict::Hidden(wake) => {
                self.focus = Focus::Text;
                ctx.effects.push(Effect::Wake(wake));
                return Done::Stay;
            }
        }
        if self.over.is_some() && !(self.history && self.scrolls(input, action)) {
            let close = match (&input.what, self.history) {
                (What::Key(_), false) => true,
                (What::Key(_), true) => matches!(action, Some(Action::DialogLeave | Action::DialogEnter)),
                _ => false,
            };
            return if close { self.leave(ctx) } else { Done::Stay };
        }
        self.note = None;
        match self.mode {
            Mode::Look => self.look(input, action, quiet, ctx),
            Mode::Reason => self.type_reason(input, action, quiet, ctx),
            Mode::Edit => {
                self.edit(input, action, ctx);
                Done::Stay
            }
        }
    }

    /// Scrolls if that is what the input means.
    fn scrolls(&mut self, input: &Input, action: Option<Action>) -> bool {
        let page = self.shown.get().map_or(1, |shown| shown.rows.saturating_sub(1).max(1));
        let pages = matches!(&input.what, What::Key(key) if matches!(key.code, KeyCode::PageDown | KeyCode::PageUp));
        let step = if pages { page } else { 1 };
        let (down, step) = match (action, &input.what) {
            (Some(Action::DialogDown | Action::LayerDown), _) => (true, step),
            (Some(Action::DialogUp | Action::LayerUp), _) => (false, step),
            (_, What::Mouse(mouse)) if mouse.kind == MouseEventKind::ScrollDown => (true, 3),
            (_, What::Mouse(mouse)) if mouse.kind == MouseEventKind::ScrollUp => (false, 3),
            _ => return false,
        };
        let Some(shown) = self.shown.get() else { return true };
        let most = shown.total.saturating_sub(shown.rows);
        let from = self.scroll.min(most);
        self.scroll = if down {
            // Not past what was on screen: a burst of keys between two frames must not skip rows.
            let seen = if self.seen_end { most } else { self.seen_to };
            (from + step).min(most).min(seen.max(from))
        } else {
            from.saturating_sub(step)
        };
        true
    }

    fn look(&mut self, input: &Input, action: Option<Action>, quiet: Ms, ctx: &mut Ctx<'_>) -> Done {
        if self.scrolls(input, action) {
            return Done::Stay;
        }
        let What::Key(key) = &input.what else { return Done::Stay };
        match action {
            Some(Action::DialogLeave) => return self.leave(ctx),
            _ if self.sent.is_some() => {}
            Some(Action::DialogNext) => self.step(true),
            Some(Action::DialogPrevious) => self.step(false),
            Some(Action::DialogReject) => self.open_reason(false),
            Some(Action::DialogEdit) => self.open_editor(),
            Some(Action::DialogEnter) => match self.focus {
                Focus::Text => self.say("Tab moves the focus to Approve."),
                Focus::Approve => self.approve(key, quiet, ctx),
                Focus::Reject => self.open_reason(true),
                Focus::Edit => self.open_editor(),
                Focus::Leave => return self.leave(ctx),
            },
            _ => {}
        }
        Done::Stay
    }

    fn step(&mut self, forward: bool) {
        const ORDER: [Focus; 5] = [Focus::Text, Focus::Approve, Focus::Reject, Focus::Edit, Focus::Leave];
        let at = ORDER.iter().position(|focus| *focus == self.focus).unwrap_or(0);
        self.focus = ORDER[(at + if forward { 1 } else { ORDER.len() - 1 }) % ORDER.len()];
    }

    fn say(&mut self, text: &str) {
        self.note = Some(Safe::clean(text).into_owned());
    }

    fn approve(&mut self, key: &KeyEvent, quiet: Ms, ctx: &mut Ctx<'_>) {
        if !self.view.may_decide {
            return;
        }
        if !self.seen_end {
            return self.say("Approve is asleep: scroll to the end first.");
        }
        if !self.guard.is_deliberate(key, quiet) {
            return self.say("That Enter came too quickly after another key. Pause, then press it again.");
        }
        self.decide(DecisionBody { decision: Decision::Approve, args: self.edited.clone(), reason: None }, ctx);
    }

    fn open_reason(&mut self, by_enter: bool) {
        if self.view.may_decide {
            self.mode = Mode::Reason;
            self.reason_by_enter = by_enter;
        }
    }

    fn type_reason(&mut self, input: &Input, action: Option<Action>, quiet: Ms, ctx: &mut Ctx<'_>) -> Done {
        let writes = matches!(&input.what, What::Key(key) if Key::from(*key).is_text());
        match (&input.what, action.filter(|_| !writes)) {
            (_, Some(Action::LayerClose)) if self.sent.is_some() => return self.leave(ctx),
            _ if self.sent.is_some() => {}
            (_, Some(Action::LayerClose)) => self.mode = Mode::Look,
            (What::Key(key), Some(Action::LayerEnter)) => {
                let held = self.reason_by_enter && quiet < HELD_MS;
                if held || !self.guard.is_deliberate(key, quiet) {
                    self.say("That Enter came too quickly after another key. Pause, then press it again.");
                    return Done::Stay;
                }
                let reason = self.reason.text().trim().to_owned();
                let reason = (!reason.is_empty()).then_some(reason);
                self.decide(DecisionBody { decision: Decision::Reject, args: None, reason }, ctx);
            }
            (What::Key(key), None) => {
                self.reason_by_enter = false;
                self.reason.key(key);
            }
            (What::Paste(text), _) => {
                self.reason_by_enter = false;
                self.reason.paste(text);
            }
            _ => _ = self.scrolls(input, action),
        }
        Done::Stay
    }

    fn open_editor(&mut self) {
        if !self.view.may_decide {
            return;
        }
        if !self.view.editable {
            return self.say("The arguments of this tool cannot be changed.");
        }
        let args = self.edited.as_ref().unwrap_or(&self.view.args);
        // An editor that was left keeps what was typed in it.
        self.editor.get_or_insert_with(|| Editor::new(&self.view.schema, args));
        self.mode = Mode::Edit;
    }

    fn edit(&mut self, input: &Input, action: Option<Action>, ctx: &mut Ctx<'_>) {
        let Some(editor) = &mut self.editor else {
            self.mode = Mode::Look;
            return;
        };
        let writes = matches!(&input.what, What::Key(key) if Key::from(*key).is_text());
        match action {
            Some(Action::Back) => {
                self.mode = Mode::Look;
                self.keep(ctx);
            }
            Some(Action::Save) => {
                if let Some(args) = editor.take() {
                    self.edited = (args != self.view.args).then_some(args);
                    self.mode = Mode::Look;
                    self.focus = Focus::Text;
                    self.unsee();
                    self.keep(ctx);
                }
            }
            _ => {
                if editor.input(input, action, writes) {
                    self.typed(ctx);
                }
            }
        }
    }

    /// Closes, and looks whether another one waits.
    fn leave(&mut self, ctx: &mut Ctx<'_>) -> Done {
        self.keep(ctx);
        ctx.effects.push(read_waiting());
        Done::Close
    }

    /// What is shown is new: it must be seen to its end again.
    fn unsee(&mut self) {
        self.revision += 1;
        self.scroll = 0;
        self.seen_to = 0;
        self.seen_end = false;
    }

    fn decide(&mut self, body: DecisionBody, ctx: &mut Ctx<'_>) {
        let (id, decision) = (self.view.id.clone(), body.decision);
        self.sent = Some(body.clone());
        ctx.effects.push(effect::call::<DecideApproval>(IdPath { id: id.clone() }, NoQuery, body, move |reply| {
            Event::Place(places::Msg::Approvals(PlaceMsg::Decided { id, decision, reply: reply.map(|json| json.0) }))
        }));
    }

    /// A frame with this dialog on top was written out.
    pub fn drawn(&mut self, at: Ms, effects: &mut Vec<Effect>) {
        if !self.painted.take() {
            // The screen is too small for it: nobody decides what is not on screen.
            self.guard.rearm();
            self.focus = Focus::Text;
            return;
        }
        if let Some(wake) = self.guard.drawn(at) {
            effects.push(Effect::Wake(wake));
            if self.over.is_none() {
                effects.push(read_one(&self.view.id));
            }
            self.ask_kept(effects);
        }
        if let Some(shown) = self.shown.get()
            && self.see(shown)
        {
            self.changed = true;
            effects.push(Effect::Wake(at));
        }
        if self.clock.is_some() && self.over.is_none() && self.count_due <= at {
            effects.push(Effect::Wake(at));
        }
    }

    /// Notes what was on screen. Says whether that changes what can be done.
    fn see(&mut self, shown: Shown) -> bool {
        if self.seen_end {
            return false;
        }
        if self.seen_width != shown.width {
            // Rows of another width are other rows.
            let again = self.seen_width != 0 && shown.first > 0;
            self.seen_width = shown.width;
            self.seen_to = 0;
            if again {
                self.scroll = 0;
                return true;
            }
        }
        if shown.first <= self.seen_to {
            self.seen_to = self.seen_to.max(shown.first + shown.rows);
        }
        self.seen_end = self.seen_to >= shown.total;
        self.seen_end
    }
}
