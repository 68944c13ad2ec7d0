//! How an approval ends, in words: the time it has left, and what became of it.

use super::rows::minute;
use contract::ops::approvals::{ApprovalStatus, ApprovalView};
use text::Safe;

/// What is said of one that cannot be read any more.
pub fn gone() -> Safe<'static> {
    Safe::clean("This approval is no longer there, or no longer yours to see.").into_owned()
}

/// The time left, for people, and how long the text stays right, in milliseconds.
pub fn time_left(ms: u64) -> (String, u64) {
    const MINUTE: u64 = 60_000;
    let (minutes, seconds) = (ms / MINUTE, ms % MINUTE / 1_000);
    match minutes {
        0 if ms == 0 => ("time is over".into(), 1_000),
        60.. => (format!("{} h {} min left", minutes / 60, minutes % 60), MINUTE),
        _ => (format!("{minutes}:{seconds:02} left"), 1_000),
    }
}

/// How an approval ended; none = it is pending.
pub fn ended(view: &ApprovalView) -> Option<Safe<'static>> {
    let by = view.decided_by.as_deref().unwrap_or("somebody");
    let when = view.decided_at.map(|at| format!(" at {}", minute(at))).unwrap_or_default();
    let why = view.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let how = match view.status {
        ApprovalStatus::Pending => return None,
        ApprovalStatus::Approved => format!("Approved by {by}{when}."),
        ApprovalStatus::Consumed => format!("Approved by {by}{when}; it ran."),
        ApprovalStatus::Rejected => format!("Rejected by {by}{when}{why}"),
        ApprovalStatus::Withdrawn => format!("Taken back by {}{when}.", view.requested_by),
        ApprovalStatus::Expired => format!("Nobody answered in time; it expired at {}.", minute(view.expires_at)),
        ApprovalStatus::Void => format!("Approved by {by}{when}, but it cannot run any more{why}"),
    };
    Some(Safe::clean(&how).into_owned())
}
