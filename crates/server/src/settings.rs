//! Settings of the server.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How the server listens and what it lets one client take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// Address and port.
    pub listen: String,
    /// Where the operations are mounted; a prefix may hold `{tenant}`, which must then be the caller's.
    pub prefixes: Vec<String>,
    /// Certificate chain, PEM; with `tls_key` the server speaks TLS. Empty = plain HTTP.
    pub tls_cert: PathBuf,
    /// Private key of the certificate, PEM.
    pub tls_key: PathBuf,
    /// Address of a listener for `/metrics` alone, without a sign-in. Empty = on `listen`, for whoever signs in.
    pub metrics_listen: String,
    /// Origins of web pages that may call, such as `https://chat.example.com`.
    pub origins: Vec<String>,
    /// Most bytes of a body; beyond it 413.
    pub body_bytes: usize,
    /// Most seconds in which the head of a request has to arrive.
    pub header_seconds: u64,
    /// Most seconds in which a body has to arrive.
    pub body_seconds: u64,
    /// Most seconds of a request that reads.
    pub request_seconds: u64,
    /// Seconds after which an open stream is looked at again: whoever signed out or lost their right loses it.
    pub recheck_seconds: u64,
    /// Requests a second that one credential may make in the long run; beyond it 429. 0 = any number.
    pub requests_per_second: u32,
    /// Requests that it may make at once.
    pub burst: u32,
    /// Connections at a time; more wait to be accepted.
    pub connections: usize,
    /// Seconds that open requests have to end when the server stops.
    pub stop_seconds: u64,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            prefixes: vec!["/api/v1/astudio".into()],
            tls_cert: PathBuf::new(),
            tls_key: PathBuf::new(),
            metrics_listen: String::new(),
            origins: Vec::new(),
            body_bytes: 4 * 1024 * 1024,
            header_seconds: 10,
            body_seconds: 30,
            request_seconds: 60,
            recheck_seconds: 30,
            requests_per_second: 0,
            burst: 200,
            connections: 4_096,
            stop_seconds: 10,
        }
    }
}
