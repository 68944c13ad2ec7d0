//! Where the commands of a test go: into a home of their own, or to a server over it. A test that holds in both is written once.

use crate::pty::screen::{Opening, Screen};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use tempfile::TempDir;

/// Where commands go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// Into a home.
    Home,
    /// To `astudio serve` over that home, with a token.
    Server,
}

/// Makes two tests of each function that takes a [`Where`].
macro_rules! everywhere {
    (async $($name:ident),+ $(,)?) => {
        mod at_home {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::place::Where::Home).await;
            })+
        }

        mod on_a_server {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::place::Where::Server).await;
            })+
        }
    };
    ($($name:ident),+ $(,)?) => {
        mod at_home {
            $(#[test]
            fn $name() {
                super::$name(crate::place::Where::Home);
            })+
        }

        mod on_a_server {
            $(#[test]
            fn $name() {
                super::$name(crate::place::Where::Server);
            })+
        }
    };
}
pub(crate) use everywhere;

/// A home, and the program over it.
pub struct Cli {
    dir: TempDir,
    home: PathBuf,
    server: Option<Serving>,
}

impl Cli {
    /// A fresh home.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { home: dir.path().join("home"), dir, server: None }
    }

    /// A fresh home, with commands that go there.
    pub fn on(place: Where) -> Self {
        let mut cli = Self::new();
        if place == Where::Server {
            cli.serve();
        }
        cli
    }

    /// A fresh home in this folder.
    pub fn at(folder: &Path) -> Self {
        Self { home: folder.join("home"), ..Self::new() }
    }

    /// Commands that go to a server that somebody else runs, with this token.
    pub fn visiting(url: &str, token: &str) -> Self {
        let tokens = Mutex::new([(String::new(), token.to_owned())].into());
        Self { server: Some(Serving { child: None, url: url.to_owned(), tokens }), ..Self::new() }
    }

    /// From now on commands go to a server over this home.
    pub fn serve(&mut self) {
        self.serve_by(|address| address);
    }

    /// The same through something between: told the server's address, it answers its own.
    pub fn serve_by(&mut self, way: impl FnOnce(String) -> String) {
        self.server = Some(Serving::start(self, way));
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.home.clone()
    }

    /// The folder around all of this.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// A home that is not there, for commands that need none.
    pub fn nowhere(&self) -> PathBuf {
        self.dir.path().join("nowhere")
    }

    /// The program with these arguments, cut off from the settings and variables of whoever runs the tests.
    pub fn command(&self, args: &[&str]) -> Command {
        let Some(server) = &self.server else { return self.command_at_home(args) };
        let (who, args) = speaker(args);
        let mut command = self.command_at_home(&args);
        command.env("ASTUDIO_HOME", self.nowhere()).envs(server.envs(self, who));
        command
    }

    fn command_at_home(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_astudio"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("USER", "Ann Example")
            .env("ASTUDIO_HOME", &self.home)
            .stdin(Stdio::null());
        command
    }

    /// The workbench, where commands go.
    pub fn screen(&self, cols: u16, rows: u16) -> Screen {
        let Some(server) = &self.server else { return Screen::open(&self.home, cols, rows) };
        let (nowhere, envs) = (self.nowhere(), server.envs(self, None));
        let opening = Opening::new(&nowhere, cols, rows);
        envs.iter().fold(opening, |opening, (name, value)| opening.env(name, value)).open()
    }

    /// The server's address and the token of who speaks by default.
    pub fn server(&self) -> (String, String) {
        let server = self.server.as_ref().expect("commands go to a server");
        (server.url.clone(), server.token(self, None))
    }

    /// Runs it.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs it with `--json`: the exit code and the answer.
    pub fn json(&self, args: &[&str]) -> (i32, Value) {
        let mut all = args.to_vec();
        all.push("--json");
        let output = self.run(&all);
        let text = String::from_utf8(output.stdout).unwrap();
        let value = serde_json::from_str(&text).unwrap_or_else(|e| {
            panic!("{args:?} printed no JSON ({e}): {text}\n{}", String::from_utf8_lossy(&output.stderr))
        });
        (output.status.code().unwrap(), value)
    }

    /// Runs it with `--json`; it must work.
    #[track_caller]
    pub fn done(&self, args: &[&str]) -> Value {
        let (code, value) = self.json(args);
        assert_eq!(code, 0, "{args:?}: {value}");
        value
    }

    /// Runs it with `--json`; it must end with this exit code and error code.
    #[track_caller]
    pub fn fails(&self, args: &[&str], exit: i32, error: &str) {
        let (code, value) = self.json(args);
        assert_eq!((code, value["code"].as_str()), (exit, Some(error)), "{args:?}: {value}");
        assert!(value["message"].as_str().is_some_and(|m| !m.is_empty()), "{value}");
        assert!(value.get("details").is_some(), "{value}");
    }

    /// Runs it with this stdin.
    pub fn fed(&self, args: &[&str], input: &str) -> Output {
        let mut child =
            self.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }
}

/// What it wrote, and what it wrote beside.
pub fn words(output: &Output) -> (String, String) {
    (String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8(output.stderr.clone()).unwrap())
}

/// Whom the arguments speak for by `--as`, and the arguments without it: on a server that is said by a token.
fn speaker<'a>(args: &[&'a str]) -> (Option<&'a str>, Vec<&'a str>) {
    let mut args = args.to_vec();
    let who = args.iter().position(|arg| *arg == "--as").map(|at| args.drain(at..at + 2).next_back().unwrap());
    (who, args)
}

/// A server; killed when dropped, if it was started here.
struct Serving {
    child: Option<Child>,
    url: String,
    /// Tokens by whom they speak for.
    tokens: Mutex<HashMap<String, String>>,
}

impl Serving {
    fn start(cli: &Cli, way: impl FnOnce(String) -> String) -> Self {
        let mut serve = cli.command_at_home(&["serve", "--listen", "127.0.0.1:0", "--json"]);
        let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        let said: Value = loop {
            assert_ne!(out.read_line(&mut text).unwrap(), 0, "the server did not start: {text}");
            if let Ok(said) = serde_json::from_str(&text) {
                break said;
            }
        };
        let url = format!("http://{}", way(said["address"].as_str().unwrap().to_owned()));
        Self { child: Some(child), url, tokens: Mutex::default() }
    }

    /// The token of a person, made in the home where the server works. Whoever cannot have one has one that nobody made.
    fn token(&self, cli: &Cli, who: Option<&str>) -> String {
        let mut tokens = self.tokens.lock().unwrap();
        let make = || {
            let speak = who.map(|who| ["--as", who]).unwrap_or_default();
            let args: Vec<&str> = ["tokens", "create", "test", "--json"].into_iter().chain(speak).collect();
            let args: Vec<&str> = args.into_iter().filter(|arg| !arg.is_empty()).collect();
            let made = cli.command_at_home(&args).output().unwrap();
            let made: Value = serde_json::from_slice(&made.stdout).unwrap();
            made["secret"].as_str().unwrap_or("astudio_nobody").to_owned()
        };
        tokens.entry(who.unwrap_or_default().to_owned()).or_insert_with(make).clone()
    }

    fn envs(&self, cli: &Cli, who: Option<&str>) -> Vec<(&'static str, String)> {
        vec![("ASTUDIO_SERVER", self.url.clone()), ("ASTUDIO_TOKEN", self.token(cli, who))]
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended before.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
