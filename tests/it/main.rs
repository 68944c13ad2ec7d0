//! The integration tests: one binary, a module per subject.

#![allow(missing_docs, clippy::unwrap_used)]

mod behind;
mod binary;
mod cases_b;
mod cases_c;
mod cases_g;
mod cli;
mod cli_asks;
mod cli_words;
mod demo;
mod desk;
mod document;
mod execute;
mod fuzz;
mod http;
mod interleave;
mod invariants;
mod kill;
mod ledger;
mod original;
mod people;
mod place;
mod plain;
mod pty;
mod served;
mod served_breaks;
mod story;
mod wire;
mod world;
