//! The server as a process of its own, and a client that can send what no library would.

use crate::binary::PATIENCE;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A running server.
pub struct Served {
    child: Child,
    /// Held, because a program whose output goes nowhere ends.
    _said: BufReader<ChildStdout>,
    pub address: String,
    /// What it logged.
    log: Arc<Mutex<String>>,
}

impl Served {
    /// Serves a home on a free port of this machine, with these arguments besides.
    pub fn start(home: &Path, args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_astudio"))
            .args(["serve", "--listen", "127.0.0.1:0", "--json"])
            .args(args)
            .env_clear()
            .env("ASTUDIO_HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (kept, mut stderr) = (log.clone(), BufReader::new(child.stderr.take().unwrap()));
        std::thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|n| n > 0) {
                // Every request is logged; what is looked for is a fault.
                if line.contains("panic") || line.contains("ERROR") {
                    kept.lock().unwrap().push_str(&line);
                }
                line.clear();
            }
        });
        let mut said = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut said).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("the server said {said:?}"));
        Self { child, _said: stdout, address: said["address"].as_str().unwrap().to_owned(), log }
    }

    /// A connection.
    pub fn connect(&self) -> Line {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Line(BufReader::new(stream))
    }

    /// Bytes of memory that the process has in use.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
    }

    /// Open files and sockets of the process.
    pub fn handles(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Whether it still runs.
    pub fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// What went wrong, by its log.
    pub fn faults(&self) -> String {
        self.log.lock().unwrap().clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether it is a stream of events.
    pub fn streams(&self) -> bool {
        self.headers.get("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }
}

/// A connection.
pub struct Line(BufReader<TcpStream>);

impl Line {
    /// How long reading waits.
    pub fn patience(&self, time: Duration) {
        self.0.get_ref().set_read_timeout(Some(time)).unwrap();
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// No more is sent from here; the other side may be gone already.
    pub fn hang_up(&self) {
        let _ = self.0.get_ref().shutdown(std::net::Shutdown::Write);
    }

    /// A line without its end; none when the other side has closed.
    fn text(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        let read = self.0.read_until(b'\n', &mut line)?;
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        Ok((read > 0).then_some(line))
    }

    /// The head of the next answer; none when the other side has closed.
    pub fn head(&mut self) -> io::Result<Option<Answer>> {
        loop {
            let Some(first) = self.text()? else { return Ok(None) };
            let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
            let mut answer = Answer { status: status.unwrap_or_else(|| panic!("{first:?}")), ..Answer::default() };
            while let Some(line) = self.text()?.filter(|line| !line.is_empty()) {
                let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("{line:?}"));
                answer.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
            // Only a hint to go on sending.
            if answer.status != 100 {
                return Ok(Some(answer));
            }
        }
    }

    /// The next answer; of a stream its head and the data of what comes in a moment. None when the other side has closed.
    pub fn answer(&mut self, has_body: bool) -> io::Result<Option<Answer>> {
        let Some(mut answer) = self.head()? else { return Ok(None) };
        let chunked = answer.headers.get("transfer-encoding").is_some_and(|how| how == "chunked");
        if !has_body || matches!(answer.status, 204 | 304) {
            return Ok(Some(answer));
        }
        if answer.streams() {
            self.patience(Duration::from_millis(20));
            while let Ok(Some(chunk)) = self.chunk() {
                answer.body.extend(chunk);
            }
        } else if chunked {
            while let Some(chunk) = self.chunk()? {
                answer.body.extend(chunk);
            }
        } else if let Some(length) = answer.headers.get("content-length") {
            answer.body = vec![0; length.parse().unwrap()];
            self.0.read_exact(&mut answer.body)?;
        }
        Ok(Some(answer))
    }

    /// The next chunk of a body; none at its end.
    pub fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let size = self.text()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut chunk = vec![0; usize::from_str_radix(&size, 16).map_err(io::Error::other)? + 2];
        self.0.read_exact(&mut chunk)?;
        chunk.truncate(chunk.len() - 2);
        Ok((!chunk.is_empty()).then_some(chunk))
    }

    /// Whether the other side closes the connection, in the time that reading waits.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).is_ok()
    }
}
