//! The program's own log while the workbench owns the terminal: the newest lines in memory, all of them in a file of the home
//! that starts anew when it has grown large. Secrets are taken out before a line is kept anywhere.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use tracing_subscriber::fmt::MakeWriter;

/// Lines in memory.
const MOST_LINES: usize = 5_000;
/// Bytes of the file, after which it is kept as `astudio.log.1` and a new one is begun.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// The log. Clones are the same log.
#[derive(Clone)]
pub struct Log(Arc<Inner>);

struct Inner {
    ring: Mutex<Ring>,
    /// Lines ever written.
    written: watch::Sender<usize>,
}

#[derive(Default)]
struct Ring {
    lines: VecDeque<String>,
    written: usize,
    file: Option<LogFile>,
}

struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Default for Log {
    fn default() -> Self {
        Self(Arc::new(Inner { ring: Mutex::default(), written: watch::Sender::new(0) }))
    }
}

impl Log {
    /// Keeps the log in a file of the home too, with what was written so far. Without a file it goes on in memory.
    pub fn keep_in(&self, home: &Path) {
        let mut ring = self.0.ring.lock().unwrap_or_else(PoisonError::into_inner);
        match LogFile::open(&home.join("log")) {
            Ok(mut file) => {
                for line in &ring.lines {
                    file.line(line);
                }
                ring.file = Some(file);
            }
            Err(error) => {
                drop(ring);
                self.push(&format!("the log has no file: {}", error.kind()));
            }
        }
    }

    /// The lines from this place on, and the place after them. Waits until there are some.
    pub async fn after(&self, from: usize) -> (Vec<String>, usize) {
        // The sender lives in self, so this ends only when there is more.
        let _ = self.0.written.subscribe().wait_for(|written| *written > from).await;
        let ring = self.0.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let first = ring.written - ring.lines.len();
        (ring.lines.iter().skip(from.saturating_sub(first)).cloned().collect(), ring.written)
    }

    fn push(&self, text: &str) {
        let text = text::redact_text(text, &[]);
        let mut ring = self.0.ring.lock().unwrap_or_else(PoisonError::into_inner);
        for line in text.lines() {
            if let Some(file) = &mut ring.file {
                file.line(line);
            }
            ring.lines.push_back(line.to_owned());
            ring.written += 1;
        }
        let over = ring.lines.len().saturating_sub(MOST_LINES);
        ring.lines.drain(..over);
        self.0.written.send_replace(ring.written);
    }
}

impl LogFile {
    fn open(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let path = dir.join("astudio.log");
        let file = append(&path)?;
        Ok(Self { bytes: file.metadata()?.len(), file, path })
    }

    /// A log that cannot be written is no reason to stop the program.
    fn line(&mut self, line: &str) {
        if self.bytes > MOST_BYTES && fs::rename(&self.path, self.path.with_extension("log.1")).is_ok() {
            if let Ok(file) = append(&self.path) {
                self.file = file;
            }
            self.bytes = 0;
        }
        // One write for a line: other processes write into the same file.
        if self.file.write_all(format!("{line}\n").as_bytes()).is_ok() {
            self.bytes += line.len() as u64 + 1;
        }
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// One event of the program, put together until it is whole.
pub struct Entry {
    log: Log,
    bytes: Vec<u8>,
}

impl Write for Entry {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.bytes.is_empty() {
            self.log.push(&String::from_utf8_lossy(&self.bytes));
        }
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Entry;

    fn make_writer(&self) -> Entry {
        Entry { log: self.clone(), bytes: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::time::Duration;

    fn write(log: &Log, text: &str) {
        log.make_writer().write_all(text.as_bytes()).unwrap();
    }

    #[tokio::test]
    async fn lines_are_handed_out_once_and_waited_for() {
        let log = Log::default();
        write(&log, "one\ntwo\n");
        let (lines, next) = log.after(0).await;
        assert_eq!((lines, next), (vec!["one".to_owned(), "two".to_owned()], 2));
        assert!(tokio::time::timeout(Duration::from_millis(30), log.after(next)).await.is_err());
        let waiting = tokio::spawn({
            let log = log.clone();
            async move { log.after(2).await }
        });
        tokio::task::yield_now().await;
        write(&log, "three");
        assert_eq!(waiting.await.unwrap(), (vec!["three".to_owned()], 3));
    }

    #[tokio::test]
    async fn old_lines_go_from_memory() {
        let log = Log::default();
        for n in 0..MOST_LINES + 10 {
            write(&log, &format!("line {n}"));
        }
        let (lines, next) = log.after(0).await;
        assert_eq!((lines.len(), next), (MOST_LINES, MOST_LINES + 10));
        assert_eq!(lines[0], "line 10");
        assert_eq!(log.after(MOST_LINES + 9).await.0, [format!("line {}", MOST_LINES + 9)]);
    }

    #[tokio::test]
    async fn no_secret_reaches_memory_or_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let log = Log::default();
        write(&log, "before api_key=sk-abcdefghijklmnopqrstuvwxyz0123456789");
        log.keep_in(home.path());
        write(&log, "authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789");
        let path = home.path().join("log/astudio.log");
        let kept = fs::read_to_string(&path).unwrap();
        assert_eq!(kept.lines().count(), 2);
        let shown = log.after(0).await.0.join("\n");
        for text in [kept, shown] {
            assert!(!text.contains("abcdefghijklmnop"), "{text}");
        }
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_file_is_capped() {
        let home = tempfile::tempdir().unwrap();
        let log = Log::default();
        log.keep_in(home.path());
        let line = "x ".repeat(32 * 1024);
        for _ in 0..200 {
            write(&log, &line);
        }
        let size = |name: &str| fs::metadata(home.path().join("log").join(name)).unwrap().len();
        for name in ["astudio.log", "astudio.log.1"] {
            assert!(size(name) <= MOST_BYTES + 70_000, "{name}: {}", size(name));
        }
    }

    #[tokio::test]
    async fn without_a_file_it_goes_on_in_memory() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("log"), "in the way").unwrap();
        let log = Log::default();
        log.keep_in(home.path());
        assert!(log.after(0).await.0[0].contains("no file"));
    }
}
