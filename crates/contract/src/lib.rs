//! The contract of astudio, declared once.
//!
//! Here live the operations (id, method, routes, shapes, gates, refusals), the records they carry, the events of a turn,
//! the error codes, canonical JSON and ids. The router, the HTTP client, the command `astudio api` and the coverage
//! checks are all made from these declarations.
//!
//! It may use `text` only. It never holds behaviour that needs a database, a clock inside a rule, or a network; who may do
//! what is decided by `rules` and `engine`.

pub mod canonical;
pub mod chat;
pub mod code;
pub mod error;
pub mod ids;
pub mod json;
#[cfg(feature = "schema")]
pub mod openapi;
pub mod operation;
pub mod ops;
pub mod patch;
pub mod schema;
pub mod time;
pub mod turn;
pub mod wire;

pub use code::Code;
pub use error::{Result, StudioError};
pub use operation::Operation;
pub use patch::Patch;
pub use time::Micros;
