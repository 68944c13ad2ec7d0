//! What `astudio doctor` finds out: the home, its policies, its providers. It changes nothing and shows no value of a key.

use super::builder::{self, policy, variable};
use super::home::{Places, own_user};
use super::models::Models;
use super::settings::{PolicyPreset, Settings, unknown_variables};
use contract::Result;
use engine::Caller;
use serde::Serialize;
use std::os::unix::fs::PermissionsExt as _;
use trust::vault::Vault;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, but a person should know.
    Warn,
    /// It does not work.
    Fail,
}

/// A check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What was looked at.
    pub name: &'static str,
    /// How it ended.
    pub state: State,
    /// What was found.
    pub detail: String,
}

/// A provider and where its key would come from.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderCheck {
    /// The provider.
    pub provider: String,
    /// Whether it wants a key.
    pub key_needed: bool,
    /// Variables that may hold its key.
    pub key_variables: Vec<String>,
    /// The one that does.
    pub key_found: Option<String>,
    /// Whether the operator put another address in the place of its own.
    pub own_address: bool,
}

/// Everything that was found.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Whether nothing failed.
    pub ok: bool,
    /// The checks, in their order.
    pub checks: Vec<Check>,
    /// The providers, by name.
    pub providers: Vec<ProviderCheck>,
}

/// Looks at everything. A fresh home is not made by looking at it.
pub async fn examine(places: &Places, settings: &Settings, speak_as: Option<&str>) -> Diagnosis {
    let mut checks = vec![home(places), config(places), variables()];
    let usable = places.is_made() && database(places, &mut checks).await;
    checks.push(vault(places));
    checks.push(if usable { you(places, settings, speak_as).await } else { stranger() });
    let own = settings.host.policy;
    checks.push(ok("policy of this home", format!("{} ({})", preset(own), describe(own))));
    let server = PolicyPreset::DenyAll;
    checks.push(ok(
        "policy of a server",
        format!("{} unless its host gives another ({})", preset(server), describe(server)),
    ));
    Diagnosis {
        ok: checks.iter().all(|check| check.state != State::Fail),
        checks,
        providers: providers(places, settings),
    }
}

fn ok(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, state: State::Ok, detail: detail.into() }
}

fn warn(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, state: State::Warn, detail: detail.into() }
}

fn fail(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, state: State::Fail, detail: detail.into() }
}

fn home(places: &Places) -> Check {
    let path = places.home.display();
    match std::fs::metadata(&places.home) {
        Err(_) => ok("home", format!("{path}, not made yet: the first command makes it")),
        Ok(about) if !about.is_dir() => fail("home", format!("{path} is not a folder; name another with --home")),
        Ok(about) if about.permissions().mode() & 0o077 != 0 => {
            warn("home", format!("{path} is open to others; make it yours alone with: chmod 700 {path}"))
        }
        Ok(_) => ok("home", path.to_string()),
    }
}

fn config(places: &Places) -> Check {
    match &places.config {
        Some(file) => ok("settings", file.display().to_string()),
        None => ok("settings", "no file; the defaults and the environment count"),
    }
}

fn variables() -> Check {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = unknown_variables(names);
    if unknown.is_empty() {
        ok("environment", "no unknown variables")
    } else {
        warn("environment", format!("unknown and without effect: {}", unknown.join(", ")))
    }
}

/// Checks the database and its schema; answers whether the home can be used as it is.
async fn database(places: &Places, checks: &mut Vec<Check>) -> bool {
    let store = match builder::open_store(places, false) {
        Ok(store) => store,
        Err(error) => {
            checks.push(fail("database", error.message));
            return false;
        }
    };
    checks.push(ok("database", "SQLite, can be opened"));
    match store::migrate::plan(&store).await {
        Ok(report) if report.pending.is_empty() => {
            checks.push(ok("schema", format!("{}, up to date", report.from)));
            true
        }
        Ok(report) => {
            checks.push(warn(
                "schema",
                format!("{}, {} steps pending: `astudio migrate apply`", report.from, report.pending.len()),
            ));
            false
        }
        Err(error) => {
            checks.push(fail("schema", error.to_string()));
            false
        }
    }
}

/// Where the master key comes from, without making one.
fn vault(places: &Places) -> Check {
    let file = places.home.join("vault.key");
    let numbered =
        variable("VAULT_ACTIVE_KEY_ID").or_else(|| (0..=255).find_map(|n| variable(&format!("VAULT_MASTER_KEY_v{n}"))));
    let source = if numbered.is_some() {
        "VAULT_MASTER_KEY_v… and VAULT_ACTIVE_KEY_ID"
    } else if variable("MASTER_ENCRYPTION_KEY").is_some() {
        "MASTER_ENCRYPTION_KEY"
    } else if file.exists() {
        "vault.key in the home"
    } else {
        return ok("vault", "vault.key in the home, made by the first command");
    };
    match Vault::load(&variable, Some(&places.home)) {
        Ok(_) => ok("vault", format!("master key from {source}")),
        Err(fault) => fail("vault", builder::vault_fault(&fault).message),
    }
}

fn stranger() -> Check {
    ok(
        "you",
        format!(
            "{}, Admin of the tenant {}, as soon as the home is made and up to date",
            own_user(),
            builder::OWN_TENANT
        ),
    )
}

async fn you(places: &Places, settings: &Settings, speak_as: Option<&str>) -> Check {
    match standing(places, settings, speak_as).await {
        Ok(detail) => ok("you", detail),
        Err(error) => fail("you", error.message),
    }
}

async fn standing(places: &Places, settings: &Settings, speak_as: Option<&str>) -> Result<String> {
    let app = builder::open(places, settings).await?;
    let caller: Caller = app.caller(speak_as)?;
    let contract::wire::Json(me) =
        app.engine.call::<contract::ops::me::GetMe>(caller, contract::wire::WireRequest::default()).await?;
    let role = match (me.may_administer, me.may_author) {
        (true, _) => "Admin",
        (false, true) => "Builder",
        (false, false) => "Viewer",
    };
    let tools = app.engine.registry.entries().count();
    Ok(format!(
        "{} in the tenant {}, {role}{}; {tools} tools and toolkits registered",
        me.user_id,
        me.tenant.as_deref().unwrap_or("none"),
        if me.is_superuser { ", superuser" } else { "" },
    ))
}

fn preset(preset: PolicyPreset) -> String {
    serde_json::to_value(preset).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// What a policy lets tenants configure, in words.
fn describe(preset: PolicyPreset) -> String {
    let policy = policy(preset);
    let host = if policy.host_toolkits { "host toolkits" } else { "no host toolkits" };
    let rest = match preset {
        PolicyPreset::OwnMachine => "all built-in tools, MCP servers anywhere".to_owned(),
        PolicyPreset::DenyAll => {
            let servers = policy.mcp_endpoints.len() + policy.mcp_servers.len();
            format!("{} built-in tools, {servers} MCP servers", policy.builtin_tools.len())
        }
    };
    format!("{host}, {rest}")
}

fn providers(places: &Places, settings: &Settings) -> Vec<ProviderCheck> {
    let models = Models::new(settings, &places.home);
    let check = |provider: &super::models::Provider| ProviderCheck {
        provider: provider.config.name.clone(),
        key_needed: !provider.key_optional,
        key_variables: provider.key_env.clone(),
        key_found: provider.key_variable().map(str::to_owned),
        own_address: provider.config.base_url.is_some(),
    };
    models.providers().map(check).collect()
}
