//! The engine: one file per group of operations, and the gates in front of all of them.
//!
//! Here live admission ([`admit`]), the services that serve the declared operations, and people and tokens. It may use
//! `runtime` and the rooms below it, but not `toolkits`: which tools there are is told to it when it is built. It never
//! knows a transport: HTTP, commands and screens reach it through [`Engine::call`].

pub mod admit;
pub mod agents;
pub mod approvals;
pub mod audit;
pub mod caller;
pub mod catalog;
pub mod engine;
pub mod errors;
pub mod events;
pub mod failure;
pub mod keys;
pub mod me;
pub mod people;
pub mod serve;
mod standing;
pub mod test;
pub mod tokens;
pub mod tools;
pub mod turns;

pub use admit::{Admitted, Host};
pub use caller::{Caller, ScopeResolver, SignIn};
pub use engine::{Builder, Engine, EngineSettings, Pbac};
pub use serve::{Entry, Serve, entries};
