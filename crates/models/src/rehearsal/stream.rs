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
    // By the clock and not from piece to piece, or each piece would add how late its timer was.
    let begun = tokio::time::Instant::now();
    stream::iter((1..).zip(items))
        .then(move |(n, item)| async move {
            tokio::time::sleep_until(begun + pace * n).await;
            item
        })
        .boxed()
}

/// One after another when they are wanted: many answers may be played at once, each for a long time.
fn items(script: &Script, request: &ModelRequest, played: Played<'_>) -> impl Iterator<Item = Item> + Send + use<> {
    let calls = played.blocks.iter().filter(|block| matches!(block, Block::Call(_))).count();
    let end = match played.fail {
        Some(fail) => Err(failure(script, fail)),
        None => Ok(ModelEvent::Done(Reply {
            usage: Some(usage(request, &played.blocks)),
            blocks: played.blocks.clone(),
            finish: if calls > 0 { Finish::ToolCalls } else { Finish::Stop },
        })),
    };
    let mut parts = 0..;
    played.blocks.into_iter().flat_map(move |block| part_of(block, &mut parts)).map(Ok).chain([end])
}

fn part_of(block: Block, parts: &mut impl Iterator<Item = usize>) -> Box<dyn Iterator<Item = ModelEvent> + Send> {
    match block {
        Block::Text { text } => Box::new(words(text).map(ModelEvent::Text)),
        Block::Reasoning { text, .. } => Box::new(words(text).map(ModelEvent::Reasoning)),
        Block::Call(call) => {
            let part = parts.next().unwrap_or_default();
            let arguments = pieces(&call.args_text, ARGUMENT_PIECE).into_iter();
            Box::new(
                [ModelEvent::CallStarted { part, name: call.name }]
                    .into_iter()
                    .chain(arguments.map(move |json| ModelEvent::CallArguments { part, json }))
                    .chain([ModelEvent::CallReady { part }]),
            )
        }
    }
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
fn words(text: String) -> impl Iterator<Item = String> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let word = text[at..].split_inclusive(char::is_whitespace).next()?.to_owned();
        at += word.len();
        Some(word)
    })
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
