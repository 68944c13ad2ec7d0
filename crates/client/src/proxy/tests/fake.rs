//! A server of single bytes: it says what a test tells it to, and breaks off where the test wants.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The verb.
    pub method: String,
    /// Path and query, as they were sent.
    pub path: String,
    headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Asked {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What is done with a request.
#[derive(Clone, Debug)]
pub enum Do {
    /// Send these bytes.
    Send(String),
    /// Wait.
    Wait(Duration),
    /// Close the connection.
    Close,
}

/// An answer of our server.
pub fn json(status: u16, body: &str) -> Vec<Do> {
    answer(status, "application/json", "x-astudio-version: 1\r\nx-astudio-boot: run\r\n", body)
}

/// An answer of whom you like.
pub fn answer(status: u16, kind: &str, more: &str, body: &str) -> Vec<Do> {
    let length = body.len();
    vec![Do::Send(format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{more}content-length: {length}\r\n\r\n{body}"
    ))]
}

/// The head of a stream of events, sent in chunks of the protocol.
pub fn stream() -> Do {
    Do::Send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-astudio-version: 1\r\ntransfer-encoding: chunked\r\n\r\n"
            .into(),
    )
}

/// A piece of a stream.
pub fn piece(text: &str) -> Do {
    Do::Send(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// The end of a stream in good order.
pub fn end() -> Do {
    Do::Send("0\r\n\r\n".into())
}

/// Who asks.
pub const ME: &str =
    r#"{"user_id":"ann","tenant":"acme","may_author":true,"may_administer":false,"enabled":true,"is_superuser":false}"#;

/// The answer of `/me`.
pub fn me() -> Vec<Do> {
    json(200, ME)
}

type Handler = Arc<dyn Fn(&Asked, usize) -> Vec<Do> + Send + Sync>;

/// The server.
pub struct Fake {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    gone: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fake {
    /// One that answers `/me` as ours does and everything else so. The number counts such requests from 0.
    pub async fn new(handler: impl Fn(&Asked, usize) -> Vec<Do> + Send + Sync + 'static) -> Self {
        Self::raw(move |asked, n| if asked.path.ends_with("/me") { me() } else { handler(asked, n) }).await
    }

    /// One that answers everything so.
    pub async fn raw(handler: impl Fn(&Asked, usize) -> Vec<Do> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let gone = Arc::new(Mutex::new(0));
        let (seen, left) = (asked.clone(), gone.clone());
        let handler: Handler = Arc::new(handler);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, handler.clone(), seen.clone(), left.clone()));
            }
        });
        Self { port, asked, gone, task }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What was asked but `/me`.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().iter().filter(|asked| !asked.path.ends_with("/me")).cloned().collect()
    }

    /// How many of those who asked have hung up before their answer was whole.
    pub fn gone(&self) -> usize {
        *self.gone.lock().unwrap()
    }
}

async fn serve(mut stream: TcpStream, handler: Handler, seen: Arc<Mutex<Vec<Asked>>>, gone: Arc<Mutex<usize>>) {
    while let Some(asked) = read(&mut stream).await {
        let n = {
            let mut seen = seen.lock().unwrap();
            let n = seen.iter().filter(|before| !before.path.ends_with("/me")).count();
            seen.push(asked.clone());
            n
        };
        for step in handler(&asked, n) {
            match step {
                Do::Send(bytes) => {
                    if stream.write_all(bytes.as_bytes()).await.is_err() {
                        return;
                    }
                }
                Do::Wait(time) => {
                    let mut byte = [0];
                    if let Ok(Ok(0) | Err(_)) = tokio::time::timeout(time, stream.read(&mut byte)).await {
                        *gone.lock().unwrap() += 1;
                        return;
                    }
                }
                Do::Close => return,
            }
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(key, _)| key == "content-length").map_or(0, |(_, n)| n.parse().unwrap());
    while bytes.len() < head + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Asked { method, path, headers, body: String::from_utf8_lossy(&bytes[head + 4..]).into_owned() })
}
