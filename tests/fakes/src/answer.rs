//! What a fake answers to one request.

use std::time::Duration;

use serde_json::Value;

/// One answer, built up in the order in which it is sent.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<String>,
    /// Sent instead of a stream.
    pub(crate) body: Option<String>,
    pub(crate) parts: Vec<Part>,
    pub(crate) usage: Option<(u64, u64, u64)>,
    pub(crate) finish: Option<String>,
    pub(crate) cut: Option<Cut>,
}

/// Where and how an answer breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// After so many bytes of the body, with a proper end of the HTTP message: what a
    /// proxy does whose server went away.
    Clean(usize),
    /// After so many bytes of the body, by closing the connection.
    Broken(usize),
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(Vec<String>),
    Reasoning { pieces: Vec<String>, signature: Option<String> },
    Redacted(String),
    Calls(Vec<Call>),
    Pause(Duration),
    Error(Value),
    Raw(String),
}

/// One tool call of an answer.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) deltas: Vec<String>,
}

impl Call {
    /// A call whose arguments come in one piece.
    pub fn new(id: &str, name: &str, arguments: &str) -> Self {
        Self::in_deltas(id, name, &[arguments])
    }

    /// A call whose arguments come in these pieces, whatever they are.
    pub fn in_deltas(id: &str, name: &str, deltas: &[&str]) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            deltas: deltas.iter().map(|delta| (*delta).to_owned()).collect(),
        }
    }
}

impl Answer {
    /// A stream with nothing in it yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A stream of one piece of text.
    pub fn text(text: &str) -> Self {
        Self::new().then_text(&[text])
    }

    /// A stream of calls, which are told apart only by their index and arrive mixed where
    /// the protocol does that.
    pub fn calls(calls: Vec<Call>) -> Self {
        Self::new().then_calls(calls)
    }

    /// A stream of one call.
    pub fn call(id: &str, name: &str, arguments: &Value) -> Self {
        Self::calls(vec![Call::new(id, name, &arguments.to_string())])
    }

    /// No stream: this status with this body.
    pub fn status(status: u16, content_type: &str, body: &str) -> Self {
        Self {
            status: Some(status),
            content_type: Some(content_type.to_owned()),
            body: Some(body.to_owned()),
            ..Self::default()
        }
    }

    /// Adds text in these pieces.
    #[must_use]
    pub fn then_text(self, pieces: &[&str]) -> Self {
        self.then(Part::Text(owned(pieces)))
    }

    /// Adds reasoning in these pieces, signed if the protocol has signatures.
    #[must_use]
    pub fn then_reasoning(self, pieces: &[&str], signature: Option<&str>) -> Self {
        self.then(Part::Reasoning { pieces: owned(pieces), signature: signature.map(str::to_owned) })
    }

    /// Adds reasoning that the provider shows only in encrypted form (Anthropic).
    #[must_use]
    pub fn then_redacted(self, data: &str) -> Self {
        self.then(Part::Redacted(data.to_owned()))
    }

    /// Adds calls.
    #[must_use]
    pub fn then_calls(self, calls: Vec<Call>) -> Self {
        self.then(Part::Calls(calls))
    }

    /// Sends nothing for a while.
    #[must_use]
    pub fn then_pause(self, pause: Duration) -> Self {
        self.then(Part::Pause(pause))
    }

    /// Reports `error` in the stream, in the envelope of the protocol, and ends.
    #[must_use]
    pub fn then_error(self, error: Value) -> Self {
        self.then(Part::Error(error))
    }

    /// Adds bytes of the stream as they are.
    #[must_use]
    pub fn then_raw(self, bytes: &str) -> Self {
        self.then(Part::Raw(bytes.to_owned()))
    }

    /// Reports tokens: `input` (all of the request's), `output`, and `cached`, the part of
    /// the request's that came from the cache. Each protocol counts these its own way.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.usage = Some((input, output, cached));
        self
    }

    /// Ends with this finish reason, in the protocol's own word.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    /// Breaks the answer off.
    #[must_use]
    pub fn cut(mut self, cut: Cut) -> Self {
        self.cut = Some(cut);
        self
    }

    fn then(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    pub(crate) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Calls(calls) if !calls.is_empty()))
    }

    /// Whether the parts end the stream themselves, by an error.
    pub(crate) fn fails(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Error(_)))
    }
}

fn owned(pieces: &[&str]) -> Vec<String> {
    pieces.iter().map(|piece| (*piece).to_owned()).collect()
}

/// A step of sending a body.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Bytes(Vec<u8>),
    Pause(Duration),
    /// Close the connection without an end.
    Break,
}

/// `steps` up to where `cut` says.
pub(crate) fn cut_off(steps: Vec<Step>, cut: Option<Cut>) -> Vec<Step> {
    let Some(cut) = cut else {
        return steps;
    };
    let (Cut::Clean(mut left) | Cut::Broken(mut left)) = cut;
    let mut kept = Vec::new();
    for step in steps {
        match step {
            Step::Bytes(mut bytes) => {
                bytes.truncate(left);
                left -= bytes.len();
                if !bytes.is_empty() {
                    kept.push(Step::Bytes(bytes));
                }
            }
            other => kept.push(other),
        }
        if left == 0 {
            break;
        }
    }
    if matches!(cut, Cut::Broken(_)) {
        kept.push(Step::Break);
    }
    kept
}
