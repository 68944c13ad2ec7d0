//! Who may do what, decided from values alone.
//!
//! Lives here: the scope of a caller and of a tool call, partitions, the access rule, the rule for sharing a record, the rules for names,
//! the bounds of model parameters, and the tenant tooling policy.
//!
//! May use `contract` and `text`. Never belongs here: storage, a clock, a callback into a host, HTTP. What an outsider must answer (a
//! tenant's allow-list, what a slug means) is asked before and passed in, so every rule can be run again inside a transaction.

pub mod access;
pub mod model_params;
pub mod names;
pub mod partition;
pub mod policy;
pub mod scope;
pub mod sharing;

pub use access::{Access, Caller, Owned, PlainCaller, Verdict, Visibility, access};
pub use partition::Partition;
pub use scope::{BoundRequest, BoundScope, RequestScope, ScopeAgent, ScopeReason, ToolScope, tool_scope_gate};
