//! The chat with an agent: the transcript of a test session, and the composer.
//!
//! `transcript` folds the turns' logs into items, `paint` makes rows of an item, `view` draws those that are in sight, `talk`
//! asks and follows the engine, `acts` takes the keys, `compare` asks another model the same.

mod acts;
mod call;
mod compare;
mod composer;
mod export;
mod paint;
mod search;
mod sessions;
mod talk;
#[cfg(test)]
mod tests;
mod transcript;
mod view;

use crate::action::{Action, Context, Info, Need};
use crate::effect::Effect;
use crate::event::{Event, Ms};
use crate::places;
use crate::state::{Ctx, State};
use compare::Compare;
use composer::Composer;
use contract::StudioError;
use contract::ops::test::{AskAnswer, TestEnded, TestSessions, TestTranscript};
use contract::turn::{TurnStatus, Watched};
use contract::wire::Json;
use search::Search;
use sessions::Sessions;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use transcript::{Item, Transcript};

pub use view::View;

/// Typed text is kept at most so long after it was typed, in milliseconds.
const KEEP_MS: Ms = 500;
/// Between two pictures of what shows that the model works.
const BEAT_MS: Ms = 250;

type Reply<T> = contract::Result<Json<T>>;

/// What comes back to the chat.
#[derive(Debug)]
pub enum Msg {
    /// Something of the watched turn; `watch` tells the stream apart from earlier ones.
    Watched {
        /// Which stream.
        watch: u64,
        /// What, or why the stream did not begin.
        what: Box<contract::Result<Watched>>,
    },
    /// The stream ended.
    WatchEnded {
        /// Which stream.
        watch: u64,
    },
    /// The stored transcript.
    Loaded {
        /// For which opening of the chat.
        opening: u64,
        /// It.
        reply: Reply<TestTranscript>,
    },
    /// The sessions with the agent.
    Sessions {
        /// For which opening of the chat.
        opening: u64,
        /// They.
        reply: Reply<TestSessions>,
    },
    /// A turn was stopped, taken up again, or a call of it was settled.
    Turn {
        /// For which opening of the chat.
        opening: u64,
        /// What was wanted, for the person.
        wanted: &'static str,
        /// Whether the turn is to be taken up again then.
        resume: bool,
        /// Where it stands.
        reply: Box<Reply<AskAnswer>>,
    },
    /// The session was ended, to begin another one.
    MovedOn {
        /// For which opening of the chat.
        opening: u64,
        /// What was said.
        reply: Reply<TestEnded>,
    },
    /// Text of an earlier run that was never sent.
    Kept {
        /// For which agent.
        agent: String,
        /// The text.
        text: Option<String>,
    },
    /// What the person saved in their editor.
    Edited(Result<String, String>),
    /// For a comparison with another model.
    Compare(compare::News),
    /// The transcript for the files.
    Export {
        /// Of which agent.
        agent: String,
        /// It.
        reply: Reply<TestTranscript>,
    },
}

fn event(msg: Msg) -> Event {
    Event::Place(places::Msg::Chat(msg))
}

/// What has the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Focus {
    #[default]
    Composer,
    Transcript,
    Search,
    Sessions,
    Compare,
}

/// Where the window over the transcript stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Scroll {
    /// At the end, and stays there.
    #[default]
    Follow,
    /// At a row of an item, counted from it: may be before or behind it until the next frame.
    At { item: usize, line: i64 },
    /// Where the nth place found in an item is.
    Reveal { item: usize, nth: usize },
}

/// The window over the transcript. Only drawing knows how high items are, so it brings the window into bounds and notes what is
/// in sight; nothing else is changed while drawing.
#[derive(Clone, Copy, Debug, Default)]
struct Port {
    scroll: Scroll,
    /// The row at the upper edge on the last frame.
    top: (usize, usize),
    /// Items in sight on the last frame, the last one included.
    sight: (usize, usize),
    /// Rows.
    height: usize,
    /// How many items there were when the end was last in sight.
    seen: usize,
    /// Whether motion is reduced.
    still: bool,
}

/// The place.
#[derive(Default)]
pub struct Place {
    agent: Option<String>,
    session: Option<String>,
    /// Whether the session's agent has changed since the session began.
    stale: bool,
    version: Option<i64>,
    transcript: Transcript,
    composer: Composer,
    /// What is sent when the turn ends.
    queue: VecDeque<String>,
    focus: Focus,
    selected: Option<usize>,
    port: Cell<Port>,
    search: Search,
    sessions: Sessions,
    compare: Option<Compare>,
    /// Counts comparisons.
    comparisons: u64,
    /// Sessions of comparisons that were closed before their turn was known.
    closing: HashMap<u64, compare::Session>,
    loading: bool,
    /// Why nothing could be read.
    fault: Option<StudioError>,
    /// Counts openings, so that late answers for another chat are told apart.
    opening: u64,
    /// Counts streams.
    watch: u64,
    /// An ask is on its way and has no turn yet.
    asked: bool,
    /// The person wants it stopped as soon as it has one.
    stop: bool,
    /// When the turn is taken up again whose stream broke, and how long was waited for that.
    again: Option<(Ms, Ms)>,
    drafts: HashMap<String, String>,
    /// When typed text is to be kept, and when it last was.
    keep_at: Option<Ms>,
    kept_at: Ms,
    /// When the composer was cleared: the same key again quits.
    cleared_at: Option<Ms>,
    beat: Option<Ms>,
    began: Ms,
    now: Ms,
    /// The code block that was copied last, counted from the end of its item.
    code: Option<(u64, usize)>,
}

impl Place {
    /// Contexts, innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        match self.focus {
            Focus::Composer => vec![Context::Composer, Context::Text],
            Focus::Transcript => vec![Context::Chat],
            Focus::Search | Focus::Sessions => vec![Context::Layer],
            Focus::Compare => vec![Context::Compare, Context::Reading, Context::Layer],
        }
    }

    /// Whether letters are typed.
    pub fn wants_text(&self) -> bool {
        matches!(self.focus, Focus::Composer | Focus::Search)
    }

    /// The word for an action in the footer.
    pub fn label(&self, info: &Info) -> &'static str {
        match info.action {
            // The same key stops what runs, and leaves when nothing does.
            Action::Interrupt if !self.is_busy() => "back",
            _ => info.label,
        }
    }

    /// Whether there is what an action needs.
    pub fn has(&self, need: Need, state: &State) -> bool {
        match need {
            Need::Words | Need::Editable => !self.composer.is_empty(),
            Need::Said => !self.transcript.items().is_empty(),
            Need::Question => self.question().is_some(),
            Need::Answered => self.question().is_some_and(|(item, _)| !self.is_unanswered(item)),
            Need::Answer => self.copyable().is_some(),
            Need::Code => self.with_code().is_some(),
            Need::Folded => self.target(Item::folds).is_some(),
            Need::Hits => !self.search.query.is_empty(),
            Need::Session => self.session.is_some(),
            Need::Unknown => (0..self.transcript.items().len()).any(|at| self.transcript.unknown_call(at).is_some()),
            Need::Away => self.port.get().scroll != Scroll::Follow || self.selected.is_some(),
            Need::Narrow => !compare::is_wide(state.size.0),
            Need::Choice => match self.focus {
                Focus::Sessions => !self.sessions.rows().is_empty(),
                focus => focus != Focus::Compare,
            },
            _ => true,
        }
    }

    /// Opens the chat with an agent.
    pub fn open(&mut self, agent: String, session: Option<String>, ctx: &mut Ctx<'_>) {
        self.focus = Focus::Composer;
        let here = self.agent.as_ref() == Some(&agent);
        if here && (session.is_none() || session == self.session) && self.fault.is_none() {
            return;
        }
        self.leave(ctx);
        if !here {
            let text = self.drafts.remove(&agent);
            self.composer = Composer::default();
            match text {
                Some(text) => self.composer.set(&text),
                None => ctx.effects.push(ask_kept(agent.clone())),
            }
        }
        self.agent = Some(agent);
        self.session = session;
        self.load(ctx);
    }

    /// Lets go of what is shown; what is typed or queued stays the agent's draft.
    fn leave(&mut self, ctx: &mut Ctx<'_>) {
        self.end_comparison(ctx);
        self.queue_back();
        if let Some(text) = self.transcript.take_back().filter(|_| self.asked) {
            // Whether the engine has these words cannot be known any more; the transcript will show it.
            self.composer.put_back(&text);
        }
        self.keep(ctx);
        if let Some(agent) = self.agent.clone() {
            if self.composer.is_empty() {
                self.drafts.remove(&agent);
            } else {
                self.drafts.insert(agent, self.composer.text());
            }
        }
        if self.is_busy() {
            ctx.effects.push(Effect::Unwatch { key: talk::WATCH.into() });
        }
        self.watch += 1;
        (self.asked, self.stop, self.again) = (false, false, None);
    }

    /// The place is on screen.
    pub fn enter(&mut self, ctx: &mut Ctx<'_>) {
        self.now = ctx.now;
        if self.agent.is_some() && !self.loading {
            self.ask_sessions(ctx);
        }
        self.beat = None;
        self.tick(ctx);
    }

    /// A time has come. Says whether something changed on screen.
    pub fn tick(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.now = ctx.now;
        if self.keep_at.is_some_and(|at| at <= ctx.now) {
            self.keep(ctx);
        }
        if self.again.is_some_and(|(at, _)| at <= ctx.now) {
            self.follow_open(ctx);
        }
        // While the server is away nobody knows whether anything works.
        if !self.works() || self.port.get().still || !ctx.connected {
            return self.beat.take().is_some();
        }
        match self.beat {
            Some(at) if at > ctx.now => false,
            _ => {
                self.beat = Some(ctx.now + BEAT_MS);
                ctx.effects.push(Effect::Wake(ctx.now + BEAT_MS));
                true
            }
        }
    }

    /// Whether a turn is open, or about to be.
    fn is_busy(&self) -> bool {
        self.asked || self.transcript.open_turn().is_some()
    }

    /// Whether the model or a tool works now: a turn that waits for people does not.
    fn works(&self) -> bool {
        self.asked || self.transcript.open_turn().is_some_and(|turn| turn.status == TurnStatus::Running)
    }

    /// Whether something is typed or queued that was not sent.
    pub fn is_unsaved(&self) -> bool {
        !self.composer.is_empty() || !self.queue.is_empty()
    }

    fn unsent(&self) -> Option<String> {
        let typed = Some(self.composer.text()).filter(|_| !self.composer.is_empty());
        let all: Vec<String> = self.queue.iter().cloned().chain(typed).collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }

    /// Keeps what is typed, so that it survives a crash.
    pub fn keep(&mut self, ctx: &mut Ctx<'_>) {
        self.keep_at = None;
        if let Some(agent) = &self.agent {
            self.kept_at = ctx.now;
            ctx.effects.push(Effect::KeepUnsaved { key: key(agent), text: self.unsent() });
        }
    }

    /// The text changed: it is kept soon, and a burst of keys costs one write.
    fn typed(&mut self, ctx: &mut Ctx<'_>) {
        if self.keep_at.is_none() {
            let at = (self.kept_at + KEEP_MS).max(ctx.now);
            if at == ctx.now {
                self.keep(ctx);
            } else {
                self.keep_at = Some(at);
                ctx.effects.push(Effect::Wake(at));
            }
        }
    }

    /// What was queued goes back to the composer.
    fn queue_back(&mut self) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let queued: Vec<String> = self.queue.drain(..).collect();
        self.composer.put_back(&queued.join("\n\n"));
        true
    }

    /// Reads again what is shown.
    pub fn refresh(&mut self, ctx: &mut Ctx<'_>) {
        if self.agent.is_some() && !self.is_busy() {
            self.load(ctx);
        }
    }
}

/// The name under which unsent text is kept.
fn key(agent: &str) -> String {
    format!("chat-{agent}")
}

fn ask_kept(agent: String) -> Effect {
    Effect::ReadKept { key: key(&agent), then: Box::new(move |text| event(Msg::Kept { agent, text })) }
}
