//! Over HTTP, against the built program: what the operations get, and around it what only a transport can get wrong.

use super::check::{Judge, failed};
use super::line::{Answer, Line, Served};
use super::town::{Sent, Town};
use crate::binary::note;
use crate::interleave::{Dice, number};
use contract::openapi::PREFIX;
use contract::operation::{Effect, Meta};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

/// Requests that a home gets before it is replaced by a fresh one.
const PER_HOME: u64 = 500;

/// A text as part of an address.
fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    let mut out = String::new();
    for byte in text.as_bytes() {
        if plain(byte) {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A request as it goes over the line.
struct Wire {
    method: String,
    target: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Option<Vec<u8>>,
    /// Whether it is still a request to the operation, by its address and method.
    meant: bool,
    /// Whether it is so broken that it may be refused before anybody looks at its address.
    broken: bool,
    /// Whether the body is cut short of what was announced.
    cut: bool,
}

impl Wire {
    fn new(meta: &Meta, sent: &Sent, authorization: Option<String>) -> Self {
        let mut target = format!("{PREFIX}{}", meta.routes[0]);
        for (name, value) in &sent.path {
            target = target.replace(&format!("{{{name}}}"), &encoded(value));
        }
        let pairs: Vec<String> = sent.query.iter().map(|(k, v)| format!("{}={}", encoded(k), encoded(v))).collect();
        if !pairs.is_empty() {
            let _ = write!(target, "?{}", pairs.join("&"));
        }
        let mut headers = vec![("host", b"localhost".to_vec())];
        headers.extend(authorization.map(|text| ("authorization", text.into_bytes())));
        if sent.body.is_some() {
            headers.push(("content-type", b"application/json".to_vec()));
        }
        match meta.id {
            "test.stream" => headers.push(("accept", b"text/event-stream".to_vec())),
            "test.defer" => headers.push(("prefer", b"respond-async".to_vec())),
            _ => {}
        }
        let broken = target.len() > 32_000;
        let body = sent.body.clone();
        Self { method: meta.method.as_str().into(), target, headers, body, meant: true, broken, cut: false }
    }

    /// Does to it what only a transport can get.
    fn bend(&mut self, dice: &mut Dice) {
        let names = [
            "content-type",
            "accept",
            "prefer",
            "idempotency-key",
            "if-match",
            "if-none-match",
            "last-event-id",
            "x-studio-session",
            "x-request-id",
            "cookie",
            "authorization",
            "content-encoding",
            "accept-encoding",
            "expect",
            "origin",
            "range",
            "te",
            "x-http-method-override",
        ];
        match dice.roll(12) {
            0..=5 => {
                for _ in 0..=dice.roll(3) {
                    let name = dice.pick(&names);
                    // The values a server looks for, near ones, and what is none.
                    let value = dice.pick(&[
                        b"application/json" as &[u8],
                        b"application/json; charset=utf-16",
                        b"application/x-www-form-urlencoded",
                        b"text/plain",
                        b"text/event-stream",
                        b"*/*;q=0",
                        b"respond-async, wait=1",
                        b"one-key",
                        b"another-key",
                        b"\"1-0000000000000000\"",
                        b"W/\"x\", *",
                        b"*",
                        b"-1",
                        b"99999999999999999999",
                        b"a:0",
                        b"astudio_session=\xc3\xa9; =; ;",
                        b"Bearer",
                        b"Bearer tsf_0000000000000000000000000000000000000000deadbeef",
                        b"Basic YTpi",
                        b"gzip, br;q=1.0",
                        b"100-continue",
                        b"bytes=0-1",
                        b"\xff\xfe",
                        b"",
                    ]);
                    self.headers.push((name, value.to_vec()));
                }
            }
            6 => self.headers.push((dice.pick(&names), vec![b'x'; dice.pick(&[300, 9_000, 60_000])])),
            7 => {
                self.method = dice
                    .pick(&["HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "GET", "POST", "QUERY", "get"])
                    .into();
                self.meant = false;
            }
            8 => {
                let odd = dice.pick(&[
                    "%00", "%ff", "%zz", "%", "%c3%28", "%2e%2e/", "//", "/../", ";a=b", "#x", "?", "&&==", "\u{e9}",
                ]);
                let at = PREFIX.len() + dice.roll((self.target.len() - PREFIX.len()) as u64 + 1) as usize;
                self.target.insert_str(at, odd);
                (self.meant, self.broken) = (false, true);
            }
            9 => {
                self.headers.push(("transfer-encoding", b"chunked".to_vec()));
                self.broken = true;
            }
            10 => self.cut = self.body.as_ref().is_some_and(|body| !body.is_empty()),
            _ => {}
        }
        let long: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.broken |= self.target.len() + long > 60_000;
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            out.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        let chunked = self.headers.iter().any(|(name, _)| *name == "transfer-encoding");
        if let Some(body) = self.body.as_ref().filter(|_| !chunked) {
            out.extend(format!("content-length: {}\r\n", body.len()).bytes());
        }
        out.extend(b"\r\n");
        let body = self.body.as_deref().unwrap_or_default();
        out.extend(&body[..body.len() - if self.cut { 1 } else { 0 }]);
        out
    }

    fn shown(&self) -> String {
        let bytes = self.bytes();
        let cut = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
        let text = cut(&bytes);
        // Whose token it is does not matter, and a log is not its place.
        let lines = text.lines().filter(|line| !line.starts_with("authorization: Bearer tsf_"));
        format!("{:?}", lines.collect::<Vec<_>>().join("\n"))
    }
}

/// A home that is served.
struct Place {
    served: Served,
    town: Town,
}

impl Place {
    async fn new() -> Self {
        let town = Town::new().await;
        std::fs::write(town.home.path().join("config.toml"), "[turn]\nwait_seconds = 0\n").unwrap();
        Self { served: Served::start(town.home.path(), &[]), town }
    }

    fn authorization(&self, dice: &mut Dice) -> Option<String> {
        let who = ["root", "root", "root", "ben", "ben", "vic", "reader", "nobody"];
        let who = dice.pick(&who);
        self.town.secrets.iter().find(|(name, _)| *name == who).map(|(_, secret)| format!("Bearer {secret}"))
    }
}

/// The data of the events of a stream.
fn events(body: &[u8]) -> impl Iterator<Item = Value> {
    let text = String::from_utf8_lossy(body).into_owned();
    let data: Vec<String> = text.lines().filter_map(|line| Some(line.strip_prefix("data: ")?.to_owned())).collect();
    data.into_iter().map(|data| serde_json::from_str(&data).unwrap_or(Value::Null))
}

/// What is wrong with an answer.
fn judged(judge: &mut Judge, meta: &Meta, wire: &Wire, barred: bool, answer: &Answer) -> Option<String> {
    let ours = answer.headers.contains_key("x-request-id");
    if !ours {
        // Refused before it was a request.
        let known = matches!(answer.status, 400 | 408 | 414 | 431) && answer.body.is_empty();
        return (!wire.broken || !known).then(|| format!("{} by nobody", answer.status));
    }
    if wire.method == "HEAD" {
        // What it says cannot be read here.
        return (answer.status == 500).then(|| "failed with 500".to_owned());
    }
    if answer.headers.contains_key("content-encoding") {
        // What it says cannot be read here.
        return (answer.status == 500).then(|| "failed with 500".to_owned());
    }
    if answer.streams() {
        let content = &judge.item(meta)["responses"]["200"]["content"]["text/event-stream"];
        let schema = content["schema"]["contentSchema"].clone();
        if schema.is_null() && wire.meant {
            return Some("a stream that is not declared".into());
        }
        return events(&answer.body).find_map(|event| judge.event(&schema, &event)).filter(|_| wire.meant);
    }
    if barred && wire.meant && (200..300).contains(&answer.status) {
        return Some(format!("{}, which the document bars", answer.status));
    }
    if wire.meant {
        if answer.status == 304 {
            return judge.item(meta)["responses"]["304"].is_null().then(|| "304 is not declared".to_owned());
        }
        return judge.answer(meta, answer.status, &answer.json());
    }
    // Some other operation's answer, or a refusal.
    match answer.status {
        200..300 | 304 => None,
        status if failed(status, &answer.json()) => Some(format!("failed with {status}")),
        status => judge.refusal(&answer.json()).map(|fault| format!("{status} in another shape: {fault}")),
    }
}

fn send(place: &Place, line: &mut Option<Line>, wire: &Wire) -> std::result::Result<Answer, String> {
    // A line that was used before may be closed by now, as for every client: then a new one has to do.
    let used = line.take().and_then(|on| send_on(on, wire).ok());
    let (on, answer) = match used {
        Some(sent) => sent,
        None => send_on(place.served.connect(), wire)?,
    };
    let closes = answer.headers.get("connection").is_some_and(|how| how == "close");
    if !(wire.cut || wire.broken || closes || answer.streams() || wire.method == "HEAD") {
        *line = Some(on);
    }
    Ok(answer)
}

fn send_on(mut on: Line, wire: &Wire) -> std::result::Result<(Line, Answer), String> {
    let written = on.send(&wire.bytes());
    if wire.cut || wire.broken {
        on.hang_up();
    }
    match (written, on.answer(wire.method != "HEAD")) {
        (_, Ok(Some(answer))) => Ok((on, answer)),
        (written, read) => Err(format!("{written:?}, {read:?}")),
    }
}

/// Requests to one operation; what is wrong, and how often which status came.
fn fuzz(
    judge: &mut Judge,
    place: &Place,
    meta: &Meta,
    count: u64,
    dice: &mut Dice,
) -> (BTreeMap<u16, u64>, Vec<String>) {
    let item = judge.item(meta).clone();
    let (mut statuses, mut faults) = (BTreeMap::<u16, u64>::new(), Vec::new());
    let mut line = None;
    for _ in 0..count {
        let sent = place.town.request(&judge.document, &item, meta, dice);
        let mut wire = Wire::new(meta, &sent, place.authorization(dice));
        if dice.roll(2) == 0 {
            wire.bend(dice);
        }
        let body = wire.body.as_ref().and_then(|body| contract::json::parse(body).ok());
        let barred = item["requestBody"].is_object() && !body.as_ref().is_some_and(|body| judge.allows(meta, body));
        let fault = match send(place, &mut line, &wire) {
            Ok(answer) => {
                *statuses.entry(answer.status).or_default() += 1;
                let said = || String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
                judged(judge, meta, &wire, barred, &answer).map(|fault| format!("{fault}: {}", said()))
            }
            // A server need not hear a request out that is too long.
            Err(_) if wire.broken => None,
            Err(why) => Some(format!("no answer: {why}")),
        };
        faults.extend(fault.map(|fault| format!("{}: {fault} <- {}", meta.id, wire.shown())));
    }
    (statuses, faults)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_breaks_the_server() {
    let seed = number("ASTUDIO_SEED", 1);
    let count = number("ASTUDIO_FUZZ", 150);
    let mut judge = Judge::new();
    let mut dice = Dice::new(seed);
    let mut faults = Vec::new();
    let since = Instant::now();
    let mut metas: Vec<Meta> = contract::ops::ALL.to_vec();
    // Reads leave a home as it is, so they share one.
    metas.sort_by_key(|meta| meta.effect != Effect::Read);
    let mut place = Place::new().await;
    for meta in metas {
        let began = Instant::now();
        let mut left = count;
        while left > 0 {
            if meta.effect != Effect::Read {
                place = Place::new().await;
            }
            let now = left.min(PER_HOME);
            let (statuses, more) = fuzz(&mut judge, &place, &meta, now, &mut dice);
            left -= now;
            faults.extend(more);
            let panics = place.served.faults();
            if !place.served.lives() || !panics.is_empty() {
                faults.push(format!("{}: the server says: {panics}", meta.id));
                place = Place::new().await;
            }
            if std::env::var_os("ASTUDIO_FUZZ").is_some() {
                note(&format!("{}: {statuses:?} in {:?}", meta.id, began.elapsed()));
            }
        }
    }
    let shown = faults.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "ASTUDIO_SEED={seed}: {} faults\n{shown}", faults.len());
    note(&format!("{count} requests over HTTP to each operation in {:?}", since.elapsed()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tag_for_everything_hides_no_refusal() {
    let place = Place::new().await;
    let root = place.town.secrets[0].1.as_str();
    let ask = |query: &str| {
        let mut line = place.served.connect();
        let head =
            format!("GET {PREFIX}/agents{query} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {root}\r\n");
        line.send(format!("{head}if-none-match: *\r\n\r\n").as_bytes()).unwrap();
        line.answer(true).unwrap().unwrap().status
    };
    assert_eq!([ask("?sort=size"), ask("?sort=name"), ask("?sort=name"), ask("")], [400, 304, 304, 304]);
}
