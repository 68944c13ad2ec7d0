//! Tools: what agents can do, and the gate through which every call passes.
//!
//! Here live the facts of tools and their registry, the check of arguments, the scope gate, and clearing: a [`Cleared`] call
//! is made from a consumed approval, or from registered facts that say that no approval is needed; only
//! [`Cleared::execute`] makes the [`Granted`] value that [`Tool::run`] demands. It may use `trust`, `rules` and below.
//! No tool lives here, and nothing that asks a person.

mod args;
mod clear;
mod facts;
mod host;
mod registry;
mod scope;
pub mod testing;
#[cfg(test)]
mod tests;
mod tool;

pub use async_trait::async_trait;

pub use args::{ArgFault, Args};
pub use clear::{Bound, Cleared, NotCleared, Unanswered};
pub use facts::{Access, Facts, Source};
pub use host::{HostTool, HostToolkit, HostTools, Method, Rejected};
pub use registry::{Entry, Registry};
pub use scope::{InScope, enter};
pub use tool::{Granted, Look, Tool, ToolError};
