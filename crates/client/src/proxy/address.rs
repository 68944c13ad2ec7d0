//! Where a server is, and the address of each operation on it.

use contract::operation::Meta;
use contract::wire::WireRequest;
use contract::{Code, Result, StudioError};
use reqwest::Url;
use std::fmt::Write as _;

/// Where servers answer below their address, unless they say otherwise.
pub const PREFIX: &str = "/api/v1/astudio";

/// The address below which a server's operations are.
#[derive(Clone, Debug)]
pub(super) struct Address {
    base: Url,
    /// What stands before the prefix.
    root: String,
    host: String,
}

impl Address {
    /// Reads an address as a person writes it. A prefix may hold `{tenant}`.
    ///
    /// # Errors
    /// `invalid_config` that says what is wrong with it. The address itself may hold a password and is not repeated.
    pub fn read(server: &str, prefix: Option<&str>, tenant: Option<&str>) -> Result<Self> {
        let wrong = |why: &str| invalid(&format!("The server's address {why}."));
        let base = Url::parse(server.trim()).map_err(|_| wrong("must look like https://studio.example.com"))?;
        if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
            return Err(wrong("must start with http:// or https:// and name a host"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(wrong("must hold no user and no password; a token goes with each request instead"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(wrong("must have no `?` and no `#`"));
        }
        let prefix = below(prefix.unwrap_or(PREFIX), tenant)?;
        let path = base.path().trim_end_matches('/');
        let root = path.strip_suffix(&prefix).unwrap_or(path).to_owned();
        let path = format!("{root}{prefix}");
        let host = match (base.host_str().unwrap_or_default(), base.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        let mut base = base;
        base.set_path(&path);
        Ok(Self { base, root, host })
    }

    /// Host and port, for people.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is this machine.
    pub fn is_loopback(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        host == "localhost"
            || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Whether what is sent is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// The address of a path below the base. The path is encoded already.
    pub fn at(&self, path: &str, query: &[(String, String)]) -> Url {
        self.below(self.base.path().trim_end_matches('/'), path, query)
    }

    /// The address of a path of the server that is not below the prefix. The path is encoded already.
    pub fn at_root(&self, path: &str, query: &[(String, String)]) -> Url {
        self.below(&self.root, path, query)
    }

    fn below(&self, start: &str, path: &str, query: &[(String, String)]) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{start}{path}"));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }
}

fn below(prefix: &str, tenant: Option<&str>) -> Result<String> {
    let prefix = prefix.trim().trim_matches('/');
    let prefix = match (prefix.contains("{tenant}"), tenant) {
        (true, Some(tenant)) => prefix.replace("{tenant}", &segment(tenant)?),
        (true, None) => return Err(invalid("The server's prefix holds {tenant}: say which `tenant` in the profile.")),
        (false, _) => prefix.to_owned(),
    };
    if prefix.contains(['?', '#', '{', '}']) {
        return Err(invalid("A server's prefix is a path, such as /api/v1/astudio."));
    }
    Ok(if prefix.is_empty() { String::new() } else { format!("/{prefix}") })
}

fn invalid(message: &str) -> StudioError {
    StudioError::new(Code::InvalidConfig, 422, message)
}

/// The path of a request: of the operation's routes the one that takes most of the parameters at hand.
///
/// # Errors
/// A parameter is missing, or cannot stand in an address.
pub(crate) fn path_of(meta: &Meta, request: &WireRequest) -> Result<String> {
    let names = |route: &'static str| {
        route.split('/').filter_map(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')))
    };
    let mut best: Option<(usize, &'static str)> = None;
    for route in meta.routes {
        let taken = names(route).count();
        let fits = names(route).all(|name| request.path.contains_key(name));
        if fits && best.is_none_or(|(most, _)| taken > most) {
            best = Some((taken, route));
        }
    }
    let Some((_, route)) = best else {
        let missing = meta.routes.first().and_then(|route| names(route).find(|name| !request.path.contains_key(*name)));
        return Err(StudioError::invalid_request(format!(
            "The address is not complete: missing field `{}`.",
            missing.unwrap_or_default()
        )));
    };
    let mut path = String::new();
    for part in route.split('/').skip(1) {
        path.push('/');
        match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => path.push_str(&segment(request.path.get(name).map_or("", String::as_str))?),
            None => path.push_str(part),
        }
    }
    Ok(path)
}

/// A value as one segment of a path, whatever is in it.
///
/// # Errors
/// Nothing can be called so: the empty value, and `.` and `..`, which addresses take for something else however they are
/// written.
pub(super) fn segment(value: &str) -> Result<String> {
    if matches!(value, "" | "." | "..") {
        return Err(StudioError::not_found("Record", value));
    }
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use contract::operation::meta;
    use contract::ops::{agents, keys, turns};

    fn request(path: &[(&str, &str)]) -> WireRequest {
        let path = path.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        WireRequest { path, ..WireRequest::default() }
    }

    fn url(server: &str, prefix: Option<&str>, tenant: Option<&str>) -> String {
        Address::read(server, prefix, tenant).unwrap().at("/me", &[]).to_string()
    }

    #[test]
    fn addresses_as_people_write_them() {
        assert_eq!(url("http://h:8080", None, None), "http://h:8080/api/v1/astudio/me");
        assert_eq!(url(" https://h/ ", None, None), "https://h/api/v1/astudio/me");
        assert_eq!(url("https://h/api/v1/astudio/", None, None), "https://h/api/v1/astudio/me");
        assert_eq!(url("https://h/behind/it", None, None), "https://h/behind/it/api/v1/astudio/me");
        assert_eq!(url("https://h", Some("/x"), None), "https://h/x/me");
        assert_eq!(url("https://h", Some(""), None), "https://h/me");
        assert_eq!(url("http://[::1]:9", Some("/a/{tenant}/b/"), Some("é/x")), "http://[::1]:9/a/%C3%A9%2Fx/b/me");
        for server in ["https://h/behind/it", "https://h/behind/it/api/v1/astudio"] {
            let address = Address::read(server, None, None).unwrap();
            assert_eq!(address.at_root("/x", &[]).as_str(), "https://h/behind/it/x", "{server}");
        }
        let address = Address::read("http://[::1]:9", None, None).unwrap();
        assert_eq!((address.host(), address.is_loopback(), address.is_encrypted()), ("[::1]:9", true, false));
        assert!(!Address::read("https://h", None, None).unwrap().is_loopback());
    }

    #[test]
    fn bad_addresses_say_what_is_wrong_and_no_secret() {
        for (server, prefix) in [
            ("h:8080", None),
            ("", None),
            ("ftp://h", None),
            ("http://", None),
            ("http://ann:geheim@h", None),
            ("http://h?token=geheim", None),
            ("http://h#x", None),
            ("http://h", Some("/{tenant}")),
            ("http://h", Some("/{else}")),
        ] {
            let error = Address::read(server, prefix, None).unwrap_err();
            assert_eq!(error.code, Code::InvalidConfig, "{server}");
            assert!(!error.message.contains("geheim"), "{}", error.message);
        }
    }

    #[test]
    fn odd_names_are_one_segment() {
        for (name, path) in [
            ("a b", "/agents/a%20b"),
            ("a/b?c#d", "/agents/a%2Fb%3Fc%23d"),
            ("50%", "/agents/50%25"),
            ("äß", "/agents/%C3%A4%C3%9F"),
            ("...", "/agents/..."),
            ("%2e%2e", "/agents/%252e%252e"),
            ("a\u{0}\n", "/agents/a%00%0A"),
        ] {
            let encoded = path_of(&meta::<agents::GetAgent>(), &request(&[("name", name)])).unwrap();
            assert_eq!(encoded, path, "{name:?}");
            let url = Address::read("http://h", Some(""), None).unwrap().at(&encoded, &[]);
            assert_eq!(url.path(), path, "the address keeps it");
        }
        for name in ["", ".", ".."] {
            let error = path_of(&meta::<agents::GetAgent>(), &request(&[("name", name)])).unwrap_err();
            assert_eq!((error.status, error.code), (404, Code::NotFound), "{name:?}");
        }
    }

    #[test]
    fn the_route_that_takes_what_is_there() {
        let of = |meta: Meta, pairs: &[(&str, &str)]| path_of(&meta, &request(pairs));
        assert_eq!(of(meta::<agents::CreateAgent>(), &[]).unwrap(), "/agents");
        assert_eq!(of(meta::<agents::CreateAgent>(), &[("name", "a")]).unwrap(), "/agents/a");
        assert_eq!(of(meta::<keys::DeleteKey>(), &[]).unwrap(), "/keys");
        assert_eq!(of(meta::<keys::DeleteKey>(), &[("provider", "p")]).unwrap(), "/keys/p");
        let settle = of(meta::<turns::SettleCall>(), &[("id", "t"), ("ordinal", "0")]).unwrap();
        assert_eq!(settle, "/turns/t/calls/0/settle");
        let error = of(meta::<turns::SettleCall>(), &[("id", "t")]).unwrap_err();
        assert!(error.status == 400 && error.message.contains("ordinal"), "{error:?}");
    }

    #[test]
    fn query_values_are_encoded() {
        let pairs = [("q", "name:a & b"), ("q", "é+"), ("n", "")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let url = Address::read("http://h", Some(""), None).unwrap().at("/agents", &pairs);
        assert_eq!(url.query(), Some("q=name%3Aa+%26+b&q=%C3%A9%2B&n="));
        assert_eq!(url.query_pairs().into_owned().collect::<Vec<_>>(), pairs);
    }
}
