//! Where this program's models come from: the providers it knows, those the operator configured, and the rehearsal.

use super::settings::Settings;
use async_trait::async_trait;
use models::rehearsal::{RehearsalClient, Scripts};
use models::{ModelClient, ModelError, ModelErrorKind, ProviderConfig, ProviderKind};
use runtime::ModelSource;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use text::Secret;

/// The provider whose models are scripts.
const REHEARSAL: &str = "rehearsal";
/// The script that speaks when an agent names the rehearsal alone.
const DEFAULT_SCRIPT: &str = "greeter";

/// A provider as this program uses it.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Name, wire format, address.
    pub config: ProviderConfig,
    label: String,
    /// Variables that may hold its key; the first one that is set counts.
    pub key_env: Vec<String>,
    /// Whether it answers without a key.
    pub key_optional: bool,
    models: Vec<String>,
    deprecated: Vec<String>,
    default_model: Option<String>,
    window: Option<u64>,
}

/// The models of this program.
pub struct Models {
    providers: BTreeMap<String, Provider>,
    scripts: Arc<Scripts>,
}

impl Models {
    /// The known providers with the operator's changes; scripts from the home and the configured folders.
    pub fn new(settings: &Settings, home: &Path) -> Self {
        let mut providers: BTreeMap<String, Provider> =
            models::providers().iter().map(|info| (info.name.to_owned(), known(info))).collect();
        for (name, configured) in &settings.providers {
            let provider = providers.entry(name.clone()).or_insert_with(|| unknown(name));
            if let Some(kind) = configured.kind {
                provider.config.kind = kind.into();
            }
            if let Some(url) = &configured.base_url {
                provider.set_address(url.clone());
            }
            if let Some(variable) = &configured.key_env {
                provider.key_env = vec![variable.clone()];
                provider.key_optional = false;
            }
            if !configured.models.is_empty() {
                provider.models = configured.models.clone();
                provider.default_model = None;
            }
            if let Some(model) = &configured.default_model {
                if !provider.models.contains(model) {
                    provider.models.insert(0, model.clone());
                }
                provider.default_model = Some(model.clone());
            }
            provider.window = configured.window_tokens;
        }
        // The environment wins over the file. These two are what the providers' own tools read.
        for (name, variable) in [("openai", "OPENAI_BASE_URL"), ("anthropic", "ANTHROPIC_BASE_URL")] {
            if let (Some(url), Some(provider)) = (filled(variable), providers.get_mut(name)) {
                provider.set_address(url);
            }
        }
        let mut folders = vec![home.join("rehearsal")];
        folders.extend(settings.rehearsal.folders.iter().cloned());
        Self { providers, scripts: Arc::new(Scripts::new(folders)) }
    }

    /// All providers, by name.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.values()
    }

    fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.get(&name.to_ascii_lowercase())
    }

    fn no_provider(&self, name: &str) -> String {
        let names: Vec<&str> = self.providers.keys().map(String::as_str).collect();
        format!(
            "there is no provider `{name}`; there are {}, and others can be added to the settings",
            names.join(", ")
        )
    }
}

impl Provider {
    /// The variable that holds the key of this machine, if one does.
    pub fn key_variable(&self) -> Option<&str> {
        self.key_env.iter().map(String::as_str).find(|name| filled(name).is_some())
    }

    /// The model that is asked when an agent names the provider alone.
    pub fn default_model(&self) -> Option<&str> {
        self.default_model.as_deref()
    }

    /// Where it answers: the configured address, else the program's own for it.
    pub fn address(&self) -> Option<&str> {
        let own = || models::catalog::provider(&self.config.name)?.base_url;
        self.config.base_url.as_deref().or_else(own)
    }

    /// Another server in the place of the provider's own; it may want no key.
    fn set_address(&mut self, url: String) {
        self.config.base_url = Some(url);
        self.key_optional = true;
    }
}

fn known(info: &models::ProviderInfo) -> Provider {
    let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    Provider {
        config: ProviderConfig { name: info.name.to_owned(), kind: info.kind, base_url: None },
        label: info.label.to_owned(),
        key_env: owned(info.key_env),
        key_optional: info.key_optional,
        models: owned(info.models),
        deprecated: owned(info.deprecated_models),
        default_model: info.default_model.map(str::to_owned),
        window: None,
    }
}

fn unknown(name: &str) -> Provider {
    Provider {
        config: ProviderConfig { name: name.to_owned(), kind: ProviderKind::OpenAi, base_url: None },
        label: "OpenAICompatibleClient".to_owned(),
        key_env: Vec::new(),
        key_optional: true,
        models: Vec::new(),
        deprecated: Vec::new(),
        default_model: None,
        window: None,
    }
}

fn filled(variable: &str) -> Option<String> {
    std::env::var(variable).ok().map(|v| v.trim().to_owned()).filter(|v| !v.is_empty())
}

#[async_trait]
impl ModelSource for Models {
    fn resolve(&self, llm: &str) -> Result<(String, String), String> {
        let named = models::parse_llm(llm)?;
        let provider = self.provider(&named.provider).ok_or_else(|| self.no_provider(&named.provider))?;
        let name = provider.config.name.clone();
        let fallback =
            || if name == REHEARSAL { Some(DEFAULT_SCRIPT.to_owned()) } else { provider.default_model.clone() };
        let model = named.model.or_else(fallback).ok_or_else(|| {
            format!("the provider `{name}` has no default model; write `{name}:MODEL`, or set `default_model` for it")
        })?;
        Ok((name, model))
    }

    async fn connect(&self, provider: &str, key: Option<&Secret>) -> Result<Arc<dyn ModelClient>, ModelError> {
        let Some(found) = self.provider(provider) else {
            return Err(ModelError::new(ModelErrorKind::Unsupported, self.no_provider(provider)));
        };
        if found.config.kind == ProviderKind::Rehearsal {
            return Ok(Arc::new(RehearsalClient::new(self.scripts.clone())));
        }
        models::init();
        models::connect(&found.config, key)
    }

    fn needs_key(&self, provider: &str) -> bool {
        self.provider(provider).is_some_and(|p| !p.key_optional)
    }

    fn server_key(&self, provider: &str) -> Option<Secret> {
        self.provider(provider)?.key_env.iter().find_map(|name| filled(name)).map(Secret::new)
    }

    fn window(&self, provider: &str, _model: &str) -> Option<u64> {
        self.provider(provider)?.window
    }

    fn catalog(&self) -> Vec<Value> {
        let row = |provider: &Provider| {
            let rehearsal = provider.config.kind == ProviderKind::Rehearsal;
            let (models, default) = if rehearsal {
                let playable = self.scripts.list().into_iter().filter(|s| s.error.is_none());
                (playable.map(|s| s.name).collect(), Some(DEFAULT_SCRIPT.to_owned()))
            } else {
                (provider.models.clone(), provider.default_model.clone())
            };
            json!({
                "provider": provider.config.name,
                "class_name": provider.label,
                "lazy": false,
                "available": true,
                "error": null,
                "default_model": default.filter(|d| models.contains(d)),
                "models": models,
                "deprecated_models": provider.deprecated,
                "needs_key": !provider.key_optional,
            })
        };
        self.providers.values().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn models(text: &str) -> Models {
        let mut settings = Settings::parse(text).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine.yaml"), "name: mine\nabout: mine\nrules: []\n").unwrap();
        settings.rehearsal.folders.push(dir.path().to_owned());
        Models::new(&settings, Path::new("/nonexistent"))
    }

    #[test]
    fn names_become_provider_and_model() {
        let models = models("[providers.lab]\nbase_url = 'http://127.0.0.1:1/v1'\nmodels = ['a', 'b']\n");
        let resolve = |llm: &str| models.resolve(llm);
        assert_eq!(resolve("rehearsal"), Ok(("rehearsal".to_owned(), "greeter".to_owned())));
        assert_eq!(resolve("Lab:x:y"), Ok(("lab".to_owned(), "x:y".to_owned())));
        assert!(resolve("lab").unwrap_err().contains("default_model"));
        assert!(resolve("nobody:x").unwrap_err().contains("lab"));
        let info = models::catalog::provider("groq").unwrap();
        assert_eq!(resolve("groq").unwrap().1, info.default_model.unwrap());
    }

    #[test]
    fn the_catalogue_has_every_provider_and_only_defaults_that_it_lists() {
        let models = models("[providers.lab]\nbase_url = 'http://127.0.0.1:1/v1'\ndefault_model = 'a'\n");
        let rows = models.catalog();
        assert_eq!(rows.len(), models::providers().len() + 1);
        for row in &rows {
            let listed = row["models"].as_array().unwrap();
            assert!(row["default_model"].is_null() || listed.contains(&row["default_model"]), "{row}");
        }
        let rehearsal = rows.iter().find(|r| r["provider"] == "rehearsal").unwrap();
        assert_eq!(rehearsal["default_model"], "greeter");
    }

    #[test]
    fn a_server_of_ones_own_needs_no_key_unless_one_is_named() {
        let models = models(
            "[providers.lab]\nbase_url = 'http://127.0.0.1:1/v1'\n[providers.paid]\nbase_url = 'http://127.0.0.1:1/v1'\nkey_env = 'ASTUDIO_TEST_UNSET'\n",
        );
        assert!(!models.needs_key("lab"));
        assert!(models.needs_key("paid"));
        assert!(models.server_key("paid").is_none());
        assert!(models.needs_key("anthropic"));
        assert!(!models.needs_key("rehearsal"));
    }

    #[tokio::test]
    async fn clients_are_made_for_what_is_known() {
        let models = models("[providers.lab]\nbase_url = 'http://127.0.0.1:1/v1'\n");
        assert!(models.connect("lab", None).await.is_ok());
        assert!(models.connect("rehearsal", None).await.is_ok());
        assert!(models.connect("nobody", None).await.is_err());
    }
}
