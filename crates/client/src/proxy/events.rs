//! Streams of events that survive broken connections: each is continued after the last event that came, ever more seldom and
//! without an end, until the turn ends, the server refuses, or nobody reads any more.

use super::again::{Again, GOOD};
use super::answer::Answer;
use super::exchange::{Line, Sending};
use bytes::Bytes;
use contract::wire::WireEvent;
use contract::{Code, StudioError};
use eventsource_stream::{Event, EventStream, EventStreamError};
use futures_util::stream::{self, BoxStream, StreamExt as _};
use reqwest::Response;
use reqwest::header::HeaderValue;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

/// How often a stream is opened again that a server ends, in good order and without anything new.
const MOST_ENDS: u32 = 3;

/// Between two tries, even when something else has just worked.
pub(super) const LEAST: Duration = Duration::from_millis(200);

/// Turns kept as wanted.
const MOST_WANTED: usize = 256;

/// Turns that somebody here wants to go on, newest last.
#[derive(Debug, Default)]
pub(super) struct Wanted(Mutex<VecDeque<String>>);

impl Wanted {
    /// This one, too.
    pub fn add(&self, turn: &str) {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|other| other != turn);
        if turns.len() == MOST_WANTED {
            turns.pop_front();
        }
        turns.push_back(turn.to_owned());
    }

    fn has(&self, turn: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|other| other == turn)
    }
}

/// The turn whose log a stream is.
pub(super) struct Turn {
    /// Its id.
    pub id: String,
    /// The request that takes it up again.
    pub resume: Sending,
    /// Whether that is wanted here.
    pub wanted: Arc<Wanted>,
    /// The run of the server that answered last when the stream began.
    pub run: Option<HeaderValue>,
}

/// A stream of events, from its first answer on. The log of a turn has ids that count, and an end.
pub(super) fn follow(
    line: Arc<Line>,
    sending: Sending,
    turn: Option<Turn>,
    first: Response,
) -> BoxStream<'static, WireEvent> {
    let open = Some(Open::new(first, &line));
    events(Following { open, ..Following::new(line, sending, turn) })
}

/// The events of a turn that was begun here, from the first connection on, of which this was told already.
pub(super) fn follow_begun(
    line: Arc<Line>,
    sending: Sending,
    turn: Turn,
    first: Value,
) -> BoxStream<'static, WireEvent> {
    let ready = [WireEvent { id: None, data: first.clone() }].into();
    events(Following { known: Some(first), ready, ..Following::new(line, sending, Some(turn)) })
}

fn events(following: Following) -> BoxStream<'static, WireEvent> {
    stream::unfold(following, |mut following| async move { Some((following.next().await?, following)) }).boxed()
}

struct Following {
    line: Arc<Line>,
    sending: Sending,
    turn: Option<Turn>,
    open: Option<Open>,
    /// Events that wait for whoever reads.
    ready: VecDeque<WireEvent>,
    /// What was told before the stream was opened, and is not told again by its first event.
    known: Option<Value>,
    /// The id of the last event that has one.
    last: String,
    /// Taking the turn up again; given up with the stream.
    resuming: JoinSet<()>,
    again: Again,
    ends: u32,
    over: bool,
}

impl Following {
    fn new(line: Arc<Line>, sending: Sending, turn: Option<Turn>) -> Self {
        Self {
            again: Again::within(line.pace.patience),
            line,
            sending,
            turn,
            open: None,
            ready: VecDeque::new(),
            known: None,
            last: String::new(),
            resuming: JoinSet::new(),
            ends: 0,
            over: false,
        }
    }

    async fn next(&mut self) -> Option<WireEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            match &mut self.open {
                Some(open) => match open.next().await {
                    Some(Ok(event)) => self.take(event),
                    Some(Err(Fault::TooLarge)) => {
                        tracing::warn!("an event of a stream is too large");
                        // It would be as large the next time.
                        self.over = true;
                    }
                    end => {
                        let ended = end.is_none();
                        if let Some(Err(Fault::Broken(why))) = end {
                            tracing::debug!(why, "a stream broke");
                        }
                        if open.was_good() {
                            self.again.reset();
                            self.ends = 0;
                        }
                        self.open = None;
                        self.ends += u32::from(ended);
                        if self.ends > MOST_ENDS {
                            self.over = true;
                        } else {
                            self.rest(!ended).await;
                        }
                    }
                },
                None => self.reopen().await,
            }
        }
    }

    /// Waits before the stream is opened again.
    async fn rest(&mut self, broken: bool) {
        let wait = self.again.next_of_many();
        if !broken {
            sleep(wait).await;
            return;
        }
        self.line.standing.broke(wait);
        sleep(LEAST.min(wait)).await;
        tokio::select! {
            () = sleep(wait.saturating_sub(LEAST)) => {}
            // Somebody else got through.
            () = self.line.standing.restored() => {}
        }
    }

    async fn reopen(&mut self) {
        if !self.last.is_empty() {
            // The place in the address is where the first connection began.
            self.sending.url = without(&self.sending.url, "after");
            self.sending.last = Some(self.last.clone());
        }
        let error = match self.line.exchange(&self.sending, Duration::ZERO).await {
            Ok(Answer::Stream(response)) => {
                self.open = Some(Open::new(response, &self.line));
                self.take_up();
                return;
            }
            Ok(Answer::Whole(whole)) => whole.meaning().err(),
            Err(error) => Some(error),
        };
        match error {
            Some(error) if passes(&error) => {
                tracing::debug!(code = %error.code, error = error.message, "a stream cannot be continued yet");
                self.rest(error.code != Code::RateLimited).await;
            }
            error => {
                tracing::warn!(?error, "a stream cannot be continued");
                self.over = true;
            }
        }
    }

    /// A run of the server that ended has left its turns to whoever wants them: one that is wanted here is taken up again on
    /// the next run.
    fn take_up(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let now = self.line.run();
        let before = std::mem::replace(&mut turn.run, now.clone());
        if before.is_none() || now.is_none() || now == before || !turn.wanted.has(&turn.id) {
            return;
        }
        let (line, resume) = (self.line.clone(), Sending { key: Some(Uuid::new_v4()), ..turn.resume.clone() });
        // It answers when the turn rests, which the stream tells as well.
        self.resuming.spawn(async move {
            let asked = line.exchange(&resume, line.pace.patience).await;
            let refused = asked.and_then(|answer| match answer {
                Answer::Whole(whole) => whole.meaning().map(drop),
                Answer::Stream(_) => Ok(()),
            });
            if let Err(error) = refused {
                tracing::warn!(code = %error.code, error = error.message, "a turn could not be taken up again");
            }
        });
    }

    fn take(&mut self, event: Event) {
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else {
            tracing::warn!("an event of a stream is no JSON");
            return;
        };
        let id = Some(event.id).filter(|id| !id.is_empty());
        if self.turn.is_some() {
            let place = |id: &str| id.parse::<i64>().ok();
            if id.as_deref().and_then(place).is_some_and(|new| place(&self.last).is_some_and(|last| new <= last)) {
                return;
            }
            let entry = data["entry"]["kind"].as_str();
            self.over = data["type"] == "event" && entry == Some("ended");
            if self.known.take_if(|known| *known == data).is_some() {
                return;
            }
        }
        // Which turn it is comes with every connection and proves nothing.
        if self.turn.is_none() || data["type"] != "turn" {
            self.again.reset();
            self.ends = 0;
        }
        if let Some(id) = &id {
            self.last.clone_from(id);
        }
        self.ready.push_back(WireEvent { id, data });
    }
}

/// Whether what stands in the way may pass: the server is away or stops just now, something before it answers in its place, or
/// it wants to be asked less often.
fn passes(error: &StudioError) -> bool {
    match error.code {
        Code::Unavailable | Code::RateLimited => true,
        Code::InternalError => matches!(error.status, 502..=504),
        _ => false,
    }
}

fn without(url: &reqwest::Url, name: &str) -> reqwest::Url {
    let mut url = url.clone();
    let kept: Vec<(String, String)> = url.query_pairs().into_owned().filter(|(key, _)| key != name).collect();
    url.set_query(None);
    if !kept.is_empty() {
        url.query_pairs_mut().extend_pairs(kept);
    }
    url
}

/// Why a connection gives no more events.
#[derive(Debug)]
pub(super) enum Fault {
    /// It broke, in words.
    Broken(String),
    /// It sent more for one event than is taken.
    TooLarge,
}

/// One connection of a stream.
pub(super) struct Open {
    events: BoxStream<'static, Result<Event, Fault>>,
    /// The last id that came on it.
    last: String,
    /// Bytes since the last event.
    bytes: Arc<AtomicUsize>,
    since: Instant,
}

impl Open {
    /// Reads this answer.
    pub fn new(response: Response, line: &Line) -> Self {
        let bytes = Arc::new(AtomicUsize::new(0));
        let pieces = Pieces { response, silence: line.pace.silence, most: line.pace.most, bytes: bytes.clone() };
        let pieces = stream::unfold(Some(pieces), |pieces| async move {
            let mut pieces = pieces?;
            match pieces.next().await {
                Ok(Some(piece)) => Some((Ok(piece), Some(pieces))),
                Ok(None) => None,
                Err(why) => Some((Err(why), None)),
            }
        });
        let events = EventStream::new(pieces).map(|event| {
            event.map_err(|error| match error {
                EventStreamError::Transport(fault) => fault,
                EventStreamError::Utf8(_) | EventStreamError::Parser(_) => {
                    Fault::Broken("it sent what is no stream of events".into())
                }
            })
        });
        Self { events: events.boxed(), last: String::new(), bytes, since: Instant::now() }
    }

    /// Whether the connection has lived so long that its end is a new fault and no part of an old one.
    pub fn was_good(&self) -> bool {
        self.since.elapsed() > GOOD
    }

    /// The next event; none when the server ended the stream in good order. An event that was sent without an id has none.
    pub async fn next(&mut self) -> Option<Result<Event, Fault>> {
        let event = self.events.next().await?;
        self.bytes.store(0, Ordering::Relaxed);
        Some(event.map(|mut event| {
            // The parser repeats the last id for events without one.
            if event.id == self.last {
                event.id.clear();
            } else {
                self.last.clone_from(&event.id);
            }
            event
        }))
    }
}

struct Pieces {
    response: Response,
    silence: Duration,
    most: usize,
    bytes: Arc<AtomicUsize>,
}

impl Pieces {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let piece = timeout(self.silence, self.response.chunk())
            .await
            .map_err(|_| Fault::Broken(format!("nothing came for {} s", self.silence.as_secs())))?
            .map_err(|error| Fault::Broken(super::answer::reason(&error)))?;
        let length = piece.as_ref().map_or(0, Bytes::len);
        if self.bytes.fetch_add(length, Ordering::Relaxed) + length > self.most {
            return Err(Fault::TooLarge);
        }
        Ok(piece)
    }
}
