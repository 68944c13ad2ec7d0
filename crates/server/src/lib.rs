//! The contract over HTTP.
//!
//! Here live the routes (made from the declared operations), sign-in by bearer token, the form in which answers, refusals
//! and streams travel, AG-UI, conditional requests, repeats, limits, health, metrics, and the accept loop with TLS and a
//! graceful stop. It may use `engine` and the rooms below it. It never decides who may do what, and never knows a record:
//! whatever an operation means is behind [`engine::Entry::call`].

mod agui;
mod answer;
mod ask;
mod busy;
mod carry;
mod conditional;
mod first;
mod hitl;
mod limits;
mod listen;
mod lists;
mod meta;
mod metrics;
mod observed;
mod repeat;
mod request;
mod router;
mod settings;
mod shared;
mod sign_in;
mod sse;

pub use listen::{Listening, TlsFault, tls};
pub use router::Server;
pub use settings::ServerSettings;
pub use sign_in::{OneToken, SignInSource, Tokens};
