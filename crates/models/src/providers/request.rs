//! From our conversation to the request the wire encoder takes.

use std::collections::VecDeque;

use rig_core::completion::{CompletionRequest, ReplayTarget, ToolDefinition};
use rig_core::message::{
    AssistantContent, AssistantMessage, CallId, LocalCallId, Message as WireMessage, Origin, ProviderCallId, Reasoning,
    Text, ToolCall, ToolFunction, ToolName, ToolResult, ToolResultContent, UserContent,
};
use serde_json::{Map, Value, json};

use super::ProviderKind;
use super::reply::{REDACTED, Seal};
use crate::client::{Block, Message, ModelCall, ModelRequest, Params, ToolResultMessage};
use crate::error::{ModelError, ModelErrorKind};

/// Stands for a result without text: some providers refuse an empty one.
const NO_OUTPUT: &str = "(no output)";

/// `request` for `target`, the wire it is sent on.
pub(super) fn prepare(
    kind: ProviderKind,
    target: &dyn ReplayTarget,
    request: ModelRequest,
) -> Result<CompletionRequest, ModelError> {
    if !request.tools.is_empty() && !target.accepts(&request.model).tools {
        return Err(ModelError::new(
            ModelErrorKind::Unsupported,
            format!(
                "{} offers its models no tools; take another provider or an agent without tools",
                target.provider()
            ),
        ));
    }
    let tools = request
        .tools
        .into_iter()
        .map(|tool| {
            ToolName::new(tool.name)
                .map(|name| ToolDefinition::new(name, tool.description, tool.schema))
                .map_err(|_| ModelError::new(ModelErrorKind::Unsupported, "a tool has no name"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut history = Vec::new();
    if let Some(system) = request.system.filter(|system| !system.trim().is_empty()) {
        history.push(WireMessage::system(system));
    }
    let mut open = VecDeque::new();
    for message in request.messages {
        match message {
            Message::User { text } => history.push(WireMessage::User { content: vec![UserContent::text(text)] }),
            Message::Assistant { blocks } => {
                let content = assistant(kind, target, blocks, &mut open);
                if content.is_empty() {
                    continue;
                }
                // Named as this model's own turn: otherwise reasoning would go back as
                // text, and what a provider sealed would be left out.
                let origin = Origin::new(target.api(), target.provider(), target.model());
                history.push(WireMessage::Assistant(AssistantMessage::new(content).with_origin(origin)));
            }
            Message::ToolResults { results } => {
                let content: Vec<_> = results
                    .into_iter()
                    .filter_map(|result| answer(result, &mut open))
                    .map(UserContent::ToolResult)
                    .collect();
                if !content.is_empty() {
                    history.push(WireMessage::User { content });
                }
            }
        }
    }
    if !history.iter().any(|message| matches!(message, WireMessage::User { .. })) {
        return Err(ModelError::new(
            ModelErrorKind::Unsupported,
            "there is nothing to ask: the conversation has no message of the user",
        ));
    }
    let mut prepared = CompletionRequest::new("");
    prepared.chat_history = history;
    prepared.tools = tools;
    prepared.temperature = request.params.temperature;
    prepared.max_tokens = request.params.max_tokens;
    prepared.additional_params = sampling(kind, &request.params);
    Ok(prepared)
}

/// The sampling parameters that have no field of their own in the encoder.
fn sampling(kind: ProviderKind, params: &Params) -> Option<Value> {
    let (top_p, top_k) = match kind {
        ProviderKind::Gemini => ("topP", "topK"),
        _ => ("top_p", "top_k"),
    };
    let mut fields = Map::new();
    if let Some(value) = params.top_p {
        fields.insert(top_p.to_owned(), value.into());
    }
    if let Some(value) = params.top_k {
        fields.insert(top_k.to_owned(), value.into());
    }
    if fields.is_empty() {
        return None;
    }
    Some(match kind {
        ProviderKind::Gemini => json!({ "generationConfig": fields }),
        _ => Value::Object(fields),
    })
}

/// A call that waits for its result: what we know of it, and what it is called on the wire.
struct OpenCall {
    call: ModelCall,
    wire: CallId,
    name: ToolName,
}

/// One assistant turn. Fills `open` with its calls.
fn assistant(
    kind: ProviderKind,
    target: &dyn ReplayTarget,
    blocks: Vec<Block>,
    open: &mut VecDeque<OpenCall>,
) -> Vec<AssistantContent> {
    open.clear();
    let mut content = Vec::new();
    let mut call_item = None;
    for block in blocks {
        match block {
            Block::Text { text } => {
                if !text.trim().is_empty() {
                    content.push(AssistantContent::Text(Text::new(text)));
                }
            }
            Block::Reasoning { text, signature } if kind == ProviderKind::Anthropic => {
                content.extend(thinking(text, signature));
            }
            Block::Reasoning { text, signature } => match signature {
                None => content.push(AssistantContent::Reasoning(Reasoning::new(text))),
                Some(signature) => match Seal::read(&signature, &target.api()) {
                    Some(Seal::Reasoning(item)) => content.push(
                        AssistantContent::Reasoning(Reasoning::new(text.as_str())).with_native(with_text(item, &text)),
                    ),
                    Some(Seal::NextCall(item)) => call_item = Some(item),
                    // Sealed by another provider, which alone can read it.
                    None => {}
                },
            },
            Block::Call(call) => {
                let name = ToolName::new(call.name.as_str())
                    .or_else(|_| ToolName::new("unnamed"))
                    .expect("`unnamed` is not empty");
                // An empty id, or one that another call of this turn has, tells nothing
                // apart; the encoder then makes up one for the call and its result.
                let taken = open.iter().any(|other| other.call.id == call.id);
                let wire = match ProviderCallId::new(call.id.as_str()) {
                    Some(id) if !taken => CallId::from(id),
                    _ => CallId::from(LocalCallId::new()),
                };
                let mut block =
                    AssistantContent::ToolCall(ToolCall::new(wire.clone(), function(name.clone(), &call.args_text)));
                if let Some(item) = call_item.take() {
                    block = block.with_native(item);
                }
                content.push(block);
                open.push_back(OpenCall { call, wire, name });
            }
        }
    }
    content
}

/// Anthropic's thinking, which goes back only as the model signed it.
fn thinking(text: String, signature: Option<String>) -> Option<AssistantContent> {
    let signature = signature.filter(|signature| !signature.starts_with('{'))?;
    if let Some(data) = signature.strip_prefix(REDACTED) {
        let item = json!({ "type": "redacted_thinking", "data": data });
        let mut reasoning = Reasoning::new(text);
        reasoning.redacted = true;
        return Some(AssistantContent::Reasoning(reasoning).with_native(item));
    }
    let item = json!({ "type": "thinking", "thinking": text, "signature": signature });
    Some(AssistantContent::Reasoning(Reasoning::new(text)).with_native(item))
}

/// `item` with the text put back where the seal left it out.
fn with_text(mut item: Value, text: &str) -> Value {
    if let Value::Object(fields) = &mut item {
        for value in fields.values_mut().filter(|value| value.is_null()) {
            *value = Value::from(text);
        }
    }
    item
}

/// The call to `name`. Every provider wants a JSON object back. Arguments that are none
/// go back inside one, so that the model sees what it wrote and nothing it did not.
fn function(name: ToolName, args_text: &str) -> ToolFunction {
    let mut function = ToolFunction::parse(name, args_text);
    if function.invalid_arguments.take().is_some() {
        function.arguments = Map::from_iter([("invalid_arguments".to_owned(), args_text.into())]);
    }
    function
}

/// `result` as the answer to the call it belongs to: the first open one with its id, else
/// with its name, else the first. `None` when no call is open.
fn answer(result: ToolResultMessage, open: &mut VecDeque<OpenCall>) -> Option<ToolResult> {
    let at = open
        .iter()
        .position(|waiting| waiting.call.id == result.call_id && waiting.call.name == result.name)
        .or_else(|| open.iter().position(|waiting| waiting.call.id == result.call_id))
        .or_else(|| open.iter().position(|waiting| waiting.call.name == result.name))
        .unwrap_or(0);
    let waiting = open.remove(at)?;
    let content = if result.content.is_empty() { NO_OUTPUT.to_owned() } else { result.content };
    Some(ToolResult {
        call: waiting.wire,
        name: waiting.name,
        content: vec![ToolResultContent::Text(Text::new(content))],
        is_error: result.is_error,
    })
}
