//! What a command works with: the output, and a client that speaks as one person.

use super::coverage::Commanded;
use super::exit::{Failure, usage};
use super::output::Output;
use super::reach::Way;
use crate::app::{App, Places, Settings};
use client::{Client, Proxy, Request, Server};
use contract::{Code, StudioError};
use engine::{Engine, Serve};
use std::path::Path;

/// What a command works with.
pub struct Ctx {
    /// Where it writes to.
    pub out: Output,
    /// Whom it asks.
    pub client: Client,
    /// Where it works.
    pub reach: Reach,
    /// How this program is called again, there and as the same person.
    pub way: Way,
}

/// Where a command works.
#[derive(Clone)]
pub enum Reach {
    /// The program over its home.
    Home(App),
    /// A server.
    Server(Proxy),
}

/// What a command without an engine works with.
pub struct Bare {
    /// Where it writes to.
    pub out: Output,
    /// Where the home is.
    pub places: Places,
    /// The settings.
    pub settings: Settings,
    /// Whom to speak for.
    pub speak_as: Option<String>,
    /// The server, when one was named.
    pub server: Option<Server>,
}

impl Ctx {
    /// The program over its home, for what only works where the data is.
    ///
    /// # Errors
    /// A server was named.
    pub fn home(&self, command: &str) -> Result<&App, Failure> {
        match &self.reach {
            Reach::Home(app) => Ok(app),
            Reach::Server(_) => Err(needs_home(command)),
        }
    }

    /// Whether it only says that the server is away: what is watched there goes on when it is back.
    pub fn is_away(&self, error: &StudioError) -> bool {
        error.code == Code::Unavailable && matches!(self.reach, Reach::Server(_))
    }

    /// Calls an operation.
    pub async fn call<O: Commanded>(&self, path: O::Path, query: O::Query, body: O::Body) -> Result<O::Reply, Failure>
    where
        Engine: Serve<O>,
    {
        Ok(self.client.call::<O>(Request { path, query, body }).await?)
    }
}

/// That a command needs a home, where a server was named.
pub fn needs_home(command: &str) -> Failure {
    usage(format!(
        "`astudio {command}` works where the home is, not on a server. Leave out --server and --profile (or unset \
         ASTUDIO_SERVER, ASTUDIO_TOKEN and ASTUDIO_PROFILE), or run it there."
    ))
}

/// A value of the command line, or with `@FILE` the text of the file.
pub fn text_or_file(value: String) -> Result<String, Failure> {
    match value.strip_prefix('@') {
        Some(file) => read_text(Path::new(file)),
        None => Ok(value),
    }
}

/// The text of a file; `-` is stdin.
pub fn read_text(file: &Path) -> Result<String, Failure> {
    let read =
        if file == Path::new("-") { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) };
    read.map_err(|e| usage(format!("{} cannot be read as text ({}).", file.display(), e.kind())))
}

/// JSON of the command line, which must be an object.
pub fn json_object(flag: &str, text: &str) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
    let value = contract::json::parse(text.as_bytes()).map_err(|fault| usage(format!("{flag} is {fault}.")))?;
    match value {
        serde_json::Value::Object(map) => Ok(map),
        _ => Err(usage(format!("{flag} must be a JSON object, such as '{{\"order_id\": 7}}'."))),
    }
}
