//! The providers against fake servers on loopback, in both protocols.
#![allow(clippy::unwrap_used)]

extern crate astudio_models as models;

mod cuts;
mod errors;
mod gemini;
mod requests;
mod streams;

use std::sync::Arc;

use fakes::{Answer, Fake, Protocol};
use futures_util::StreamExt;
use models::{
    Message, ModelClient, ModelError, ModelEvent, ModelRequest, Params, ProviderConfig, ProviderKind, Reply, ToolSpec,
};
use serde_json::json;

/// The key of the test clients.
pub const KEY: &str = "sk-test-4f1d9c2b7a";

/// Both protocols, for cases that hold in each.
pub const BOTH: [Protocol; 2] = [Protocol::OpenAi, Protocol::Anthropic];

/// The key as it is given to a client.
pub fn key() -> text::Secret {
    text::Secret::new(KEY.to_owned())
}

/// A client of `fake` with the test key.
pub fn client(fake: &Fake, protocol: Protocol) -> Arc<dyn ModelClient> {
    models::init();
    let (name, kind) = match protocol {
        Protocol::OpenAi => ("openai", ProviderKind::OpenAi),
        Protocol::Anthropic => ("anthropic", ProviderKind::Anthropic),
    };
    let cfg = ProviderConfig { name: name.to_owned(), kind, base_url: Some(fake.base_url()) };
    models::connect(&cfg, Some(&key())).unwrap()
}

/// A question with two tools on offer.
pub fn question() -> ModelRequest {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        schema: json!({"type": "object", "properties": {"q": {"type": "string"}}}),
    };
    ModelRequest {
        model: "test-model".to_owned(),
        system: Some("Be brief.".to_owned()),
        messages: vec![Message::User { text: "Hello?".to_owned() }],
        tools: vec![tool("search"), tool("write")],
        params: Params::default(),
    }
}

/// Every item of the stream that answers `request`.
pub async fn all(client: &Arc<dyn ModelClient>, request: ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
    match client.stream(request).await {
        Ok(stream) => stream.collect().await,
        Err(error) => vec![Err(error)],
    }
}

/// The reply to [`question`] when the provider gives `answer`, and the events before it.
pub async fn reply(protocol: Protocol, answer: Answer) -> (Reply, Vec<ModelEvent>) {
    let fake = Fake::scripted(protocol, vec![answer]);
    let mut events: Vec<ModelEvent> =
        all(&client(&fake, protocol), question()).await.into_iter().map(Result::unwrap).collect();
    let Some(ModelEvent::Done(reply)) = events.pop() else {
        panic!("{protocol:?}: the last event is not `Done`: {events:?}");
    };
    assert!(!events.iter().any(|event| matches!(event, ModelEvent::Done(_))));
    (reply, events)
}

/// The error of a stream that fails, which has to be its last item.
pub async fn failure(protocol: Protocol, answer: Answer) -> ModelError {
    let fake = Fake::scripted(protocol, vec![answer]);
    let mut items = all(&client(&fake, protocol), question()).await;
    let error = items.pop().unwrap().expect_err("the request fails");
    assert!(items.iter().all(Result::is_ok), "{items:?}");
    error
}
