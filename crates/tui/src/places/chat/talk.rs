//! How the chat talks to the engine: asks, follows turns that are open, takes them up again, stops them, reads sessions.

use super::{Focus, Msg, Place, Scroll, event, export};
use crate::effect::{Effect, call};
use crate::event::{Event, Ms};
use crate::places::Go;
use crate::state::Ctx;
use client::{Client, Engine, Request, Serve};
use contract::ops::common::{AfterQuery, IdPath, NamePath};
use contract::ops::test::{AskBody, AskStream, EndTest, ListTestSessions, SessionQuery, TestTranscript, Transcript};
use contract::ops::turns::{CallPath, InterruptTurn, ResumeTurn, SettleBody, SettleCall, TurnEvents};
use contract::turn::{TurnEvent, TurnStatus, Watched};
use contract::wire::{Events, NoBody, NoQuery};
use contract::{Code, Operation, StudioError};
use futures_util::stream::{self, BoxStream, StreamExt};

/// The chat watches one turn at a time.
pub(super) const WATCH: &str = "chat";
/// How long to wait before a broken stream is taken up again, at first and at most.
const AGAIN_MS: (Ms, Ms) = (1_000, 30_000);

/// A stream of a turn as events. Its end is told too.
pub(super) fn stream<O>(
    client: Client,
    path: O::Path,
    query: O::Query,
    body: O::Body,
    tell: impl Fn(contract::Result<Watched>) -> Event + Clone + Send + 'static,
    end: Event,
) -> BoxStream<'static, Event>
where
    O: Operation<Reply = Events<Watched>>,
    O::Path: Send,
    Engine: Serve<O>,
{
    let asked = async move { client.call::<O>(Request { path, query, body }).await };
    stream::once(asked)
        .flat_map(move |reply| {
            let tell = tell.clone();
            match reply {
                Ok(Events(events)) => events.map(move |(_, what)| tell(Ok(what))).boxed(),
                Err(error) => stream::iter([tell(Err(error))]).boxed(),
            }
        })
        .chain(stream::once(async move { end }))
        .boxed()
}

/// The same, watched as the turn of the chat.
fn watch<O>(watch: u64, path: O::Path, query: O::Query, body: O::Body) -> Effect
where
    O: Operation<Reply = Events<Watched>>,
    O::Path: Send,
    Engine: Serve<O>,
{
    let tell = move |what| event(Msg::Watched { watch, what: Box::new(what) });
    let run = move |client: Client| stream::<O>(client, path, query, body, tell, event(Msg::WatchEnded { watch }));
    Effect::Watch { key: WATCH.into(), run: Box::new(run) }
}

/// Stops a turn.
pub(super) fn stop(opening: u64, id: String) -> Effect {
    call::<InterruptTurn>(IdPath { id }, NoQuery, NoBody, move |reply| {
        event(Msg::Turn { opening, wanted: "The turn could not be stopped", resume: false, reply: Box::new(reply) })
    })
}

impl Place {
    fn agent_path(&self) -> Option<NamePath> {
        self.agent.clone().map(|name| NamePath { name })
    }

    fn session_query(&self) -> SessionQuery {
        SessionQuery { session: self.session.clone() }
    }

    /// Reads the session's transcript anew.
    pub(super) fn load(&mut self, ctx: &mut Ctx<'_>) {
        let Some(path) = self.agent_path() else { return };
        self.opening += 1;
        let opening = self.opening;
        self.transcript.clear();
        self.search.end();
        (self.loading, self.fault, self.selected, self.stale, self.version) = (true, None, None, false, None);
        self.scroll_to(Scroll::Follow);
        ctx.effects.push(call::<Transcript>(path, self.session_query(), NoBody, move |reply| {
            event(Msg::Loaded { opening, reply })
        }));
    }

    /// Reads the sessions: for the list, and to see whether the agent has changed.
    pub(super) fn ask_sessions(&mut self, ctx: &mut Ctx<'_>) {
        let Some(path) = self.agent_path() else { return };
        let opening = self.opening;
        ctx.effects.push(call::<ListTestSessions>(path, NoQuery, NoBody, move |reply| {
            event(Msg::Sessions { opening, reply })
        }));
    }

    /// Sends a text, or queues it while a turn is open.
    pub(super) fn send(&mut self, text: String, ctx: &mut Ctx<'_>) {
        if self.is_busy() || self.loading {
            self.queue.push_back(text);
        } else {
            self.ask(text, ctx);
        }
        self.keep(ctx);
    }

    fn ask(&mut self, text: String, ctx: &mut Ctx<'_>) {
        let Some(path) = self.agent_path() else { return };
        self.watch += 1;
        (self.asked, self.stop, self.again, self.fault) = (true, false, None, None);
        (self.began, self.now) = (ctx.now, ctx.now);
        self.transcript.begin(text.clone(), ctx.now);
        self.selected = None;
        self.scroll_to(Scroll::Follow);
        let body = AskBody { query: text, use_byok: true, session: self.session.clone(), ..AskBody::default() };
        ctx.effects.push(watch::<AskStream>(self.watch, path, SessionQuery::default(), body));
        self.tick(ctx);
    }

    /// Follows the turn that is open, and sees that somebody drives it.
    pub(super) fn follow_open(&mut self, ctx: &mut Ctx<'_>) {
        let Some(id) = self.open_id() else {
            self.again = None;
            return;
        };
        let waited = self.again.map_or(0, |(_, waited)| waited);
        self.transcript.stop_clock();
        // Counts as broken until something comes.
        self.again = Some((Ms::MAX, waited));
        self.watch += 1;
        (self.began, self.now) = (ctx.now, ctx.now);
        ctx.effects.push(watch::<TurnEvents>(self.watch, IdPath { id: id.clone() }, AfterQuery::default(), NoBody));
        self.resume(id, ctx);
    }

    fn open_id(&self) -> Option<String> {
        self.transcript.open_turn()?.id.clone()
    }

    fn resume(&self, id: String, ctx: &mut Ctx<'_>) {
        let opening = self.opening;
        ctx.effects.push(call::<ResumeTurn>(IdPath { id }, NoQuery, NoBody, move |reply| {
            event(Msg::Turn {
                opening,
                wanted: "The turn could not be taken up again",
                resume: false,
                reply: Box::new(reply),
            })
        }));
    }

    /// Stops the open turn, as soon as it has an id.
    pub(super) fn interrupt(&mut self, ctx: &mut Ctx<'_>) {
        match self.open_id() {
            Some(id) => {
                self.stop = false;
                ctx.effects.push(stop(self.opening, id));
            }
            None => self.stop = self.asked,
        }
    }

    /// What says what became of a call whose outcome is unknown.
    pub(super) fn settling(
        &self,
        item: usize,
        ran: bool,
    ) -> Option<(String, impl FnOnce(&mut Ctx<'_>) + Send + 'static)> {
        let call_item = self.transcript.unknown_call(item)?;
        let id = self.transcript.turn_id(item)?.to_owned();
        let (tool, ordinal, opening) = (call_item.tool.clone(), call_item.ordinal.to_string(), self.opening);
        let then = move |ctx: &mut Ctx<'_>| {
            let body = SettleBody { ran, note: None };
            ctx.effects.push(call::<SettleCall>(CallPath { id, ordinal }, NoQuery, body, move |reply| {
                event(Msg::Turn {
                    opening,
                    wanted: "The call could not be settled",
                    resume: true,
                    reply: Box::new(reply),
                })
            }));
        };
        Some((tool, then))
    }

    /// What ends the session, to begin one on the agent's current version.
    pub(super) fn moving_on(&self) -> Option<impl FnOnce(&mut Ctx<'_>) + Send + 'static> {
        let (path, query, opening) = (self.agent_path()?, self.session_query(), self.opening);
        Some(move |ctx: &mut Ctx<'_>| {
            ctx.effects.push(call::<EndTest>(path, query, NoBody, move |reply| event(Msg::MovedOn { opening, reply })));
        })
    }

    /// Reads the transcript for the files.
    pub(super) fn export(&mut self, ctx: &mut Ctx<'_>) {
        let Some(path) = self.agent_path().filter(|_| !self.transcript.items().is_empty()) else {
            return ctx.complain("There is nothing to export yet.");
        };
        let agent = path.name.clone();
        ctx.effects.push(call::<Transcript>(path, self.session_query(), NoBody, move |reply| {
            event(Msg::Export { agent, reply })
        }));
    }

    /// Takes what came back.
    pub fn update(&mut self, msg: Msg, on_screen: bool, ctx: &mut Ctx<'_>) {
        self.now = ctx.now;
        match msg {
            Msg::Watched { watch, what } if watch == self.watch => self.watched(*what, on_screen, ctx),
            Msg::WatchEnded { watch } if watch == self.watch => self.watch_ended(ctx),
            Msg::Loaded { opening, reply } if opening == self.opening => self.loaded(reply.map(|json| json.0), ctx),
            Msg::Sessions { opening, reply } if opening == self.opening => {
                match &reply {
                    Ok(json) => {
                        let own = json.0.sessions.iter().find(|one| self.session.as_ref() == Some(&one.session));
                        self.stale = own.is_some_and(|one| one.stale);
                        self.version = own.map(|one| one.agent_version);
                    }
                    Err(error) if error.code == Code::NotFound => self.fault = Some(error.clone()),
                    Err(_) => {}
                }
                let list = reply
                    .map(|json| json.0.sessions.into_iter().filter(|one| !one.is_comparison()).collect::<Vec<_>>());
                self.sessions.list = Some(list);
                self.sessions.step(0);
            }
            Msg::Turn { opening, wanted, resume, reply } if opening == self.opening => match *reply {
                Ok(answer) => {
                    self.stale = answer.0.stale;
                    if resume {
                        self.resume(answer.0.turn, ctx);
                    }
                }
                Err(error) => self.transcript.fail(format!("{wanted}: {}", error.message)),
            },
            Msg::MovedOn { opening, reply } if opening == self.opening => match reply {
                Ok(json) => {
                    ctx.tell(json.0.message);
                    self.leave(ctx);
                    self.session = None;
                    self.load(ctx);
                }
                Err(error) => ctx.complain(error.message),
            },
            Msg::Kept { agent, text: Some(text) }
                if self.agent.as_ref() == Some(&agent) && self.composer.is_empty() =>
            {
                self.composer.set(&text);
                ctx.tell("What you had written and not sent is back.");
            }
            Msg::Edited(Ok(text)) => {
                self.composer.set(text.trim_end_matches('\n'));
                self.typed(ctx);
            }
            Msg::Edited(Err(why)) => ctx.complain(why),
            Msg::Export { agent, reply } => match reply {
                Ok(json) => write_files(&agent, &json.0, ctx),
                Err(error) => ctx.complain(error.message),
            },
            Msg::Compare(news) => self.compared(news, ctx),
            // Late answers for what is no longer shown.
            _ => {}
        }
    }

    fn loaded(&mut self, reply: contract::Result<TestTranscript>, ctx: &mut Ctx<'_>) {
        self.loading = false;
        match reply {
            Ok(stored) => {
                self.session = Some(stored.session);
                self.transcript.load(stored.turns);
                self.ask_sessions(ctx);
                self.follow_open(ctx);
                self.next_queued(ctx);
            }
            // Nobody has asked yet, or the agent is not there: the list of sessions tells.
            Err(error) if error.code == Code::NotFound => {
                self.ask_sessions(ctx);
                self.next_queued(ctx);
            }
            // A server may keep no transcripts and answer all the same: what was written meanwhile is asked.
            Err(error) => {
                self.fault = Some(error);
                self.next_queued(ctx);
            }
        }
    }

    fn next_queued(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_busy()
            && let Some(text) = self.queue.pop_front()
        {
            self.ask(text, ctx);
            self.keep(ctx);
        }
    }

    fn watched(&mut self, what: contract::Result<Watched>, on_screen: bool, ctx: &mut Ctx<'_>) {
        let what = match what {
            Ok(what) => what,
            Err(error) => return self.refused(error, ctx),
        };
        let (worked, seq) = (self.works(), self.transcript.last_seq());
        self.transcript.watched(&what, ctx.now);
        // What was known already proves nothing about a stream that was taken up again.
        let new = self.transcript.last_seq() != seq;
        if new || matches!(what, Watched::Text { .. } | Watched::Reasoning { .. }) {
            self.again = None;
        }
        match what {
            Watched::Turn { session, .. } => {
                self.session = Some(session);
                self.asked = false;
                if self.stop {
                    self.interrupt(ctx);
                }
            }
            // A log that is read once more, after a break, tells its end once more.
            Watched::Event { entry } if new => {
                if let TurnEvent::Ended { status, .. } = entry.event {
                    self.turn_over(status, on_screen, ctx);
                }
            }
            _ => {}
        }
        if !worked && self.works() {
            self.began = ctx.now;
            self.tick(ctx);
        }
    }

    fn turn_over(&mut self, status: TurnStatus, on_screen: bool, ctx: &mut Ctx<'_>) {
        if let Some(agent) = self.agent.as_ref().filter(|_| !on_screen) {
            ctx.tell(format!("{agent}: the turn is over."));
        }
        self.ask_sessions(ctx);
        if status == TurnStatus::Done {
            self.next_queued(ctx);
        } else if self.queue_back() {
            // What was meant to follow an answer may make no sense without it.
            ctx.tell("What was queued is back in the composer.");
            self.keep(ctx);
        }
    }

    fn refused(&mut self, error: StudioError, ctx: &mut Ctx<'_>) {
        if !self.asked {
            // The stream of an open turn: its end comes next and tries again.
            return ctx.complain(error.message);
        }
        (self.asked, self.stop) = (false, false);
        self.queue_back();
        if let Some(text) = self.transcript.take_back() {
            self.composer.put_back(&text);
        }
        self.keep(ctx);
        if error.code == Code::TurnOpen {
            ctx.complain(&error.message);
            return self.load(ctx);
        }
        self.transcript.fail(format!("{} ({})", error.message, error.code.as_str()));
    }

    fn watch_ended(&mut self, ctx: &mut Ctx<'_>) {
        if std::mem::take(&mut self.asked) {
            // It ended before it began; the words are not lost.
            let text = self.transcript.take_back().unwrap_or_default();
            self.composer.put_back(&text);
            self.transcript.fail("The answer ended before it began.");
            return self.keep(ctx);
        }
        if self.open_id().is_some() {
            let waited = self.again.map_or(0, |(_, waited)| waited * 2).clamp(AGAIN_MS.0, AGAIN_MS.1);
            self.again = Some((ctx.now + waited, waited));
            ctx.effects.push(Effect::Wake(ctx.now + waited));
        }
    }

    /// Goes to another session of the same agent.
    pub(super) fn open_session(&mut self, session: String, ctx: &mut Ctx<'_>) {
        self.focus = Focus::Composer;
        if let Some(agent) = self.agent.clone() {
            *ctx.go = Some(Go::Chat { agent, session: Some(session) });
        }
    }
}

fn write_files(agent: &str, stored: &TestTranscript, ctx: &mut Ctx<'_>) {
    let name = export::file_name(agent, &stored.session);
    ctx.effects.push(Effect::WriteFile { name: format!("{name}.md"), content: export::as_markdown(agent, stored) });
    ctx.effects.push(Effect::WriteFile { name: format!("{name}.json"), content: export::as_json(agent, stored) });
}
