//! Whether the program works in a home or on a server, and what is said when the server cannot be reached.

use super::Global;
use super::output::Output;
use crate::app::{self, Settings, Wanted, Whither};
use client::{Connection, Proxy};
use contract::{Code, Result, StudioError};
use std::io::IsTerminal as _;
use std::time::Duration;
use text::Secret;
use tokio::task::JoinHandle;

/// Where the flags, the environment and the profile lead.
pub(super) fn whither(global: &Global, settings: &Settings) -> Result<Whither> {
    // An empty variable counts as none.
    let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let name = some(&global.profile);
    let profile = match name.as_deref() {
        Some(name) => Some((name, settings.profiles.get(name).ok_or_else(|| unknown(name, settings))?)),
        None => None,
    };
    let wanted = Wanted {
        server: some(&global.server),
        token: global.token.clone().filter(|token| !token.expose().is_empty()),
        token_typed: global.token_typed,
        home: global.home.is_some(),
        speak_as: some(&global.speak_as),
    };
    app::whither(wanted, profile, Duration::from_secs(settings.remote.patience_seconds), ask_password)
}

fn unknown(name: &str, settings: &Settings) -> StudioError {
    let known: Vec<&str> = settings.profiles.keys().map(String::as_str).collect();
    let known = if known.is_empty() { "there is none".to_owned() } else { format!("there are {}", known.join(", ")) };
    let message = format!("There is no profile '{name}' in the settings; {known}. Add it as a table [profiles.NAME].");
    StudioError::new(Code::InvalidConfig, 422, message)
}

/// Asks the terminal for a password; nothing of it is shown.
fn ask_password(user: &str) -> Result<Secret> {
    let missing = || {
        let message =
            "There is no terminal to ask for the password. Name a variable with `password_env` in the profile.";
        StudioError::new(Code::InvalidConfig, 422, message)
    };
    if !std::io::stderr().is_terminal() {
        return Err(missing());
    }
    let prompt = format!("Password of {}: ", text::Safe::clean(user));
    rpassword::prompt_password(prompt).map(Secret::new).map_err(|_| missing())
}

/// Says once that the server cannot be reached while a command goes on trying.
pub(super) fn tell_trouble(out: Output, proxy: &Proxy) -> JoinHandle<()> {
    let (mut standing, host) = (proxy.connection(), proxy.host().to_owned());
    tokio::spawn(async move {
        let broke = standing.wait_for(|now| *now != Connection::Connected).await.is_ok();
        if broke && !out.is_json() {
            out.note(&format!("{host} cannot be reached just now; it is tried again. Ctrl-C gives up."));
        }
    })
}
