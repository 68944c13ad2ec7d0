//! Which names are allowed for agents, drafts, categories and tenants. Every rule matches the whole text: a trailing newline is refused.

use std::fmt;

/// The longest name of an agent or draft, in characters.
pub const MAX_NAME: usize = 64;
/// The longest tenant name, in characters.
pub const MAX_TENANT: usize = 63;
/// A tenant name that nobody can create: it is ours.
pub const RESERVED_TENANT: &str = "astudio";

/// A name that breaks its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// An agent name without a letter or digit in it.
    Empty,
    /// An agent name over [`MAX_NAME`] characters.
    TooLong,
    /// A tenant name that breaks the rule for tenants.
    Tenant,
    /// The tenant name [`RESERVED_TENANT`].
    ReservedTenant,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "The name needs at least one letter (a to z) or digit.",
            Self::TooLong => "The name is too long: at most 64 characters.",
            Self::Tenant => {
                "A tenant name is 1 to 63 characters of a-z, 0-9, _ and -, and begins with a letter or digit."
            }
            Self::ReservedTenant => "This tenant name is reserved; choose another.",
        })
    }
}

impl std::error::Error for NameError {}

fn slug_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-')
}

/// Whether the text is a slug: one or more of `a-z`, `0-9`, `_`, `-`. For path-like identifiers and for categories.
pub fn is_slug(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(slug_byte)
}

/// Whether the text can be stored as the name of an agent or draft: a slug of at most [`MAX_NAME`] characters.
pub fn is_record_name(text: &str) -> bool {
    is_slug(text) && text.len() <= MAX_NAME
}

/// Whether the text is a tenant name: a slug of at most [`MAX_TENANT`] characters that begins with a letter or digit. So `-`, which
/// stands for GLOBAL in storage, is none.
pub fn is_tenant_name(text: &str) -> bool {
    is_slug(text) && text.len() <= MAX_TENANT && !text.starts_with(['_', '-'])
}

/// Checks a tenant that is to be created.
///
/// # Errors
/// The name breaks the rule or is reserved.
pub fn check_new_tenant(text: &str) -> Result<(), NameError> {
    if !is_tenant_name(text) {
        Err(NameError::Tenant)
    } else if text == RESERVED_TENANT {
        Err(NameError::ReservedTenant)
    } else {
        Ok(())
    }
}

/// The stored name for an agent that is created as `text`: trimmed, lower case, every run of other characters than `a-z`, `0-9` one `-`,
/// none at the ends. An underscore becomes `-` too. Drafts are not treated so: their names must already fit.
///
/// # Errors
/// Nothing is left, or more than [`MAX_NAME`] characters are.
pub fn agent_name(text: &str) -> Result<String, NameError> {
    let mut name = String::new();
    for c in text.trim().to_lowercase().chars() {
        if matches!(c, 'a'..='z' | '0'..='9') {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let length = name.trim_end_matches('-').len();
    name.truncate(length);
    match length {
        0 => Err(NameError::Empty),
        1..=MAX_NAME => Ok(name),
        _ => Err(NameError::TooLong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        for good in ["a", "a_b-c", "-", "0", "_x"] {
            assert!(is_slug(good), "{good}");
        }
        for bad in ["", "A", "a b", "a\n", "\na", "a.b", "ä", "../x", "a/b", "a\0"] {
            assert!(!is_slug(bad), "{bad:?}");
            assert!(!is_record_name(bad));
            assert!(!is_tenant_name(bad));
        }
        assert!(is_record_name(&"a".repeat(64)));
        assert!(!is_record_name(&"a".repeat(65)));
        assert!(is_tenant_name(&"a".repeat(63)));
        assert!(!is_tenant_name(&"a".repeat(64)));
        for bad in ["-", "_a", "-a", "acme\n"] {
            assert!(!is_tenant_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn new_tenants() {
        assert_eq!(check_new_tenant("acme"), Ok(()));
        assert_eq!(check_new_tenant("astudio"), Err(NameError::ReservedTenant));
        assert_eq!(check_new_tenant("Acme"), Err(NameError::Tenant));
    }

    #[test]
    fn agent_names() {
        for (text, name) in [
            ("My Cool Agent", "my-cool-agent"),
            ("  a__b  ", "a-b"),
            ("a--b - c", "a-b-c"),
            ("-x-", "x"),
            ("Über Agent", "ber-agent"),
            ("a\nb\n", "a-b"),
            ("../etc/passwd", "etc-passwd"),
        ] {
            assert_eq!(agent_name(text).as_deref(), Ok(name));
        }
        assert_eq!(agent_name("!!!"), Err(NameError::Empty));
        assert_eq!(agent_name(""), Err(NameError::Empty));
        assert!(agent_name(&"a".repeat(64)).is_ok());
        assert_eq!(agent_name(&"a".repeat(65)), Err(NameError::TooLong));
        assert!(agent_name(&format!("{}--", "a".repeat(64))).is_ok());
    }
}
