//! Tests of the rehearsal: a small kit to hold conversations with scripts, and a module
//! per subject.

#![allow(clippy::unwrap_used)]

mod client;
mod grammar;
mod hostile;
mod orders;
mod play_through;
mod scripts;

use serde_json::{Value, json};

use super::play::play;
use super::script::{Script, validate};
use super::scripts::Scripts;
use crate::{Block, Message, ModelCall, ModelRequest, Params, ToolResultMessage, ToolSpec};

/// A conversation with a script.
pub(super) struct Talk {
    script: std::sync::Arc<Script>,
    pub(super) request: ModelRequest,
}

/// The tools of the orders desk.
const DESK: [&str; 4] = ["desk_list_orders", "desk_get_order", "desk_cancel_order", "desk_refund_order"];

pub(super) fn tool(name: &str) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: "a tool".to_owned(), schema: json!({"type": "object"}) }
}

pub(super) fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

impl Talk {
    /// With a built-in script, and all tools of the desk.
    pub(super) fn with(name: &str) -> Self {
        Self::of(Scripts::default().find(name).unwrap())
    }

    /// With a script from a test.
    pub(super) fn yaml(yaml: &str) -> Self {
        Self::of(std::sync::Arc::new(validate(yaml).unwrap_or_else(|error| panic!("{error}"))))
    }

    fn of(script: std::sync::Arc<Script>) -> Self {
        let request = ModelRequest {
            model: script.name.clone(),
            system: None,
            messages: Vec::new(),
            tools: DESK.map(tool).to_vec(),
            params: Params::default(),
        };
        Self { script, request }
    }

    /// The person says something; what is answered joins the conversation.
    pub(super) fn say(&mut self, text: &str) -> String {
        self.request.messages.push(user(text));
        self.answer()
    }

    /// The tools answer the calls made last: content, and whether it is an error.
    pub(super) fn results(&mut self, results: &[(&str, bool)]) -> String {
        let calls = self.calls();
        assert_eq!(calls.len(), results.len(), "a result per call");
        let results = calls
            .into_iter()
            .zip(results)
            .map(|(call, (content, is_error))| ToolResultMessage {
                call_id: call.id,
                name: call.name,
                content: (*content).to_owned(),
                is_error: *is_error,
            })
            .collect();
        self.request.messages.push(Message::ToolResults { results });
        self.answer()
    }

    fn answer(&mut self) -> String {
        let blocks = play(&self.script, &self.request).blocks;
        let text = blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let text = text.collect();
        self.request.messages.push(Message::Assistant { blocks });
        text
    }

    /// The calls of the last answer.
    pub(super) fn calls(&self) -> Vec<ModelCall> {
        let Some(Message::Assistant { blocks }) = self.request.messages.last() else {
            return Vec::new();
        };
        let calls = blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call.clone()),
            _ => None,
        });
        calls.collect()
    }

    /// The calls of the last answer as `(name, arguments)`.
    pub(super) fn asked(&self) -> Vec<(String, Value)> {
        let calls = self.calls().into_iter();
        calls.map(|call| (call.name, serde_json::from_str(&call.args_text).unwrap())).collect()
    }
}

/// A script with these rules, for tests.
pub(super) fn script(rules: &str) -> String {
    format!("name: t\nabout: A test.\nrules:\n{rules}")
}
