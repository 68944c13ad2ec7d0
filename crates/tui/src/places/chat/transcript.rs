//! The transcript: what was said and done, as a list of items. A fold over the log of the session's turns; what passes by
//! between two entries is shown at the end of the list until the entry that holds it whole takes its place.

use super::call::{Call, CallState};
use crate::event::Ms;
use contract::Micros;
use contract::chat::{Block, Finish, Usage};
use contract::ops::test::TranscriptTurn;
use contract::turn::{Limit, LoggedEvent, PlannedCall, TurnEvent, TurnStatus, Watched};
use std::borrow::Cow;

/// What an item is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The person's words.
    Person(String),
    /// The model's words.
    Answer(String),
    /// The model's reasoning.
    Reasoning(String),
    /// A call of a tool.
    Call(Box<Call>),
    /// Something that went wrong, as it was told.
    Failure(String),
    /// Something worth knowing.
    Note(String),
    /// The end of a turn.
    End(Box<End>),
}

/// What a turn took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct End {
    /// How it ended.
    pub status: Option<TurnStatus>,
    /// Tokens.
    pub usage: Usage,
    /// From the question to the model until the first piece of its text came, in milliseconds; known only where the words
    /// were sent from. What people and tools took before that question is no time of the model.
    pub first_ms: Option<Ms>,
    /// From the beginning to the end, in milliseconds.
    pub total_ms: Option<i64>,
}

/// A piece of the transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Never used twice.
    pub id: u64,
    /// Counts its changes.
    pub version: u32,
    /// Unfolded.
    pub open: bool,
    /// Still being written.
    pub growing: bool,
    /// Place of its turn.
    pub turn: usize,
    /// What it is.
    pub kind: Kind,
}

impl Item {
    /// All its text: what a search looks at.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.kind {
            Kind::Person(text)
            | Kind::Answer(text)
            | Kind::Reasoning(text)
            | Kind::Failure(text)
            | Kind::Note(text) => Cow::Borrowed(text),
            Kind::Call(call) => {
                let outcome = call.outcome().map(|outcome| outcome.to_string()).unwrap_or_default();
                Cow::Owned(format!("{} {} {} {outcome}", call.tool, call.args, call.words()))
            }
            Kind::End(_) => Cow::Borrowed(""),
        }
    }

    /// Whether jump marks stop here.
    pub fn is_mark(&self) -> bool {
        matches!(self.kind, Kind::Person(_) | Kind::Call(_) | Kind::Failure(_))
    }

    /// Whether it can be folded.
    pub fn folds(&self) -> bool {
        matches!(self.kind, Kind::Call(_) | Kind::Reasoning(_))
    }

    fn change(&mut self) {
        self.version = self.version.wrapping_add(1);
    }
}

/// A turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Its id, once the engine has said it.
    pub id: Option<String>,
    /// Where it stands.
    pub status: TurnStatus,
    last_seq: i64,
    first_item: usize,
    usage: Usage,
    cut: u32,
    started: Option<Micros>,
    /// When the model was asked last, as far as it was seen from here.
    sent: Option<Ms>,
    first_ms: Option<Ms>,
    spoke: bool,
    model: String,
    version: Option<i64>,
}

/// The transcript.
#[derive(Debug, Default)]
pub struct Transcript {
    items: Vec<Item>,
    turns: Vec<Turn>,
    next_id: u64,
    /// Where the items begin that only pass by.
    passing: Option<usize>,
    /// Counts changes of any kind.
    revision: u64,
}

impl Transcript {
    /// The items, oldest first.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Counts changes.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// From now on events come late: when the model was asked cannot be seen any more.
    pub fn stop_clock(&mut self) {
        self.turns.iter_mut().for_each(|turn| turn.sent = None);
    }

    /// The last turn if it is not over.
    pub fn open_turn(&self) -> Option<&Turn> {
        self.turns.last().filter(|turn| !turn.status.is_over())
    }

    /// How far the log of the last turn was read.
    pub fn last_seq(&self) -> i64 {
        self.turns.last().map_or(0, |turn| turn.last_seq)
    }

    /// The id of an item's turn.
    pub fn turn_id(&self, item: usize) -> Option<&str> {
        self.turns.get(self.items.get(item)?.turn)?.id.as_deref()
    }

    /// The model that a turn asked; empty = it is not known.
    pub fn model_of(&self, turn: usize) -> &str {
        self.turns.get(turn).map_or("", |turn| turn.model.as_str())
    }

    /// The version of the agent that a turn runs on, once the log has said it.
    pub fn version_of(&self, turn: usize) -> Option<i64> {
        self.turns.get(turn)?.version
    }

    /// Forgets everything; ids go on counting.
    pub fn clear(&mut self) {
        *self = Self { next_id: self.next_id, revision: self.revision + 1, ..Self::default() };
    }

    /// Takes a stored transcript in the place of all.
    pub fn load(&mut self, turns: Vec<TranscriptTurn>) {
        self.clear();
        for stored in turns {
            self.push_turn(Some(stored.turn), None);
            for entry in &stored.events {
                self.entry(entry);
            }
            if let Some(turn) = self.turns.last_mut() {
                turn.status = stored.status;
            }
        }
    }

    /// The person's words, before the engine has answered.
    pub fn begin(&mut self, text: String, now: Ms) {
        self.push_turn(None, Some(now));
        self.push(Kind::Person(text));
    }

    /// Takes back a turn that never began; answers its words.
    pub fn take_back(&mut self) -> Option<String> {
        let turn = self.turns.pop_if(|turn| turn.id.is_none())?;
        self.revision += 1;
        self.passing = None;
        let mut items = self.items.split_off(turn.first_item);
        match items.first_mut().map(|item| &mut item.kind) {
            Some(Kind::Person(text)) => Some(std::mem::take(text)),
            _ => None,
        }
    }

    /// Shows something that went wrong outside any turn's log; the same thing again is not shown twice in a row.
    pub fn fail(&mut self, text: impl Into<String>) {
        let failure = Kind::Failure(text.into());
        if self.items.last().is_none_or(|last| last.kind != failure) {
            self.push(failure);
        }
    }

    /// Folds or unfolds an item.
    pub fn fold(&mut self, item: usize, open: Option<bool>) {
        if let Some(item) = self.items.get_mut(item).filter(|item| item.folds()) {
            item.open = open.unwrap_or(!item.open);
            item.change();
        }
    }

    /// Takes what was seen of a turn.
    pub fn watched(&mut self, what: &Watched, now: Ms) {
        match what {
            Watched::Turn { turn, .. } => match self.turns.last_mut() {
                Some(last) if last.id.as_deref() == Some(turn) => _ = self.drop_passing(),
                Some(last) if last.id.is_none() => last.id = Some(turn.clone()),
                _ => self.push_turn(Some(turn.clone()), None),
            },
            Watched::Event { entry } => {
                let last = self.last_seq();
                self.entry(entry);
                if let (TurnEvent::ModelAsked { .. }, Some(turn)) = (&entry.event, self.turns.last_mut())
                    && entry.seq > last
                {
                    turn.sent = turn.sent.map(|_| now);
                }
            }
            Watched::Text { text } => self.pass(text, now, false),
            Watched::Reasoning { text } => self.pass(text, now, true),
            Watched::Waiting { .. } => {
                if let Some(turn) = self.turns.last_mut().filter(|turn| !turn.status.is_over()) {
                    turn.status = TurnStatus::Waiting;
                }
            }
        }
        self.revision += 1;
    }

    fn push_turn(&mut self, id: Option<String>, sent: Option<Ms>) {
        self.passing = None;
        self.turns.push(Turn {
            id,
            status: TurnStatus::Running,
            last_seq: 0,
            first_item: self.items.len(),
            usage: Usage::default(),
            cut: 0,
            started: None,
            sent,
            first_ms: None,
            spoke: false,
            model: String::new(),
            version: None,
        });
    }

    fn push(&mut self, kind: Kind) {
        self.next_id += 1;
        self.revision += 1;
        self.items.push(Item {
            id: self.next_id,
            version: 0,
            open: false,
            growing: false,
            turn: self.turns.len().saturating_sub(1),
            kind,
        });
    }

    /// A piece of text that the log will hold whole later.
    fn pass(&mut self, piece: &str, now: Ms, reasoning: bool) {
        let Some(turn) = self.turns.last_mut().filter(|turn| !turn.status.is_over()) else { return };
        if !reasoning && turn.first_ms.is_none() {
            turn.first_ms = turn.sent.map(|sent| now.saturating_sub(sent));
        }
        let from = *self.passing.get_or_insert(self.items.len());
        if self.items.len() > from
            && let Some(item) = self.items.last_mut()
        {
            match &mut item.kind {
                Kind::Answer(text) if !reasoning => {
                    text.push_str(piece);
                    item.change();
                    return;
                }
                Kind::Reasoning(text) if reasoning => {
                    text.push_str(piece);
                    item.change();
                    return;
                }
                _ => {
                    item.growing = false;
                    item.change();
                }
            }
        }
        self.push(if reasoning { Kind::Reasoning(piece.to_owned()) } else { Kind::Answer(piece.to_owned()) });
        if let Some(item) = self.items.last_mut() {
            item.growing = true;
        }
    }

    /// Removes what passed by. Answers whether reasoning in it was unfolded.
    fn drop_passing(&mut self) -> bool {
        let Some(from) = self.passing.take() else { return false };
        let open = self.items.iter().skip(from).any(|item| item.open);
        self.items.truncate(from);
        open
    }

    /// Keeps what passed by, since no entry will hold it.
    fn keep_passing(&mut self) {
        if let Some(from) = self.passing.take() {
            for item in self.items.iter_mut().skip(from).filter(|item| item.growing) {
                item.growing = false;
                item.change();
            }
        }
    }

    fn entry(&mut self, entry: &LoggedEvent) {
        let Some(turn) = self.turns.last_mut() else { return };
        // A log that is watched anew begins at its beginning.
        if entry.seq <= turn.last_seq {
            return;
        }
        turn.last_seq = entry.seq;
        if turn.status == TurnStatus::Waiting {
            turn.status = TurnStatus::Running;
        }
        let first_item = turn.first_item;
        match &entry.event {
            TurnEvent::Started { text, model, agent_version, .. } => {
                turn.started = Some(entry.at);
                turn.version = Some(*agent_version);
                turn.model.clone_from(model);
                match self.items.get_mut(first_item) {
                    Some(item) => {
                        if item.kind != Kind::Person(text.clone()) {
                            item.kind = Kind::Person(text.clone());
                            item.change();
                        }
                    }
                    None => self.push(Kind::Person(text.clone())),
                }
            }
            TurnEvent::ModelAsked { cut, .. } => {
                let more = *cut > std::mem::replace(&mut turn.cut, *cut);
                self.drop_passing();
                if more {
                    self.push(Kind::Note(format!(
                        "The session is long: its {} left out so that the rest fits the model.",
                        match *cut {
                            1 => "earliest turn was".to_owned(),
                            cut => format!("{cut} earliest turns were"),
                        }
                    )));
                }
            }
            TurnEvent::ModelReplied { blocks, calls, usage, finish } => self.replied(blocks, calls, *usage, finish),
            TurnEvent::ModelFailed { status, message } => {
                self.keep_passing();
                self.push(Kind::Failure(match status {
                    Some(status) => format!("The model could not answer ({status}): {message}"),
                    None => format!("The model could not answer: {message}"),
                }));
            }
            TurnEvent::Interrupted { by } => {
                self.keep_passing();
                self.push(Kind::Note(format!("Stopped by {by}.")));
            }
            TurnEvent::LimitHit { limit } => {
                let what = match limit {
                    Limit::Steps => "questions to the model",
                    Limit::Tokens => "tokens",
                    Limit::Time => "time",
                };
                self.push(Kind::Failure(format!("The turn reached its limit of {what}.")));
            }
            TurnEvent::Ended { status, text } => self.ended(*status, text, entry.at),
            event => {
                let ordinal = Call::ordinal_of(event);
                for item in self.items.iter_mut().skip(first_item) {
                    if let Kind::Call(call) = &mut item.kind
                        && Some(call.ordinal) == ordinal
                    {
                        call.take(event, entry.at);
                        item.version = item.version.wrapping_add(1);
                    }
                }
            }
        }
    }

    fn replied(&mut self, blocks: &[Block], calls: &[PlannedCall], usage: Option<Usage>, finish: &Finish) {
        let open = self.drop_passing();
        let mut planned = calls.iter();
        for block in blocks {
            match block {
                Block::Text { text } if !text.trim().is_empty() => {
                    self.push(Kind::Answer(text.clone()));
                    self.turns.last_mut().into_iter().for_each(|turn| turn.spoke = true);
                }
                Block::Reasoning { text, .. } if !text.trim().is_empty() => {
                    self.push(Kind::Reasoning(text.clone()));
                    self.items.last_mut().into_iter().for_each(|item| item.open = open);
                }
                Block::Call(_) => {
                    if let Some(call) = planned.next() {
                        self.push(Kind::Call(Box::new(Call::new(call))));
                    }
                }
                Block::Text { .. } | Block::Reasoning { .. } => {}
            }
        }
        for call in planned {
            self.push(Kind::Call(Box::new(Call::new(call))));
        }
        if let Some(turn) = self.turns.last_mut() {
            turn.usage += usage.unwrap_or_default();
        }
        match finish {
            Finish::Length => self.push(Kind::Note("The model ran out of tokens; the answer is cut off.".into())),
            Finish::ContentFilter => self.push(Kind::Note("The provider stopped the answer.".into())),
            Finish::Stop | Finish::ToolCalls | Finish::Other(_) => {}
        }
    }

    fn ended(&mut self, status: TurnStatus, text: &str, at: Micros) {
        self.keep_passing();
        let Some(turn) = self.turns.last_mut() else { return };
        turn.status = status;
        let end = End {
            status: Some(status),
            usage: turn.usage,
            first_ms: turn.first_ms,
            total_ms: turn.started.map(|started| (at.0 - started.0).max(0) / 1000),
        };
        let (spoke, first_item) = (turn.spoke, turn.first_item);
        let told = self
            .items
            .iter()
            .skip(first_item)
            .any(|item| matches!(&item.kind, Kind::Failure(said) if said.contains(text)));
        match status {
            TurnStatus::Done if !spoke && !text.trim().is_empty() => self.push(Kind::Answer(text.to_owned())),
            TurnStatus::Failed if !told && !text.trim().is_empty() => self.push(Kind::Failure(text.to_owned())),
            _ => {}
        }
        self.push(Kind::End(Box::new(end)));
    }

    /// The call at an item, if its outcome is unknown.
    pub fn unknown_call(&self, item: usize) -> Option<&Call> {
        match &self.items.get(item)?.kind {
            Kind::Call(call) if call.state == CallState::Unknown => Some(call),
            _ => None,
        }
    }
}
