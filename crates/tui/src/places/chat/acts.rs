//! What keys do in the chat.

use super::transcript::{Item, Kind};
use super::{Focus, Msg, Place, Scroll, event};
use crate::action::Action;
use crate::effect::Effect;
use crate::event::{Input, Ms, What};
use crate::layers::{Confirm, Layer};
use crate::markdown;
use crate::places::Go;
use crate::state::Ctx;
use contract::turn::TurnStatus;
use crossterm::event::MouseEventKind;

/// Within this time the key that cleared the composer quits, in milliseconds.
const QUIT_MS: Ms = 2_000;
/// Rows of a turn of the wheel.
const WHEEL: i64 = 3;

impl Place {
    /// Takes an action.
    pub fn act(&mut self, action: Action, input: &Input, ctx: &mut Ctx<'_>) {
        self.now = ctx.now;
        if action != Action::ClearComposer {
            self.cleared_at = None;
        }
        match self.focus {
            Focus::Composer => self.act_composer(action, ctx),
            Focus::Transcript => self.act_transcript(action, ctx),
            Focus::Search => self.act_search(action, input),
            Focus::Sessions => self.act_sessions(action, ctx),
            Focus::Compare => self.act_compare(action, ctx),
        }
    }

    /// Takes an input that means no action.
    pub fn input(&mut self, input: &Input, ctx: &mut Ctx<'_>) {
        self.now = ctx.now;
        self.cleared_at = None;
        match (&input.what, self.focus) {
            (What::Mouse(mouse), Focus::Compare) => {
                let action = match mouse.kind {
                    MouseEventKind::ScrollUp => Action::ReadUp,
                    MouseEventKind::ScrollDown => Action::ReadDown,
                    _ => return,
                };
                (0..WHEEL).for_each(|_| self.act_compare(action, ctx));
            }
            (What::Mouse(mouse), _) => match mouse.kind {
                MouseEventKind::ScrollUp => self.scroll_by(-WHEEL),
                MouseEventKind::ScrollDown => self.scroll_by(WHEEL),
                _ => {}
            },
            (What::Key(key), Focus::Search) => _ = self.search.line.key(key),
            (What::Paste(text), Focus::Search) => _ = self.search.line.paste(text),
            (What::Key(key), Focus::Composer) if self.composer.key(key) => self.typed(ctx),
            // Text that is pasted is meant for the composer wherever one is.
            (What::Paste(text), Focus::Composer | Focus::Transcript) => {
                self.focus = Focus::Composer;
                self.composer.paste(text);
                self.typed(ctx);
            }
            _ => {}
        }
    }

    fn act_composer(&mut self, action: Action, ctx: &mut Ctx<'_>) {
        let changed = match action {
            Action::Send => {
                if self.composer.is_empty() || self.agent.is_none() {
                    return;
                }
                let text = self.composer.take();
                return self.send(text, ctx);
            }
            Action::NewLine => {
                self.composer.new_line();
                true
            }
            Action::HistoryBack | Action::TextUp => self.composer.up(),
            Action::HistoryForward | Action::TextDown => self.composer.down(),
            Action::ClearComposer => return self.clear(ctx),
            Action::ComposeInEditor => {
                return ctx.effects.push(Effect::Editor {
                    text: self.composer.text(),
                    ending: "md",
                    then: Box::new(|saved| event(Msg::Edited(saved))),
                });
            }
            Action::ToTranscript => {
                self.focus = Focus::Transcript;
                false
            }
            Action::TranscriptUp => return self.scroll_page(-1),
            Action::TranscriptDown => return self.scroll_page(1),
            Action::Interrupt => return self.stop_or_leave(ctx),
            other => self.composer.act(other),
        };
        if changed {
            self.typed(ctx);
        }
    }

    fn clear(&mut self, ctx: &mut Ctx<'_>) {
        if self.cleared_at.is_some_and(|at| ctx.now.saturating_sub(at) <= QUIT_MS) && self.composer.is_empty() {
            self.keep(ctx);
            return ctx.effects.push(Effect::Quit);
        }
        let was_empty = self.composer.is_empty();
        self.composer.take();
        self.cleared_at = Some(ctx.now);
        self.keep(ctx);
        let key = ctx.keymap.hint(Action::ClearComposer);
        let back = ctx.keymap.hint(Action::HistoryBack);
        let said = if was_empty {
            format!("{key} again quits.")
        } else {
            format!("Cleared; {back} brings it back, {key} again quits.")
        };
        ctx.tell_of_key(said, QUIT_MS);
    }

    fn stop_or_leave(&mut self, ctx: &mut Ctx<'_>) {
        if self.works() {
            self.interrupt(ctx);
        } else if self.transcript.open_turn().is_some_and(|turn| turn.status == TurnStatus::Waiting) {
            let Some(id) = self.transcript.open_turn().and_then(|turn| turn.id.clone()) else { return };
            let opening = self.opening;
            ctx.open.push(Layer::Confirm(Confirm::new(
                "Stop the turn",
                "The turn waits for a person. Stopping it takes its open approvals back.",
                None,
                move |ctx| ctx.effects.push(super::talk::stop(opening, id)),
            )));
        } else {
            self.go_back(ctx);
        }
    }

    fn go_back(&mut self, ctx: &mut Ctx<'_>) {
        self.keep(ctx);
        *ctx.go = Some(Go::Back);
    }

    fn act_transcript(&mut self, action: Action, ctx: &mut Ctx<'_>) {
        match action {
            Action::ToComposer => self.focus = Focus::Composer,
            Action::LeaveChat => self.go_back(ctx),
            Action::ScrollUp => self.scroll_by(-1),
            Action::ScrollDown => self.scroll_by(1),
            Action::ScrollPageUp => self.scroll_page(-1),
            Action::ScrollPageDown => self.scroll_page(1),
            Action::ToTop => self.scroll_to(Scroll::At { item: 0, line: 0 }),
            Action::Follow => {
                self.selected = None;
                self.scroll_to(Scroll::Follow);
            }
            Action::NextMark => self.go_to_mark(true),
            Action::PreviousMark => self.go_to_mark(false),
            Action::Fold => {
                if let Some(item) = self.target(Item::folds) {
                    self.selected = Some(item);
                    self.transcript.fold(item, None);
                    // What is unfolded is read from its beginning, not from wherever the end comes to be.
                    let line = i64::try_from(self.port.get().top.1).unwrap_or(0);
                    let (first, _) = self.port.get().sight;
                    self.scroll_to(Scroll::At { item: first, line });
                }
            }
            Action::SearchChat => {
                self.search.line.clear();
                self.focus = Focus::Search;
            }
            Action::NextHit => self.go_to_hit(1),
            Action::PreviousHit => self.go_to_hit(-1),
            Action::CopyMessage => self.copy(ctx),
            Action::CopyCode => self.copy_code(ctx),
            Action::Export => self.export(ctx),
            Action::Sessions => {
                self.sessions.list = None;
                self.sessions.selected = 0;
                self.focus = Focus::Sessions;
                self.ask_sessions(ctx);
            }
            Action::AskAgain => self.ask_again(ctx),
            Action::Compare => self.choose_comparison(ctx),
            Action::MoveOn => self.move_on(ctx),
            Action::CallRan => self.settle(true, ctx),
            Action::CallNotRun => self.settle(false, ctx),
            _ => {}
        }
    }

    fn act_search(&mut self, action: Action, input: &Input) {
        match action {
            Action::LayerEnter => {
                self.focus = Focus::Transcript;
                self.search.begin(&self.transcript);
                if let Some(hit) = self.search.from(self.port.get().sight.0) {
                    self.reveal(hit);
                }
            }
            Action::LayerClose => {
                self.focus = Focus::Transcript;
                self.search.end();
            }
            _ => {
                if let What::Key(key) = &input.what {
                    self.search.line.key(key);
                }
            }
        }
    }

    fn act_sessions(&mut self, action: Action, ctx: &mut Ctx<'_>) {
        match action {
            Action::LayerUp => self.sessions.step(-1),
            Action::LayerDown => self.sessions.step(1),
            Action::LayerClose => self.focus = Focus::Transcript,
            Action::LayerEnter => {
                let chosen = self.sessions.rows().get(self.sessions.selected).map(|session| session.session.clone());
                if let Some(session) = chosen {
                    self.open_session(session, ctx);
                }
            }
            _ => {}
        }
    }

    pub(super) fn scroll_to(&mut self, scroll: Scroll) {
        let port = self.port.get_mut();
        port.scroll = scroll;
    }

    fn scroll_by(&mut self, rows: i64) {
        let port = self.port.get();
        let (item, line) = match port.scroll {
            Scroll::At { item, line } => (item, line),
            Scroll::Follow if rows > 0 => return,
            Scroll::Follow | Scroll::Reveal { .. } => (port.top.0, i64::try_from(port.top.1).unwrap_or(0)),
        };
        self.scroll_to(Scroll::At { item, line: line.saturating_add(rows) });
    }

    fn scroll_page(&mut self, pages: i64) {
        let page = i64::try_from(self.port.get().height.saturating_sub(1).max(1)).unwrap_or(1);
        self.scroll_by(pages * page);
    }

    pub(super) fn in_sight(&self, item: usize) -> bool {
        let (first, last) = self.port.get().sight;
        (first..=last).contains(&item)
    }

    /// The item that a key means: the selected one while it is in sight, else the last of all at the end, else the first in
    /// sight.
    pub(super) fn target(&self, wanted: impl Fn(&Item) -> bool) -> Option<usize> {
        let items = self.transcript.items();
        if let Some(at) = self.selected.filter(|at| self.in_sight(*at) && items.get(*at).is_some_and(&wanted)) {
            return Some(at);
        }
        if self.port.get().scroll == Scroll::Follow {
            return items.iter().rposition(wanted);
        }
        let (first, last) = self.port.get().sight;
        (first..=last).find(|at| items.get(*at).is_some_and(&wanted))
    }

    fn go_to_mark(&mut self, forward: bool) {
        let items = self.transcript.items();
        let port = self.port.get();
        let from = match self.selected.filter(|at| self.in_sight(*at)) {
            Some(at) => at,
            None if port.scroll == Scroll::Follow => items.len(),
            None => port.top.0,
        };
        let found = if forward {
            (from + 1..items.len()).find(|at| items[*at].is_mark())
        } else {
            (0..from.min(items.len())).rev().find(|at| items[*at].is_mark())
        };
        if let Some(item) = found {
            self.selected = Some(item);
            self.scroll_to(Scroll::At { item, line: 0 });
        }
    }

    fn go_to_hit(&mut self, by: isize) {
        if let Some(hit) = self.search.step(by, &self.transcript) {
            self.reveal(hit);
        }
    }

    fn reveal(&mut self, (item, nth): (usize, usize)) {
        self.selected = Some(item);
        // A folded cell may hold it where it cannot be seen.
        self.transcript.fold(item, Some(true));
        self.scroll_to(Scroll::Reveal { item, nth });
    }

    /// What can be copied.
    pub(super) fn copyable(&self) -> Option<&Item> {
        let fits = |item: &Item| match item.kind {
            Kind::End(_) | Kind::Note(_) => false,
            // Without a selection one wants the answer, not what led to it.
            Kind::Reasoning(_) | Kind::Call(_) | Kind::Person(_) | Kind::Failure(_) => self.selected.is_some(),
            Kind::Answer(_) => true,
        };
        self.target(fits).and_then(|at| self.transcript.items().get(at))
    }

    /// An answer with a code block.
    pub(super) fn with_code(&self) -> Option<&Item> {
        let fits = |item: &Item| matches!(&item.kind, Kind::Answer(text) if !markdown::code_blocks(text).is_empty());
        self.target(fits).and_then(|at| self.transcript.items().get(at))
    }

    fn copy(&mut self, ctx: &mut Ctx<'_>) {
        let Some(item) = self.copyable() else {
            return ctx.complain("There is no answer to copy here.");
        };
        let text = match &item.kind {
            Kind::Call(call) => serde_json::to_string_pretty(&call.whole()).unwrap_or_default(),
            _ => item.text().into_owned(),
        };
        ctx.effects.push(Effect::Copy(text));
    }

    /// Copies the last code block of an answer; again, the one before it.
    fn copy_code(&mut self, ctx: &mut Ctx<'_>) {
        let Some(item) = self.with_code() else {
            return ctx.complain("There is no code block here.");
        };
        let blocks = markdown::code_blocks(&item.text());
        let back = match self.code {
            Some((id, back)) if id == item.id => (back + 1) % blocks.len(),
            _ => 0,
        };
        let id = item.id;
        self.code = Some((id, back));
        let at = blocks.len() - 1 - back;
        if blocks.len() > 1 {
            ctx.tell(format!("Code block {} of {}; the key again takes the one before.", at + 1, blocks.len()));
        }
        ctx.effects.push(Effect::Copy(blocks[at].clone()));
    }

    fn move_on(&mut self, ctx: &mut Ctx<'_>) {
        let Some(then) = self.moving_on() else { return };
        let question = if self.is_busy() {
            "The session is ended and its open turn is stopped. A new one begins on the agent's current version; the transcript \
             stays in the list of sessions."
        } else {
            "The session is ended. A new one begins on the agent's current version; the transcript stays in the list of sessions."
        };
        ctx.open.push(Layer::Confirm(Confirm::new("Move on", question, None, then)));
    }

    fn settle(&mut self, ran: bool, ctx: &mut Ctx<'_>) {
        let selected = self.selected.filter(|at| self.transcript.unknown_call(*at).is_some());
        let only = || {
            let mut unknown =
                (0..self.transcript.items().len()).filter(|at| self.transcript.unknown_call(*at).is_some());
            unknown.next().filter(|_| unknown.next().is_none())
        };
        // With several of them the person says which.
        let Some((tool, then)) = selected.or_else(only).and_then(|item| self.settling(item, ran)) else {
            return ctx.complain("Select a call whose outcome is unknown first.");
        };
        let (title, what) = if ran { ("It ran", "HAS run") } else { ("It did not run", "has NOT run") };
        let question =
            format!("Say that '{tool}' {what}? The model is told so and goes on from there. It cannot be taken back.");
        ctx.open.push(Layer::Confirm(Confirm::new(title, question, None, then)));
    }
}
