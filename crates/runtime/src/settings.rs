//! Settings of the runtime.

use contract::turn::Limits;

/// How turns run.
#[derive(Clone, Debug)]
pub struct RuntimeSettings {
    /// What a turn may use up.
    pub limits: Limits,
    /// How long a blocking ask waits for people, in seconds.
    pub wait_seconds: u64,
    /// How long an approval of a chat lives, in seconds.
    pub approval_seconds: i64,
    /// How long an approved call may wait for its run before it is void, in seconds.
    pub void_seconds: i64,
    /// How long a lease on a turn lasts without a renewal, in seconds.
    pub lease_seconds: i64,
    /// Tokens a model's window is taken to have when nothing better is known.
    pub window_tokens: u64,
    /// Longest run of one tool call, in seconds.
    pub call_seconds: u64,
}

impl Default for RuntimeSettings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            wait_seconds: 120,
            approval_seconds: 24 * 3600,
            void_seconds: 600,
            lease_seconds: 30,
            window_tokens: 128_000,
            call_seconds: 120,
        }
    }
}
