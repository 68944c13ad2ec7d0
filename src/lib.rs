//! astudio: a terminal workbench for LLM agents of many tenants.
//!
//! The library is the face for hosts that put the engine into a program of their own: tools, a policy, a scope resolver and
//! a source of models go into a [`Builder`], and every operation of the [`contract`] is reached through a [`Client`]. The
//! binary is made of the same parts: [`app`] composes them, [`cli`] speaks to people.

pub mod app;
pub mod cli;

pub use client::{Client, Request};
pub use contract;
pub use engine::{Admitted, Builder, Caller, Engine, EngineSettings, Pbac, ScopeResolver, SignIn};
pub use models;
pub use rules;
pub use runtime::{ModelSource, RuntimeSettings};
pub use store::{Store, StoreSettings};
pub use text;
pub use tools;
pub use trust::vault::Vault;
