//! Connecting to a provider: which wire format it speaks, where, and with which key.

mod failure;
mod reply;
mod request;
mod transport;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use rig_core::providers::anthropic::wire::{
    ANTHROPIC, AnthropicConfig, Dialect as AnthropicDialect, Messages, ToolInputStreaming,
};
use rig_core::providers::gemini::GeminiConfig;
use rig_core::providers::gemini::completion::GenerateContent;
use rig_core::providers::openai::wire::{Auth, Dialect as OpenAiDialect, OpenAIConfig, by_name as openai_dialect};
use rig_core::wire::Wire;
use text::Secret;

use crate::catalog;
use crate::client::{ModelClient, ModelRequest, ModelStream};
use crate::error::{ModelError, ModelErrorKind};
use failure::Fault;
use transport::{End, Line};

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a provider may send nothing. A reply as a whole has no limit: it may take long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Anthropic requires a token limit; this is sent when the request has none.
const ANTHROPIC_MAX_TOKENS: u64 = 4096;

/// The wire format a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// OpenAI's chat completions, which most servers and gateways speak.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`.
    Gemini,
    /// The offline rehearsal; it has no address and no key.
    Rehearsal,
}

/// A provider as the operator configured it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProviderConfig {
    /// The provider's name. A name of the catalog also brings that provider's habits.
    pub name: String,
    /// The wire format it speaks.
    pub kind: ProviderKind,
    /// Where it is, if not at the catalog's address. Comes from the operator alone:
    /// whoever sets it decides where keys and conversations are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
}

impl ProviderConfig {
    /// The catalog's provider of this name, at its own address.
    pub fn known(name: &str) -> Option<Self> {
        catalog::provider(name).map(|info| Self { name: info.name.to_owned(), kind: info.kind, base_url: None })
    }
}

/// Makes the process ready for encrypted connections. Safe to call more than once.
///
/// It has to run before the first client is made: the TLS library has several
/// cryptography providers and panics when none was chosen.
pub fn init() {
    // An `Err` says that one is installed already, which is all that is wanted.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client for the provider `cfg` names, which sends `key` with each request.
///
/// Nothing is sent yet. `key` is `None` for servers that want none.
pub fn connect(cfg: &ProviderConfig, key: Option<&Secret>) -> Result<Arc<dyn ModelClient>, ModelError> {
    let key = key.map(|key| key.expose().trim()).unwrap_or_default();
    if key.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(ModelError::new(
            ModelErrorKind::Auth,
            format!("the key for {} has characters that no key has; enter it again", cfg.name),
        ));
    }
    let info = catalog::provider(&cfg.name);
    let base_url = cfg.base_url.as_deref().or(info.and_then(|info| info.base_url)).unwrap_or_default();
    if cfg.kind == ProviderKind::Rehearsal {
        return Err(ModelError::new(
            ModelErrorKind::Unsupported,
            "a rehearsal is made from its script, not connected to",
        ));
    }
    let base_url = checked(&cfg.name, base_url)?;
    let http = http_client(&base_url)?;
    Ok(Arc::new(Provider {
        name: cfg.name.clone(),
        kind: cfg.kind,
        base_url: base_url.as_str().trim_end_matches('/').to_owned(),
        own_address: cfg.base_url.is_some(),
        key: Arc::new(Secret::new(key.to_owned())),
        http,
    }))
}

/// `base_url` as an address that can be asked.
fn checked(name: &str, base_url: &str) -> Result<reqwest::Url, ModelError> {
    let problem =
        |what: String| ModelError::new(ModelErrorKind::Unsupported, format!("the base URL of provider {name} {what}"));
    if base_url.trim().is_empty() {
        return Err(problem("is missing; set one in the configuration".into()));
    }
    let url = reqwest::Url::parse(base_url.trim()).map_err(|error| problem(format!("is not a URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(problem("must start with http:// or https://".into()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(problem("must have no `?` and no `#`".into()));
    }
    Ok(url)
}

fn builder() -> reqwest::ClientBuilder {
    init();
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(IDLE_TIMEOUT)
        // A redirect would carry the conversation to an address nobody configured.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("astudio/", env!("CARGO_PKG_VERSION")))
}

type Built = Result<reqwest::Client, String>;

/// Shared by all providers on the network, so that connections are reused.
static NETWORK: LazyLock<Built> = LazyLock::new(|| builder().build().map_err(|error| reason(&error)));

/// For servers on this machine: a proxy cannot reach them and must not see their traffic.
static LOOPBACK: LazyLock<Built> = LazyLock::new(|| builder().no_proxy().build().map_err(|error| reason(&error)));

fn http_client(base_url: &reqwest::Url) -> Result<reqwest::Client, ModelError> {
    let host = base_url.host_str().unwrap_or_default();
    let loopback = host == "localhost"
        || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let built: &Built = if loopback { &LOOPBACK } else { &NETWORK };
    built.clone().map_err(|reason| {
        ModelError::new(ModelErrorKind::Network, format!("no connections can be made on this machine: {reason}"))
    })
}

/// An error with its causes in one line, and without the address, which may hold a key.
fn reason(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if text.is_empty() {
        // The outermost text names the address; its kind alone is safe to show.
        text.push_str(if error.is_timeout() {
            "timed out"
        } else if error.is_builder() {
            "the request could not be built"
        } else {
            "the connection failed"
        });
    }
    text
}

/// A provider that can be asked.
struct Provider {
    name: String,
    kind: ProviderKind,
    base_url: String,
    /// Whether the operator put another server in the place of the catalog's.
    own_address: bool,
    key: Arc<Secret>,
    http: reqwest::Client,
}

impl Provider {
    fn openai(&self, model: &str) -> rig_core::providers::openai::wire::Chat {
        /// A server of which only the wire format is known.
        const COMPATIBLE: OpenAiDialect = OpenAiDialect::gateway("openai-compatible", "", "");
        let dialect = openai_dialect(&self.name).unwrap_or(&COMPATIBLE);
        let path = dialect.quirks.completion_path;
        let mut base = self.base_url.trim_end_matches("/chat/completions").to_owned();
        // Some providers' paths bring their own `/v1`; people paste it into the base URL.
        if path.starts_with("/v1/")
            && let Some(root) = base.strip_suffix("/v1")
        {
            base = root.to_owned();
        }
        let mut config = OpenAIConfig::with_key(dialect, self.key.expose()).with_base_url(base);
        if config.auth == Auth::Bearer {
            config.auth = Auth::OptionalBearer;
        }
        config.chat(model)
    }

    fn anthropic(&self, model: &str) -> Messages {
        let dialect = AnthropicDialect::by_name(&self.name).unwrap_or(ANTHROPIC);
        Messages {
            provider: AnthropicConfig::with_key(&dialect, self.key.expose()).with_base_url(&self.base_url),
            model: model.to_owned(),
            default_max_tokens: Some(ANTHROPIC_MAX_TOKENS),
            prompt_caching: false,
            static_prefix_cache_ttl: None,
            strict_tools: false,
            // A field of Anthropic's own API, which other servers may refuse.
            tool_input_streaming: if self.own_address {
                ToolInputStreaming::Off
            } else {
                dialect.quirks.tool_input_streaming
            },
        }
    }

    fn gemini(&self, model: &str) -> GenerateContent {
        let config = GeminiConfig::new(self.key.expose()).with_base_url(self.base_url.as_str());
        GenerateContent::new(config, model)
    }

    fn ask<W>(&self, wire: W, end: End, request: ModelRequest) -> Result<ModelStream, ModelError>
    where
        W: rig_core::completion::ReplayTarget,
        W: Wire<
                Op = rig_core::operation::Completion,
                Payload = rig_core::wire::Encoded,
                Frame = rig_core::wire::WireFrame,
            > + Send
            + 'static,
    {
        let fault = Fault::new(&self.name, Arc::clone(&self.key));
        let prepared = request::prepare(self.kind, &wire, request)?;
        let line = Line::new(self.http.clone(), end, fault.clone());
        let stream = rig_core::Model::new(wire, line).stream(prepared).map_err(|error| fault.explain(&error))?;
        Ok(reply::events(self.kind, stream, fault))
    }
}

#[async_trait]
impl ModelClient for Provider {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        if request.model.trim().is_empty() {
            return Err(ModelError::new(ModelErrorKind::Unsupported, format!("no model of {} is named", self.name)));
        }
        let model = request.model.clone();
        match self.kind {
            ProviderKind::OpenAi => self.ask(self.openai(&model), self.openai_end(), request),
            ProviderKind::Anthropic => self.ask(self.anthropic(&model), End::MessageStop, request),
            ProviderKind::Gemini => self.ask(self.gemini(&model), End::Body, request),
            ProviderKind::Rehearsal => Err(ModelError::new(
                ModelErrorKind::Unsupported,
                "a rehearsal is made from its script, not connected to",
            )),
        }
    }
}

impl Provider {
    /// Perplexity closes the stream after the finish reason and sends no `[DONE]`.
    fn openai_end(&self) -> End {
        if self.name == "perplexity" && !self.own_address { End::Body } else { End::DoneLine }
    }
}
