//! Paths: a route with its parameters filled in.

use contract::{Result, StudioError};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The first route whose parameters are exactly those that were given, filled and encoded.
///
/// # Errors
/// 404 `not_found` for a value that cannot stand in a path; 400 `invalid_request` when no route takes the parameters.
pub(super) fn path(routes: &[&str], given: &BTreeMap<String, String>) -> Result<String> {
    let route = routes.iter().find(|route| {
        let names: Vec<&str> = route.split('/').filter_map(parameter).collect();
        names.len() == given.len() && names.iter().all(|name| given.contains_key(*name))
    });
    let route = route.ok_or_else(|| StudioError::invalid_request("The parameters of the path do not fit."))?;
    let mut path = String::new();
    for segment in route.split('/').skip(1) {
        path.push('/');
        match parameter(segment).and_then(|name| given.get(name)) {
            Some(value) => encode(value, &mut path)?,
            None => path.push_str(segment),
        }
    }
    Ok(path)
}

fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// Encodes everything but unreserved characters. Empty and dotted names are refused here: on their way they would turn
/// into another path, encoded or not.
fn encode(value: &str, path: &mut String) -> Result<()> {
    if matches!(value, "" | "." | "..") {
        return Err(StudioError::not_found("Record", value));
    }
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => path.push(char::from(byte)),
            _ => _ = write!(path, "%{byte:02X}"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_are_filled_and_encoded() {
        let given = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let routes = &["/keys/{provider}", "/keys"];
        assert_eq!(path(routes, &given(&[("provider", "a b/ü%?#")])).unwrap(), "/keys/a%20b%2F%C3%BC%25%3F%23");
        assert_eq!(path(routes, &given(&[])).unwrap(), "/keys");
        for bad in ["", ".", ".."] {
            assert_eq!(path(routes, &given(&[("provider", bad)])).unwrap_err().status, 404, "{bad}");
        }
        assert_eq!(path(routes, &given(&[("name", "x")])).unwrap_err().status, 400);
    }
}
