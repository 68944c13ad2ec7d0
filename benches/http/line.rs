//! A client that costs little: requests are bytes that are ready, answers are read by their length.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection that is kept.
pub struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A request as it is sent.
pub fn request(method: &str, path: &str, token: &str, more: &str, body: &str) -> Vec<u8> {
    let length = if body.is_empty() {
        String::new()
    } else {
        format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
    };
    let head = format!("{method} /api/v1/astudio{path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n");
    format!("{head}{more}{length}\r\n{body}").into_bytes()
}

impl Line {
    pub async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::with_capacity(64 * 1024) }
    }

    /// Sends a request, and answers the status and the head with the body behind it.
    pub async fn ask(&mut self, request: &[u8]) -> (u16, &[u8]) {
        self.stream.write_all(request).await.unwrap();
        self.buffer.clear();
        let mut whole = None;
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(read > 0, "the server closed the line");
            if whole.is_none()
                && let Some(end) = find(&self.buffer, b"\r\n\r\n")
            {
                whole = Some(end + 4 + length(&self.buffer[..end]));
            }
            if whole.is_some_and(|whole| self.buffer.len() >= whole) {
                return (status(&self.buffer), &self.buffer);
            }
        }
    }

    /// Sends a request whose answer is a stream of events, and hands on each piece as it comes, until it is told to stop.
    pub async fn stream(mut self, request: &[u8], mut piece: impl FnMut(&str) -> bool) {
        self.stream.write_all(request).await.unwrap();
        let mut text = Vec::new();
        loop {
            if self.stream.read_buf(&mut text).await.unwrap() == 0 {
                return;
            }
            // Pieces end at ends of lines; chunk sizes stand on lines of their own.
            let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else { continue };
            let rest = text.split_off(end + 1);
            let whole = String::from_utf8(std::mem::replace(&mut text, rest)).unwrap();
            if !piece(&whole) {
                return;
            }
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

fn status(head: &[u8]) -> u16 {
    std::str::from_utf8(&head[9..12]).unwrap().parse().unwrap()
}

fn length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head);
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    line.map_or(0, |length| length.trim().parse().unwrap())
}
