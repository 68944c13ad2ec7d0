//! A request as a script sees it: what was said, and what the tools of this turn answered.

use serde_json::Value;

use super::pattern::one_line;
use super::template::cut;
use crate::{Block, Message, ModelCall, ModelRequest, ToolResultMessage};

/// The turn that the last thing the person said began.
pub(crate) struct Turn<'a> {
    /// What the person said last; empty when nobody said anything.
    pub(crate) said: &'a str,
    /// What the person said before, newest first.
    pub(crate) earlier: Vec<&'a str>,
    /// The text answered to the person before they spoke last.
    pub(crate) replied: String,
    /// The calls made since, round by round, with their results.
    pub(crate) rounds: Vec<Vec<Outcome<'a>>>,
    /// Calls of the whole conversation, for ids that do not repeat.
    pub(crate) calls_ever: usize,
}

/// One call and its result.
pub(crate) struct Outcome<'a> {
    /// The tool.
    pub(crate) tool: &'a str,
    /// The arguments it was called with; null when they are not JSON.
    pub(crate) args: Value,
    /// The result as it came.
    pub(crate) text: &'a str,
    /// The result as JSON; a text that is none stands as a JSON string.
    pub(crate) json: Value,
    /// Whether the tool did its work.
    pub(crate) ok: bool,
}

impl Outcome<'_> {
    /// Why a call failed, on one line.
    pub(crate) fn why(&self) -> String {
        let said = ["/message", "/error/message", "/error", "/reason", "/detail"]
            .iter()
            .find_map(|at| self.json.pointer(at)?.as_str())
            .or(self.json.as_str())
            .unwrap_or(self.text);
        let said = one_line(said);
        if said.is_empty() { "no reason was given".to_owned() } else { cut(said.trim_end_matches('.'), 400) }
    }
}

impl<'a> Turn<'a> {
    /// Reads the conversation of a request.
    pub(crate) fn of(request: &'a ModelRequest) -> Self {
        let messages = &request.messages;
        let last = messages.iter().rposition(|message| matches!(message, Message::User { .. }));
        let (before, since) = match last {
            Some(at) => (&messages[..at], &messages[at + 1..]),
            None => (&messages[..0], &messages[..]),
        };
        let mut earlier: Vec<_> = before.iter().filter_map(user_text).collect();
        earlier.reverse();
        Self {
            said: last.and_then(|at| user_text(&messages[at])).unwrap_or(""),
            earlier,
            replied: before
                .iter()
                .rev()
                .map_while(|message| match message {
                    Message::User { .. } => None,
                    Message::Assistant { blocks } => Some(text_blocks(blocks)),
                    Message::ToolResults { .. } => Some(String::new()),
                })
                .find(|text| !text.is_empty())
                .unwrap_or_default(),
            rounds: rounds(since),
            calls_ever: messages.iter().map(|m| calls_of(m).count()).sum(),
        }
    }
}

fn user_text(message: &Message) -> Option<&str> {
    match message {
        Message::User { text } => Some(text),
        _ => None,
    }
}

fn text_blocks(blocks: &[Block]) -> String {
    blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn calls_of(message: &Message) -> impl Iterator<Item = &ModelCall> {
    let blocks: &[Block] = match message {
        Message::Assistant { blocks } => blocks,
        _ => &[],
    };
    blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        _ => None,
    })
}

/// Pairs calls and results by their order, since call ids may be empty or repeated.
fn rounds(since: &[Message]) -> Vec<Vec<Outcome<'_>>> {
    let mut rounds = Vec::new();
    for (at, message) in since.iter().enumerate() {
        let calls: Vec<_> = calls_of(message).collect();
        if calls.is_empty() {
            continue;
        }
        let results: Vec<_> = since[at + 1..]
            .iter()
            .take_while(|message| !matches!(message, Message::Assistant { .. }))
            .flat_map(|message| match message {
                Message::ToolResults { results } => &results[..],
                _ => &[],
            })
            .collect();
        rounds.push(calls.into_iter().enumerate().map(|(n, call)| outcome(call, results.get(n).copied())).collect());
    }
    rounds
}

fn outcome<'a>(call: &'a ModelCall, result: Option<&'a ToolResultMessage>) -> Outcome<'a> {
    let (text, ok) = match result {
        Some(result) => (result.content.as_str(), !result.is_error),
        None => ("the call was never answered", false),
    };
    Outcome {
        tool: &call.name,
        args: serde_json::from_str(&call.args_text).unwrap_or(Value::Null),
        text,
        json: serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        ok,
    }
}
