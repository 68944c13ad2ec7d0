//! What the engine asks of a model and what it gets back, the same for every provider.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::error::ModelError;

pub use contract::chat::{Block, Finish, Message, ModelCall, ToolResultMessage, Usage};

/// One request to a model: the whole conversation, since providers keep no state for us.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The model's name as the provider knows it, without a `provider:` prefix.
    pub model: String,
    /// The system prompt; `None` and empty text both mean that none is sent.
    pub system: Option<String>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools the model may ask for; empty means that no tool is offered.
    pub tools: Vec<ToolSpec>,
    /// Sampling parameters; what is `None` is left to the provider.
    pub params: Params,
}

/// Sampling parameters. `None` leaves a parameter out of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Sampling temperature; the range is the provider's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens the model may write in this reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Sample only from this many likeliest tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
    /// Sample only from the likeliest tokens that make up this share of the probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, in words for the model.
    pub description: String,
    /// JSON Schema of its arguments; an object schema.
    pub schema: serde_json::Value,
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What the model said, in its order.
    pub blocks: Vec<Block>,
    /// Tokens used; `None` when the provider reports none.
    pub usage: Option<Usage>,
    /// Why it stopped.
    pub finish: Finish,
}

/// One step of a streamed reply.
///
/// `part` counts the calls of this reply from 0 and tells parallel calls apart, whose
/// argument deltas may come interleaved.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// A call began.
    CallStarted {
        /// Which call of this reply.
        part: usize,
        /// The tool's name as the model wrote it.
        name: String,
    },
    /// More of a call's arguments.
    CallArguments {
        /// Which call of this reply.
        part: usize,
        /// The next piece of the arguments' text.
        json: String,
    },
    /// A call is complete.
    CallReady {
        /// Which call of this reply.
        part: usize,
    },
    /// The reply is complete. Always the last item of a stream that did not fail.
    Done(Reply),
}

/// A streamed reply: ends with one `Done` or one `Err`.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A provider's models, ready to be asked.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// Streams the answer.
    ///
    /// The last item is `Done` or an `Err`; a stream that the server ends early yields
    /// [`Truncated`](crate::ModelErrorKind::Truncated), never a short answer. Dropping
    /// the stream closes the connection and thereby cancels the request at the server.
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;
}
