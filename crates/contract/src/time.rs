//! Points in time: whole microseconds since 1970 in storage, RFC 3339 with `+00:00` in the API.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, in microseconds since 1970-01-01T00:00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub i64);

impl Micros {
    /// Now, by this machine's clock.
    pub fn now() -> Self {
        Self(Utc::now().timestamp_micros())
    }

    /// This point plus `seconds`.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }

    /// RFC 3339 with microseconds and `+00:00`.
    pub fn to_rfc3339(self) -> String {
        DateTime::<Utc>::from_timestamp_micros(self.0).unwrap_or_default().to_rfc3339_opts(SecondsFormat::Micros, false)
    }
}

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.to_rfc3339())
    }
}

impl<'de> Deserialize<'de> for Micros {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
        let at = DateTime::parse_from_rfc3339(&text).map_err(serde::de::Error::custom)?;
        Ok(Self(at.timestamp_micros()))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Micros {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Micros".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::Micros;

    #[test]
    fn reads_back_what_it_writes() {
        let at = Micros(1_790_000_000_123_456);
        let text = serde_json::to_string(&at).expect("a string");
        assert!(text.ends_with("+00:00\""), "{text}");
        assert_eq!(serde_json::from_str::<Micros>(&text).expect("read"), at);
    }
}
