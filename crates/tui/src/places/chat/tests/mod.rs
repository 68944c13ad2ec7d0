//! The chat driven by keys and answers, seen as a screen of text.

#![allow(clippy::unwrap_used)]

mod again;
mod cells;
mod composer;
mod follow;
mod stream;

use super::{Msg, event};
use crate::effect::Effect;
use crate::layers::{Confirm, Layer};
use crate::places::{Go, PlaceId};
use crate::testing::Stage;
use contract::Micros;
use contract::chat::{Block, Finish, ModelCall, Usage};
use contract::ops::test::{TestSession, TestSessions, TestTranscript, TranscriptTurn};
use contract::turn::{Limits, LoggedEvent, PlannedCall, TurnEvent, TurnStatus, Watched};
use contract::wire::Json;

const AGENT: &str = "orders-desk";

/// The chat with an agent in which nothing was said yet.
fn chat(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height);
    go(&mut stage, AGENT, None);
    assert_eq!(stage.state.place, PlaceId::Chat);
    loaded(&mut stage, Err(contract::StudioError::not_found("Session", "default")));
    stage
}

fn go(stage: &mut Stage, agent: &str, session: Option<&str>) {
    let to = Go::Chat { agent: agent.into(), session: session.map(str::to_owned) };
    // Any layer may send the person somewhere; a question does it on yes.
    let layer = Confirm::new("", "", None, move |ctx| *ctx.go = Some(to));
    stage.state.layers.push(Layer::Confirm(layer), stage.now);
    stage.keys("enter");
}

fn loaded(stage: &mut Stage, reply: contract::Result<TestTranscript>) {
    let opening = stage.state.places.chat.opening;
    stage.reply(event(Msg::Loaded { opening, reply: reply.map(Json) }));
}

/// A chat with a stored transcript.
fn stored(width: u16, height: u16, turns: Vec<TranscriptTurn>) -> Stage {
    let mut stage = Stage::new(width, height);
    go(&mut stage, AGENT, None);
    loaded(&mut stage, Ok(TestTranscript { session: "s1".into(), turns }));
    stage
}

fn watched(stage: &mut Stage, what: Watched) {
    let watch = stage.state.places.chat.watch;
    stage.reply(event(Msg::Watched { watch, what: Box::new(Ok(what)) }));
}

fn watch_ended(stage: &mut Stage) {
    let watch = stage.state.places.chat.watch;
    stage.reply(event(Msg::WatchEnded { watch }));
}

fn turn(stage: &mut Stage, id: &str) {
    watched(stage, Watched::Turn { turn: id.into(), session: "s1".into() });
}

fn text(stage: &mut Stage, piece: &str) {
    watched(stage, Watched::Text { text: piece.into() });
}

/// Entries of a log, a second apart.
fn log(events: Vec<TurnEvent>) -> Vec<LoggedEvent> {
    let entry = |(at, event): (i64, TurnEvent)| LoggedEvent { seq: at + 1, at: Micros(at * 1_000_000), event };
    (0..).zip(events).map(entry).collect()
}

/// Lets the entries happen from this number on.
fn happen(stage: &mut Stage, entries: &[LoggedEvent], from: i64) {
    for entry in entries.iter().filter(|entry| entry.seq >= from) {
        watched(stage, Watched::Event { entry: entry.clone() });
    }
}

fn started(text: &str) -> TurnEvent {
    TurnEvent::Started { text: text.into(), agent_version: 3, model: "rehearsal:x".into(), limits: Limits::default() }
}

fn asked() -> TurnEvent {
    TurnEvent::ModelAsked { step: 1, attempt: 1, cut: 0 }
}

fn said(text: &str) -> TurnEvent {
    TurnEvent::ModelReplied {
        blocks: vec![Block::Text { text: text.into() }],
        calls: Vec::new(),
        usage: Some(Usage { input: 1_200, output: 30, cached: 10 }),
        finish: Finish::Stop,
    }
}

/// The model wants these tools, each with `{"n": ordinal}`.
fn wants(tools: &[&str]) -> TurnEvent {
    let args = |ordinal| format!("{{\"n\": {ordinal}}}");
    let call = |ordinal: u32, tool: &str| PlannedCall {
        ordinal,
        model_call_id: String::new(),
        tool: tool.into(),
        args_text: args(ordinal),
    };
    let block = |call: &PlannedCall| {
        Block::Call(ModelCall { id: String::new(), name: call.tool.clone(), args_text: call.args_text.clone() })
    };
    let calls: Vec<PlannedCall> = (0..).zip(tools).map(|(ordinal, tool)| call(ordinal, tool)).collect();
    TurnEvent::ModelReplied { blocks: calls.iter().map(block).collect(), calls, usage: None, finish: Finish::ToolCalls }
}

fn ended(status: TurnStatus, text: &str) -> TurnEvent {
    TurnEvent::Ended { status, text: text.into() }
}

/// A finished turn with one answer.
fn answered(id: &str, words: &str, answer: &str) -> TranscriptTurn {
    let events = log(vec![started(words), asked(), said(answer), ended(TurnStatus::Done, answer)]);
    TranscriptTurn { turn: id.into(), status: TurnStatus::Done, events }
}

fn sessions(stage: &mut Stage, list: &[(&str, bool)]) {
    let opening = stage.state.places.chat.opening;
    let session = |(name, stale): &(&str, bool)| TestSession {
        session: (*name).into(),
        agent_version: 3,
        stale: *stale,
        started_at: Micros(0),
        last_at: Micros(0),
        turns: 2,
    };
    let sessions = list.iter().map(session).collect();
    stage.reply(event(Msg::Sessions { opening, reply: Ok(Json(TestSessions { sessions })) }));
}

/// How often a line of the screen holds this.
fn count(stage: &Stage, wanted: &str) -> usize {
    stage.screen().iter().filter(|line| line.contains(wanted)).count()
}

fn copied(stage: &Stage) -> &str {
    let texts = stage.effects.iter().rev().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.as_str()),
        _ => None,
    });
    texts.unwrap()
}

/// Streams that were begun so far.
fn watches(stage: &Stage) -> usize {
    stage.effects.iter().filter(|effect| matches!(effect, Effect::Watch { .. })).count()
}
