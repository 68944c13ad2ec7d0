//! The rehearsal provider: scripts that play the part of a model, with nothing configured
//! and nothing sent anywhere. It says what it is whenever it does not know an answer.
//!
//! A script is YAML (`docs/rehearsal.md` is its reference). What it answers is a function of
//! the script and the request alone; the same conversation gets the same answer.

mod check;
mod conditions;
mod error;
mod manual;
mod pattern;
mod play;
mod script;
mod scripts;
mod stream;
mod template;
#[cfg(test)]
mod tests;
mod turn;

use std::sync::Arc;

use async_trait::async_trait;

pub use error::ScriptError;
pub use script::{MAX_SCRIPT_BYTES, Script, validate};
pub use scripts::{BUILT_IN, ScriptInfo, Scripts};

use crate::{ModelClient, ModelError, ModelErrorKind, ModelRequest, ModelStream};

/// Plays scripts as if they were models; [`ModelRequest::model`] is the script's name.
///
/// The usage it reports is an estimate, a token for every four characters.
#[derive(Clone, Debug)]
pub struct RehearsalClient {
    scripts: Arc<Scripts>,
}

impl RehearsalClient {
    /// A client over these scripts.
    pub fn new(scripts: Arc<Scripts>) -> Self {
        Self { scripts }
    }
}

#[async_trait]
impl ModelClient for RehearsalClient {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let scripts = Arc::clone(&self.scripts);
        let played = tokio::task::spawn_blocking(move || {
            let script = scripts.find(&request.model)?;
            let played = play::play(&script, &request);
            Ok(stream::stream(&script, &request, played))
        });
        match played.await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(script_error(&error)),
            Err(_) => Err(ModelError::new(ModelErrorKind::Server, "the rehearsal script could not be played")),
        }
    }
}

fn script_error(error: &ScriptError) -> ModelError {
    ModelError::new(ModelErrorKind::Unsupported, error.to_string())
}
