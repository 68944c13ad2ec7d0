//! Approvals: a write needs a person.
//!
//! [`life`] is the pure rule: who may answer, when an answer comes too late, what may follow what. [`service`] writes
//! requests and answers. [`consume`] turns a stored yes into the one [`Approval`] value that lets a call run.

mod consume;
pub mod life;
mod service;

pub use consume::{Approval, Consume, NotConsumed, consume};
pub use service::{Decided, Edit, Request, decide, effective, end_open, exact_args, lapse, masked, request, status_at};
pub use store::repo::approvals::ApprovalRow;
