//! Servers for tests that speak the real wire formats, on loopback only.
//!
//! What lives here: a scripted model server for OpenAI's chat completions and for
//! Anthropic's messages, which records what it was asked and whether the client left; and a
//! small Python Agent Studio, made from recorded answers of the real one.
//! What it may use: nothing of the program, so that it cannot share the program's mistakes.
//! What never belongs here: assertions. A fake answers and records; the test judges.

mod answer;
mod anthropic;
mod loopback;
mod openai;
pub mod original;
mod request;
mod server;

pub use answer::{Answer, Call, Cut};
pub use request::Request;
pub use server::{Fake, Protocol};
