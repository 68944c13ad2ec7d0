//! Partitions: the records of one tenant, or the GLOBAL ones that belong to none.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{NameError, is_tenant_name};

/// A tenant, or GLOBAL. Addressing rows needs one, so no query can forget it.
///
/// Stored (and serialised) as text: the tenant, or `-` for GLOBAL. No tenant can be called that, and unlike NULL it is compared with
/// `=` and found by an index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Partition(Cow<'static, str>);

impl Partition {
    /// The partition of the records without a tenant.
    pub const GLOBAL: Self = Self(Cow::Borrowed("-"));

    /// The partition of a tenant.
    ///
    /// # Errors
    /// The name is no tenant name.
    pub fn tenant(name: &str) -> Result<Self, NameError> {
        if is_tenant_name(name) { Ok(Self(Cow::Owned(name.to_owned()))) } else { Err(NameError::Tenant) }
    }

    /// The partition that is stored as `text`.
    ///
    /// # Errors
    /// The text is neither `-` nor a tenant name.
    pub fn from_stored(text: &str) -> Result<Self, NameError> {
        if text == "-" { Ok(Self::GLOBAL) } else { Self::tenant(text) }
    }

    /// As it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tenant; none for GLOBAL.
    pub fn as_tenant(&self) -> Option<&str> {
        (!self.is_global()).then_some(self.as_str())
    }

    /// Whether this is the partition without a tenant.
    pub fn is_global(&self) -> bool {
        self.0 == "-"
    }

    /// The key of a record of this partition among those of all: `studio:<tenant|->:<name>`. Unambiguous, for neither part can hold a
    /// colon.
    pub fn qualified(&self, name: &str) -> String {
        format!("studio:{}:{name}", self.0)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Partition {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::from_stored(&text)
    }
}

impl From<Partition> for String {
    fn from(partition: Partition) -> Self {
        partition.0.into_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn global_and_tenants() {
        let acme = Partition::tenant("acme").unwrap();
        assert_eq!(acme.as_tenant(), Some("acme"));
        assert_eq!(acme.qualified("a"), "studio:acme:a");
        assert_eq!(Partition::GLOBAL.as_tenant(), None);
        assert_eq!(Partition::GLOBAL.qualified("a"), "studio:-:a");
        assert_eq!(Partition::from_stored("-"), Ok(Partition::GLOBAL));
        assert_eq!(Partition::from_stored("acme"), Ok(acme));
    }

    #[test]
    fn what_is_no_tenant() {
        for bad in ["", "-", "Acme", "acme\n", "a:b", "_x", " acme"] {
            assert_eq!(Partition::tenant(bad), Err(NameError::Tenant), "{bad:?}");
        }
    }

    #[test]
    fn stored_text_goes_both_ways() {
        for text in ["\"-\"", "\"acme\""] {
            let partition: Partition = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&partition).unwrap(), text);
        }
        assert!(serde_json::from_str::<Partition>("\"A\"").is_err());
    }
}
