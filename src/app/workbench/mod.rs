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
use client::Client;
use contract::ops::agents::ListAgents;
use contract::ops::common::Page;
use contract::wire::{NoBody, NoPath};
use engine::{Caller, Engine};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use store::bell::Waiter;
use tui::theme::Theme;
use tui::{FoundModel, Profile, TuiSettings};

/// The program around the workbench.
pub struct Workbench {
    engine: Engine,
    models: Models,
    places: Places,
    /// The settings that count now.
    settings: Mutex<TuiSettings>,
    log: Log,
    bell: tokio::sync::Mutex<Waiter>,
}

impl Workbench {
    /// Around the engine of a home.
    pub fn new(app: &App, places: &Places, settings: &Settings, log: Log) -> Self {
        Self {
            engine: app.engine.clone(),
            models: Models::new(settings, &places.home),
            places: places.clone(),
            settings: Mutex::new(settings.workbench.clone()),
            log,
            bell: tokio::sync::Mutex::new(app.engine.store.bell().subscribe()),
        }
    }
}

/// Whom the workbench shows to whoever this client speaks as: a home without agents is a fresh one.
pub async fn profile(client: &Client) -> Profile {
    let page = Page { limit: Some(1), ..Page::default() };
    let list = client.call::<ListAgents>(client::Request { path: NoPath {}, query: page, body: NoBody }).await;
    Profile { engine: "embedded".into(), fresh: list.is_ok_and(|list| list.0.agents.is_empty()) }
}

#[async_trait]
impl tui::Host for Workbench {
    async fn make_demo(&self) -> contract::Result<(String, Client, Profile)> {
        let report = demo::seed(&self.engine, demo::Options::default()).await?;
        let agents = report.agents_made.len() + report.agents_kept.len();
        let said = format!(
            "The demo world is made: {} people, {agents} agents, 40 orders. You are {} now.",
            report.people.len(),
            report.user
        );
        let caller = Caller::user(report.user, Some(&report.tenant));
        let client = Client::local(self.engine.clone(), caller);
        Ok((said, client, Profile { engine: "embedded".into(), fresh: false }))
    }

    async fn find_models(&self) -> Vec<FoundModel> {
        found::models(&self.models).await
    }

    async fn log(&self, from: usize) -> (Vec<String>, usize) {
        self.log.after(from).await
    }

    fn settings(&self) -> TuiSettings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn save_settings(&self, settings: &TuiSettings) -> Result<String, String> {
        let path = self.places.config.clone().unwrap_or_else(|| self.places.home.join("config.toml"));
        let mut now = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *now, settings.clone());
        file::save(&path, &before, settings)?;
        Ok(path.display().to_string())
    }

    fn own_theme(&self, file: &Path) -> Result<Theme, String> {
        let beside = self.places.config.as_deref().and_then(Path::parent).unwrap_or(&self.places.home);
        let text = std::fs::read_to_string(beside.join(file))
            .map_err(|error| format!("The theme {} cannot be read ({}).", file.display(), error.kind()))?;
        Theme::read(&text).map_err(|why| format!("The theme {} has a fault in {why}", file.display()))
    }

    async fn rung(&self) {
        if self.bell.lock().await.rung().await.is_err() {
            // The store is closed; nothing will ever change.
            std::future::pending::<()>().await;
        }
    }

    fn unsaved_dir(&self) -> PathBuf {
        // The thread that draws asks, so this stands for any fault in it.
        #[cfg(feature = "failpoints")]
        assert!(!store::fault::point("workbench_panic"), "a fault of the test");
        self.places.home.join("unsaved")
    }

    fn editor(&self) -> Option<String> {
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
    }
}
