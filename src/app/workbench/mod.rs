//! What this program does for its workbench: the demo world, models that are at hand, the log, the settings file.

mod file;
mod found;
mod log;

pub use log::Log;

use super::builder::App;
use super::demo;
use super::home::Places;
use super::models::Models;
use super::settings::Settings;
use async_trait::async_trait;
use client::{Client, Connection, Proxy};
use contract::ops::agents::ListAgents;
use contract::ops::common::Page;
use contract::wire::{NoBody, NoPath};
use contract::{Code, StudioError};
use engine::{Caller, Engine};
use futures_util::stream::{BoxStream, StreamExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use store::bell::Waiter;
use tui::theme::Theme;
use tui::{FoundModel, Profile, TuiSettings};

/// The program around the workbench.
pub struct Workbench {
    way: Way,
    /// Where its own files are: unsaved texts, the log.
    folder: PathBuf,
    config: PathBuf,
    /// The settings that count now.
    settings: Mutex<TuiSettings>,
    log: Log,
}

/// What it works on.
enum Way {
    /// The home of this program.
    Home { engine: Engine, models: Box<Models>, bell: tokio::sync::Mutex<Waiter> },
    /// A server.
    Server { proxy: Proxy, changes: tokio::sync::Mutex<BoxStream<'static, ()>> },
}

impl Workbench {
    /// Around the engine of a home.
    pub fn new(app: &App, places: &Places, settings: &Settings, log: Log) -> Self {
        let way = Way::Home {
            engine: app.engine.clone(),
            models: Box::new(Models::new(settings, &places.home)),
            bell: tokio::sync::Mutex::new(app.engine.store.bell().subscribe()),
        };
        log.keep_in(&places.home);
        Self {
            way,
            folder: places.home.clone(),
            config: places.config.clone().unwrap_or_else(|| places.home.join("config.toml")),
            settings: Mutex::new(settings.workbench.clone()),
            log,
        }
    }

    /// Around a server. Its own files are on this machine all the same; no database is made for them.
    pub fn on_server(proxy: &Proxy, places: &Places, settings: &Settings, log: Log) -> Self {
        let changes = tokio::sync::Mutex::new(proxy.changes());
        let folder = places.own();
        log.keep_in(&folder);
        Self {
            way: Way::Server { proxy: proxy.clone(), changes },
            folder,
            config: places.config_to_write(),
            settings: Mutex::new(settings.workbench.clone()),
            log,
        }
    }
}

/// Whom the workbench shows on a server. Nothing is asked for it: the first screen comes at once, however slow the server is.
pub fn profile_of_server(proxy: &Proxy) -> Profile {
    Profile { engine: proxy.host().to_owned(), fresh: false }
}

/// Whom the workbench shows to whoever this client speaks as: a home without agents is a fresh one.
pub async fn profile(client: &Client) -> Profile {
    let page = Page { limit: Some(1), ..Page::default() };
    let list = client.call::<ListAgents>(client::Request { path: NoPath {}, query: page, body: NoBody }).await;
    Profile { engine: Profile::EMBEDDED.into(), fresh: list.is_ok_and(|list| list.0.agents.is_empty()) }
}

#[async_trait]
impl tui::Host for Workbench {
    async fn make_demo(&self) -> contract::Result<(String, Client, Profile)> {
        let Way::Home { engine, .. } = &self.way else {
            let message = "The demo world is made in a home on this machine: `astudio demo` without a server makes it.";
            return Err(StudioError::new(Code::Unavailable, 503, message));
        };
        let report = demo::seed(engine, demo::Options::default()).await?;
        let agents = report.agents_made.len() + report.agents_kept.len();
        let said = format!(
            "The demo world is made: {} people, {agents} agents, 40 orders. You are {} now.",
            report.people.len(),
            report.user
        );
        let caller = Caller::user(report.user, Some(&report.tenant));
        let client = Client::local(engine.clone(), caller);
        Ok((said, client, Profile { engine: Profile::EMBEDDED.into(), fresh: false }))
    }

    async fn find_models(&self) -> Vec<FoundModel> {
        match &self.way {
            Way::Home { models, .. } => found::models(models).await,
            // Agents run where the server is, not here.
            Way::Server { .. } => Vec::new(),
        }
    }

    async fn log(&self, from: usize) -> (Vec<String>, usize) {
        self.log.after(from).await
    }

    fn settings(&self) -> TuiSettings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn save_settings(&self, settings: &TuiSettings) -> Result<String, String> {
        let mut now = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *now, settings.clone());
        file::save(&self.config, &before, settings)?;
        Ok(self.config.display().to_string())
    }

    fn own_theme(&self, file: &Path) -> Result<Theme, String> {
        let beside = self.config.parent().unwrap_or(&self.folder);
        let text = std::fs::read_to_string(beside.join(file))
            .map_err(|error| format!("The theme {} cannot be read ({}).", file.display(), error.kind()))?;
        Theme::read(&text).map_err(|why| format!("The theme {} has a fault in {why}", file.display()))
    }

    async fn rung(&self) {
        match &self.way {
            Way::Home { bell, .. } => {
                if bell.lock().await.rung().await.is_err() {
                    // The store is closed; nothing will ever change.
                    std::future::pending::<()>().await;
                }
            }
            Way::Server { changes, .. } => _ = changes.lock().await.next().await,
        }
    }

    async fn connection(&self, seen: Connection) -> Connection {
        match &self.way {
            Way::Home { .. } => std::future::pending().await,
            Way::Server { proxy, .. } => {
                let mut standing = proxy.connection();
                // The sender lives in the proxy, which lives in self.
                standing.wait_for(|now| *now != seen).await.map_or(seen, |now| *now)
            }
        }
    }

    fn unsaved_dir(&self) -> PathBuf {
        // The thread that draws asks, so this stands for any fault in it.
        #[cfg(feature = "failpoints")]
        assert!(!store::fault::point("workbench_panic"), "a fault of the test");
        let unsaved = self.folder.join("unsaved");
        match &self.way {
            Way::Home { .. } => unsaved,
            // What was written for one server is not offered on another.
            Way::Server { proxy, .. } => unsaved.join("servers").join(tui::unsaved::file_name(&proxy.address())),
        }
    }

    fn editor(&self) -> Option<String> {
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
    }
}
