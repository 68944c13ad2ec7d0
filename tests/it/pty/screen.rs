//! A person at a terminal: the built program in a pty, with a screen to look at and keys to press.

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, SlavePty, native_pty_system};
use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use vt100::{Color, Parser};

/// How long anything is waited for that must come up.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two keys that decide something: longer than the guard of the dialog asks for, by its reader's clock.
pub const DELIBERATE_MS: u64 = 700;

/// How the beginning (`h`) and the end (`l`) of a frame are told.
const FRAME: &[u8] = b"\x1b[?2026";

/// What the terminal shows and has been sent.
struct Seen {
    parser: Parser,
    bytes: Vec<u8>,
    /// Whether a frame has begun and not ended: half of it is nothing that a person sees.
    half: bool,
    /// Whether the reader shall let go of the terminal.
    leave: bool,
}

struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// The same between two frames.
    fn whole(&self) -> MutexGuard<'_, Seen> {
        let mut seen = self.seen();
        let end = Instant::now() + PATIENCE;
        while seen.half && Instant::now() < end {
            seen = self.changed.wait_timeout(seen, Duration::from_millis(100)).unwrap().0;
        }
        seen
    }
}

/// A terminal with a program in it.
pub struct Screen {
    shared: Arc<Shared>,
    reader: Option<std::thread::JoinHandle<()>>,
    writer: Option<Box<dyn Write + Send>>,
    master: Option<Box<dyn MasterPty + Send>>,
    /// Keeps the terminal alive when the program has ended, so that its modes can be looked at.
    _slave: Box<dyn SlavePty + Send>,
    child: Box<dyn Child + Send + Sync>,
    modes_before: String,
}

/// How a screen is opened.
pub struct Opening<'a> {
    home: &'a Path,
    size: (u16, u16),
    envs: Vec<(&'a str, &'a str)>,
    controlling: bool,
}

impl<'a> Opening<'a> {
    /// The workbench over this home, so many columns and rows.
    pub fn new(home: &'a Path, cols: u16, rows: u16) -> Self {
        Self { home, size: (cols, rows), envs: Vec::new(), controlling: true }
    }

    /// With this variable.
    pub fn env(mut self, name: &'a str, value: &'a str) -> Self {
        self.envs.push((name, value));
        self
    }

    /// On a terminal that tells nobody when it goes away.
    pub fn without_hangup(mut self) -> Self {
        self.controlling = false;
        self
    }

    /// Starts the program.
    pub fn open(self) -> Screen {
        self.start(CommandBuilder::new(env!("CARGO_BIN_EXE_astudio")))
    }

    /// Starts a shell with job control in which `astudio` is the program.
    pub fn shell(self) -> Screen {
        let mut command = CommandBuilder::new("bash");
        command.args(["--norc", "--noprofile", "-i"]);
        self.start(command)
    }

    fn start(self, mut command: CommandBuilder) -> Screen {
        let pair = native_pty_system().openpty(size(self.size)).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_astudio")).parent().unwrap();
        command.env_clear();
        command.env("PATH", format!("{}:/usr/bin:/bin", program.display()));
        command.env("TERM", "xterm-256color");
        command.env("HOME", self.home.parent().unwrap());
        command.env("USER", "Ann Example");
        command.env("ASTUDIO_HOME", self.home);
        command.env("PS1", "shell> ");
        for (name, value) in self.envs {
            command.env(name, value);
        }
        command.set_controlling_tty(self.controlling);
        let modes_before = modes(&*pair.master);
        let child = pair.slave.spawn_command(command).unwrap();
        let (rows, cols) = nonzero(self.size);
        let seen = Seen { parser: Parser::new(rows, cols, 0), bytes: Vec::new(), half: false, leave: false };
        let shared = Arc::new(Shared { seen: Mutex::new(seen), changed: Condvar::new() });
        let reader = read(shared.clone(), &*pair.master);
        Screen {
            shared,
            reader: Some(reader),
            writer: Some(pair.master.take_writer().unwrap()),
            master: Some(pair.master),
            _slave: pair.slave,
            child,
            modes_before,
        }
    }
}

/// Takes what the program writes.
fn read(shared: Arc<Shared>, master: &dyn MasterPty) -> std::thread::JoinHandle<()> {
    let mut out = master.try_clone_reader().unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 1 << 16];
        while let Ok(count @ 1..) = out.read(&mut buffer) {
            let mut seen = shared.seen();
            seen.parser.process(&buffer[..count]);
            let from = seen.bytes.len().saturating_sub(FRAME.len());
            seen.bytes.extend_from_slice(&buffer[..count]);
            let mark = |bytes: &[u8]| bytes.starts_with(FRAME) && matches!(bytes[FRAME.len()], b'h' | b'l');
            if let Some(at) = seen.bytes[from..].windows(FRAME.len() + 1).rposition(mark) {
                seen.half = seen.bytes[from + at + FRAME.len()] == b'h';
            }
            shared.changed.notify_all();
            if seen.leave {
                return;
            }
        }
    })
}

fn size((cols, rows): (u16, u16)) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn nonzero((cols, rows): (u16, u16)) -> (NonZeroU16, NonZeroU16) {
    (rows.try_into().unwrap(), cols.try_into().unwrap())
}

/// The flags of the line discipline.
fn modes(master: &dyn MasterPty) -> String {
    let t = master.get_termios().unwrap();
    format!("{:?} {:?} {:?} {:?} {:?}", t.input_flags, t.output_flags, t.control_flags, t.local_flags, t.control_chars)
}

impl Screen {
    /// Opens the workbench over a home.
    pub fn open(home: &Path, cols: u16, rows: u16) -> Self {
        Opening::new(home, cols, rows).open()
    }

    /// Waits until the screen is so.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut so: impl FnMut(&vt100::Screen) -> bool) -> &mut Self {
        let end = Instant::now() + PATIENCE;
        let mut seen = self.shared.seen();
        while seen.half || !so(seen.parser.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let screen = seen.parser.screen().contents();
                drop(seen);
                panic!("waited in vain for {what}\n{screen}\n(ended: {:?})", self.child.try_wait());
            }
            seen = self.shared.changed.wait_timeout(seen, left).unwrap().0;
        }
        drop(seen);
        self
    }

    /// Waits until a text is on screen.
    #[track_caller]
    pub fn see(&mut self, text: &str) -> &mut Self {
        self.until(&format!("{text:?}"), |screen| screen.contents().contains(text))
    }

    /// Waits until a text is not on screen.
    #[track_caller]
    pub fn not(&mut self, text: &str) -> &mut Self {
        self.until(&format!("the end of {text:?}"), |screen| !screen.contents().contains(text))
    }

    /// Presses keys, named as in settings and parted by blanks, in one go.
    pub fn key(&mut self, keys: &str) -> &mut Self {
        let bytes: Vec<u8> = keys.split_whitespace().flat_map(encoded).collect();
        self.send(&bytes)
    }

    /// Types a text.
    pub fn type_text(&mut self, text: &str) -> &mut Self {
        self.send(text.as_bytes())
    }

    /// Pastes a text.
    pub fn paste(&mut self, text: &str) -> &mut Self {
        self.send(format!("\x1b[200~{text}\x1b[201~").as_bytes())
    }

    /// Clicks with the left button.
    pub fn click(&mut self, col: u16, row: u16) -> &mut Self {
        let (x, y) = (col + 1, row + 1);
        self.send(format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m").as_bytes())
    }

    fn send(&mut self, bytes: &[u8]) -> &mut Self {
        // A program that has ended reads nothing.
        let _ = self.writer.as_mut().unwrap().write_all(bytes);
        self
    }

    /// Lets time pass. Only for what is about time.
    pub fn pause(&mut self, ms: u64) -> &mut Self {
        std::thread::sleep(Duration::from_millis(ms));
        self
    }

    /// Makes the terminal larger or smaller.
    pub fn resize(&mut self, cols: u16, rows: u16) -> &mut Self {
        let mut seen = self.shared.seen();
        let (lines, columns) = nonzero((cols, rows));
        seen.parser.set_size(lines, columns);
        self.master.as_ref().unwrap().resize(size((cols, rows))).unwrap();
        drop(seen);
        self
    }

    /// What is on screen.
    pub fn screen(&self) -> String {
        self.shared.whole().parser.screen().contents()
    }

    /// What one wants to know of the screen.
    pub fn look<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shared.seen().parser.screen())
    }

    /// Whether a text is on screen now.
    pub fn shows(&self, text: &str) -> bool {
        self.screen().contains(text)
    }

    /// A row of the screen.
    pub fn row(&self, row: u16) -> String {
        let seen = self.shared.seen();
        let screen = seen.parser.screen();
        screen.rows(0, screen.size().1.get()).nth(row.into()).unwrap_or_default()
    }

    /// The first cell of a text on screen.
    #[track_caller]
    pub fn find(&mut self, text: &str) -> (u16, u16) {
        self.see(text);
        let rows = self.shared.seen().parser.screen().size().0.get();
        let found =
            (0..rows).find_map(|row| self.row(row).split_once(text).map(|(before, _)| (row, before.chars().count())));
        let (row, col) = found.unwrap_or_else(|| panic!("{text:?} went away\n{}", self.screen()));
        (row, u16::try_from(col).unwrap())
    }

    /// The colour of a cell's text.
    pub fn colour(&self, row: u16, col: u16) -> Color {
        self.shared.seen().parser.screen().cell(row, col).unwrap().fgcolor()
    }

    /// Whether a cell is shown reversed.
    pub fn is_reversed(&self, row: u16, col: u16) -> bool {
        self.shared.seen().parser.screen().cell(row, col).unwrap().inverse()
    }

    /// The rows, each cell with what is seen of it: a blank has no colour of its text.
    pub fn rows(&self) -> Vec<Vec<(String, Color, Color, bool)>> {
        let seen = self.shared.whole();
        let screen = seen.parser.screen();
        let (rows, cols) = screen.size();
        let look = |row, col| {
            let cell = screen.cell(row, col).unwrap();
            let text = if cell.has_contents() || cell.is_wide_continuation() { cell.contents() } else { " " };
            let colour = if text == " " { Color::Default } else { cell.fgcolor() };
            (text.to_owned(), colour, cell.bgcolor(), cell.inverse())
        };
        (0..rows.get()).map(|row| (0..cols.get()).map(|col| look(row, col)).collect()).collect()
    }

    /// Row and column of the terminal's cursor.
    pub fn cursor(&self) -> (u16, u16) {
        self.shared.whole().parser.screen().cursor_position()
    }

    /// Everything that the program has written.
    pub fn bytes(&self) -> Vec<u8> {
        self.shared.seen().bytes.clone()
    }

    /// Sends the program a signal from outside.
    pub fn signal(&mut self, name: &str) -> &mut Self {
        let pid = self.child.process_id().unwrap().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
        self
    }

    /// Closes the terminal, as a window is closed.
    pub fn close(&mut self) -> &mut Self {
        self.shared.seen().leave = true;
        // The reader is woken by what is drawn at another size.
        self.master.as_ref().unwrap().resize(size((50, 20))).unwrap();
        self.reader.take().unwrap().join().unwrap();
        self.writer = None;
        self.master = None;
        self
    }

    /// Waits for the end of the program.
    #[track_caller]
    pub fn ends(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the program does not end\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Checks that the terminal is as it was before the program.
    #[track_caller]
    pub fn is_given_back(&mut self) -> &mut Self {
        self.until("the ordinary screen", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
        });
        let bytes = String::from_utf8_lossy(&self.bytes()).into_owned();
        for (on, off) in [("[?1049h", "[?1049l"), ("[?2004h", "[?2004l"), ("[?1004h", "[?1004l")] {
            assert!(bytes.contains(on) && bytes.rfind(off) > bytes.rfind(on), "{off} is missing");
        }
        assert!(!bytes.contains("[?1003h") || bytes.rfind("[?1003l") > bytes.rfind("[?1003h"));
        assert!(bytes.rfind("[?2026l") >= bytes.rfind("[?2026h"), "an update is open");
        assert_eq!(modes(&**self.master.as_ref().unwrap()), self.modes_before);
        self
    }

    /// Opens the chat with an agent, from the list of agents.
    #[track_caller]
    pub fn chat(&mut self, agent: &str) -> &mut Self {
        self.see("NAME").key("/").see("Esc close").type_text(agent).see(&format!("›{agent}")).key("enter").key("c");
        self.see("Tab transcript").see("session")
    }

    /// Says something in the chat.
    pub fn say(&mut self, words: &str) -> &mut Self {
        self.type_text(words).see(&format!("› {words}")).key("enter")
    }

    /// Waits until the dialog is awake, and reads it to its end.
    #[track_caller]
    pub fn dialog(&mut self) -> &mut Self {
        let awake = |screen: &str, control: &str| {
            screen.contains(&format!("[ {control} ]")) || screen.contains(&format!("[›{control}‹]"))
        };
        self.see("Approve this call?").until("an awake dialog", |screen| {
            let screen = screen.contents();
            awake(&screen, "Reject…") || awake(&screen, "Leave open")
        });
        let end = Instant::now() + PATIENCE;
        while !awake(&self.screen(), "Approve") {
            self.key("pagedown").pause(50);
            assert!(self.shows("Approve this call?") && Instant::now() < end, "{}", self.screen());
        }
        self
    }

    /// Approves what the dialog asks, by deliberate keys.
    #[track_caller]
    pub fn approve(&mut self) -> &mut Self {
        self.dialog().key("tab").see("[›Approve‹]").pause(DELIBERATE_MS).key("enter").not("Approve this call?")
    }

    /// Rejects it with a reason.
    #[track_caller]
    pub fn reject(&mut self, reason: &str) -> &mut Self {
        self.dialog().key("r").see("reason:").type_text(reason).see(&format!("reason: {reason}"));
        self.pause(DELIBERATE_MS).key("enter").not("Approve this call?")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of a key.
fn encoded(key: &str) -> Vec<u8> {
    if let Some(letter) = key.strip_prefix("ctrl-") {
        return vec![letter.as_bytes()[0] & 0x1f];
    }
    if let Some(rest) = key.strip_prefix("alt-") {
        return [b"\x1b".to_vec(), encoded(rest)].concat();
    }
    let bytes: &[u8] = match key {
        "enter" => b"\r",
        "esc" => b"\x1b",
        "tab" => b"\t",
        "backtab" => b"\x1b[Z",
        "space" => b" ",
        "up" => b"\x1b[A",
        "down" => b"\x1b[B",
        "right" => b"\x1b[C",
        "left" => b"\x1b[D",
        "pageup" => b"\x1b[5~",
        "pagedown" => b"\x1b[6~",
        "backspace" => b"\x7f",
        "home" => b"\x1b[H",
        "end" => b"\x1b[F",
        "delete" => b"\x1b[3~",
        "f1" => b"\x1bOP",
        "f4" => b"\x1bOS",
        "f5" => b"\x1b[15~",
        "f9" => b"\x1b[20~",
        other => other.as_bytes(),
    };
    bytes.to_vec()
}

/// The status of an order, from the desk's own book.
pub fn order(home: &Path, id: i64) -> String {
    let sql = format!("select status from desk_orders where tenant = 'demo' and order_id = {id}");
    crate::binary::Book::open(home).rows(&sql)[0].text(0).unwrap()
}

/// How many approvals stand at this status, from the program's database.
pub fn approvals(home: &Path, status: &str) -> i64 {
    let sql = format!("select count(*) from approvals where status = '{status}'");
    crate::binary::Book::studio(home).rows(&sql)[0].int(0).unwrap()
}
