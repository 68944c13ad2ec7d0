//! The grammar of a script, and how one is read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::check;
use super::error::{Place, ScriptError};
use super::pattern::{Patterns, Words, one_line};
use super::template::{Args, Path, Template};
use crate::ModelErrorKind;

/// The largest script, in bytes.
pub const MAX_SCRIPT_BYTES: usize = 64 * 1024;
/// The most YAML nodes of a script, aliases written out.
const MAX_NODES: usize = 10_000;

/// A checked script, ready to be played.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Its name, the same as its file's.
    pub name: String,
    /// What it does, in a sentence or two for a person.
    pub about: String,
    /// What a person could say to it.
    #[serde(default)]
    pub examples: Vec<String>,
    /// Milliseconds between two streamed pieces.
    #[serde(default)]
    pub pace_ms: u64,
    /// Whether the person who chats plays the model: what they write are commands, and there are no rules.
    #[serde(default)]
    pub by_hand: bool,
    /// The type of captures that are not text.
    #[serde(default)]
    pub(crate) types: BTreeMap<String, CaptureType>,
    /// Values of captures that were not captured.
    #[serde(default)]
    pub(crate) defaults: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) rules: Vec<Spanned<Rule>>,
}

/// What a capture becomes when it is an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaptureType {
    Text,
    Int,
    Number,
    Bool,
}

/// One rule: when it applies, and what is answered then.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Rule {
    pub(crate) when: When,
    pub(crate) reasoning: Option<Template>,
    pub(crate) say: Option<Template>,
    pub(crate) each_result: Vec<ResultCase>,
    pub(crate) each_item: Vec<EachItem>,
    pub(crate) end: Option<Template>,
    pub(crate) call: Option<Call>,
    pub(crate) calls: Vec<Call>,
    pub(crate) then: Vec<Spanned<Rule>>,
    pub(crate) again: bool,
    pub(crate) fail: Option<Fail>,
}

impl Rule {
    /// The calls it makes, as written.
    pub(crate) fn all_calls(&self) -> impl Iterator<Item = &Call> {
        self.call.iter().chain(&self.calls)
    }
}

/// Conditions; all that are given have to hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct When {
    pub(crate) said: Patterns,
    pub(crate) words: Words,
    pub(crate) not_said: Patterns,
    pub(crate) maybe: Patterns,
    pub(crate) each: Patterns,
    pub(crate) earlier: Patterns,
    pub(crate) replied: Patterns,
    pub(crate) tool: Option<String>,
    pub(crate) no_tool: Option<String>,
    pub(crate) calls_made: Option<CallsMade>,
    pub(crate) result: Option<ResultTest>,
    pub(crate) every_result: Option<ResultTest>,
    pub(crate) take: BTreeMap<String, Path>,
}

/// How many calls were made in this turn.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CallsMade {
    pub(crate) at_least: usize,
    pub(crate) at_most: Option<usize>,
}

/// What a result has to be like.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ResultTest {
    pub(crate) tool: Option<String>,
    pub(crate) ok: Option<bool>,
    pub(crate) at: Option<String>,
    pub(crate) is: Option<Value>,
    pub(crate) empty: Option<bool>,
    pub(crate) matches: Patterns,
}

/// What is said of one result.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultCase {
    #[serde(default, rename = "if")]
    pub(crate) test: ResultTest,
    pub(crate) say: Template,
}

/// A line for every item of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EachItem {
    pub(crate) title: Option<Template>,
    pub(crate) of: Path,
    pub(crate) say: Template,
    pub(crate) none: Option<Template>,
}

/// A tool call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    pub(crate) tool: Spanned<String>,
    pub(crate) args: Option<Args>,
    pub(crate) raw: Option<Template>,
    pub(crate) id: Option<String>,
    #[serde(default)]
    pub(crate) even_if_missing: bool,
}

impl Call {
    /// The templates in its arguments.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        let mut found: Vec<_> = self.raw.iter().collect();
        if let Some(args) = &self.args {
            args.templates(&mut found);
        }
        found
    }

    /// Where it stands in the script.
    pub(crate) fn place(&self) -> Place {
        self.tool.referenced.into()
    }
}

/// A failure on purpose, after everything else the rule streams.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fail {
    pub(crate) kind: FailKind,
    pub(crate) status: Option<u16>,
    pub(crate) message: Option<String>,
    pub(crate) body: Option<String>,
}

/// The kinds of failure, by the names a script uses.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailKind {
    Auth,
    RateLimited,
    Refused,
    Server,
    Stream,
    Truncated,
    Network,
    Unsupported,
    ContextTooLong,
}

impl From<FailKind> for ModelErrorKind {
    fn from(kind: FailKind) -> Self {
        match kind {
            FailKind::Auth => Self::Auth,
            FailKind::RateLimited => Self::RateLimited,
            FailKind::Refused => Self::Refused,
            FailKind::Server => Self::Server,
            FailKind::Stream => Self::Stream,
            FailKind::Truncated => Self::Truncated,
            FailKind::Network => Self::Network,
            FailKind::Unsupported => Self::Unsupported,
            FailKind::ContextTooLong => Self::ContextTooLong,
        }
    }
}

/// Reads and checks a script: its YAML, its fields, its patterns, and that every value it
/// uses is captured somewhere before. Errors say where and what to do.
pub fn validate(yaml: &str) -> Result<Script, ScriptError> {
    parse("(unnamed)", yaml)
}

/// As [`validate`], naming the script in errors that come before its name was read.
pub(crate) fn parse(name: &str, yaml: &str) -> Result<Script, ScriptError> {
    if yaml.len() > MAX_SCRIPT_BYTES {
        return Err(ScriptError::new(
            name,
            format!("it is longer than {} KiB; split it into several scripts", MAX_SCRIPT_BYTES / 1024),
        ));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: MAX_NODES,
            max_events: 3 * MAX_NODES,
            max_depth: 48,
            max_documents: 1,
            max_anchors: 200,
            max_aliases: 1_000,
            max_recorded_anchor_events: 3 * MAX_NODES,
            max_total_scalar_bytes: 16 * MAX_SCRIPT_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 3 * MAX_NODES,
        },
        with_snippet: false,
    };
    let script: Script =
        serde_saphyr::from_str_with_options(yaml, options).map_err(|error| yaml_error(name, &error))?;
    check::check(&script)?;
    Ok(script)
}

fn yaml_error(name: &str, error: &serde_saphyr::Error) -> ScriptError {
    let mut message = one_line(&error.without_snippet().to_string());
    if let Some(location) = error.location() {
        let tail = format!(" at line {}, column {}", location.line(), location.column());
        message = message.replace(&tail, "");
    }
    message
        .push_str("; see the reference of the script's fields in docs/rehearsal.md, and put texts with `{{` in quotes");
    let place = error.location().map(Place::from).unwrap_or_default();
    ScriptError::at(name, place, message)
}
