//! A field: what it takes, what it holds, what it was before, and how text becomes its value.

use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// What is said of a field that must not be empty.
const NEEDED: &str = "This is needed.";

/// One limit of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Where it is.
    pub at: f64,
    /// Whether the limit itself is out.
    pub exclusive: bool,
}

/// A value without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Any text of one line.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Bool,
}

/// What a field takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// One line of text.
    Text,
    /// Text of many lines.
    Multiline,
    /// A number.
    Number {
        /// The lower limit.
        min: Option<Bound>,
        /// The upper limit.
        max: Option<Bound>,
        /// Whether it must be whole.
        integer: bool,
    },
    /// Yes or no.
    Bool,
    /// One of some values.
    Choice {
        /// The values.
        options: Vec<Value>,
        /// Whether other text is taken too.
        free: bool,
    },
    /// Any number of scalars, one on each line.
    List {
        /// What each of them is.
        of: Scalar,
        /// Values to choose from; others are taken too.
        options: Vec<Value>,
    },
}

/// What an empty field means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// Null.
    Null,
    /// The field is left out.
    Omit,
    /// The empty text, or the empty list.
    Itself,
    /// It must not be empty.
    Refused,
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its key in the value of the form.
    pub key: String,
    /// Its name for people.
    pub label: String,
    /// A line that says what it is for.
    pub help: String,
    /// What it takes.
    pub kind: Kind,
    /// What it holds; none = left out. Text that does not fit yet is held as text, with an error.
    pub value: Option<Value>,
    /// What it held when it was read; what differs is marked and counts as changed.
    pub base: Option<Value>,
    /// Why its value cannot be taken.
    pub error: Option<String>,
    /// Words behind choices, by the choice.
    pub notes: BTreeMap<String, String>,
    /// Whether it is shown as dots.
    pub secret: bool,
    /// Whether it can only be looked at.
    pub read_only: bool,
    /// What it means when nothing is in it.
    pub empty: Empty,
}

impl Field {
    /// An empty field that is null when it is empty.
    pub fn new(key: impl Into<String>, label: impl Into<String>, kind: Kind) -> Self {
        Self {
            key: key.into(),
            label: label.into(),
            help: String::new(),
            kind,
            value: None,
            base: None,
            error: None,
            notes: BTreeMap::new(),
            secret: false,
            read_only: false,
            empty: Empty::Null,
        }
        .holding(Some(Value::Null))
    }

    /// The same with a help line.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// The same, only to be looked at.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// The same holding a value that counts as unchanged.
    #[must_use]
    pub fn holding(mut self, value: Option<Value>) -> Self {
        self.base.clone_from(&value);
        self.value = value;
        self
    }

    /// The same with another meaning of nothing.
    #[must_use]
    pub fn when_empty(mut self, empty: Empty) -> Self {
        self.empty = empty;
        self
    }

    /// Whether it differs from what it was.
    pub fn is_changed(&self) -> bool {
        match (&self.value, &self.base) {
            // 1 and 1.0 are the same number.
            (Some(Value::Number(one)), Some(Value::Number(other))) => one != other && one.as_f64() != other.as_f64(),
            (value, base) => value != base,
        }
    }

    /// Its value as text.
    pub fn shown(&self) -> String {
        self.text()
    }

    /// Its value as text for editing.
    pub(super) fn text(&self) -> String {
        shown(self.value.as_ref())
    }

    /// Takes edited text.
    pub(super) fn take_text(&mut self, text: &str) {
        self.error = None;
        if text == shown(self.base.as_ref()) {
            // Back at what it was, to the letter: 1.0 does not become 1, nor an empty text null.
            self.value.clone_from(&self.base);
            self.error = self.lack();
            return;
        }
        match self.read(text) {
            Ok(value) => self.value = value,
            Err(why) => {
                self.value = Some(Value::String(text.to_owned()));
                self.error = Some(why);
            }
        }
    }

    /// Says that it is needed, when nothing is in it.
    pub(super) fn lack(&self) -> Option<String> {
        let none = self.value.as_ref().is_none_or(Value::is_null);
        (none && self.empty == Empty::Refused).then(|| NEEDED.to_owned())
    }

    /// Why the value it holds cannot be taken.
    pub(super) fn fault(&self) -> Option<String> {
        self.read(&self.text()).err()
    }

    /// The value that a text means; none = left out.
    pub(super) fn read(&self, text: &str) -> Result<Option<Value>, String> {
        if text.is_empty() {
            return match self.empty {
                Empty::Null => Ok(Some(Value::Null)),
                Empty::Omit => Ok(None),
                Empty::Refused => Err(NEEDED.into()),
                Empty::Itself if matches!(self.kind, Kind::List { .. }) => Ok(Some(Value::Array(Vec::new()))),
                Empty::Itself => Ok(Some(Value::String(String::new()))),
            };
        }
        let value = match &self.kind {
            Kind::Text | Kind::Multiline => Value::String(text.to_owned()),
            Kind::Number { min, max, integer } => {
                let number = read_number(text, *integer)?;
                within(&number, *min, *max)?;
                Value::Number(number)
            }
            Kind::Bool => read_scalar(Scalar::Bool, text)?,
            Kind::Choice { options, free } => match options.iter().find(|option| shown(Some(option)) == text) {
                Some(option) => option.clone(),
                None if *free => Value::String(text.to_owned()),
                None => return Err("This is none of the choices.".into()),
            },
            Kind::List { of, .. } => Value::Array(
                text.split('\n')
                    .filter(|line| !line.is_empty())
                    .map(|line| read_scalar(*of, line))
                    .collect::<Result<_, _>>()?,
            ),
        };
        Ok(Some(value))
    }
}

/// A value as text for editing.
pub(super) fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items.iter().map(|item| shown(Some(item))).collect::<Vec<_>>().join("\n"),
        Some(other) => other.to_string(),
    }
}

fn read_number(text: &str, integer: bool) -> Result<Number, String> {
    let text = text.trim();
    let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    match whole {
        Ok(number) => Ok(number),
        Err(_) if integer => Err("This must be a whole number.".into()),
        Err(_) => {
            text.parse::<f64>().ok().and_then(Number::from_f64).ok_or_else(|| "This must be a number.".to_owned())
        }
    }
}

fn within(number: &Number, min: Option<Bound>, max: Option<Bound>) -> Result<(), String> {
    let value = number.as_f64().unwrap_or(f64::NAN);
    if let Some(Bound { at, exclusive }) = min
        && !(if exclusive { value > at } else { value >= at })
    {
        return Err(format!("This must be {} {at}.", if exclusive { "greater than" } else { "at least" }));
    }
    if let Some(Bound { at, exclusive }) = max
        && !(if exclusive { value < at } else { value <= at })
    {
        return Err(format!("This must be {} {at}.", if exclusive { "less than" } else { "at most" }));
    }
    Ok(())
}

fn read_scalar(scalar: Scalar, text: &str) -> Result<Value, String> {
    Ok(match scalar {
        Scalar::Text => Value::String(text.to_owned()),
        Scalar::Number => Value::Number(read_number(text, false)?),
        Scalar::Integer => Value::Number(read_number(text, true)?),
        Scalar::Bool => match text.trim() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err("This must be true or false.".into()),
        },
    })
}
