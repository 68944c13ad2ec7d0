//! Where models come from.

use async_trait::async_trait;
use models::{ModelClient, ModelError};
use std::sync::Arc;
use text::Secret;

/// Gives clients of models by their name. The program's own knows the providers and their configured addresses.
#[async_trait]
pub trait ModelSource: Send + Sync {
    /// Splits `provider:model` or `provider` and fills in the provider's default model.
    ///
    /// # Errors
    /// What is wrong with the name, for a person.
    fn resolve(&self, llm: &str) -> Result<(String, String), String>;

    /// A client of this provider.
    ///
    /// # Errors
    /// When the provider is unknown or cannot be reached without a key.
    async fn connect(&self, provider: &str, key: Option<&Secret>) -> Result<Arc<dyn ModelClient>, ModelError>;

    /// Whether this provider needs a key at all.
    fn needs_key(&self, provider: &str) -> bool;

    /// The key that the environment or the configuration of this machine gives for the provider.
    fn server_key(&self, provider: &str) -> Option<Secret>;

    /// How many tokens fit this model's window, if known.
    fn window(&self, provider: &str, model: &str) -> Option<u64>;

    /// Rows of the catalogue `llm-clients`.
    fn catalog(&self) -> Vec<serde_json::Value>;
}
