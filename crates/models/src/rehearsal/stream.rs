//! A played answer as a stream of small pieces.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;

use super::play::Played;
use super::script::{Fail, Script};
use crate::{Block, Finish, Message, ModelError, ModelEvent, ModelRequest, ModelStream, Reply, Usage};

/// Characters of a piece of arguments.
const ARGUMENT_PIECE: usize = 16;

type Item = Result<ModelEvent, ModelError>;

/// Streams an answer, word by word, at the script's pace.
pub(crate) fn stream(script: &Script, request: &ModelRequest, played: Played<'_>) -> ModelStream {
    let items = items(script, request, played);
    if script.pace_ms == 0 {
        return stream::iter(items).boxed();
    }
    let pace = Duration::from_millis(script.pace_ms);
    stream::iter(items)
        .then(move |item| async move {
            tokio::time::sleep(pace).await;
            item
        })
        .boxed()
}

fn items(script: &Script, request: &ModelRequest, played: Played<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    let mut part = 0;
    for block in &played.blocks {
        match block {
            Block::Text { text } => {
                items.extend(words(text).map(|word| Ok(ModelEvent::Text(word.to_owned()))));
            }
            Block::Reasoning { text, .. } => {
                items.extend(words(text).map(|word| Ok(ModelEvent::Reasoning(word.to_owned()))));
            }
            Block::Call(call) => {
                let name = call.name.clone();
                items.push(Ok(ModelEvent::CallStarted { part, name }));
                for json in pieces(&call.args_text, ARGUMENT_PIECE) {
                    items.push(Ok(ModelEvent::CallArguments { part, json }));
                }
                items.push(Ok(ModelEvent::CallReady { part }));
                part += 1;
            }
        }
    }
    items.push(match played.fail {
        Some(fail) => Err(failure(script, fail)),
        None => Ok(ModelEvent::Done(Reply {
            usage: Some(usage(request, &played.blocks)),
            blocks: played.blocks,
            finish: if part > 0 { Finish::ToolCalls } else { Finish::Stop },
        })),
    });
    items
}

fn failure(script: &Script, fail: &Fail) -> ModelError {
    ModelError {
        kind: fail.kind.into(),
        status: fail.status,
        message: fail
            .message
            .clone()
            .unwrap_or_else(|| format!("the rehearsal script `{}` fails here on purpose", script.name)),
        body: fail.body.clone(),
    }
}

/// Words with the white space after them; together they are the text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

fn pieces(text: &str, size: usize) -> Vec<String> {
    let letters: Vec<_> = text.chars().collect();
    letters.chunks(size).map(|c| c.iter().collect()).collect()
}

/// An estimate: a token for every four characters, rounded up. No model counted them.
fn usage(request: &ModelRequest, blocks: &[Block]) -> Usage {
    let chars = |text: &str| text.chars().count() as u64;
    let block = |block: &Block| match block {
        Block::Text { text } | Block::Reasoning { text, .. } => chars(text),
        Block::Call(call) => chars(&call.name) + chars(&call.args_text),
    };
    let message = |message: &Message| match message {
        Message::User { text } => chars(text),
        Message::Assistant { blocks } => blocks.iter().map(block).sum(),
        Message::ToolResults { results } => results.iter().map(|r| chars(&r.content)).sum(),
    };
    let tools =
        request.tools.iter().map(|tool| chars(&tool.name) + chars(&tool.description) + chars(&tool.schema.to_string()));
    let input: u64 = chars(request.system.as_deref().unwrap_or_default())
        + request.messages.iter().map(message).sum::<u64>()
        + tools.sum::<u64>();
    Usage { input: input.div_ceil(4), output: blocks.iter().map(block).sum::<u64>().div_ceil(4), cached: 0 }
}
