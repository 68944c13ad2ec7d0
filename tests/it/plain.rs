//! The workbench line by line: the built binary, its lines typed through a pipe and read as they come.

use super::place::{Cli, Where, everywhere};
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Longer than the program drops what is typed after a question.
const HEARD_MS: u64 = 700;

/// The program, and what it has said so far.
struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    said: mpsc::Receiver<Vec<u8>>,
    text: String,
    /// Where the part begins that no wait has passed.
    from: usize,
}

impl Talk {
    fn open(cli: &Cli, args: &[&str]) -> Self {
        let mut child =
            cli.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, said, text: String::new(), from: 0 }
    }

    /// Waits for words after those that were waited for last.
    fn hears(&mut self, wanted: &str) -> &mut Self {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(at) = self.text[self.from..].find(wanted) {
                self.from += at + wanted.len();
                return self;
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(left) {
                Ok(bytes) => self.text += &String::from_utf8_lossy(&bytes),
                Err(why) => {
                    panic!("waited in vain for {wanted:?} ({why}) after {:?}\n{}", &self.text[..self.from], self.text)
                }
            }
        }
    }

    fn types(&mut self, text: &str) -> &mut Self {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        self
    }

    fn pause(&mut self, ms: u64) -> &mut Self {
        std::thread::sleep(Duration::from_millis(ms));
        self
    }

    /// Closes its stdin and waits for its end.
    fn closes(mut self) -> (ExitStatus, String) {
        drop(self.stdin.take());
        let status = self.child.wait().unwrap();
        while let Ok(bytes) = self.said.recv_timeout(Duration::from_secs(5)) {
            self.text += &String::from_utf8_lossy(&bytes);
        }
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!(errors, "", "all is said on one stream");
        assert!(!self.text.contains('\u{1b}'), "nothing steers the terminal: {}", self.text);
        (status, self.text)
    }
}

/// A home with the demo's orders, and the plain workbench where commands go.
fn desk(place: Where) -> (Cli, Talk) {
    let cli = super::cli_asks::desk_on(place);
    let mut talk = Talk::open(&cli, &["--plain"]);
    talk.hears("line by line");
    if place == Where::Server {
        talk.hears("You work on the server 127.0.0.1:");
    }
    talk.hears("> ");
    (cli, talk)
}

everywhere! {
    agents_are_listed_chosen_and_talked_with,
    a_call_is_told_whole_and_runs_after_the_whole_word_only,
    the_end_of_what_is_typed_decides_nothing,
    an_answer_given_elsewhere_closes_the_question,
    a_turn_is_stopped_by_a_word,
}

fn order(cli: &Cli, id: u64) -> String {
    let args = format!("{{\"order_id\": {id}}}");
    cli.done(&["tools", "execute", "desk_get_order", "--args", &args])["result"]["status"].as_str().unwrap().to_owned()
}

fn count(cli: &Cli, status: &str) -> u64 {
    cli.done(&["approvals", "list", "--status", status])["count"].as_u64().unwrap()
}

fn agents_are_listed_chosen_and_talked_with(place: Where) {
    let (_cli, mut talk) = desk(place);
    talk.types("help\n").hears("chat AGENT").hears("> ");
    talk.types("agents\n").hears("orders-desk").hears("> ");
    talk.types("agents list slow\n").hears("slow-teller").hears("> ");
    talk.types("chat greeter\n").hears("You talk with greeter").hears("greeter> ");
    talk.types("hello\n").hears("Hello! I am a rehearsal script").hears("greeter> ");
    talk.types("/me\n").hears("ben").hears("greeter> ");
    talk.types("/back\n").hears("> ");
    talk.types("ask greeter \"hello there\"\n").hears("Hello!").hears("> ");
    talk.types("help agents\n").hears("visibility").hears("> ");
    talk.types("agents show nobody\n").hears("error: ").hears("> ");
    talk.types("nonsense\n").hears("unrecognized").hears("> ");
    talk.types("agents edit greeter --prompt @-\n").hears("Nothing can be read from stdin here").hears("> ");
    talk.types("quit\n");
    let (status, _) = talk.closes();
    assert!(status.success());
}

fn a_call_is_told_whole_and_runs_after_the_whole_word_only(place: Where) {
    let (cli, mut talk) = desk(place);
    talk.types("chat orders-desk\n").hears("orders-desk> ");
    talk.types("cancel order 1007\n").hears("A person has to approve this call:");
    talk.hears("desk_cancel_order").hears("\"order_id\": 1007").hears("Type approve").pause(HEARD_MS);
    for none in ["y", "yes", "Approve", "approve it", ""] {
        talk.types(&format!("{none}\n")).hears("Nothing was decided");
    }
    assert_eq!((count(&cli, "pending"), order(&cli, 1007).as_str()), (1, "open"));
    talk.types("approve\n").hears("is approved").hears("Done: order 1007 is now cancelled.").hears("orders-desk> ");
    assert_eq!((count(&cli, "consumed"), order(&cli, 1007).as_str()), (1, "cancelled"));
    talk.types("cancel order 1003\n").hears("Type approve").pause(HEARD_MS).types("reject not today\n");
    talk.hears("is rejected").hears("not today").hears("orders-desk> ");
    assert_eq!(order(&cli, 1003), "open");
    talk.types("/quit\n");
    assert!(talk.closes().0.success());
}

#[test]
fn what_was_typed_before_the_question_answers_nothing() {
    let (cli, mut talk) = desk(Where::Home);
    talk.types("chat orders-desk\n").hears("orders-desk> ");
    // Typed ahead: before the question is there, and in the moment in which it comes up.
    talk.types("cancel order 1007\napprove\napprove\n").hears("Type approve");
    talk.types("approve\n").hears("typed before").pause(HEARD_MS);
    assert_eq!((count(&cli, "pending"), order(&cli, 1007).as_str()), (1, "open"));
    // A word that began before it is as old as its beginning.
    talk.types("later\n").hears("It stays open").hears("orders-desk> ");
    let id = cli.done(&["approvals", "list", "--status", "pending"])["approvals"][0]["id"].as_str().unwrap().to_owned();
    talk.types(&format!("/answer {id}\nappr")).hears("Type approve").pause(HEARD_MS).types("ove\n");
    talk.hears("typed before the question could be read");
    assert_eq!((count(&cli, "pending"), order(&cli, 1007).as_str()), (1, "open"));
    talk.types("approve\n").hears("is approved").hears("turns resume");
    let turn = cli.done(&["approvals", "show", &id])["turn"].as_str().unwrap().to_owned();
    talk.types(&format!("/turns resume {turn}\n")).hears("Done: order 1007 is now cancelled.").hears("orders-desk> ");
    assert!(talk.closes().0.success());
    assert_eq!(order(&cli, 1007), "cancelled");
}

fn the_end_of_what_is_typed_decides_nothing(place: Where) {
    let (cli, mut talk) = desk(place);
    talk.types("ask orders-desk cancel order 1007\n").hears("Type approve");
    let (status, text) = talk.closes();
    assert_eq!(status.code(), Some(3), "{text}");
    assert!(text.contains("Nobody is here to answer. It stays open."), "{text}");
    assert_eq!((count(&cli, "pending"), order(&cli, 1007).as_str()), (1, "open"));
    // It is told of at once, and the chat goes on with it.
    let mut talk = Talk::open(&cli, &["--plain"]);
    talk.hears("1 call(s) wait for your approval").hears("> ");
    talk.types("approvals\n").hears("desk_cancel_order").hears("> ");
    talk.types("chat orders-desk\n").hears("still open here").hears("Type approve").pause(HEARD_MS);
    talk.types("approve\n").hears("Done: order 1007 is now cancelled.");
    assert!(talk.closes().0.success());
}

fn an_answer_given_elsewhere_closes_the_question(place: Where) {
    let (cli, mut talk) = desk(place);
    talk.types("ask orders-desk cancel order 1007\n").hears("Type approve").pause(HEARD_MS);
    let id = cli.done(&["approvals", "list", "--status", "pending"])["approvals"][0]["id"].as_str().unwrap().to_owned();
    cli.done(&["approvals", "reject", &id, "--reason", "elsewhere"]);
    talk.hears("That question is closed").hears("> ").types("approve\n").hears("unrecognized").hears("> ");
    assert!(talk.closes().0.success());
    assert_eq!(order(&cli, 1007), "open");
}

fn a_turn_is_stopped_by_a_word(place: Where) {
    let (_cli, mut talk) = desk(place);
    talk.types("chat slow-teller\ntell me a story\n").hears("lighthouse").types("stop\n");
    talk.hears("interrupted by ben").hears("slow-teller> ");
    assert!(talk.closes().0.success());
}

#[test]
fn on_a_python_agent_studio_it_talks_and_says_what_is_lacking() {
    let server = fakes::original::Original::start();
    let cli = Cli::visiting(&server.url(), fakes::original::AUTHOR);
    cli.done(&["agents", "create", "alpha", "--llm", "echo:small"]);
    let mut talk = Talk::open(&cli, &["--plain"]);
    talk.hears("You work on the server 127.0.0.1:");
    talk.hears("What waits for your approval is not known: The server, a Python Agent Studio,").hears("> ");
    talk.types("agents\n").hears("alpha").hears("> ");
    // A question that cannot be heard is not answered, and what is lacking is said.
    server.asks_a_person("i-1");
    for line in ["approvals approve i-1", "approvals reject i-1", "answer i-1"] {
        talk.types(&format!("{line}\n")).hears("error: ").hears("cannot be heard here").hears("> ");
    }
    assert_eq!(server.answer_of("i-1"), None);
    talk.types("chat alpha\n").hears("You talk with alpha").hears("keeps no transcripts").hears("alpha> ");
    talk.types("hello\n").hears("echo[0]: hello").hears("alpha> ");
    talk.types("/approvals\n").hears("a Python Agent Studio, cannot do this: it sends").hears("alpha> ");
    talk.types("/audit list\n").hears("it keeps no journal").hears("alpha> ");
    talk.types("and again\n").hears("echo[2]: and again").hears("alpha> ").types("/quit\n");
    let (status, said) = talk.closes();
    assert!(status.success());
    assert_eq!(said.matches("What waits for your approval").count(), 1, "told once: {said}");
}

#[test]
fn whether_something_waits_is_not_guessed() {
    let cli = Cli::on(Where::Server);
    let (url, _) = cli.server();
    let mut talk = Talk::open(&Cli::visiting(&url, "tsf_nobody"), &["--plain"]);
    talk.hears("What waits for your approval is not known: ").hears("> ");
    talk.types("quit\n");
    assert!(talk.closes().0.success());
}

#[test]
fn json_and_plain_are_told_apart() {
    let cli = Cli::new();
    let output = cli.run(&["--plain", "--json"]);
    assert_eq!(output.status.code(), Some(2));
}
