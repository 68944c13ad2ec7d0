//! Requests that nobody should send, to every operation: no panic, no failure of ours, and each answer is one that the
//! document of the interface declares.
//!
//! `ASTUDIO_FUZZ` says how many requests each operation gets, `ASTUDIO_SEED` where the dice begin. A seed repeats them.

mod check;
mod clients;
mod example;
mod http;
mod line;
mod mutate;
mod operations;
mod town;
