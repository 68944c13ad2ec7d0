//! The integration tests: one binary, a module per subject.

#![allow(missing_docs, clippy::unwrap_used)]

mod cases_b;
mod cases_c;
mod cases_g;
mod demo;
mod desk;
mod invariants;
mod people;
mod world;
