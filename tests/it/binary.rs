//! The built binary over a demo home: commands as people type them, long-lived processes, faults, and the desk's own book.

use crate::place::{Cli, Where};
use crate::pty::screen::Screen;
use astudio::{Store, StoreSettings};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use store::{Row, StoreError};
use tempfile::TempDir;

/// How long anything is waited for that must come.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A home with the demo in it.
pub struct Desk {
    cli: Cli,
    envs: Vec<(String, String)>,
}

impl Desk {
    /// A fresh one.
    pub fn new() -> Self {
        Self::with("")
    }

    /// A fresh one with these settings.
    pub fn with(settings: &str) -> Self {
        Self::made(Cli::new(), settings)
    }

    /// A fresh one in this folder.
    pub fn at(folder: &Path) -> Self {
        Self::made(Cli::at(folder), "")
    }

    /// A fresh one, with commands that go there.
    pub fn on(place: Where) -> Self {
        let mut desk = Self::new();
        if place == Where::Server {
            desk.cli.serve();
        }
        desk
    }

    /// A fresh one behind a server and something before it, as with [`Cli::serve_by`].
    pub fn behind(way: impl FnOnce(String) -> String) -> Self {
        let mut desk = Self::new();
        desk.cli.serve_by(way);
        desk
    }

    fn made(cli: Cli, settings: &str) -> Self {
        let desk = Self { cli, envs: Vec::new() };
        std::fs::create_dir_all(desk.home()).unwrap();
        desk.configure(settings);
        desk.done(&["demo"]);
        desk
    }

    /// The workbench, where commands go.
    pub fn screen(&self, cols: u16, rows: u16) -> Screen {
        self.cli.screen(cols, rows)
    }

    /// The program over the desk's home.
    pub fn cli(&self) -> &Cli {
        &self.cli
    }

    /// With this variable in the environment of everything that is started from now on.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.envs.push((name.to_owned(), value.to_owned()));
    }

    /// Other settings from now on.
    pub fn configure(&self, settings: &str) {
        std::fs::write(self.home().join("config.toml"), settings).unwrap();
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.cli.home()
    }

    /// The program with these arguments.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.cli.command(args);
        command.envs(self.envs.iter().map(|(k, v)| (k, v)));
        command
    }

    /// Runs a command with `--json`: its exit code and its answer; null when it said nothing.
    pub fn json(&self, args: &[&str]) -> (i32, Value) {
        let output = self.command(args).arg("--json").output().unwrap();
        read(args, &output)
    }

    /// Runs a command with `--json`; it must work.
    #[track_caller]
    pub fn done(&self, args: &[&str]) -> Value {
        let (code, value) = self.json(args);
        assert_eq!(code, 0, "{args:?}: {value}");
        value
    }

    /// Runs a command with `--json`; it must end with this exit code.
    #[track_caller]
    pub fn ends(&self, args: &[&str], exit: i32) -> Value {
        let (code, value) = self.json(args);
        assert_eq!(code, exit, "{args:?}: {value}");
        value
    }

    /// Runs a command in which a fault is armed.
    #[cfg(feature = "failpoints")]
    pub fn faulty(&self, fault: &str, args: &[&str]) -> Output {
        self.command(args).arg("--json").env("ASTUDIO_FAULT", fault).output().unwrap()
    }

    /// Starts a command with `--json` in the background.
    pub fn start(&self, args: &[&str]) -> Running {
        let mut command = self.command(args);
        command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: command.spawn().unwrap(), args: args.iter().map(|a| (*a).to_owned()).collect() }
    }

    /// Starts a process that takes requests line by line.
    pub fn batch(&self) -> Batch {
        Batch::start(self.command(&["api", "batch"]))
    }

    /// The same with a fault armed.
    pub fn faulty_batch(&self, fault: &str) -> Batch {
        let mut command = self.command(&["api", "batch"]);
        command.env("ASTUDIO_FAULT", fault);
        Batch::start(command)
    }

    /// What waits for a person.
    pub fn pending(&self) -> Vec<Value> {
        self.done(&["approvals", "list", "--status", "pending"])["approvals"].as_array().unwrap().clone()
    }

    /// What waits, once there are so many. Each look is a process of its own, so this asks no faster than people do.
    #[track_caller]
    pub fn wait_pending(&self, count: usize) -> Vec<String> {
        let mut ids = Vec::new();
        until("open approvals", || {
            ids = self.pending().iter().map(|a| text(&a["id"])).collect();
            ids.len() == count
        });
        ids
    }

    /// An approval.
    pub fn approval(&self, id: &str) -> Value {
        self.done(&["approvals", "show", id])
    }

    /// An order, read by the desk's own tool.
    pub fn order(&self, id: i64) -> Value {
        let args = json!({ "order_id": id }).to_string();
        self.done(&["tools", "execute", "desk_get_order", "--args", &args])["result"].clone()
    }

    /// The desk's book, read without the program.
    pub fn book(&self) -> Book {
        Book::open(&self.home())
    }

    /// What the desk has changed.
    pub fn effects(&self) -> Vec<Effect> {
        self.book().effects()
    }

    /// How often the desk has changed this order.
    pub fn changes(&self, order: i64) -> usize {
        self.effects().iter().filter(|e| e.order == order).count()
    }
}

fn read(args: &[impl std::fmt::Debug], output: &Output) -> (i32, Value) {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let value = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(&text) };
    let value = value.unwrap_or_else(|e| {
        panic!("{args:?} printed no JSON ({e}): {text}\n{}", String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code().unwrap_or(-1), value)
}

/// A text of a JSON value.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Looks until it is so. What is looked at must take time of its own.
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !so() {
        assert!(since.elapsed() < PATIENCE, "waited in vain for {what}");
    }
}

/// A command in the background.
pub struct Running {
    child: Child,
    args: Vec<String>,
}

impl Running {
    /// Waits for its end: exit code and answer.
    pub fn end(self) -> (i32, Value) {
        let output = self.child.wait_with_output().unwrap();
        read(&self.args, &output)
    }

    /// Ends it without a chance to tidy up.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it the signal of Ctrl-C.
    pub fn ctrl_c(&self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

/// An answer of a batch: the status and the body, as HTTP would carry them.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    /// Whether it was done.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body of a success.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.is_ok(), "{self:?}");
        self.body
    }

    /// Open approvals of a turn that waits.
    pub fn approvals(&self) -> Vec<String> {
        self.body["metadata"]["approvals"].as_array().into_iter().flatten().map(text).collect()
    }
}

/// A process that answers requests line by line, in their order.
pub struct Batch {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<Answer>,
    /// What was sent and is not answered.
    open: VecDeque<String>,
}

impl Batch {
    /// Starts `astudio api batch` as this command has it.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in out.lines() {
                let Ok(line) = line else { return };
                // A line that was cut by the end of the process was never an answer.
                let Ok(value) = serde_json::from_str::<Value>(&line) else { return };
                let status = value["status"].as_u64().and_then(|s| u16::try_from(s).ok()).unwrap_or_default();
                if sender.send(Answer { status, body: value["body"].clone() }).is_err() {
                    return;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, answers, open: VecDeque::new() }
    }

    /// Sends a request. A process that is gone does not hear it.
    pub fn send(&mut self, request: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{request}");
            self.open.push_back(request.to_string());
        }
    }

    /// The next answer; none when the process has ended.
    pub fn answer(&mut self) -> Option<Answer> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(answer) => {
                self.open.pop_front();
                Some(answer)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no answer to {:?}", self.open.front()),
        }
    }

    /// Sends a request and waits for its answer; none when the process has ended.
    pub fn answer_to(&mut self, request: &Value) -> Option<Answer> {
        self.send(request);
        self.answer()
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn call(&mut self, request: &Value) -> Answer {
        self.answer_to(request).unwrap_or_else(|| panic!("the process ended at {request}"))
    }

    /// Ends it without a chance to tidy up.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Requests of a batch.
pub mod line {
    use serde_json::{Value, json};

    /// An ask that does not wait for people.
    pub fn ask(agent: &str, session: &str, words: &str) -> Value {
        let body = json!({ "query": words, "session": session, "wait": 0 });
        json!({ "id": "test.ask", "path": { "name": agent }, "body": body })
    }

    /// A decision.
    pub fn decide(id: &str, body: &Value) -> Value {
        json!({ "id": "approvals.decide", "path": { "id": id }, "body": body })
    }

    /// A yes.
    pub fn approve(id: &str) -> Value {
        decide(id, &json!({ "decision": "approve" }))
    }

    /// A no.
    pub fn reject(id: &str) -> Value {
        decide(id, &json!({ "decision": "reject", "reason": "not today" }))
    }

    /// A request about something with an id.
    pub fn of(operation: &str, id: &str) -> Value {
        json!({ "id": operation, "path": { "id": id } })
    }

    /// Whether a call had run.
    pub fn settle(turn: &str, ordinal: u64, ran: bool) -> Value {
        let path = json!({ "id": turn, "ordinal": ordinal.to_string() });
        json!({ "id": "turns.settle", "path": path, "body": { "ran": ran } })
    }
}

/// A change of the desk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Id of the approval.
    pub key: String,
    pub order: i64,
    pub tenant: String,
    pub method: String,
}

/// Any SQLite file of a home, read with the store's own driver and nothing else of the program.
pub struct Book {
    store: Store,
    runtime: tokio::runtime::Runtime,
    _dir: TempDir,
}

impl Book {
    /// The desk's book.
    pub fn open(home: &Path) -> Self {
        Self::file(&home.join("desk.db"))
    }

    /// The program's own database.
    pub fn studio(home: &Path) -> Self {
        Self::file(&home.join("astudio.db"))
    }

    fn file(path: &Path) -> Self {
        // The driver opens homes; this one has nothing in it but the file.
        let dir = TempDir::new().unwrap();
        std::os::unix::fs::symlink(path, dir.path().join("astudio.db")).unwrap();
        let mut settings = StoreSettings::new(dir.path());
        settings.apply = false;
        let store = Store::open(&settings).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { store, runtime, _dir: dir }
    }

    /// The rows of a query.
    pub fn rows(&self, sql: &str) -> Vec<Row> {
        let found = self.runtime.block_on(self.store.read::<_, StoreError, _>(|tx| tx.query(sql, &[])));
        found.unwrap()
    }

    /// Changes something behind the program's back; answers how many rows.
    pub fn tamper(&self, sql: &str) -> u64 {
        let sql = sql.to_owned();
        let done = self.runtime.block_on(self.store.write::<_, StoreError, _>(move |tx| tx.exec(&sql, &[])));
        done.unwrap()
    }

    /// All changes of the desk.
    pub fn effects(&self) -> Vec<Effect> {
        let read = |row: Row| Effect {
            key: row.text(0).unwrap(),
            order: row.int(1).unwrap(),
            tenant: row.text(2).unwrap(),
            method: row.text(3).unwrap(),
        };
        self.rows("select key, order_id, tenant, method from desk_effects order by at").into_iter().map(read).collect()
    }
}

/// Says how something went, past the test harness.
pub fn note(what: &str) {
    let _ = writeln!(std::io::stderr(), "  {what}");
}
