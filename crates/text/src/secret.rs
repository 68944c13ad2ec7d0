//! Values that must not be shown: held so that printing cannot leak them, and masked where a hint is wanted.

use std::fmt;

use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

/// What stands for a secret wherever one would be shown.
pub const MASK: &str = "********";

/// A secret string. `Debug` and `Display` print [`MASK`], there is no `Serialize`, and the memory is wiped on drop.
///
/// It can be deserialised, so that a key in a request body is never held as a plain string by a record type.
#[derive(Clone, Default)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the value over.
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value itself: for the one place that uses it. Do not store or print what this returns.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

/// A hint of a key that tells two keys apart without giving either: up to 7 characters all `*`, else the first three, `…`, and the
/// last four. Counted in characters.
pub fn mask(secret: &str) -> String {
    let length = secret.chars().count();
    if length <= 7 {
        return "*".repeat(length);
    }
    secret.chars().take(3).chain(std::iter::once('…')).chain(secret.chars().skip(length - 4)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print() {
        let secret = Secret::new("sk-hunter2".to_owned());
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "******** ******** Some(********)");
        assert_eq!(secret.expose(), "sk-hunter2");
        assert_eq!(secret.clone().expose(), "sk-hunter2");
    }

    #[test]
    fn a_secret_is_read_from_a_body() {
        use serde::de::IntoDeserializer;
        use serde::de::value::{Error, StrDeserializer};
        let source: StrDeserializer<'_, Error> = "k".into_deserializer();
        assert_eq!(Secret::deserialize(source).map(|s| s.expose().to_owned()), Ok("k".to_owned()));
    }

    #[test]
    fn masks() {
        for (secret, expected) in [
            ("", ""),
            ("abc", "***"),
            ("1234567", "*******"),
            ("12345678", "123…5678"),
            ("sk-proj-abcdef1234", "sk-…1234"),
            ("ключ-секрет", "клю…крет"),
        ] {
            assert_eq!(mask(secret), expected);
        }
    }
}
