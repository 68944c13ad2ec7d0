//! Agents: list, read, create, patch, delete, reload, visibility.

mod change;
pub mod classes;
mod create;
mod definition;
mod delete;
mod guard;
mod item;
mod page;
mod read;
mod reload;
mod tooling;

pub use page::page_of;
