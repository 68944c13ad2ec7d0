//! A field of a merge patch: absent, null, or a value.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A field of a merge patch. Use with `#[serde(default, skip_serializing_if = "Patch::is_absent")]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Patch<T> {
    /// Not sent: unchanged.
    #[default]
    Absent,
    /// Sent as null: cleared.
    Null,
    /// Sent with a value.
    Set(T),
}

impl<T> Patch<T> {
    /// Whether the field was not sent.
    pub fn is_absent(&self) -> bool {
        matches!(self, Patch::Absent)
    }

    /// The value after the patch: `old` when absent, nothing when null.
    pub fn over(self, old: Option<T>) -> Option<T> {
        match self {
            Patch::Absent => old,
            Patch::Null => None,
            Patch::Set(value) => Some(value),
        }
    }
}

impl<T: Serialize> Serialize for Patch<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Patch::Set(value) => value.serialize(s),
            _ => s.serialize_none(),
        }
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for Patch<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Option::<T>::schema_name()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        // That it may be left out is said by its default.
        Option::<T>::json_schema(generator)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(match Option::<T>::deserialize(d)? {
            Some(value) => Patch::Set(value),
            None => Patch::Null,
        })
    }
}
