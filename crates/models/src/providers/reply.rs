//! From the decoder's events to ours, and from its response to our reply.

use std::collections::{HashMap, VecDeque};

use futures_util::{StreamExt, stream};
use rig_core::completion::{CompletionResponse, FinishReason};
use rig_core::message::{Api, AssistantContent, CallId};
use rig_core::streaming::{CompletionStream, Item, PartKind, StreamEvent};
use serde_json::{Map, Value, json};

use super::ProviderKind;
use super::failure::Fault;
use crate::client::{Block, Finish, ModelCall, ModelEvent, ModelStream, Reply, Usage};
use crate::error::ModelError;

/// Marks the signature of reasoning that Anthropic shows no text of.
pub(super) const REDACTED: &str = "redacted_thinking:";

/// What a provider other than Anthropic wants back unchanged, as it travels in a
/// signature. The API it came from is part of it, because no other API can read it.
pub(super) enum Seal {
    /// The item of the reasoning block itself; `null` stands for the block's text.
    Reasoning(Value),
    /// The item of the call that follows the block.
    NextCall(Value),
}

impl Seal {
    fn write(&self, api: &Api) -> String {
        let (key, item) = match self {
            Self::Reasoning(item) => ("item", item),
            Self::NextCall(item) => ("next_call", item),
        };
        json!({ "api": api.as_str(), key: item }).to_string()
    }

    /// The seal in `signature`, if `api` made it.
    pub(super) fn read(signature: &str, api: &Api) -> Option<Self> {
        let mut fields: Map<String, Value> = serde_json::from_str(signature).ok()?;
        if fields.get("api").and_then(Value::as_str) != Some(api.as_str()) {
            return None;
        }
        match fields.remove("next_call") {
            Some(item) => Some(Self::NextCall(item)),
            None => fields.remove("item").map(Self::Reasoning),
        }
    }
}

/// The events of `stream`; the last one is `Done` or an error.
pub(super) fn events(kind: ProviderKind, stream: CompletionStream, fault: Fault) -> ModelStream {
    let reading = Reading {
        kind,
        stream: Some(stream),
        fault,
        ready: VecDeque::new(),
        parts: HashMap::new(),
        calls: 0,
        arguments: HashMap::new(),
    };
    stream::unfold(reading, |mut reading| async move {
        let item = reading.next().await?;
        Some((item, reading))
    })
    .boxed()
}

/// One reply being read.
struct Reading {
    kind: ProviderKind,
    /// Gone once the reply ended; dropping it closes the connection.
    stream: Option<CompletionStream>,
    fault: Fault,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
    /// The open calls by the decoder's part: our number for each and its arguments so far.
    parts: HashMap<usize, (usize, String)>,
    calls: usize,
    /// The arguments of finished calls, exactly as the model wrote them.
    arguments: HashMap<CallId, String>,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match self.stream.as_mut()?.next().await {
                Some(Ok(Item::Event(event))) => self.event(event),
                Some(Ok(Item::Unknown(_))) => {}
                Some(Err(error)) => {
                    self.stream = None;
                    self.ready.push_back(Err(self.fault.explain(&error)));
                }
                None => {
                    let finished = self.stream.take()?.finish().await;
                    let last = match finished {
                        Ok(response) => Ok(ModelEvent::Done(self.reply(response))),
                        Err(error) => Err(self.fault.explain(&error)),
                    };
                    self.ready.push_back(last);
                }
            }
        }
    }

    fn event(&mut self, event: StreamEvent) {
        let event = match event {
            StreamEvent::Text { text, .. } => ModelEvent::Text(text),
            StreamEvent::Reasoning { text, .. } => ModelEvent::Reasoning(text),
            StreamEvent::Start { part, kind: PartKind::ToolCall, name } => {
                let number = self.calls;
                self.calls += 1;
                self.parts.insert(part.index(), (number, String::new()));
                ModelEvent::CallStarted { part: number, name: name.map(String::from).unwrap_or_default() }
            }
            StreamEvent::Arguments { part, json } => {
                let Some((number, arguments)) = self.parts.get_mut(&part.index()) else {
                    return;
                };
                arguments.push_str(&json);
                ModelEvent::CallArguments { part: *number, json }
            }
            StreamEvent::End { part, content: AssistantContent::ToolCall(call) } => {
                let Some((number, arguments)) = self.parts.remove(&part.index()) else {
                    return;
                };
                self.arguments.insert(call.id, arguments);
                ModelEvent::CallReady { part: number }
            }
            StreamEvent::Start { .. } | StreamEvent::End { .. } => return,
        };
        self.ready.push_back(Ok(event));
    }

    fn reply(&mut self, response: CompletionResponse) -> Reply {
        let finish = match response.finish_reason() {
            Some(FinishReason::Stop) => Finish::Stop,
            Some(FinishReason::ToolCalls) => Finish::ToolCalls,
            Some(FinishReason::Length) => Finish::Length,
            Some(FinishReason::ContentFilter) => Finish::ContentFilter,
            Some(FinishReason::Other(reason)) => Finish::Other(reason),
            _ => Finish::Other(String::new()),
        };
        let usage = self.usage(&response.usage);
        let api = response.origin.api;
        let mut blocks = Vec::new();
        for content in response.choice {
            self.block(content, &api, &mut blocks);
        }
        Reply { blocks, usage, finish }
    }

    fn usage(&self, usage: &rig_core::completion::Usage) -> Option<Usage> {
        if usage.input_tokens.is_none() && usage.output_tokens.is_none() {
            return None;
        }
        let cached = usage.cached_input_tokens.unwrap_or(0);
        let mut input = usage.input_tokens.unwrap_or(0);
        if self.kind == ProviderKind::Anthropic {
            // Anthropic counts cached tokens beside the input; the decoder adds them up.
            input = input.saturating_sub(cached).saturating_sub(usage.cache_creation_input_tokens.unwrap_or(0));
        }
        Some(Usage { input, output: usage.output_tokens.unwrap_or(0), cached })
    }

    fn block(&mut self, content: AssistantContent, api: &Api, blocks: &mut Vec<Block>) {
        let item = content.native_item().cloned();
        match content {
            AssistantContent::Text(text) if !text.text.is_empty() => {
                blocks.push(Block::Text { text: text.text });
            }
            AssistantContent::Reasoning(reasoning) => {
                let signature = item.and_then(|item| match self.kind {
                    ProviderKind::Anthropic => signature(&item),
                    _ => Some(Seal::Reasoning(without_text(item, &reasoning.text)).write(api)),
                });
                if signature.is_some() || !reasoning.text.is_empty() {
                    blocks.push(Block::Reasoning { text: reasoning.text, signature });
                }
            }
            AssistantContent::ToolCall(call) => {
                if let Some(item) = item.filter(|item| self.is_sealed(item)) {
                    blocks.push(Block::Reasoning {
                        text: String::new(),
                        signature: Some(Seal::NextCall(item).write(api)),
                    });
                }
                let args_text =
                    self.arguments.remove(&call.id).unwrap_or_else(|| call.function.arguments_value().to_string());
                blocks.push(Block::Call(ModelCall {
                    id: call.id.provider().map(|id| id.as_str().to_owned()).unwrap_or_default(),
                    name: call.function.name.into(),
                    args_text,
                }));
            }
            _ => {}
        }
    }

    /// Whether a call's item holds more than the call, such as a signature of the model's
    /// thoughts, which the provider wants back with it.
    fn is_sealed(&self, item: &Value) -> bool {
        let plain: &[&str] = match self.kind {
            ProviderKind::OpenAi => &["id", "type", "function", "index"],
            ProviderKind::Gemini => &["functionCall"],
            _ => return false,
        };
        item.as_object().is_some_and(|fields| fields.keys().any(|key| !plain.contains(&key.as_str())))
    }
}

/// Anthropic's seal on a thinking block.
fn signature(item: &Value) -> Option<String> {
    let field = |key: &str| item.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    field("data").map(|data| format!("{REDACTED}{data}")).or_else(|| field("signature").map(str::to_owned))
}

/// `item` with `null` in the place of `text`, which the block holds already.
fn without_text(mut item: Value, text: &str) -> Value {
    if let Value::Object(fields) = &mut item {
        for value in fields.values_mut() {
            if !text.is_empty() && value.as_str() == Some(text) {
                *value = Value::Null;
            }
        }
    }
    item
}
