//! The built binary over a server that goes away: a restart in the middle of a request, and a line with TLS that is cut in the
//! middle of a stream.

use crate::binary::{Desk, text, until};
use crate::http::{Web, token};
use crate::place::words;
use crate::served::{Relay, pause};
use serde_json::{Value, json};
use std::io::Read as _;
use std::process::{Child, Command, Output, Stdio};

const CERT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/localhost.crt");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/localhost.key");

/// A demo home, a server over it, and a line between it and whoever works there as ben.
struct Line {
    desk: Desk,
    web: Option<Web>,
    relay: Relay,
    url: String,
    token: String,
}

impl Line {
    fn new() -> Self {
        Self::with(&[], "http://127.0.0.1")
    }

    fn with(args: &[&str], host: &str) -> Self {
        let desk = Desk::new();
        let web = Web::start(&desk, args);
        let relay = Relay::default();
        let address = relay.start(web.address.clone());
        let (_, port) = address.rsplit_once(':').unwrap();
        let url = format!("{host}:{port}");
        let token = token(&desk, "ben", &[]);
        Self { desk, web: Some(web), relay, url, token }
    }

    /// The program as ben, through the line.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.desk.command(args);
        command.env("ASTUDIO_SERVER", &self.url).env("ASTUDIO_TOKEN", &self.token).env("SSL_CERT_FILE", CERT);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn done(&self, args: &[&str]) -> Value {
        let output = self.command(args).arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Ends the server without a chance to tidy up, and starts another one in its place.
    fn restart(&mut self) {
        self.web = None;
        let web = Web::start(&self.desk, &[]);
        self.relay.leads_to(web.address.clone());
        self.web = Some(web);
    }

    /// Sends a request of which only the answer is lost, and with it the server; gives what the program says in the end.
    fn ends_before_the_answer(&mut self, args: &[&str], done: impl Fn(&Self) -> bool) -> Output {
        self.relay.cut_at_answer_to("POST ");
        let running = self.command(args).arg("--json").spawn().unwrap();
        until("the lost answer", || self.relay.is_cut());
        assert!(done(self), "the request has arrived");
        self.restart();
        self.relay.restore();
        running.wait_with_output().unwrap()
    }
}

#[test]
fn what_may_have_been_done_before_a_restart_is_not_done_again() {
    let mut line = Line::new();
    let tokens = |line: &Line| {
        let list = line.desk.done(&["--as", "ben@demo", "tokens", "list"]);
        list["tokens"].as_array().unwrap().iter().filter(|token| token["name"] == "second").count()
    };
    let turns = |line: &Line| {
        let (code, shown) = line.desk.json(&["--as", "ben@demo", "sessions", "show", "orders-desk", "mine"]);
        if code == 0 { shown["turns"].as_array().unwrap().len() } else { 0 }
    };
    let told = |output: &Output| {
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &said["code"]), (Some(1), &json!("unavailable")), "{output:?}");
        let message = text(&said["message"]);
        assert!(
            message.contains("restarted") && message.contains("not known") && message.contains("look"),
            "{message}"
        );
    };
    told(&line.ends_before_the_answer(&["tokens", "create", "second"], |line| tokens(line) == 1));
    assert_eq!(tokens(&line), 1);
    let ask = ["ask", "orders-desk", "cancel order 1007", "--session", "mine", "--no-wait"];
    told(&line.ends_before_the_answer(&ask, |line| turns(line) == 1));
    assert_eq!(turns(&line), 1);
    // Whoever has looked may say it anew.
    line.done(&["tokens", "create", "second"]);
    assert_eq!(tokens(&line), 2);
}

/// Reads until these words have come.
fn reads(child: &mut Child, wanted: &str) -> String {
    let (mut said, mut bytes) = (Vec::new(), [0; 256]);
    while !String::from_utf8_lossy(&said).contains(wanted) {
        let count = child.stdout.as_mut().unwrap().read(&mut bytes).unwrap();
        assert_ne!(count, 0, "it ended: {}", String::from_utf8_lossy(&said));
        said.extend_from_slice(&bytes[..count]);
    }
    String::from_utf8(said).unwrap()
}

#[test]
fn with_tls_a_stream_that_is_cut_goes_on() {
    let line = Line::with(&["--tls-cert", CERT, "--tls-key", KEY], "https://localhost");
    // In the middle of an answer: nothing of it is lost and nothing is said twice.
    let mut telling = line.command(&["ask", "slow-teller", "tell me a story", "--session", "s"]).spawn().unwrap();
    let mut said = reads(&mut telling, "lighthouse");
    line.relay.cut();
    pause(700);
    line.relay.restore();
    let end = telling.wait_with_output().unwrap();
    let (rest, beside) = words(&end);
    assert!(beside.contains("cannot be reached just now"), "it was cut in the middle: {beside}");
    said.push_str(&rest);
    let shown = line.done(&["sessions", "show", "slow-teller", "s"]);
    let turns = shown["turns"].as_array().unwrap();
    assert_eq!((end.status.code(), turns.len()), (Some(0), 1), "{end:?}");
    let whole = line.done(&["turns", "show", turns[0]["turn"].as_str().unwrap()]);
    assert_eq!(said.trim(), text(&whole["response"]).trim());

    // While a person is asked.
    let asking = line.command(&["ask", "orders-desk", "cancel order 1007", "--json"]).spawn().unwrap();
    let mut open = Vec::new();
    until("the question", || {
        open = line.done(&["approvals", "list", "--status", "pending"])["approvals"].as_array().unwrap().clone();
        !open.is_empty()
    });
    line.relay.cut();
    pause(700);
    line.relay.restore();
    line.done(&["approvals", "approve", open[0]["id"].as_str().unwrap()]);
    let end = asking.wait_with_output().unwrap();
    assert_eq!(end.status.code(), Some(0), "{end:?}");
    assert_eq!(line.desk.changes(1007), 1);
}

#[test]
fn an_ask_goes_on_over_a_server_that_died_in_the_middle_of_the_answer() {
    let mut line = Line::new();
    let mut telling = line.command(&["ask", "slow-teller", "tell me a story", "--session", "s"]).spawn().unwrap();
    let mut said = reads(&mut telling, "lighthouse");
    line.restart();
    let end = telling.wait_with_output().unwrap();
    let (rest, beside) = words(&end);
    said.push_str(&rest);
    assert_eq!(end.status.code(), Some(0), "{said}{end:?}");
    assert!(beside.contains("the answer begins anew"), "{beside}");
    let shown = line.done(&["sessions", "show", "slow-teller", "s"]);
    let turns = shown["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 1);
    let whole = line.done(&["turns", "show", turns[0]["turn"].as_str().unwrap()]);
    assert_eq!(whole["status"], "done");
    let begun = said.trim().strip_suffix(text(&whole["response"]).trim());
    assert!(begun.is_some_and(|begun| begun.ends_with('\n')), "the answer stands whole on lines of its own: {said}");
}

#[test]
fn a_turn_that_was_taken_up_goes_on_over_a_restart() {
    let mut line = Line::new();
    let asked = line.command(&["ask", "orders-desk", "cancel order 1007", "--session", "s", "--no-wait"]).output();
    assert_eq!(asked.unwrap().status.code(), Some(3));
    let resuming = line.command(&["ask", "--resume", "s", "--agent", "orders-desk", "--json"]).spawn().unwrap();
    pause(1_000);
    line.restart();
    let open = line.done(&["approvals", "list", "--status", "pending"]);
    line.done(&["approvals", "approve", open["approvals"][0]["id"].as_str().unwrap()]);
    let end = resuming.wait_with_output().unwrap();
    let said: Value = serde_json::from_slice(&end.stdout).unwrap();
    assert_eq!((end.status.code(), &said["status"]), (Some(0), &json!("done")), "{end:?}");
    assert_eq!(line.desk.changes(1007), 1);
}
