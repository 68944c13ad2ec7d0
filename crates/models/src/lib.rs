//! Model clients: one trait over many providers, and the offline rehearsal.
//!
//! What lives here: [`ModelClient`] with its request and reply types, the providers
//! behind it, the catalog of known providers, and the rehearsal provider that answers
//! from a script.
//! What it may use: `contract`, `text`, and the network libraries; addresses come only
//! from the catalog or from an operator's configuration.
//! What never belongs here: agents, approvals, storage, or the decision to run a tool.
//! A client reports which calls a model asked for and runs none.

pub mod catalog;
mod client;
mod error;
mod providers;
pub mod rehearsal;

pub use catalog::{LlmRef, ProviderInfo, parse_llm, providers};
pub use client::{
    Block, Finish, Message, ModelCall, ModelClient, ModelEvent, ModelRequest, ModelStream, Params, Reply,
    ToolResultMessage, ToolSpec, Usage,
};
pub use error::{ModelError, ModelErrorKind};
pub use providers::{ProviderConfig, ProviderKind, connect, init};
