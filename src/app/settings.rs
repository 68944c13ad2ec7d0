//! Settings, put together from defaults < file < environment < flags.
//!
//! Each setting is a leaf of [`Settings`]; its path (`turn.steps`) names it in the file, its capitals (`ASTUDIO_TURN_STEPS`)
//! in the environment, and `--set turn.steps=4` on the command line. `config.example.toml` lists them all.

use super::profile::ProfileSettings;
use contract::turn::Limits;
use contract::{Code, Result, StudioError};
use models::ProviderKind;
use runtime::RuntimeSettings;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Variables of the program that are no settings.
const NOT_SETTINGS: [&str; 6] =
    ["ASTUDIO_HOME", "ASTUDIO_CONFIG", "ASTUDIO_AS", "ASTUDIO_SERVER", "ASTUDIO_TOKEN", "ASTUDIO_PROFILE"];

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The program's own log.
    pub log: LogSettings,
    /// How turns run.
    pub turn: TurnSettings,
    /// What the tenants of this home may use.
    pub host: HostSettings,
    /// Scripts that play a model.
    pub rehearsal: RehearsalSettings,
    /// The workbench.
    pub workbench: tui::TuiSettings,
    /// The server.
    pub server: server::ServerSettings,
    /// A server somewhere else.
    pub remote: RemoteSettings,
    /// Providers by name: new ones, and changes of known ones.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Profiles by name.
    pub profiles: BTreeMap<String, ProfileSettings>,
}

/// A server somewhere else, as this program speaks to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteSettings {
    /// Seconds for which a request is repeated while the server cannot be reached.
    pub patience_seconds: u64,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self { patience_seconds: 30 }
    }
}

/// The program's own log, on stderr.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// What is written: `error`, `warn`, `info`, `debug`, `trace`, or a filter by room such as `warn,astudio_runtime=debug`.
    pub filter: String,
    /// How a line is written.
    pub format: LogFormat,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { filter: "error".to_owned(), format: LogFormat::Text }
    }
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// The tooling policy of the tenants of a home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyPreset {
    /// For one's own machine: built-in tools and local servers may be configured.
    #[default]
    OwnMachine,
    /// Only the tools of the host.
    DenyAll,
}

/// What the tenants of this home may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostSettings {
    /// The tooling policy.
    pub policy: PolicyPreset,
    /// Agent classes beside the stock ones.
    pub class_allowlist: BTreeSet<String>,
}

/// Scripts that play a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RehearsalSettings {
    /// Folders with scripts, looked through after the folder `rehearsal` of the home.
    pub folders: Vec<PathBuf>,
}

/// How turns run; the file's form of [`RuntimeSettings`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TurnSettings {
    /// Most questions to the model in a turn.
    pub steps: u32,
    /// Most tokens in a turn, read and written together.
    pub tokens: u64,
    /// Most seconds of work in a turn; waiting for people does not count.
    pub seconds: u64,
    /// Seconds that a blocking ask waits for people.
    pub wait_seconds: u64,
    /// Seconds that an approval stays open.
    pub approval_seconds: i64,
    /// Seconds in which an approved call has to run.
    pub void_seconds: i64,
    /// Seconds that a lease on a turn lasts without a renewal.
    pub lease_seconds: i64,
    /// Tokens of a model's window when nothing better is known.
    pub window_tokens: u64,
    /// Most seconds of one tool call.
    pub call_seconds: u64,
}

impl Default for TurnSettings {
    fn default() -> Self {
        // Taken apart whole, so that a new setting of the runtime cannot be forgotten here.
        let RuntimeSettings {
            limits: Limits { steps, tokens, seconds },
            wait_seconds,
            approval_seconds,
            void_seconds,
            lease_seconds,
            window_tokens,
            call_seconds,
        } = RuntimeSettings::default();
        Self {
            steps,
            tokens,
            seconds,
            wait_seconds,
            approval_seconds,
            void_seconds,
            lease_seconds,
            window_tokens,
            call_seconds,
        }
    }
}

impl TurnSettings {
    /// As the runtime takes them.
    pub fn runtime(&self) -> RuntimeSettings {
        RuntimeSettings {
            limits: Limits { steps: self.steps, tokens: self.tokens, seconds: self.seconds },
            wait_seconds: self.wait_seconds,
            approval_seconds: self.approval_seconds,
            void_seconds: self.void_seconds,
            lease_seconds: self.lease_seconds,
            window_tokens: self.window_tokens,
            call_seconds: self.call_seconds,
        }
    }
}

/// The wire format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// OpenAI's chat completions: most servers and gateways.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
}

impl From<Kind> for ProviderKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::OpenAi => ProviderKind::OpenAi,
            Kind::Anthropic => ProviderKind::Anthropic,
            Kind::Gemini => ProviderKind::Gemini,
        }
    }
}

/// A provider as the operator configures it. What is left out comes from the program's own list, if the name is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// The wire format; `openai` when neither this nor the program's list says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Its address, up to and with the version (`http://localhost:8000/v1`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds its key. A provider with an address of its own and without this needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Models to choose from; others may be named as well.
    pub models: Vec<String>,
    /// The model asked when an agent names the provider alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Tokens that fit its models' windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
}

impl Settings {
    /// Puts the layers together: defaults, the file, variables by name, `KEY=VALUE` flags.
    ///
    /// # Errors
    /// `invalid_config` that names the file with line and key, the variable, or the flag.
    pub fn load(
        file: Option<&Path>,
        variables: impl Iterator<Item = (String, String)>,
        flags: &[String],
    ) -> Result<Self> {
        let mut settings = match file {
            Some(path) => read_file(path)?,
            None => Self::default(),
        };
        let leaves = leaves();
        for (name, value) in variables {
            if let Some(leaf) = leaves.iter().find(|leaf| variable(leaf) == name).filter(|_| !value.is_empty()) {
                settings = settings.with(leaf, &value).map_err(|why| invalid(format!("{name}: {why}")))?;
            }
        }
        for flag in flags {
            let (leaf, value) =
                flag.split_once('=').ok_or_else(|| invalid(format!("--set {flag}: write KEY=VALUE")))?;
            if !leaves.iter().any(|known| known == leaf) {
                return Err(invalid(format!(
                    "--set {leaf}: there is no such setting; there are {}",
                    leaves.join(", ")
                )));
            }
            settings = settings.with(leaf, value).map_err(|why| invalid(format!("--set {leaf}: {why}")))?;
        }
        settings.check()?;
        Ok(settings)
    }

    /// Reads the text of a settings file.
    ///
    /// # Errors
    /// What is wrong and in which line.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        toml::from_str(text).map_err(|error| {
            let message = error.message().to_owned();
            let Some(span) = error.span() else { return message };
            let at = span.start.min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
            let words = text.lines().nth(line).unwrap_or_default().trim();
            let key = words.split('=').next().unwrap_or_default().trim();
            format!("line {}, `{key}`: {message}", line + 1)
        })
    }

    /// These settings with one leaf set from a text.
    fn with(&self, leaf: &str, value: &str) -> std::result::Result<Self, String> {
        let mut table = toml::Table::try_from(self).map_err(|e| e.to_string())?;
        let mut keys = leaf.split('.').peekable();
        let mut at = &mut table;
        while let Some(key) = keys.next() {
            if keys.peek().is_some() {
                at = at.get_mut(key).and_then(toml::Value::as_table_mut).ok_or("there is no such setting")?;
                continue;
            }
            let old = at.get(key).ok_or("there is no such setting")?;
            let new = typed(old, value)?;
            at.insert(key.to_owned(), new);
        }
        table.try_into().map_err(|e: toml::de::Error| e.message().to_owned())
    }

    /// What a single leaf cannot know.
    fn check(&self) -> Result<()> {
        const YEAR: i64 = 31_536_000;
        let turn = &self.turn;
        for (name, seconds) in [
            ("approval_seconds", turn.approval_seconds),
            ("void_seconds", turn.void_seconds),
            ("lease_seconds", turn.lease_seconds),
        ] {
            if !(1..=YEAR).contains(&seconds) {
                return Err(invalid(format!("turn.{name}: it is from 1 to {YEAR} seconds")));
            }
        }
        if self.remote.patience_seconds > 3600 {
            return Err(invalid("remote.patience_seconds: it is at most 3600 seconds"));
        }
        for (name, profile) in &self.profiles {
            profile.check().map_err(|why| invalid(format!("profiles.{name}: {why}")))?;
        }
        for (name, provider) in &self.providers {
            let known = models::catalog::provider(name).is_some();
            if !models::parse_llm(name).is_ok_and(|llm| llm.model.is_none() && llm.provider == *name) {
                return Err(invalid(format!(
                    "providers.{name}: a provider's name is lower case letters, digits, `-`, `_` and `.`"
                )));
            }
            if name == "rehearsal" {
                return Err(invalid(
                    "providers.rehearsal: the rehearsal is built in; put scripts into `rehearsal.folders`",
                ));
            }
            if !known && provider.base_url.is_none() {
                return Err(invalid(format!(
                    "providers.{name}: `base_url` is missing, and the program knows no provider of this name"
                )));
            }
            if let Some(model) = &provider.default_model
                && !provider.models.is_empty()
                && !provider.models.contains(model)
            {
                return Err(invalid(format!("providers.{name}: `default_model` is not one of `models`")));
            }
        }
        Ok(())
    }
}

/// A settings fault.
fn invalid(message: impl Into<String>) -> StudioError {
    StudioError::new(Code::InvalidConfig, 422, message)
}

fn read_file(path: &Path) -> Result<Settings> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| invalid(format!("{name}: the file cannot be read ({})", e.kind())))?;
    Settings::parse(&text).map_err(|why| invalid(format!("{name}: {why}")))
}

/// The value as the type that the setting has.
fn typed(old: &toml::Value, text: &str) -> std::result::Result<toml::Value, String> {
    Ok(match old {
        toml::Value::Integer(_) => {
            text.trim().parse::<i64>().map(toml::Value::Integer).map_err(|_| format!("`{text}` is no whole number"))?
        }
        toml::Value::Boolean(_) => text
            .trim()
            .parse::<bool>()
            .map(toml::Value::Boolean)
            .map_err(|_| format!("`{text}` is neither true nor false"))?,
        toml::Value::Array(_) => {
            let parts = text.split(',').map(str::trim).filter(|t| !t.is_empty());
            toml::Value::Array(parts.map(|t| toml::Value::String(t.to_owned())).collect())
        }
        _ => toml::Value::String(text.to_owned()),
    })
}

/// The paths of all settings but providers and own keys, which have names of their own.
pub fn leaves() -> Vec<String> {
    fn walk(prefix: &str, table: &toml::Table, out: &mut Vec<String>) {
        for (key, value) in table {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                toml::Value::Table(inner) => walk(&path, inner, out),
                _ => out.push(path),
            }
        }
    }
    let mut out = Vec::new();
    let table = toml::Table::try_from(Settings::default()).expect("the defaults are plain values, which TOML can hold");
    walk("", &table, &mut out);
    out
}

/// The environment variable of a setting.
pub fn variable(leaf: &str) -> String {
    format!("ASTUDIO_{}", leaf.replace('.', "_").to_uppercase())
}

/// Variables that look like ours and mean nothing: most likely a mistake in writing.
pub fn unknown_variables(names: impl Iterator<Item = String>) -> Vec<String> {
    let known: BTreeSet<String> = leaves().iter().map(|leaf| variable(leaf)).collect();
    names.filter(|n| n.starts_with("ASTUDIO_") && !known.contains(n) && !NOT_SETTINGS.contains(&n.as_str())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn load(text: &str, variables: &[(&str, &str)], flags: &[&str]) -> Result<Settings> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
        Settings::load(Some(&file), variables, &flags)
    }

    #[test]
    fn a_later_layer_wins() {
        let file = "[turn]\nsteps = 2\ntokens = 20\nseconds = 5\n";
        let settings =
            load(file, &[("ASTUDIO_TURN_TOKENS", "30"), ("ASTUDIO_TURN_SECONDS", "6")], &["turn.seconds=7"]).unwrap();
        assert_eq!((settings.turn.steps, settings.turn.tokens, settings.turn.seconds), (2, 30, 7));
        assert_eq!(settings.turn.wait_seconds, Settings::default().turn.wait_seconds);
        let settings = load("", &[("ASTUDIO_HOST_CLASS_ALLOWLIST", "A, B")], &["host.policy=deny-all"]).unwrap();
        assert_eq!(settings.host.class_allowlist, ["A", "B"].map(String::from).into());
        assert_eq!(settings.host.policy, PolicyPreset::DenyAll);
    }

    #[test]
    fn faults_name_file_line_and_key() {
        for (text, parts) in [
            ("\n[turn]\nsteps = 1\nstepz = 2\n", ["config.toml", "line 4", "`stepz`"]),
            ("[turn]\nsteps = \"x\"\n", ["config.toml", "line 2", "`steps`"]),
            ("[nope]\n", ["config.toml", "line 1", "nope"]),
            ("[turn]\nsteps = -1\n", ["config.toml", "line 2", "`steps`"]),
            ("[turn\n", ["config.toml", "line 1", "turn"]),
            ("[providers.x]\nbase_url = 'http://localhost'\nkind = 'cobol'\n", ["config.toml", "line 3", "`kind`"]),
        ] {
            let message = load(text, &[], &[]).unwrap_err().message;
            for part in parts {
                assert!(message.contains(part), "{message} lacks {part}");
            }
        }
        assert!(load("", &[], &["remote.patience_seconds=99999"]).is_err());
        let message = load("", &[("ASTUDIO_TURN_STEPS", "many")], &[]).unwrap_err().message;
        assert!(message.contains("ASTUDIO_TURN_STEPS") && message.contains("whole number"), "{message}");
        assert!(load("", &[], &["turn.nothing=1"]).unwrap_err().message.contains("turn.nothing"));
        assert!(load("", &[], &["turn.steps"]).unwrap_err().message.contains("KEY=VALUE"));
    }

    #[test]
    fn providers_are_checked() {
        let good = "[providers.lab]\nkind = 'openai'\nbase_url = 'http://localhost:9/v1'\nmodels = ['a']\ndefault_model = 'a'\n";
        assert_eq!(load(good, &[], &[]).unwrap().providers["lab"].kind, Some(Kind::OpenAi));
        assert!(load("[providers.groq]\nkey_env = 'MY_KEY'\n", &[], &[]).is_ok());
        for bad in [
            "[providers.lab]\nmodels = ['a']\n",
            "[providers.Lab]\nbase_url = 'http://localhost'\n",
            "[providers.\"a:b\"]\nbase_url = 'http://localhost'\n",
            "[providers.rehearsal]\nmodels = ['a']\n",
            "[providers.groq]\nmodels = ['a']\ndefault_model = 'b'\n",
        ] {
            assert!(load(bad, &[], &[]).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_workbench_has_settings_and_keys_of_its_own() {
        let file = "[workbench]\ntheme = 'light'\n[workbench.keys]\nquit = ['ctrl-x']\n";
        let settings = load(file, &[("ASTUDIO_WORKBENCH_MOUSE", "true")], &["workbench.reduced_motion=true"]).unwrap();
        let workbench = settings.workbench;
        assert_eq!(workbench.theme, tui::theme::ThemeName::Light.into());
        assert!(workbench.mouse && workbench.reduced_motion);
        assert_eq!(workbench.keys["quit"], ["ctrl-x"]);
        assert!(load("[workbench]\ntheme = 'pink'\n", &[], &[]).unwrap_err().message.contains("line 2, `theme`"));
    }

    #[test]
    fn a_variable_with_a_typing_error_is_noticed() {
        let names = ["ASTUDIO_TURN_STEPS", "ASTUDIO_TRUN_STEPS", "ASTUDIO_HOME", "PATH"].map(String::from);
        assert_eq!(unknown_variables(names.into_iter()), ["ASTUDIO_TRUN_STEPS"]);
    }
}
