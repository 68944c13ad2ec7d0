//! What a command works with: the output, and a client that speaks as one person.

use super::coverage::Commanded;
use super::exit::{Failure, usage};
use super::output::Output;
use crate::app::{App, Places, Settings};
use client::{Client, Request};
use engine::{Engine, Serve};
use std::path::Path;

/// What a command works with.
pub struct Ctx {
    /// Where it writes to.
    pub out: Output,
    /// Whom it asks.
    pub client: Client,
    /// The program over its home.
    pub app: App,
    /// How this program is called again over the same home as the same person.
    pub again: String,
}

/// What a command without an engine works with.
pub struct Bare {
    /// Where it writes to.
    pub out: Output,
    /// Where the home is.
    pub places: Places,
    /// The settings.
    pub settings: Settings,
    /// Whom `--as` names.
    pub speak_as: Option<String>,
}

impl Ctx {
    /// Calls an operation.
    pub async fn call<O: Commanded>(&self, path: O::Path, query: O::Query, body: O::Body) -> Result<O::Reply, Failure>
    where
        Engine: Serve<O>,
    {
        Ok(self.client.call::<O>(Request { path, query, body }).await?)
    }
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
