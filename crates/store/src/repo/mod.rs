//! Repositories: plain functions over an open transaction, written once for every database.
//!
//! A repository knows tables and rows; who may do what is decided above. Every function that addresses a record takes the
//! partition, so that no statement can reach another tenant's rows.

pub mod agents;
pub mod approvals;
pub mod audit;
pub mod keys;
pub mod people;
pub mod sessions;
pub mod settings;
pub mod tokens;
pub mod turns;
