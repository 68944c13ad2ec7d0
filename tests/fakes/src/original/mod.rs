//! A small Python Agent Studio: the routes that our operations use, with the bodies, the codes and the plain-text refusals
//! of the real one, over agents and keys in memory.

mod agents;
mod routes;
mod state;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::loopback::Loopback;
use state::State;

/// Recorded answers of the real one, a JSON object a line: `mode` (`tenant` or `plain`), `method`, `path` below the prefix,
/// `body`, `status`, `response`. Ids and times stand as `<uuid:N>`, `<timestamp+00:00>`, `<timestamp-no-zone>`, and a body
/// that was no JSON as `{"<raw>": …}`.
pub const SAMPLES: &str = include_str!("samples.jsonl");

/// The path below which it serves.
pub const PREFIX: &str = "/api/v1/astudio";

/// Token of `u1` of the tenant `acme`, who may author and belongs to the group `g1`.
pub const AUTHOR: &str = "token-of-u1";
/// Token of `u2` of the same tenant, who may not author and belongs to no group.
pub const VIEWER: &str = "token-of-u2";
/// Token of `u9`, a superuser of the same tenant.
pub const SUPERUSER: &str = "token-of-u9";
/// The password of all three at the log-in.
pub const PASSWORD: &str = "open sesame";

/// A question that is answered only after [`SLOW_MS`].
pub const SLOWLY: &str = "think slowly";
/// How long that takes, in milliseconds.
pub const SLOW_MS: u64 = 2_000;

/// A request that came in.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The verb.
    pub method: String,
    /// Path and query as they came.
    pub path: String,
    /// The body; null when it was no JSON.
    pub body: Value,
}

/// The server. It stops when it is dropped.
pub struct Original {
    server: Loopback,
    state: Arc<Mutex<State>>,
}

impl Original {
    /// Starts one with three people of the tenant `acme` and without agents.
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::new()));
        let served = Arc::clone(&state);
        let app = axum::Router::new().fallback(move |request| routes::handle(Arc::clone(&served), request));
        Self { server: Loopback::serve(app), state }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The URL of its root, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The URL to which a person's name and password are posted; answers `{"token": …}`.
    pub fn login_url(&self) -> String {
        format!("{}/api/v1/login", self.url())
    }

    /// Opens a question to a person that can be answered with this interaction id.
    pub fn asks_a_person(&self, interaction: &str) {
        self.state().questions.insert(interaction.to_owned(), None);
    }

    /// The answer to a question; none while there is none.
    pub fn answer_of(&self, interaction: &str) -> Option<Value> {
        self.state().questions.get(interaction).cloned().flatten()
    }

    /// Every request so far, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
