//! Tenants, users, memberships, tokens, the journal and the catalogues of an installation that keeps its own people.

mod catalogues;
mod journal;
mod members;
mod tokens;
mod town;

pub use town::{Town, call_as, found_in};
