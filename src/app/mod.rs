//! Composition: settings, the home, its models and tools, and the engine over them.

mod builder;
pub mod demo;
pub mod doctor;
mod home;
mod models;
mod profile;
mod settings;
pub mod workbench;

pub use builder::{App, open, open_plain, open_store, speak_as, store_fault};
pub use home::{Places, own_user};
pub use models::{Models, Provider};
pub use profile::{ProfileSettings, Wanted, Whither, whither};
pub use settings::{
    HostSettings, Kind, LogFormat, LogSettings, PolicyPreset, ProviderSettings, RehearsalSettings, RemoteSettings,
    Settings, TurnSettings, leaves, unknown_variables,
};
