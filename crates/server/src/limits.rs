//! How much one credential may ask for in a time.

use crate::ServerSettings;
use contract::{Code, Result, StudioError};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use serde_json::json;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

/// Credentials that have been silent are forgotten every so many requests.
const FORGET_EVERY: u32 = 10_000;

/// The limit of requests by credential; none when the settings set none.
pub struct Limits {
    limiter: Option<DefaultKeyedRateLimiter<String>>,
    asked: AtomicU32,
}

impl Limits {
    /// As the settings say.
    pub fn new(settings: &ServerSettings) -> Self {
        let limiter = NonZeroU32::new(settings.requests_per_second).map(|rate| {
            let burst = NonZeroU32::new(settings.burst).unwrap_or(rate);
            RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst))
        });
        Self { limiter, asked: AtomicU32::new(0) }
    }

    /// Counts a request of a credential.
    ///
    /// # Errors
    /// 429 with the seconds to wait.
    pub fn pass(&self, credential: &str) -> Result<()> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        if self.asked.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            limiter.retain_recent();
        }
        limiter.check_key(&credential.to_owned()).map_err(|not_until| {
            let seconds = not_until.wait_time_from(DefaultClock::default().now()).as_secs_f64().ceil().max(1.0) as u64;
            let message = format!("Too many requests. Wait {seconds} s, then go on more slowly.");
            StudioError::new(Code::RateLimited, 429, message).with(json!({ "retry_after": seconds }))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_credential_has_its_own_burst() {
        let settings = ServerSettings { requests_per_second: 1, burst: 3, ..ServerSettings::default() };
        let limits = Limits::new(&settings);
        for _ in 0..3 {
            limits.pass("a").unwrap();
        }
        let refused = limits.pass("a").unwrap_err();
        assert_eq!((refused.status, &refused.details.unwrap()["retry_after"]), (429, &json!(1)));
        limits.pass("b").unwrap();
    }

    #[test]
    fn without_a_rate_there_is_no_limit() {
        let limits = Limits::new(&ServerSettings::default());
        for _ in 0..10_000 {
            limits.pass("a").unwrap();
        }
    }
}
