//! The providers the program knows by name, and how a model is named.

use crate::providers::ProviderKind;

/// A provider the program knows.
///
/// The model lists are a choice of well-known models, not all a provider has: any other
/// name is passed on, and the provider says whether it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderInfo {
    /// The name it is asked by: the part before `:` in `provider:model`.
    pub name: &'static str,
    /// What it is called in lists of clients.
    pub label: &'static str,
    /// The wire format it speaks.
    pub kind: ProviderKind,
    /// Its own address; `None` if it has none or each operator has their own.
    pub base_url: Option<&'static str>,
    /// Environment variables that hold its key, the first set one counts. Empty if it
    /// wants no key.
    pub key_env: &'static [&'static str],
    /// Whether it answers without a key.
    pub key_optional: bool,
    /// The model that is asked when none is named.
    pub default_model: Option<&'static str>,
    /// Models to choose from.
    pub models: &'static [&'static str],
    /// Models that still answer but should not be chosen any more.
    pub deprecated_models: &'static [&'static str],
}

const PLAIN: ProviderInfo = ProviderInfo {
    name: "",
    label: "",
    kind: ProviderKind::OpenAi,
    base_url: None,
    key_env: &[],
    key_optional: false,
    default_model: None,
    models: &[],
    deprecated_models: &[],
};

const PROVIDERS: &[ProviderInfo] = &[
    ProviderInfo {
        name: "anthropic",
        label: "AnthropicClient",
        kind: ProviderKind::Anthropic,
        base_url: Some("https://api.anthropic.com"),
        key_env: &["ANTHROPIC_API_KEY"],
        default_model: Some("claude-opus-5"),
        models: &["claude-opus-5-5", "claude-opus-5", "claude-sonnet-5-5", "claude-sonnet-5", "claude-haiku-4-5"],
        deprecated_models: &["claude-opus-4-0", "claude-sonnet-4-0"],
        ..PLAIN
    },
    ProviderInfo {
        name: "openai",
        label: "OpenAIClient",
        base_url: Some("https://api.openai.com/v1"),
        key_env: &["OPENAI_API_KEY"],
        default_model: Some("gpt-5.5"),
        models: &["gpt-5.5", "gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano", "gpt-4.1"],
        deprecated_models: &["gpt-4", "gpt-3.5-turbo"],
        ..PLAIN
    },
    ProviderInfo {
        name: "google",
        label: "GoogleClient",
        kind: ProviderKind::Gemini,
        base_url: Some("https://generativelanguage.googleapis.com"),
        key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        default_model: Some("gemini-3.8-flash"),
        models: &["gemini-3.8-flash", "gemini-3.5-flash-lite", "gemini-2.5-pro", "gemini-2.5-flash"],
        ..PLAIN
    },
    ProviderInfo {
        name: "groq",
        label: "GroqClient",
        base_url: Some("https://api.groq.com/openai/v1"),
        key_env: &["GROQ_API_KEY"],
        default_model: Some("openai/gpt-oss-120b"),
        models: &["openai/gpt-oss-120b", "openai/gpt-oss-20b", "llama-3.3-70b-versatile", "llama-3.1-8b-instant"],
        ..PLAIN
    },
    ProviderInfo {
        name: "deepseek",
        label: "DeepSeekClient",
        base_url: Some("https://api.deepseek.com"),
        key_env: &["DEEPSEEK_API_KEY"],
        default_model: Some("deepseek-flash"),
        models: &["deepseek-v4-pro", "deepseek-flash"],
        deprecated_models: &["deepseek-v4-flash"],
        ..PLAIN
    },
    ProviderInfo {
        name: "mistral",
        label: "MistralClient",
        base_url: Some("https://api.mistral.ai"),
        key_env: &["MISTRAL_API_KEY"],
        default_model: Some("mistral-large-latest"),
        models: &["mistral-large-latest", "mistral-medium-latest", "mistral-small-latest", "codestral-latest"],
        deprecated_models: &["open-mistral-7b", "open-mixtral-8x7b"],
        ..PLAIN
    },
    ProviderInfo {
        name: "xai",
        label: "XAIClient",
        base_url: Some("https://api.x.ai/v1"),
        key_env: &["XAI_API_KEY"],
        default_model: Some("grok-4.7"),
        models: &["grok-4.7", "grok-4.6", "grok-4.5"],
        deprecated_models: &["grok-3", "grok-3-mini"],
        ..PLAIN
    },
    ProviderInfo {
        name: "cohere",
        label: "CohereClient",
        base_url: Some("https://api.cohere.ai/compatibility/v1"),
        key_env: &["COHERE_API_KEY"],
        default_model: Some("command-a-03-2025"),
        models: &["command-a-03-2025", "command-a-reasoning-08-2025", "command-r7b-12-2024"],
        ..PLAIN
    },
    ProviderInfo {
        name: "openrouter",
        label: "OpenRouterClient",
        base_url: Some("https://openrouter.ai/api/v1"),
        key_env: &["OPENROUTER_API_KEY"],
        ..PLAIN
    },
    ProviderInfo {
        name: "together",
        label: "TogetherClient",
        base_url: Some("https://api.together.xyz"),
        key_env: &["TOGETHER_API_KEY"],
        ..PLAIN
    },
    ProviderInfo {
        name: "moonshot",
        label: "MoonshotClient",
        base_url: Some("https://api.moonshot.ai/v1"),
        key_env: &["MOONSHOT_API_KEY"],
        default_model: Some("kimi-k3"),
        models: &["kimi-k3", "kimi-k2.6"],
        ..PLAIN
    },
    ProviderInfo {
        name: "zai",
        label: "ZaiClient",
        base_url: Some("https://api.z.ai/api/paas/v4"),
        key_env: &["ZAI_API_KEY"],
        default_model: Some("glm-5.3"),
        models: &["glm-5.3", "glm-5.3-flash", "glm-4.7"],
        ..PLAIN
    },
    ProviderInfo {
        name: "perplexity",
        label: "PerplexityClient",
        base_url: Some("https://api.perplexity.ai"),
        key_env: &["PERPLEXITY_API_KEY"],
        default_model: Some("sonar"),
        models: &["sonar", "sonar-pro", "sonar-reasoning-pro"],
        ..PLAIN
    },
    ProviderInfo {
        name: "ollama",
        label: "OllamaClient",
        base_url: Some("http://localhost:11434/v1"),
        key_env: &["OLLAMA_API_KEY"],
        key_optional: true,
        ..PLAIN
    },
    ProviderInfo {
        name: "llamacpp",
        label: "LlamaCppClient",
        base_url: Some("http://localhost:8080/v1"),
        key_env: &["LLAMACPP_API_KEY"],
        key_optional: true,
        ..PLAIN
    },
    ProviderInfo {
        name: "vllm",
        label: "VLLMClient",
        base_url: Some("http://localhost:8000/v1"),
        key_env: &["VLLM_API_KEY"],
        key_optional: true,
        ..PLAIN
    },
    ProviderInfo {
        name: "lmstudio",
        label: "LMStudioClient",
        base_url: Some("http://localhost:1234/v1"),
        key_env: &["LMSTUDIO_API_KEY"],
        key_optional: true,
        ..PLAIN
    },
    ProviderInfo {
        name: "rehearsal",
        label: "RehearsalClient",
        kind: ProviderKind::Rehearsal,
        key_optional: true,
        ..PLAIN
    },
];

/// Every provider the program knows, in the order to show them.
///
/// `rehearsal` has no models here: its models are the scripts at hand.
pub fn providers() -> &'static [ProviderInfo] {
    PROVIDERS
}

/// The provider called `name`, in any case of letters.
pub fn provider(name: &str) -> Option<&'static ProviderInfo> {
    PROVIDERS.iter().find(|info| info.name.eq_ignore_ascii_case(name))
}

/// A model as an agent names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmRef {
    /// The provider's name, in lower case.
    pub provider: String,
    /// The model; `None` for the provider's default.
    pub model: Option<String>,
}

/// Reads `provider:model` or `provider`.
///
/// The provider may be one the catalog does not know, since an operator can configure
/// others. A model's name may itself contain `:`. The error says what is wrong.
pub fn parse_llm(text: &str) -> Result<LlmRef, String> {
    let text = text.trim();
    let (provider, model) = match text.split_once(':') {
        Some((provider, model)) => (provider.trim(), Some(model.trim())),
        None => (text, None),
    };
    if provider.is_empty() {
        return Err("no provider is named; write `provider:model` or `provider`".to_owned());
    }
    if !provider.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) {
        return Err("a provider's name has only letters, digits, `-`, `_` and `.`; \
             write `provider:model` or `provider`"
            .to_owned());
    }
    if model == Some("") {
        return Err(format!("no model is named after `{provider}:`; name one, or write `{provider}` for its default"));
    }
    if model.is_some_and(|model| model.chars().any(char::is_control)) {
        return Err("a model's name has no control characters".to_owned());
    }
    Ok(LlmRef { provider: provider.to_ascii_lowercase(), model: model.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_reference_has_a_provider_and_perhaps_a_model() {
        let read = |text| parse_llm(text).map(|llm| (llm.provider, llm.model));
        let some = |provider: &str, model: &str| Ok((provider.to_owned(), Some(model.to_owned())));
        assert_eq!(read("openai:gpt-5.5"), some("openai", "gpt-5.5"));
        assert_eq!(read(" Ollama : qwen3:8b "), some("ollama", "qwen3:8b"));
        assert_eq!(read("groq"), Ok(("groq".to_owned(), None)));
        for wrong in ["", " ", ":m", "openai:", "open ai:m", "a/b", "x:a\u{7}b"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_catalog_is_consistent() {
        for info in providers() {
            assert_eq!(parse_llm(info.name).unwrap().provider, info.name);
            assert_eq!(provider(&info.name.to_uppercase()), Some(info));
            let listed = |model: &&str| info.models.contains(model);
            assert!(info.default_model.iter().all(listed), "{}", info.name);
            assert!(!info.deprecated_models.iter().any(listed));
            let local = info.kind == ProviderKind::Rehearsal;
            assert_eq!(info.base_url.is_none(), local, "{}", info.name);
            assert!(info.key_optional || !info.key_env.is_empty(), "{}", info.name);
            let same = |other: &&ProviderInfo| other.name == info.name;
            assert_eq!(providers().iter().filter(same).count(), 1);
        }
    }
}
