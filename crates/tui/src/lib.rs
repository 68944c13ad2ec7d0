//! The workbench: screens over the one client.
//!
//! State is data, effects are at the edge: [`state::State`] changes only in `update`, which returns [`effect::Effect`]s; one
//! driver ([`run`]) carries them out and brings their answers back as [`event::Event`]s. Drawing reads the state and fills a
//! [`view::View`] (caches, areas, viewports), and changes nothing else. It may use `client`, `contract` and `text`. It never
//! talks to an engine, a database or the network itself, and no text of others reaches the terminal but through `text::Safe`.

pub mod action;
mod backend;
mod clipboard;
mod ctx;
pub mod docs;
pub mod draw;
pub mod effect;
pub mod event;
pub mod form;
pub mod keeper;
pub mod keymap;
pub mod layers;
#[cfg(test)]
mod manners;
pub mod markdown;
#[cfg(test)]
mod offers;
pub mod places;
pub mod run;
pub mod state;
pub mod terminal;
#[cfg(test)]
pub mod testing;
pub mod theme;
pub mod unsaved;
pub mod view;
pub mod widgets;
mod words;

pub use run::{FoundModel, Host, Options, Profile, TuiSettings, run};
