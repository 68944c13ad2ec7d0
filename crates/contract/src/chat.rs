//! What people and models say to each other, in the form in which it is kept and sent.

use serde::{Deserialize, Serialize};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A person's words.
    User {
        /// The words.
        text: String,
    },
    /// A model's answer, in its order.
    Assistant {
        /// Text, reasoning and calls.
        blocks: Vec<Block>,
    },
    /// The results of the calls of the answer before, in the order of the calls.
    ToolResults {
        /// One per call.
        results: Vec<ToolResultMessage>,
    },
}

/// A piece of what a model said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Words for the person.
    Text {
        /// The words.
        text: String,
    },
    /// The model's reasoning, when its provider shows it.
    Reasoning {
        /// The words.
        text: String,
        /// What the provider wants back unchanged. A block with empty text may carry only this, also for the call after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A call of a tool.
    Call(ModelCall),
}

/// A call as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelCall {
    /// The provider's id: may be empty or repeated, so it is never a key.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Exactly what the model wrote; may not be JSON.
    pub args_text: String,
}

/// What a call came to, for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResultMessage {
    /// The provider's id of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// JSON or words.
    pub content: String,
    /// Whether the call failed or was refused.
    pub is_error: bool,
}

/// Tokens, as the provider reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Tokens read. Whether that includes cached ones is the provider's convention.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cached: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cached += other.cached;
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    Stop,
    /// It wants tools.
    ToolCalls,
    /// It ran out of tokens.
    Length,
    /// The provider stopped it.
    ContentFilter,
    /// The provider's own word.
    Other(String),
}
