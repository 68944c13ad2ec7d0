//! A program in a terminal of its own: what it writes is read at once and noted with its time.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use vt100::Parser;

/// How long anything is waited for that must come up.
const PATIENCE: Duration = Duration::from_secs(60);
/// The size of the terminal.
const ROWS: u16 = 40;
const COLS: u16 = 120;

/// What programs ask a terminal on start, and what one with a dark background and no extras answers.
const ANSWERS: [(&str, &str); 6] = [
    ("\x1b[6n", "\x1b[1;1R"),
    ("\x1b[c", "\x1b[?62c"),
    ("\x1b[?u", "\x1b[?0u"),
    ("\x1b[?1007$p", "\x1b[?1007;2$y"),
    ("\x1b]10;?", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    ("\x1b]11;?", "\x1b]11;rgb:0000/0000/0000\x1b\\"),
];

struct Seen {
    parser: Parser,
    bytes: usize,
    first: Option<Instant>,
    /// When the last bytes were read.
    last: Instant,
}

struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }
}

type Writer = Arc<Mutex<Box<dyn Write + Send>>>;

/// A terminal with a program in it.
pub struct Screen {
    shared: Arc<Shared>,
    writer: Writer,
    child: Box<dyn Child + Send + Sync>,
    began: Instant,
    /// When the text was on screen that was waited for at first.
    picture: Instant,
    _master: Box<dyn MasterPty + Send>,
}

/// What a process has used until a moment.
pub struct Usage {
    at: Instant,
    /// Nanoseconds on a processor, by thread.
    threads: HashMap<OsString, u64>,
    bytes: usize,
}

impl Usage {
    /// The share of one processor that was used since, in percent, and the bytes written. What a thread used that has ended
    /// since is not seen.
    pub fn since(&self, before: &Usage) -> (f64, f64) {
        let used = |(name, now): (_, &u64)| now - before.threads.get(name).copied().unwrap_or(0);
        let nanos: u64 = self.threads.iter().map(used).sum();
        (nanos as f64 / (self.at - before.at).as_nanos() as f64 * 100.0, (self.bytes - before.bytes) as f64)
    }
}

impl Screen {
    /// Starts a program, and waits until a text is on its screen.
    pub fn start(mut command: CommandBuilder, picture: &str) -> Self {
        let pair = native_pty_system().openpty(PtySize { rows: ROWS, cols: COLS, pixel_width: 0, pixel_height: 0 });
        let pair = pair.unwrap();
        command.env("TERM", "xterm-256color");
        let (rows, cols) = (ROWS.try_into().unwrap(), COLS.try_into().unwrap());
        let began = Instant::now();
        let seen = Seen { parser: Parser::new(rows, cols, 0), bytes: 0, first: None, last: began };
        let shared = Arc::new(Shared { seen: Mutex::new(seen), changed: Condvar::new() });
        let writer: Writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        read(shared.clone(), pair.master.try_clone_reader().unwrap(), writer.clone());
        let child = pair.slave.spawn_command(command).unwrap();
        let mut screen = Self { shared, writer, child, began, picture: began, _master: pair.master };
        screen.picture = screen.see(picture);
        screen
    }

    /// From the start to the first byte, and to the first picture, in milliseconds.
    pub fn began(&self) -> (f64, f64) {
        let first = self.shared.seen().first.unwrap();
        (millis(first - self.began), millis(self.picture - self.began))
    }

    /// Waits until the screen is so. Answers the time at which the bytes were read that made it so.
    #[track_caller]
    pub fn until(&self, what: &str, mut so: impl FnMut(&vt100::Screen) -> bool) -> Instant {
        let end = Instant::now() + PATIENCE;
        let mut seen = self.shared.seen();
        while seen.first.is_none() || !so(seen.parser.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited in vain for {what}\n{}", seen.parser.screen().contents());
            seen = self.shared.changed.wait_timeout(seen, left).unwrap().0;
        }
        seen.last
    }

    /// Waits until a text is on screen.
    #[track_caller]
    pub fn see(&self, text: &str) -> Instant {
        self.until(&format!("{text:?}"), |screen| screen.contents().contains(text))
    }

    /// Sends bytes and answers when that began. A large paste blocks until the program has read it.
    pub fn send(&self, bytes: &str) -> Instant {
        let at = Instant::now();
        self.writer.lock().unwrap().write_all(bytes.as_bytes()).unwrap();
        at
    }

    /// Sends bytes, and waits until the screen is so. Answers how long that took, in milliseconds.
    #[track_caller]
    pub fn answer(&self, bytes: &str, what: &str, so: impl FnMut(&vt100::Screen) -> bool) -> f64 {
        let at = self.send(bytes);
        millis(self.until(what, so) - at)
    }

    /// What one wants to know of the screen.
    pub fn with<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shared.seen().parser.screen())
    }

    /// What is on screen.
    pub fn contents(&self) -> String {
        self.shared.seen().parser.screen().contents()
    }

    /// Waits until nothing was written for a while. Answers when the last bytes came.
    pub fn quiet(&self, length: Duration) -> Instant {
        let end = Instant::now() + PATIENCE;
        loop {
            let last = self.shared.seen().last;
            if last.elapsed() >= length {
                return last;
            }
            assert!(Instant::now() < end, "it never becomes quiet\n{}", self.contents());
            std::thread::sleep(length.saturating_sub(last.elapsed()));
        }
    }

    /// What the program has used and written until now; none where the system does not tell.
    pub fn usage(&self) -> Option<Usage> {
        let mut threads = HashMap::new();
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.process_id()?)).ok()? {
            let thread = thread.ok()?;
            // It may end just now.
            let Ok(text) = std::fs::read_to_string(thread.path().join("schedstat")) else { continue };
            threads.insert(thread.file_name(), text.split(' ').next()?.parse().ok()?);
        }
        Some(Usage { at: Instant::now(), threads, bytes: self.shared.seen().bytes })
    }

    /// Memory of the program that is in use, in MiB; none where the system does not tell.
    pub fn memory(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.process_id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? / 1024.0)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of the rows.
pub fn rows(screen: &vt100::Screen) -> impl Iterator<Item = String> {
    screen.rows(0, COLS)
}

/// Takes what the program writes, and answers what it asks a terminal on start.
fn read(shared: Arc<Shared>, mut out: Box<dyn Read + Send>, writer: Writer) {
    std::thread::spawn(move || {
        let mut buffer = [0; 1 << 16];
        while let Ok(count @ 1..) = out.read(&mut buffer) {
            let at = Instant::now();
            let bytes = &buffer[..count];
            for (question, reply) in ANSWERS {
                if bytes.windows(question.len()).any(|window| window == question.as_bytes()) {
                    let _ = writer.lock().unwrap().write_all(reply.as_bytes());
                }
            }
            let mut seen = shared.seen();
            seen.parser.process(bytes);
            seen.bytes += count;
            seen.first.get_or_insert(at);
            seen.last = at;
            drop(seen);
            shared.changed.notify_all();
        }
    });
}

/// As a number of milliseconds.
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
