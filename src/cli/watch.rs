//! Watching a turn to its end: words as they come, questions to people, Ctrl-C.

use super::approvals::fields;
use super::ctx::Ctx;
use super::exit::{Exit, Failure, Outcome, usage};
use super::table::lines;
use contract::chat::Block;
use contract::ops::approvals::GetApproval;
use contract::ops::common::IdPath;
use contract::ops::test::AskAnswer;
use contract::ops::turns::{GetTurn, InterruptTurn};
use contract::turn::{TurnEvent, TurnStatus, Watched};
use contract::wire::{Events, Json, NoBody, NoQuery};
use futures_util::StreamExt as _;
use std::collections::BTreeSet;
use tokio::signal::unix::{SignalKind, signal};

/// What a watcher has seen.
pub(super) struct Watcher<'a> {
    ctx: &'a Ctx,
    /// Id of the turn, once it is known.
    turn: Option<String>,
    /// What of the model's current answer has been shown piece by piece.
    shown: String,
    /// Whether pieces of it may have been missed: what is lacking is shown when it is whole.
    missed: bool,
    /// Whether the last piece ended in the middle of a line.
    mid_line: bool,
    /// Approvals and calls that have been told.
    told: BTreeSet<String>,
    /// Whether the turn waits for people now.
    waiting: bool,
    /// Why the model could not answer, as it was told last; the end of the turn says it again.
    cause: Option<String>,
}

/// Watches a turn until it ends; with `no_wait` until it needs a person.
pub async fn watch(ctx: &Ctx, events: Events<Watched>, no_wait: bool) -> Outcome {
    let mut watcher = Watcher::new(ctx);
    let Events(mut stream) = events;
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut interrupted = false;
    loop {
        tokio::select! {
            next = stream.next() => {
                let Some((_, seen)) = next else { break };
                watcher.see(seen).await?;
                if no_wait && watcher.waiting {
                    break;
                }
            }
            _ = interrupts.recv() => {
                if interrupted || !watcher.interrupt() {
                    return Ok(Exit::Failed);
                }
                interrupted = true;
            }
        }
    }
    drop(stream);
    watcher.end().await
}

/// Says how a turn stands and ends with its exit code.
pub async fn finish(ctx: &Ctx, turn: &str, words: bool) -> Outcome {
    let Json(answer) = ctx.call::<GetTurn>(IdPath { id: turn.to_owned() }, NoQuery, NoBody).await?;
    if ctx.out.is_json() {
        ctx.out.json(&answer)?;
    } else if words && !answer.response.is_empty() {
        ctx.out.line(&answer.response)?;
    }
    Ok(standing(ctx, &answer))
}

/// The exit code of a turn, with a word about what is to be done.
fn standing(ctx: &Ctx, answer: &AskAnswer) -> Exit {
    let note = |text: String| {
        if !ctx.out.is_json() {
            ctx.out.note(&text);
        }
    };
    match answer.status {
        TurnStatus::Done => Exit::Done,
        TurnStatus::Waiting => {
            note(format!(
                "The turn waits for a person. Go on with: {} ask --resume {} --agent {}",
                ctx.way,
                super::reach::shell_word(&answer.session),
                answer.agent_name
            ));
            Exit::Waiting
        }
        TurnStatus::Running => {
            note(format!("The turn is still running. Watch it with: {} turns watch {}", ctx.way, answer.turn));
            Exit::Failed
        }
        TurnStatus::Interrupted => {
            note("The turn was interrupted.".to_owned());
            Exit::Failed
        }
        TurnStatus::Failed => Exit::Failed,
    }
}

impl<'a> Watcher<'a> {
    /// A watcher who has seen nothing yet.
    pub fn new(ctx: &'a Ctx) -> Self {
        Self {
            ctx,
            turn: None,
            shown: String::new(),
            missed: false,
            mid_line: false,
            told: BTreeSet::new(),
            waiting: false,
            cause: None,
        }
    }
}

impl Watcher<'_> {
    /// Id of the turn, once it is known.
    pub fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    /// Tells what was seen.
    pub async fn see(&mut self, seen: Watched) -> Result<(), Failure> {
        match seen {
            // Told again, it begins a new connection.
            Watched::Turn { turn, .. } => self.missed = self.turn.replace(turn).is_some(),
            Watched::Text { text } => {
                self.waiting = false;
                if !self.missed {
                    self.shown.push_str(&text);
                    self.say(&text)?;
                }
            }
            Watched::Reasoning { .. } => {}
            Watched::Event { entry } => {
                self.waiting = false;
                self.event(entry.event)?;
            }
            Watched::Waiting { approvals, unknown } => {
                self.waiting = !approvals.is_empty() || !unknown.is_empty();
                for id in approvals {
                    self.approval(id).await?;
                }
                for ordinal in unknown {
                    self.unknown(ordinal);
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, event: TurnEvent) -> Result<(), Failure> {
        match event {
            TurnEvent::ModelAsked { .. } => {
                if !self.shown.is_empty() {
                    // An attempt that came to nothing: what stands there is not the answer.
                    self.end_line()?;
                    self.tell("the answer begins anew");
                }
                self.fresh();
            }
            TurnEvent::ModelReplied { blocks, .. } => {
                let text = |block| if let Block::Text { text } = block { Some(text) } else { None };
                let whole: String = blocks.into_iter().filter_map(text).collect();
                // What was shown piece by piece is not shown again, unless something else was shown.
                match whole.strip_prefix(self.shown.as_str()) {
                    Some(rest) => self.say(rest)?,
                    None => {
                        self.end_line()?;
                        self.say(&whole)?;
                    }
                }
                self.fresh();
                self.end_line()?;
            }
            TurnEvent::ModelFailed { message, .. } => {
                self.tell(&format!("the model could not answer: {message}"));
                self.cause = Some(message);
            }
            TurnEvent::CallRefused { ordinal, message, .. } => self.tell(&format!("call {ordinal} refused: {message}")),
            TurnEvent::CallChecked { ordinal, tool, .. } => self.tell(&format!("call {ordinal}: {tool}")),
            TurnEvent::CallEnded { ordinal, result } => match result.error {
                Some(error) => self.tell(&format!("call {ordinal} failed: {error}")),
                None => self.tell(&format!("call {ordinal} done")),
            },
            TurnEvent::ApprovalSettled { ordinal, how, .. } => {
                use contract::turn::NotApproved;
                let what = match how {
                    NotApproved::Rejected { reason: Some(reason) } => format!("rejected: {reason}"),
                    NotApproved::Rejected { reason: None } => "rejected".to_owned(),
                    NotApproved::Expired => "nobody answered in time".to_owned(),
                    NotApproved::Withdrawn => "withdrawn".to_owned(),
                    NotApproved::Void { reason } => format!("approved, but not run: {reason}"),
                };
                self.tell(&format!("call {ordinal}: {what}"));
            }
            TurnEvent::Interrupted { by } => self.tell(&format!("interrupted by {by}")),
            // The end says which limit, in words.
            TurnEvent::LimitHit { .. } => {}
            TurnEvent::Ended { status, text }
                if status != TurnStatus::Done
                    && !text.is_empty()
                    && self.cause.as_ref().is_none_or(|cause| !text.contains(cause.as_str())) =>
            {
                self.tell(&text);
            }
            _ => {}
        }
        Ok(())
    }

    /// Another answer begins, and all of it is seen.
    fn fresh(&mut self) {
        self.shown.clear();
        self.missed = false;
    }

    /// Shows a piece of the answer.
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        if !self.ctx.out.is_json() && !text.is_empty() {
            self.ctx.out.piece(text)?;
            self.mid_line = !text.ends_with('\n');
        }
        Ok(())
    }

    /// Ends the line in which the answer is.
    pub fn end_line(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.mid_line) {
            self.ctx.out.piece("\n")?;
        }
        Ok(())
    }

    /// Tells the person something beside the answer. One line: words of a tool or a provider must not look like ours.
    fn tell(&self, text: &str) {
        if !self.ctx.out.is_json() {
            self.ctx.out.note(&format!("· {}", text::Safe::clean(text.trim_end())));
        }
    }

    /// Shows what is asked, once.
    async fn approval(&mut self, id: String) -> Result<(), Failure> {
        if self.ctx.out.is_json() || !self.told.insert(id.clone()) {
            return Ok(());
        }
        self.end_line()?;
        let Json(view) = self.ctx.call::<GetApproval>(IdPath { id }, NoQuery, NoBody).await?;
        let out = &self.ctx.out;
        out.note("\nA person has to approve this call:");
        for line in lines(&fields(&view)) {
            out.note(&format!("  {line}"));
        }
        let who =
            if view.may_decide { "approve in another terminal" } else { "somebody who may decide it approves with" };
        out.note(&format!("{who}: {} approvals approve {}", self.ctx.way, view.id));
        out.note(&format!("or reject: {} approvals reject {} --reason TEXT", self.ctx.way, view.id));
        Ok(())
    }

    /// Tells of a call whose outcome is unknown, once.
    pub fn unknown(&mut self, ordinal: u32) {
        let turn = self.turn.clone().unwrap_or_default();
        if self.told.insert(format!("{turn}/{ordinal}")) {
            self.tell(&format!(
                "call {ordinal} had started when its process ended; nobody knows whether it ran, and it is not run again. Say what became of it: {} turns settle {turn} {ordinal} --ran yes|no",
                self.ctx.way
            ));
        }
    }

    /// Asks for the end of the turn; answers whether there was one to end.
    pub fn interrupt(&self) -> bool {
        let Some(turn) = self.turn.clone() else { return false };
        self.tell("interrupting; Ctrl-C again leaves at once");
        let client = self.ctx.client.clone();
        // Beside the stream, so that a second Ctrl-C is heard while this one is served.
        tokio::spawn(async move {
            let request = client::Request { path: IdPath { id: turn }, query: NoQuery, body: NoBody };
            if let Err(error) = client.call::<InterruptTurn>(request).await {
                tracing::warn!(code = %error.code, "the turn could not be interrupted");
            }
        });
        true
    }

    async fn end(mut self) -> Outcome {
        self.end_line()?;
        match self.turn.take() {
            Some(turn) => finish(self.ctx, &turn, false).await,
            None => Err(usage("The turn ended before it began.")),
        }
    }
}
