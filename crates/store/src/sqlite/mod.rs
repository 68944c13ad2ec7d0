//! The SQLite driver: one writer that groups calls, readers on snapshots, a checkpointer.

mod checkpoint;
mod connect;
mod readers;
mod tx;
mod writer;

pub(crate) use connect::{in_write, open_writer};
pub(crate) use readers::Readers;
pub(crate) use writer::{Call, Group, LONGEST, Writer};

#[cfg(test)]
pub(crate) mod tests;
