//! A turn from its beginning to its end, heard and answered line by line.

use super::Plain;
use super::input::Typed;
use super::question::{Question, Said};
use crate::cli::exit::Failure;
use crate::cli::watch::{Watcher, finish};
use contract::ops::common::{AfterQuery, IdPath};
use contract::ops::turns::{ResumeTurn, TurnEvents};
use contract::turn::{TurnEvent, Watched};
use contract::wire::{Events, NoBody, NoQuery};
use futures_util::StreamExt as _;
use std::collections::{BTreeSet, VecDeque};

/// How listening ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With the turn.
    Over,
    /// The person went on with something else; the turn waits.
    Left,
    /// Nobody is there to answer; the turn waits.
    Alone,
}

impl Plain<'_> {
    /// Takes a turn up again, and listens.
    pub async fn follow(&mut self, turn: &str) -> Result<Ended, Failure> {
        let path = || IdPath { id: turn.to_owned() };
        let events = self.ctx.call::<TurnEvents>(path(), AfterQuery::default(), NoBody).await?;
        let (client, path) = (self.ctx.client.clone(), path());
        // Answers only when the turn rests, which is heard of anyway; what it refuses ends the listening.
        let mut resumed = tokio::spawn(async move {
            client.call::<ResumeTurn>(client::Request { path, query: NoQuery, body: NoBody }).await
        });
        let refused = async {
            match (&mut resumed).await {
                Ok(Err(error)) if !self.ctx.is_away(&error) => error,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            error = refused => Err(error.into()),
            ended = self.listen(events) => ended,
        }
    }

    /// Listens to a turn until it ends or the person leaves it.
    pub async fn listen(&mut self, events: Events<Watched>) -> Result<Ended, Failure> {
        let ctx = self.ctx;
        let mut watcher = Watcher::new(ctx);
        let Events(mut stream) = events;
        let mut open: Vec<String> = Vec::new();
        // Those that somebody else decides are told once.
        let mut told: BTreeSet<String> = BTreeSet::new();
        let mut asking: Option<Question> = None;
        let mut later: VecDeque<Typed> = VecDeque::new();
        let mut over = false;
        let ended = loop {
            tokio::select! {
                next = stream.next() => {
                    let Some((_, seen)) = next else { break Ended::Over };
                    over |= matches!(&seen, Watched::Event { entry } if matches!(entry.event, TurnEvent::Ended { .. }));
                    match seen {
                        Watched::Waiting { approvals, unknown } => {
                            watcher.end_line()?;
                            unknown.into_iter().for_each(|ordinal| watcher.unknown(ordinal));
                            open = approvals;
                        }
                        other => watcher.see(other).await?,
                    }
                    if let Some(question) = &asking
                        && !question.is_open(ctx).await?
                    {
                        ctx.out.line("That question is closed; an answer to it does not count any more.")?;
                        asking = None;
                    }
                }
                line = self.input.next(), if !self.deaf => match (line, &asking) {
                    (None, _) => self.deaf = true,
                    (Some(line), Some(question)) => match question.hear(ctx, &line).await? {
                        Said::Nothing => {}
                        Said::Later => break Ended::Left,
                        Said::Closed => {
                            open.retain(|id| id != question.id());
                            asking = None;
                        }
                    },
                    (Some(line), None) => match line.text.trim() {
                        "stop" => _ = watcher.interrupt(),
                        "leave" => break Ended::Left,
                        _ => later.push_back(line),
                    },
                },
                _ = self.interrupts.recv() => {
                    if !watcher.interrupt() {
                        break Ended::Left;
                    }
                }
            }
            while asking.is_none()
                && let Some(id) = open.iter().find(|id| !told.contains(*id)).cloned()
            {
                // What was typed while the model worked was not typed for this.
                let dropped = std::mem::take(&mut later);
                self.input.keep(dropped);
                told.insert(id.clone());
                asking = Question::ask(ctx, &mut self.input, &id).await?;
            }
            if self.deaf && !open.is_empty() {
                ctx.out.line("Nobody is here to answer. It stays open.")?;
                break Ended::Alone;
            }
        };
        watcher.end_line()?;
        self.input.keep(later);
        // It can be watched no longer and has not ended: how it stands is looked up and told.
        if let Some(turn) = watcher.turn().filter(|_| ended == Ended::Over && !over) {
            finish(ctx, turn, true).await?;
        }
        Ok(ended)
    }
}
