//! What may be shown.
//!
//! Lives here: terminal-safe text ([`Safe`]), its width in columns, values that must not be shown ([`Secret`], [`mask`]), and the
//! redaction of text that may hold some ([`redact_text`]).
//!
//! Uses no other room. Never belongs here: colours and widgets, JSON walking, anything that reads or writes.

mod invisible;
mod redact;
mod safe;
mod secret;
mod width;

pub use redact::{is_secret_name, is_sensitive_log_name, redact_text};
pub use safe::Safe;
pub use secret::{MASK, Secret, mask};
pub use width::{graphemes, is_loose, pad, pad_start, truncate, width};
