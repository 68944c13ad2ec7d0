//! Addresses of MCP servers: prefixes that the host allows, and whether an address is under one.
//!
//! An address is compared as text, so everything that a URL library may read in two ways (back slashes, control characters, user
//! information, dot segments in any encoding) is refused and not normalised.

use std::fmt;

/// An address in its normal form: `scheme://host:port/path/`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Address {
    https: bool,
    normal: String,
    /// Something follows the path.
    has_query: bool,
}

/// A prefix under which MCP servers of tenants may be: an absolute https address that ends in a whole path segment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndpointPrefix(String);

/// A prefix that cannot be used: an error in the host's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEndpoint(String);

impl fmt::Display for BadEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' cannot be an MCP endpoint prefix: it must be an absolute https address without user information, dot segments, query \
             and fragment.",
            self.0
        )
    }
}

impl std::error::Error for BadEndpoint {}

impl EndpointPrefix {
    /// Reads and normalises a prefix.
    ///
    /// # Errors
    /// It is not an absolute https address, or has user information, dot segments, a query or a fragment.
    pub fn new(text: &str) -> Result<Self, BadEndpoint> {
        parse(text)
            .filter(|address| address.https && !address.has_query)
            .map(|address| Self(address.normal))
            // A rejected address may hold a password before an @, or a token in its query.
            .ok_or_else(|| {
                let shown = if text.contains('@') { "" } else { text };
                BadEndpoint(shown.split('?').next().unwrap_or_default().to_owned())
            })
    }

    /// The normal form: `https://host:port/path/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether the address is a safe https address under one of the prefixes.
pub(super) fn is_under(url: &str, prefixes: &[EndpointPrefix]) -> bool {
    parse(url).is_some_and(|address| {
        // Both end in a slash, so `/apix` is not under `/api`.
        address.https && prefixes.iter().any(|prefix| address.normal.starts_with(&prefix.0))
    })
}

/// Whether the address is a safe http or https address, wherever it leads.
pub(super) fn is_safe(url: &str) -> bool {
    parse(url).is_some()
}

fn parse(url: &str) -> Option<Address> {
    let printable = |byte: u8| (0x21..0x7F).contains(&byte) && byte != b'\\';
    if !url.bytes().all(printable) || has_dot_segments(url) {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    let https = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let path_end = tail.find(['?', '#']).unwrap_or(tail.len());
    let path = &tail[..path_end];
    let (host, port) = split_port(authority, if https { 443 } else { 80 })?;
    let slash = if path.ends_with('/') { "" } else { "/" };
    let scheme = if https { "https" } else { "http" };
    Some(Address {
        https,
        normal: format!("{scheme}://{}:{port}{path}{slash}", host.to_ascii_lowercase()),
        has_query: path_end < tail.len(),
    })
}

/// Two dots, or a dot in percent-encoding (however many times encoded), anywhere. Wider than dot segments, and sure.
fn has_dot_segments(url: &str) -> bool {
    let mut text = url.to_ascii_lowercase();
    while text.contains("%25") {
        text = text.replace("%25", "%");
    }
    text.contains("..") || text.contains("%2e")
}

fn split_port(authority: &str, default: u16) -> Option<(&str, u16)> {
    let (host, port) = if authority.starts_with('[') {
        let end = authority.find(']')? + 1;
        let inner = &authority[1..end - 1];
        if !inner.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.') || !inner.contains(':') {
            return None;
        }
        (&authority[..end], authority[end..].strip_prefix(':').or_else(|| authority[end..].is_empty().then_some("")))
    } else {
        let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
        // User information, a percent sign and a second colon fail here.
        if host.is_empty()
            || !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
        {
            return None;
        }
        (host, Some(port))
    };
    match port? {
        "" if !authority.ends_with(':') => Some((host, default)),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port != 0).map(|port| (host, port))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn prefixes_are_normalised() {
        for (text, normal) in [
            ("https://mcp.host/api", "https://mcp.host:443/api/"),
            ("HTTPS://MCP.Host:443/api/", "https://mcp.host:443/api/"),
            ("https://mcp.host", "https://mcp.host:443/"),
            ("https://mcp.host:8443/A/b", "https://mcp.host:8443/A/b/"),
            ("https://[2001:DB8::1]/x", "https://[2001:db8::1]:443/x/"),
            ("https://[::1]:9/x", "https://[::1]:9/x/"),
        ] {
            assert_eq!(EndpointPrefix::new(text).unwrap().as_str(), normal);
        }
        for bad in [
            "",
            "mcp.host",
            "/api",
            "https://",
            "https:///api",
            "http://mcp.host/",
            "ftp://mcp.host/",
            "https:mcp.host",
            "https://u@mcp.host/",
            "https://u:p@mcp.host/",
            "https://mcp.host/a/../b",
            "https://mcp.host/%2e%2e/",
            "https://mcp.host/?q",
            "https://mcp.host/#f",
            "https://mcp.host:/",
            "https://mcp.host:0/",
            "https://mcp.host:99999/",
            "https://mcp.host:+443/",
            "https://mcp.host:1:2/",
            "https://mcp host/",
            "https://mcp.host\\x/",
            "https://mcp.host/\n",
            "https://mcp.höst/",
            "https://[::1/",
            "https://[::1]x/",
            "https://[::1]:/",
            "https://[]/",
            "https://%6d/",
            " https://mcp.host/",
        ] {
            assert!(EndpointPrefix::new(bad).is_err(), "{bad:?}");
        }
        let shown = EndpointPrefix::new("https://u:hunter2@mcp.host/").unwrap_err().to_string();
        assert!(!shown.contains("hunter2"));
    }

    #[test]
    fn addresses_under_a_prefix() {
        let prefixes = [
            EndpointPrefix::new("https://mcp.host/api/").unwrap(),
            EndpointPrefix::new("https://other.host:8443").unwrap(),
        ];
        for good in [
            "https://mcp.host/api",
            "https://mcp.host/api/",
            "https://MCP.host:443/api/crm?x=1",
            "https://mcp.host/api?x=1",
            "https://mcp.host/api#f",
            "https://mcp.host/api/a.b/c%20d",
            "https://other.host:8443",
            "https://other.host:8443/anything",
        ] {
            assert!(is_under(good, &prefixes), "{good}");
        }
        for bad in [
            "http://mcp.host/api/",
            "https://mcp.host/apix",
            "https://mcp.host/API/",
            "https://mcp.host/",
            "https://mcp.host:8443/api/",
            "https://other.host/",
            "https://mcp.host.evil/api/",
            "https://evil/mcp.host/api/",
            "https://mcp.host@evil/api/",
            "https://evil@mcp.host/api/",
            "https://mcp.host:443@evil/api/",
            "https://mcp.host/api/../admin",
            "https://mcp.host/api/%2e%2e/admin",
            "https://mcp.host/api/%2E./admin",
            "https://mcp.host/api/.%2e/admin",
            "https://mcp.host/api/%252e%252e/admin",
            "https://mcp.host/api/%25252e%25252e/admin",
            "https://mcp.host/api/..\\admin",
            "https://mcp.host\\.evil/api/",
            "https://mcp.host/\tapi/",
            "https://mcp.host?/api/",
            "https://evil?https://mcp.host/api/",
            "https://evil#https://mcp.host/api/",
            "//mcp.host/api/",
            "mcp.host/api/",
            "javascript://mcp.host/api/",
            "",
        ] {
            assert!(!is_under(bad, &prefixes), "{bad:?}");
        }
        assert!(!is_under("https://mcp.host/api/", &[]));
    }
}
