//! What is wrong with a rehearsal script, where, and what to do about it.

use std::fmt;

/// A script that cannot be found or cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The script's name as it was asked for.
    pub script: String,
    /// The line in the script, counted from 1, where it is known.
    pub line: Option<u64>,
    /// The column in that line, counted from 1, where it is known.
    pub column: Option<u64>,
    /// What is wrong and what to do.
    pub message: String,
}

impl ScriptError {
    /// An error of the script as a whole.
    pub(crate) fn new(script: &str, message: impl Into<String>) -> Self {
        Self { script: script.to_owned(), line: None, column: None, message: message.into() }
    }

    /// An error at a known place.
    pub(crate) fn at(script: &str, place: Place, message: impl Into<String>) -> Self {
        let mut error = Self::new(script, message);
        if place.line > 0 {
            error.line = Some(place.line);
            error.column = Some(place.column);
        }
        error
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rehearsal script `{}`", self.script)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ", line {line}, column {column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ScriptError {}

/// A place in a script; line 0 means that it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl From<serde_saphyr::Location> for Place {
    fn from(location: serde_saphyr::Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}
