//! The engine of a home: store, vault, tools, policy, people, put together.

use super::home::{Places, own_user};
use super::models::Models;
use super::settings::{PolicyPreset, Settings};
use contract::{Code, Result, StudioError};
use engine::people::{Bootstrap, Memberships, bootstrap};
use engine::{Builder, Caller, Engine, EngineSettings};
use rules::policy::TenantToolingPolicy;
use std::sync::Arc;
use store::{Store, StoreError, StoreSettings};
use tools::Registry;
use trust::vault::Vault;

/// The tenant of a fresh home.
pub(super) const OWN_TENANT: &str = "local";

/// The program over its home.
#[derive(Clone)]
pub struct App {
    /// The engine.
    pub engine: Engine,
    /// The home's own person.
    pub user: String,
    /// The tenant they act in.
    pub tenant: String,
}

impl App {
    /// The caller that commands speak as: the home's own person, or whom `--as` names. Whoever may open the home may read
    /// and write everything in it, so speaking for one of its users gives them nothing new.
    ///
    /// # Errors
    /// A name that is none.
    pub fn caller(&self, speak_as: Option<&str>) -> Result<Caller> {
        match speak_as {
            Some(who) => self::speak_as(who, &self.tenant),
            None => Ok(Caller::user(self.user.clone(), Some(&self.tenant))),
        }
    }
}

/// Reads `USER` or `USER@TENANT`; without a tenant the home's own.
///
/// # Errors
/// A part is missing.
pub fn speak_as(who: &str, own_tenant: &str) -> Result<Caller> {
    let (user, tenant) = who.split_once('@').unwrap_or((who, own_tenant));
    if user.is_empty() || tenant.is_empty() {
        return Err(StudioError::invalid_request("Write USER or USER@TENANT."));
    }
    Ok(Caller::user(user, Some(tenant)))
}

/// Opens a home; a fresh one gets its tenant, its one person, its master key and its schema.
///
/// # Errors
/// What is wrong with the home, its key or its settings.
pub async fn open(places: &Places, settings: &Settings) -> Result<App> {
    let store = open_store(places, true)?;
    let vault = Vault::load(&variable, Some(store.home().path())).map_err(|fault| vault_fault(&fault))?;
    let people = Memberships(store.clone());
    let user = own_user();
    let wanted = Bootstrap { tenant: OWN_TENANT.to_owned(), name: user.clone(), user };
    let whose = bootstrap(&store, wanted).await?;
    let engine = builder(places, settings, store, vault).resolver(Arc::new(people)).build();
    Ok(App { engine, user: whose.user, tenant: whose.tenant })
}

/// Opens a home as a plain host: no tenants, no people, records of all, and one person who manages them.
///
/// # Errors
/// What is wrong with the home, its key or its settings.
pub fn open_plain(places: &Places, settings: &Settings) -> Result<Engine> {
    let store = open_store(places, true)?;
    let vault = Vault::load(&variable, Some(store.home().path())).map_err(|fault| vault_fault(&fault))?;
    Ok(builder(places, settings, store, vault).build())
}

fn builder(places: &Places, settings: &Settings, store: Store, vault: Option<Vault>) -> Builder {
    Builder::new(store, Arc::new(Models::new(settings, &places.home)))
        .vault(vault.map(Arc::new))
        .registry(registry(places))
        .policy(policy(settings.host.policy))
        .settings(EngineSettings {
            class_allowlist: settings.host.class_allowlist.clone(),
            runtime: settings.turn.runtime(),
        })
}

/// Opens the store of a home, with `apply` brought up to date.
///
/// # Errors
/// The home or its database cannot be used.
pub fn open_store(places: &Places, apply: bool) -> Result<Store> {
    let mut settings = StoreSettings::new(&places.home);
    settings.apply = apply;
    Store::open(&settings).map_err(store_fault)
}

/// Why a home cannot be used, in the store's own words, which are fit for people.
pub fn store_fault(error: StoreError) -> StudioError {
    StudioError::new(Code::StudioStorageUnavailable, 503, sentence(&error.to_string()))
}

/// Why there is no vault.
pub(super) fn vault_fault(error: &trust::vault::VaultError) -> StudioError {
    StudioError::new(Code::VaultUnavailable, 503, sentence(&error.to_string()))
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

/// A variable of the environment; an empty one counts as none.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The policy of a preset.
pub(super) fn policy(preset: PolicyPreset) -> TenantToolingPolicy {
    match preset {
        PolicyPreset::OwnMachine => TenantToolingPolicy::own_machine(),
        PolicyPreset::DenyAll => TenantToolingPolicy::deny_all(),
    }
}

/// The tools of this program. A rejected one is in the log.
fn registry(places: &Places) -> Registry {
    let mut registry = Registry::default();
    // Tests stop the process at this point; in a shipped build it is empty.
    let after_effect = Arc::new(|| _ = store::fault::point("effect_done"));
    registry.register(toolkits::desk::host_tools_with(places.desk(), Some(after_effect)));
    registry
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn whom_to_speak_for() {
        let of = |who| speak_as(who, "local").map(|caller| caller.sign_in.map(|s| (s.user_id, s.tenant)));
        let pair = |user: &str, tenant: &str| Some((user.to_owned(), Some(tenant.to_owned())));
        assert_eq!(of("ann").unwrap(), pair("ann", "local"));
        assert_eq!(of("ann@acme").unwrap(), pair("ann", "acme"));
        for wrong in ["", "@acme", "ann@"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_tool_of_the_program_is_registered() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places { home: dir.path().to_owned(), config: None };
        let mut registry = Registry::default();
        assert_eq!(registry.register(toolkits::desk::host_tools(places.desk())), []);
        assert!(registry.entries().count() > 0);
    }
}
