//! The contract over HTTP, as programs use it: the built server over a demo home.

mod agui;
mod listening;
mod manners;
mod streams;

use crate::binary::{Desk, PATIENCE, text, until};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use tokio::runtime::Runtime;

/// A running server; killed when dropped.
pub struct Web {
    child: Child,
    /// Address and port.
    pub address: String,
    /// Up to and with the prefix.
    pub url: String,
    /// The token that a plain host printed.
    pub token: Option<String>,
    /// For calls.
    pub runtime: Runtime,
    client: reqwest::Client,
}

/// An answer that was read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

impl Answer {
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.body["code"].as_str().unwrap_or_default()), (status, code), "{self:?}");
        assert!(self.body["message"].as_str().is_some_and(|message| !message.is_empty()), "{self:?}");
        assert!(self.body.as_object().is_some_and(|body| body.contains_key("details")), "{self:?}");
    }

    #[track_caller]
    pub fn ok(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.body
    }

    pub fn header(&self, name: &str) -> String {
        self.headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    }
}

impl Web {
    /// Serves the home of this desk on a free port.
    pub fn start(desk: &Desk, args: &[&str]) -> Self {
        let all = [&["serve", "--json", "--listen", "127.0.0.1:0"], args].concat();
        let mut child = desk.command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        // The answer is one JSON document over several lines.
        let said: Value = loop {
            if out.read_line(&mut line).unwrap() == 0 {
                let mut why = String::new();
                std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut why).unwrap();
                panic!("the server did not start: {line} {why}");
            }
            if let Ok(said) = serde_json::from_str(&line) {
                break said;
            }
        };
        let mut log = child.stderr.take().unwrap();
        // Nobody reads it, but a full pipe must not stop the server.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        // A second provider in one process is refused, and the first is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            child,
            address: text(&said["address"]),
            url: text(&said["url"]),
            token: said["token"].as_str().map(str::to_owned),
            runtime: tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap(),
            client: reqwest::Client::builder().timeout(PATIENCE).build().unwrap(),
        }
    }

    /// A request to an address below the prefix.
    pub fn request(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(token)
    }

    /// A request to any address of the server.
    pub fn anywhere(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.address))
    }

    /// Sends a request and reads the answer whole.
    pub fn send(&self, request: RequestBuilder) -> Answer {
        self.runtime.block_on(async {
            let response = request.send().await.unwrap();
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let bytes = response.bytes().await.unwrap();
            let body = serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
            Answer { status, headers, body }
        })
    }

    pub fn get(&self, path: &str, token: &str) -> Answer {
        self.send(self.request(Method::GET, path, token))
    }

    pub fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        self.send(self.request(Method::POST, path, token).json(body))
    }

    /// Begins a stream.
    pub fn stream(&self, request: RequestBuilder) -> Stream {
        let response = self.runtime.block_on(async { request.send().await.unwrap() });
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { rest: String::new(), response: Some(response) }
    }

    /// Tells the process to stop, and answers its exit code.
    pub fn stop(mut self) -> i32 {
        signal(&self.child, "TERM");
        let mut code = None;
        until("the end of the server", || {
            code = self.child.try_wait().unwrap().and_then(|status| status.code());
            code.is_some()
        });
        code.unwrap()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }
}

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A stream of events, read piece by piece.
pub struct Stream {
    rest: String,
    response: Option<Response>,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub data: Value,
}

impl Stream {
    /// The next event; none at the end. Fails when nothing comes.
    pub fn next(&mut self, web: &Web) -> Option<Event> {
        loop {
            if let Some(end) = self.rest.find("\n\n") {
                let block: String = self.rest.drain(..end + 2).collect();
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                // Comments keep the line open.
                let Some(data) = field("data:") else { continue };
                return Some(Event { id: field("id:").map(str::to_owned), data: serde_json::from_str(data).unwrap() });
            }
            let response = self.response.as_mut()?;
            let chunk = web.runtime.block_on(async { tokio::time::timeout(PATIENCE, response.chunk()).await });
            match chunk.expect("something comes") {
                Ok(Some(bytes)) => self.rest.push_str(std::str::from_utf8(&bytes).unwrap()),
                _ => self.response = None,
            }
        }
    }

    /// Events up to and with the first for which this holds.
    pub fn until(&mut self, web: &Web, holds: impl Fn(&Value) -> bool) -> Vec<Event> {
        let mut seen = Vec::new();
        while let Some(event) = self.next(web) {
            let last = holds(&event.data);
            seen.push(event);
            if last {
                return seen;
            }
        }
        panic!("the stream ended after {seen:#?}");
    }

    /// All that is left.
    pub fn rest(&mut self, web: &Web) -> Vec<Event> {
        std::iter::from_fn(|| self.next(web)).collect()
    }
}

/// A token of a person of the demo.
pub fn token(desk: &Desk, user: &str, scopes: &[&str]) -> String {
    let who = format!("{user}@demo");
    let mut args = vec!["--as", &who, "tokens", "create", "http"];
    for scope in scopes {
        args.extend(["--scope", scope]);
    }
    text(&desk.done(&args)["secret"])
}

/// All of a stream's events of this type.
pub fn of_type<'a>(events: &'a [Event], kind: &str) -> Vec<&'a Value> {
    events.iter().map(|event| &event.data).filter(|data| data["type"] == kind).collect()
}
