//! What has to be believed later: the vault, the journal, approvals.
//!
//! What lives here: envelopes that bind a secret to its owner and use, and the keys they are made with ([`vault`]); the
//! provider keys people stored ([`keys`]); approvals of calls ([`approvals`]); the journal, whose entries are linked so
//! that a change of the past shows ([`journal`]). It may use `store`, `rules`, `text` and `contract`. What never belongs
//! here: who may call an operation, networks, and models.

pub mod approvals;
pub mod journal;
pub mod keys;
pub mod vault;
