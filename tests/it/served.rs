//! The built binary over a server: commands and the workbench by `--server`, through a line that can be cut.

use crate::binary::{Desk, text, until};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A line between clients and the server.
#[derive(Clone, Default)]
pub struct Relay {
    cut: Arc<AtomicBool>,
    /// Where the server is.
    to: Arc<Mutex<String>>,
    /// The answer to the next request that begins so is lost.
    lose: Arc<Mutex<Option<&'static str>>>,
    /// Whether the line is cut when an answer is lost.
    cuts: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    /// Begins; answers its address.
    pub fn start(&self, to: String) -> String {
        self.leads_to(to);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let relay = self.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if relay.cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(relay.to.lock().unwrap().as_str()) else { continue };
                let both = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                relay.open.lock().unwrap().extend(both);
                let doomed = Arc::new(AtomicBool::new(false));
                relay.clone().carry(client.try_clone().unwrap(), server.try_clone().unwrap(), doomed.clone(), true);
                relay.clone().carry(server, client, doomed, false);
            }
        });
        address
    }

    fn carry(self, mut from: TcpStream, mut to: TcpStream, doomed: Arc<AtomicBool>, asks: bool) {
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 14];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                let piece = &buffer[..count];
                if asks && self.lose.lock().unwrap().take_if(|start| piece.starts_with(start.as_bytes())).is_some() {
                    doomed.store(true, Ordering::SeqCst);
                }
                if !asks && doomed.load(Ordering::SeqCst) {
                    if self.cuts.load(Ordering::SeqCst) {
                        self.cut();
                    }
                    break;
                }
                if to.write_all(piece).is_err() {
                    break;
                }
            }
            for end in [from, to] {
                let _ = end.shutdown(Shutdown::Both);
            }
        });
    }

    /// Cuts everything, and lets nobody through.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        for end in self.open.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    pub fn restore(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }

    /// Whether everything is cut.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }

    /// From now on the server is there.
    pub fn leads_to(&self, to: String) {
        *self.to.lock().unwrap() = to;
    }

    /// Loses the answer to the next request that begins so, and cuts the line with it; the request itself arrives.
    pub fn cut_at_answer_to(&self, start: &'static str) {
        self.cuts.store(true, Ordering::SeqCst);
        self.lose_answer_to(start);
    }

    /// Loses the answer to the next request that begins so; the request itself arrives.
    pub fn lose_answer_to(&self, start: &'static str) {
        *self.lose.lock().unwrap() = Some(start);
    }

    /// Whether the answer was lost.
    fn has_lost(&self) -> bool {
        self.lose.lock().unwrap().is_none()
    }
}

/// A demo home behind a server; what the desk runs goes there, through the line.
struct Served {
    desk: Desk,
    relay: Relay,
    url: String,
    token: String,
}

impl Served {
    fn new() -> Self {
        let relay = Relay::default();
        let desk = Desk::behind(|address| relay.start(address));
        let (url, token) = desk.cli().server();
        Self { desk, relay, url, token }
    }
}

pub fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

#[test]
fn the_whole_job_over_a_server() {
    let served = Served::new();
    let desk = &served.desk;
    assert_eq!(desk.done(&["me"])["user_id"], "ben");
    let asking = desk.start(&["ask", "orders-desk", "cancel order 1007", "--session", "mine"]);
    let id = desk.wait_pending(1).remove(0);
    assert_eq!((text(&desk.order(1007)["status"]).as_str(), desk.changes(1007)), ("open", 0));
    assert_eq!(desk.done(&["approvals", "approve", &id])["decided_by"], "ben");
    let (code, answer) = asking.end();
    assert_eq!((code, &answer["status"]), (0, &json!("done")), "{answer}");
    assert!(text(&answer["response"]).contains("order 1007 is now cancelled"), "{answer}");
    assert_eq!((text(&desk.order(1007)["status"]).as_str(), desk.changes(1007)), ("cancelled", 1));
    assert_eq!(desk.ends(&["approvals", "approve", &id], 6)["code"], "already_decided");
    let asking = desk.start(&["ask", "orders-desk", "refund order 1012, it came broken", "--session", "mine"]);
    let id = desk.wait_pending(1).remove(0);
    desk.done(&["approvals", "reject", &id, "--reason", "ask for a photo first"]);
    let (code, answer) = asking.end();
    assert!(code == 0 && text(&answer["response"]).contains("ask for a photo first"), "{answer}");
    // Ctrl-C reaches the turn, not only the client.
    let asking = desk.start(&["ask", "orders-desk", "cancel order 1003", "--session", "mine"]);
    let id = desk.wait_pending(1).remove(0);
    asking.ctrl_c();
    assert_eq!(asking.end().1["status"], "interrupted");
    assert_eq!(desk.approval(&id)["status"], "withdrawn");
    assert!(!desk.cli().nowhere().exists(), "a home is made by commands on a server");
}

#[test]
fn what_needs_a_home_says_so_and_no_token_is_printed() {
    let served = Served::new();
    for args in [&["demo"][..], &["migrate", "plan"], &["doctor"], &["serve"], &["audit", "seal"]] {
        let refused = served.desk.ends(args, 2);
        assert!(text(&refused["message"]).contains("where the home is"), "{args:?}: {refused}");
    }
    // A token says who one is; nobody speaks for others there.
    let refused = served.desk.command(&["me"]).args(["--as", "vic"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Use another token"), "{refused:?}");
    let asked = served.desk.command(&["ask", "orders-desk", "cancel order 1007", "--no-wait"]).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&asked.stdout), String::from_utf8_lossy(&asked.stderr));
    assert!(said.contains(&format!(" --server {} approvals approve", served.url)), "{said}");
    assert!(!said.contains(&served.token) && !said.contains("--home"), "{said}");
    // Nor is another way named than the one that was typed.
    let file = served.desk.cli().folder().join("team.toml");
    std::fs::write(&file, format!("[profiles.team]\nserver = '{}'\ntoken_env = 'TEAM'\n", served.url)).unwrap();
    let team = |args: &[&str]| {
        let mut command = served.desk.command(args);
        command.env_remove("ASTUDIO_SERVER").env_remove("ASTUDIO_TOKEN").env("TEAM", &served.token);
        let output = command.arg("--config").arg(&file).args(["--profile", "team"]).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let id = served.desk.wait_pending(1).remove(0);
    let way = format!("astudio --config {} --profile team", file.display());
    let asked = team(&["ask", "orders-desk", "cancel order 1003", "--no-wait", "--session", "team"]);
    assert!(
        asked.contains(&format!("{way} approvals approve")) && asked.contains(&format!("{way} ask --resume")),
        "{asked}"
    );
    served.desk.done(&["approvals", "reject", &id]);
    let refused = team(&["approvals", "approve", &id]);
    assert!(refused.contains(&format!("hint: `{way} approvals show ID`")), "{refused}");
    assert!(!asked.contains("--home") && !refused.contains("--home"), "{asked}{refused}");
}

#[test]
fn a_stream_that_is_cut_goes_on() {
    let served = Served::new();
    let desk = &served.desk;
    let asking = desk.start(&["ask", "orders-desk", "cancel order 1007", "--session", "mine"]);
    let id = desk.wait_pending(1).remove(0);
    served.relay.cut();
    pause(1_500);
    served.relay.restore();
    desk.done(&["approvals", "approve", &id]);
    let (code, answer) = asking.end();
    assert_eq!((code, &answer["status"]), (0, &json!("done")), "{answer}");
    assert_eq!(desk.changes(1007), 1);
    assert_eq!(desk.done(&["sessions", "show", "orders-desk", "mine"])["turns"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_sent_while_the_line_is_cut_arrives_once() {
    let served = Served::new();
    let desk = &served.desk;
    desk.ends(&["ask", "orders-desk", "cancel order 1007", "--no-wait", "--session", "mine"], 3);
    let id = desk.wait_pending(1).remove(0);
    served.relay.cut();
    let approving = desk.start(&["approvals", "approve", &id]);
    pause(1_200);
    assert_eq!(desk.changes(1007), 0);
    served.relay.restore();
    let (code, answer) = approving.end();
    assert_eq!((code, &answer["decided_by"]), (0, &json!("ben")), "{answer}");
    until("the change", || desk.changes(1007) == 1);
}

#[test]
fn an_answer_that_is_lost_costs_nothing_and_doubles_nothing() {
    let served = Served::new();
    let desk = &served.desk;
    // A save.
    let before = desk.done(&["agents", "show", "orders-desk"])["version"].as_i64().unwrap();
    served.relay.lose_answer_to("PATCH ");
    let patch = json!({ "description": "Other words." }).to_string();
    desk.done(&["api", "call", "agents.patch", "--path", "name=orders-desk", "--json-body", &patch]);
    assert!(served.relay.has_lost());
    assert_eq!(desk.done(&["agents", "show", "orders-desk"])["version"], before + 1, "saved once");
    // An ask.
    served.relay.lose_answer_to("POST ");
    desk.ends(&["ask", "orders-desk", "cancel order 1007", "--no-wait", "--session", "mine"], 3);
    assert!(served.relay.has_lost());
    assert_eq!(desk.done(&["sessions", "show", "orders-desk", "mine"])["turns"].as_array().unwrap().len(), 1);
    // A decision.
    let id = desk.wait_pending(1).remove(0);
    served.relay.lose_answer_to("POST ");
    assert_eq!(desk.done(&["approvals", "approve", &id])["decided_by"], "ben");
    assert!(served.relay.has_lost());
    until("the change", || desk.changes(1007) == 1);
}

#[test]
fn the_workbench_does_the_whole_job_on_a_server() {
    let served = Served::new();
    let mut screen = served.desk.screen(100, 30);
    let host = served.url.trim_start_matches("http://");
    screen.see(host).chat("orders-desk").say("cancel order 1007").see("order_id: 1007");
    assert_eq!(served.desk.changes(1007), 0, "nothing was changed yet");
    screen.approve().see("Done: order 1007 is now cancelled.");
    assert_eq!(served.desk.changes(1007), 1);
    screen.say("cancel order 1003").see("order_id: 1003").reject("not today");
    screen.see("The change to order 1003 was rejected").key("ctrl-q");
    assert!(screen.ends().success());
    screen.is_given_back();
    assert!(!served.desk.cli().nowhere().join("astudio.db").exists());
}

#[test]
fn the_workbench_goes_on_when_the_line_comes_back() {
    let served = Served::new();
    let mut screen = served.desk.screen(100, 30);
    screen.chat("orders-desk").say("cancel order 1007").see("order_id: 1007").dialog().key("esc");
    screen.not("Approve this call?").see("1 to approve");
    served.relay.cut();
    screen.see("reconnecting").type_text("what about").see("what about");
    served.relay.restore();
    screen.not("reconnecting").see("what about");
    let id = served.desk.wait_pending(1).remove(0);
    served.desk.done(&["approvals", "approve", &id]);
    screen.see("Done: order 1007 is now cancelled.").see("what about").not("to approve");
    assert_eq!(served.desk.changes(1007), 1);
}
