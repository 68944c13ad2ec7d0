//! Whether the program works in a home or on a server, how it is called again there, and what is said when the server cannot be
//! reached.

use super::Global;
use super::output::Output;
use crate::app::{self, Settings, Wanted, Whither};
use client::{Connection, Proxy};
use contract::{Code, Result, StudioError};
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;
use text::Secret;
use tokio::task::JoinHandle;

/// How a command is given that goes where this one went, as the same person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// What stands before the words of the command.
    start: String,
    server: bool,
}

impl Default for Way {
    fn default() -> Self {
        Self { start: "astudio".into(), server: false }
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.start)
    }
}

/// What stands before a command in the plain workbench.
const TYPE: &str = "type:";

impl Way {
    /// From another terminal. A server is reached from any home; `config` is the settings file in use.
    pub(super) fn of(global: &Global, server: bool, config: Option<&Path>) -> Self {
        let mut start = "astudio".to_owned();
        let mut push = |flag: &str, value: &str| start.push_str(&format!(" {flag} {}", shell_word(value)));
        let profile = global.profile.as_ref().filter(|profile| !profile.is_empty());
        if let Some(home) = global.home.as_ref().filter(|_| !server) {
            push("--home", &home.to_string_lossy());
        }
        // A server's profile in the settings of a named home is found by the file alone.
        let of_home = |file: &&Path| {
            server && profile.is_some() && global.home.as_ref().is_some_and(|home| file.starts_with(home))
        };
        if let Some(config) = global.config.as_deref().or(config.filter(of_home)) {
            push("--config", &config.to_string_lossy());
        }
        // A token is never printed: it comes from the environment or the profile again.
        if let Some(server) = global.server.as_ref().filter(|server| !server.is_empty()) {
            push("--server", server);
        }
        if let Some(profile) = profile {
            push("--profile", profile);
        }
        if let Some(who) = &global.speak_as {
            push("--as", who);
        }
        Self { start, server }
    }

    /// In the plain workbench, where commands are typed as they are.
    pub(super) fn typed(server: bool) -> Self {
        Self { start: TYPE.into(), server }
    }

    /// To a server, with these words before a command.
    #[cfg(test)]
    pub(super) fn served(start: &str) -> Self {
        Self { start: start.into(), server: true }
    }

    /// Whether a server does what is asked.
    pub fn is_server(&self) -> bool {
        self.server
    }

    /// A command in the middle of a sentence.
    pub fn command(&self, rest: &str) -> String {
        if self.start == TYPE { format!("`{rest}`") } else { format!("`{} {rest}`", self.start) }
    }
}

/// A value as one word of a shell, so that a printed command can be pasted whatever names stand in it.
pub(super) fn shell_word(value: &str) -> String {
    let plain = !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "/._-@+:".contains(c));
    if plain { value.to_owned() } else { format!("'{}'", value.replace('\'', r"'\''")) }
}

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
