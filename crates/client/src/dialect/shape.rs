//! Small repairs of what the other side sends: its values are close to ours but not always of our types.

use contract::wire::{JsonBody, Raw, WireReply};
use contract::{Code, Micros, Result, StudioError, json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// An object of the other side under repair.
pub(super) struct Object(Map<String, Value>);

impl Object {
    /// Opens a body that must be an object.
    ///
    /// # Errors
    /// 502 `internal_error`.
    pub(super) fn open(body: Value) -> Result<Self> {
        match body {
            Value::Object(map) => Ok(Self(map)),
            _ => Err(unreadable("an object was expected")),
        }
    }

    /// The text at a key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    /// The value at a key; null when there is none.
    pub(super) fn get(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or(&Value::Null)
    }

    /// Sets what is absent or null.
    pub(super) fn fill(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        if self.get(key).is_null() {
            self.0.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Sets a key.
    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// Turns ids that are numbers there into texts.
    pub(super) fn ids(&mut self, keys: &[&str]) -> &mut Self {
        for key in keys {
            if let Some(value) = self.0.get_mut(*key)
                && value.is_number()
            {
                *value = Value::String(value.to_string());
            }
        }
        self
    }

    /// Brings a time to our form; one that cannot be read is as good as none.
    pub(super) fn time(&mut self, key: &str) -> &mut Self {
        let at = self.text(key).and_then(time);
        match at {
            Some(at) => self.0.insert(key.to_owned(), at.to_rfc3339().into()),
            None => self.0.remove(key),
        };
        self
    }

    /// Reads it as a shape of ours.
    ///
    /// # Errors
    /// 502 `internal_error`.
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<T> {
        serde_json::from_value(Value::Object(self.0)).map_err(|e| unreadable(&e.to_string()))
    }
}

/// A time as Python writes it: RFC 3339, or without a zone, which is read as UTC.
fn time(text: &str) -> Option<Micros> {
    let read = |text: &str| serde_json::from_value::<Micros>(Value::String(text.to_owned())).ok();
    read(text).or_else(|| read(&format!("{}+00:00", text.replacen(' ', "T", 1))))
}

/// The items of a list in a body.
///
/// # Errors
/// 502 `internal_error`.
pub(super) fn items(body: Value, key: &str) -> Result<Vec<Value>> {
    match body {
        Value::Object(mut map) => match map.remove(key) {
            Some(Value::Array(items)) => Ok(items),
            _ => Err(unreadable(&format!("'{key}' is no list"))),
        },
        _ => Err(unreadable("an object was expected")),
    }
}

/// A success that cannot be read. The status says that the fault is on the other side.
pub(super) fn unreadable(why: &str) -> StudioError {
    StudioError::new(
        Code::InternalError,
        502,
        format!("This does not look like a Studio server: its answer cannot be read ({why})."),
    )
}

/// An answer of ours.
pub(super) fn reply<T: Serialize>(status: u16, value: &T) -> WireReply {
    WireReply::Json(status, serde_json::to_value(value).unwrap_or_default())
}

/// A body that passes through the same opening as at home.
///
/// # Errors
/// The refusals of the shape.
pub(super) fn typed<T: JsonBody>(body: &Raw) -> Result<T> {
    <T as contract::wire::Body>::open(body.clone())
}

/// A body that goes on as it is, if it is JSON at all.
///
/// # Errors
/// 400 `invalid_json`.
pub(super) fn object(body: &Raw) -> Result<Value> {
    let invalid = |why: String| StudioError::new(Code::InvalidJson, 400, why);
    match body {
        Raw::Absent => Err(invalid("A JSON body is needed.".into())),
        Raw::Bytes(bytes) => json::parse(bytes).map_err(|fault| invalid(format!("The body is {fault}."))),
        Raw::Value(value) => Ok(value.clone()),
    }
}
