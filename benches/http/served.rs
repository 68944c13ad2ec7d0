//! A running server over a home.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

/// The server; killed when dropped.
pub struct Served {
    child: Child,
    /// Kept open: a program that cannot say what it serves ends.
    _out: BufReader<ChildStdout>,
    /// Address and port.
    pub address: String,
    /// From the start of the process to its first good answer, in milliseconds.
    pub ready: f64,
}

impl Served {
    /// Serves a home on a free port.
    pub fn start(home: &Path) -> Self {
        let since = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_astudio"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home)
            .env("ASTUDIO_HOME", home)
            // Lines of the log would be measured with the disk they are written to.
            .args(["serve", "--listen", "127.0.0.1:0", "--set", "log.filter=warn"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address =
            line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address").to_owned();
        let ready = std::net::TcpStream::connect(&address).and_then(|mut line| {
            std::io::Write::write_all(&mut line, b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n")?;
            let mut head = [0; 12];
            std::io::Read::read_exact(&mut line, &mut head)?;
            assert_eq!(&head[9..], b"200");
            Ok(since.elapsed().as_secs_f64() * 1e3)
        });
        Self { child, _out: out, address, ready: ready.unwrap() }
    }

    /// Memory in mebibytes: now, the most there ever was, and what of it is the process's own now; the rest are pages of the
    /// program and of the database, which the system can take back.
    pub fn memory(&self) -> (f64, f64, f64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or_default() / 1024.0
        };
        (field("VmRSS"), field("VmHWM"), field("RssAnon"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
