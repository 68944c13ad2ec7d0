//! The one way to the terminal: JSON or words on stdout, notes and errors on stderr.
//!
//! Whatever is shown to a person is [`Safe`]; JSON keeps every value exactly but writes characters that could steer a
//! terminal as escapes.

use super::exit::{Failure, hint};
use super::reach::Way;
use contract::StudioError;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use text::Safe;

/// Where a command writes to.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
    /// Whether notes and errors go where everything goes.
    together: bool,
    colour_out: bool,
    colour_err: bool,
}

impl Output {
    /// An output as the flags, the terminal and `NO_COLOR` want it.
    pub fn new(json: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        Self {
            json,
            together: false,
            colour_out: !plain && io::stdout().is_terminal(),
            colour_err: !plain && io::stderr().is_terminal(),
        }
    }

    /// The same as one stream without colours, in the order in which things are said.
    pub fn together(self) -> Self {
        Self { together: true, colour_out: false, colour_err: false, ..self }
    }

    /// Whether JSON is wanted.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// One JSON document on one line.
    pub fn json<T: Serialize + ?Sized>(&self, value: &T) -> io::Result<()> {
        let text = serde_json::to_string(value).map_err(io::Error::other)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", escaped(&text))?;
        out.flush()
    }

    /// The answer as JSON, or as `words` says it.
    pub fn answer<T: Serialize + ?Sized>(
        &self,
        value: &T,
        words: impl FnOnce(&Self) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.json { self.json(value) } else { words(self) }
    }

    /// A line of words.
    pub fn line(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", Safe::clean_lines(text))?;
        out.flush()
    }

    /// A piece of words; lines in it stay lines.
    pub fn piece(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(Safe::clean_lines(text).as_str().as_bytes())?;
        out.flush()
    }

    /// A line that stands out.
    pub fn heading(&self, text: &str) -> io::Result<()> {
        let text = Safe::clean(text);
        let mut out = io::stdout().lock();
        if self.colour_out { writeln!(out, "\x1b[1m{text}\x1b[0m") } else { writeln!(out, "{text}") }
    }

    /// Bytes of our own making, as they are.
    pub fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// A line for the person beside the answer. A closed stderr is nobody's concern.
    pub fn note(&self, text: &str) {
        let _ = self.aside(&Safe::clean_lines(text));
    }

    /// Says what went wrong, and what could be done the same way.
    pub fn failure(&self, failure: &Failure, way: &Way) -> io::Result<()> {
        match failure {
            Failure::Output(error) => {
                self.error_line(&format!("the output could not be written: {}", error.kind()));
                Ok(())
            }
            Failure::Studio(error) if self.json => self.json(&error.body()),
            Failure::Studio(error) => {
                self.error_line(&error.message);
                for line in detail_lines(error) {
                    self.note(&format!("  {line}"));
                }
                if let Some(hint) = hint(error, way) {
                    self.note(&format!("hint: {hint}"));
                }
                Ok(())
            }
        }
    }

    fn aside(&self, line: &str) -> io::Result<()> {
        if self.together {
            let mut out = io::stdout().lock();
            writeln!(out, "{line}")?;
            return out.flush();
        }
        writeln!(io::stderr().lock(), "{line}")
    }

    fn error_line(&self, message: &str) {
        let message = Safe::clean_lines(message);
        let mark = if self.colour_err { "\x1b[1;31merror:\x1b[0m" } else { "error:" };
        let _ = self.aside(&format!("{mark} {message}"));
    }
}

/// The details of a refusal, one line each. A whole record in them is for programs; `--json` has it.
fn detail_lines(error: &StudioError) -> Vec<String> {
    match &error.details {
        Some(serde_json::Value::Object(map)) => {
            map.iter().filter(|(_, value)| !value.is_object()).map(|(key, value)| format!("{key}: {value}")).collect()
        }
        Some(serde_json::Value::Array(items)) => items.iter().map(ToString::to_string).collect(),
        Some(other) => vec![other.to_string()],
        None => Vec::new(),
    }
}

/// JSON text in which characters that a terminal would obey or hide are written as escapes. They can only stand inside
/// strings, so the value stays the same.
fn escaped(json: &str) -> std::borrow::Cow<'_, str> {
    let steers = |c: char| {
        c == '\u{7f}'
            || (!c.is_ascii() && Safe::clean(c.encode_utf8(&mut [0; 4])).as_str() != c.encode_utf8(&mut [0; 4]))
    };
    if !json.chars().any(steers) {
        return json.into();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if steers(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::escaped;

    #[test]
    fn json_keeps_its_value_and_steers_no_terminal() {
        let value = serde_json::json!({ "a\u{9b}31m": "x\u{202e}y\u{200b}z\u{7f} 日本 é \u{e0041}" });
        let text = serde_json::to_string(&value).unwrap();
        let shown = escaped(&text);
        for c in ['\u{9b}', '\u{202e}', '\u{200b}', '\u{7f}', '\u{e0041}'] {
            assert!(!shown.contains(c), "{shown}");
        }
        assert!(shown.contains("日本 é"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
