//! Many requests at once, and streams.

use super::line::{Line, request};
use super::report::{Report, Unit};
use super::served::Served;
use super::{Plan, Tokens};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Connections of a load that reads.
const READERS: usize = 8;

type Make = Arc<dyn Fn(u64) -> Vec<u8> + Send + Sync>;

/// Requests a second over so many connections, each answered with this status; `next` counts them.
async fn rate(served: &Served, next: &Arc<AtomicU64>, lines: usize, time: Duration, expected: u16, make: Make) -> f64 {
    let done = Arc::new(AtomicU64::new(0));
    let end = Instant::now() + time;
    let workers = (0..lines).map(|_| {
        let (next, done, make, address) = (next.clone(), done.clone(), make.clone(), served.address.clone());
        tokio::spawn(async move {
            let mut line = Line::open(&address).await;
            while Instant::now() < end {
                let bytes = make(next.fetch_add(1, Ordering::Relaxed));
                let (status, answer) = line.ask(&bytes).await;
                assert_eq!(status, expected, "{}", String::from_utf8_lossy(&answer[..answer.len().min(600)]));
                done.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let since = Instant::now();
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    done.load(Ordering::Relaxed) as f64 / since.elapsed().as_secs_f64()
}

/// Measures such a rate in rounds.
#[allow(clippy::too_many_arguments)]
async fn measure(
    report: &mut Report,
    plan: &Plan,
    served: &Served,
    name: &str,
    aim: f64,
    lines: usize,
    expected: u16,
    make: Make,
) {
    let mut rounds = Vec::new();
    // One count over all rounds: what was asked in one is new to the next.
    let next = Arc::new(AtomicU64::new(0));
    for _ in 0..plan.rounds {
        rounds.push(rate(served, &next, lines, plan.round, expected, make.clone()).await);
    }
    report.measure(name, Unit::PerSecond, &rounds, aim);
}

/// Reads: one agent, pages, the same page again.
pub async fn reads(served: &Served, tokens: &Tokens, plan: &Plan, report: &mut Report) {
    let (token, agents) = (tokens.owner.clone(), plan.agents as u64);
    let get: Make = {
        let token = token.clone();
        Arc::new(move |n| request("GET", &format!("/agents/agent-{:05}", n * 7919 % agents), &token, "", ""))
    };
    measure(report, plan, served, "get one of 10,000 agents over HTTP", 8_000.0, READERS, 200, get).await;
    // Another filter each time that leaves all of them: no list that is written already fits.
    let fresh: Make = {
        let token = token.clone();
        Arc::new(move |n| request("GET", &format!("/agents?limit=100&x={n}"), &token, "", ""))
    };
    measure(report, plan, served, "page of 100 of 10,000, fresh, over HTTP", 1_500.0, READERS, 200, fresh).await;
    let same = request("GET", "/agents?limit=100", &token, "", "");
    let mut line = Line::open(&served.address).await;
    let head = String::from_utf8_lossy(line.ask(&same).await.1).into_owned();
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag").to_owned();
    let again: Make = Arc::new(move |_| same.clone());
    measure(report, plan, served, "the same page as it was written, over HTTP", 5_000.0, READERS, 200, again).await;
    let unchanged = request("GET", "/agents?limit=100", &token, &format!("if-none-match: {tag}\r\n"), "");
    let unchanged: Make = Arc::new(move |_| unchanged.clone());
    measure(report, plan, served, "the same page with If-None-Match (304)", 5_000.0, READERS, 304, unchanged).await;
}

/// Whole lists of a home with so many agents: anew each time, and as they were written.
pub async fn lists(served: &Served, tokens: &Tokens, agents: usize, aim: f64, plan: &Plan, report: &mut Report) {
    let token = tokens.owner.clone();
    let kept = request("GET", "/agents", &token, "", "");
    let fresh: Make = Arc::new(move |n| request("GET", &format!("/agents?x={n}"), &token, "", ""));
    let count = super::report::thousands(agents as f64);
    measure(report, plan, served, &format!("whole list of {count}, fresh"), aim, 2, 200, fresh).await;
    let name = format!("whole list of {count}, unchanged");
    measure(report, plan, served, &name, aim, 2, 200, Arc::new(move |_| kept.clone())).await;
}

/// Writes at 64 clients, and asks.
pub async fn writes(served: &Served, tokens: &Tokens, plan: &Plan, report: &mut Report) {
    let (token, agents) = (tokens.owner.clone(), plan.agents as u64);
    let patch: Make = {
        let token = token.clone();
        Arc::new(move |n| {
            let body = json!({ "description": format!("Said {n} times.") }).to_string();
            request("PATCH", &format!("/agents/agent-{:05}", n % agents), &token, "", &body)
        })
    };
    measure(report, plan, served, "PATCH at 64 clients over HTTP", 3_000.0, plan.clients, 200, patch).await;
    let made = Arc::new(AtomicUsize::new(0));
    let create: Make = {
        let token = token.clone();
        Arc::new(move |_| {
            let n = made.fetch_add(1, Ordering::Relaxed);
            let body = json!({ "name": format!("made-{n}"), "llm": "rehearsal:greeter" }).to_string();
            request("POST", "/agents", &token, "", &body)
        })
    };
    measure(report, plan, served, "create at 64 clients over HTTP", 3_000.0, plan.clients, 201, create).await;
    let ask: Make = Arc::new(move |n| {
        let body = json!({ "query": "hello", "session": format!("s-{n}") }).to_string();
        request("POST", "/agents/agent-00002/test/ask", &token, "", &body)
    });
    measure(report, plan, served, "test ask on a rehearsal over HTTP", 220.0, READERS, 200, ask).await;
}

/// Streams at once, each of many paced words: none lost, none out of order.
pub async fn streams(served: &Served, tokens: &Tokens, plan: &Plan, report: &mut Report) {
    let before = served.memory().0;
    let since = Instant::now();
    let expected = super::paced_words(plan.words);
    let open = (0..plan.streams).map(|n| {
        let (address, expected) = (served.address.clone(), expected.clone());
        let body = json!({ "query": "go", "session": format!("p-{n}") }).to_string();
        let bytes = request("POST", "/agents/paced/test/ask", &tokens.owner, "accept: text/event-stream\r\n", &body);
        tokio::spawn(async move {
            let mut said = String::new();
            Line::open(&address).await.stream(&bytes, |piece| take(piece, &mut said)).await;
            (said.trim() == expected.trim()) as usize
        })
    });
    let open: Vec<_> = open.collect();
    tokio::time::sleep(plan.round).await;
    let during = served.memory().0;
    let mut whole = 0;
    for stream in open {
        whole += stream.await.unwrap();
    }
    let each = ((during - before).max(0.0) * 1024.0) / plan.streams as f64;
    let took = since.elapsed().as_secs_f64();
    report.measure("streams lost or out of order", Unit::Times, &[(plan.streams - whole) as f64], 0.5);
    report.measure("memory of a stream", Unit::Bytes, &[each * 1024.0], 65_536.0);
    report.note(format!(
        "{} streams of {} words at 50 a second ended after {took:.1} s; {:.1} s is what their pace takes.",
        plan.streams,
        plan.words,
        plan.words as f64 / 50.0
    ));
}

/// Takes the text out of events; false at the end of the run.
fn take(piece: &str, said: &mut String) -> bool {
    for line in piece.lines() {
        let Some(event) = line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok()) else {
            continue;
        };
        match event["type"].as_str() {
            Some("TEXT_MESSAGE_CONTENT") => said.push_str(event["delta"].as_str().unwrap_or_default()),
            Some("RUN_FINISHED" | "RUN_ERROR") => return false,
            _ => {}
        }
    }
    true
}

/// What our way adds to the time until a model's first word, over a direct call of the same provider: the difference of the two
/// medians, and of the two times that 99 of 100 stay below.
pub async fn first_word(served: &Served, tokens: &Tokens, provider: &str, plan: &Plan, report: &mut Report) {
    let body =
        json!({ "model": "fast", "stream": true, "messages": [{ "role": "user", "content": "go" }] }).to_string();
    let direct = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (mut plain, mut through) = (Vec::new(), Vec::new());
    for n in 0..plan.asks {
        plain.push(until(provider, direct.as_bytes(), "\"content\":\"word").await * 1e3);
        let body = json!({ "query": "go", "session": format!("f-{n}") }).to_string();
        let ours = request("POST", "/agents/direct/test/ask", &tokens.owner, "accept: text/event-stream\r\n", &body);
        through.push(until(&served.address, &ours, "TEXT_MESSAGE_CONTENT").await * 1e3);
    }
    plain.sort_by(f64::total_cmp);
    through.sort_by(f64::total_cmp);
    let added = |share: f64| {
        let at = ((plan.asks - 1) as f64 * share) as usize;
        (through[at] - plain[at]).max(0.0)
    };
    report.measure("added until the first word, median", Unit::Millis, &[added(0.5)], 1.0);
    report.measure("added until the first word, 99 of 100", Unit::Millis, &[added(0.99)], 3.0);
}

/// Seconds from sending a request to the first piece with this text.
async fn until(address: &str, request: &[u8], wanted: &str) -> f64 {
    let line = Line::open(address).await;
    let since = Instant::now();
    let mut took = None;
    line.stream(request, |piece| {
        if piece.contains(wanted) {
            took = Some(since.elapsed().as_secs_f64());
        }
        took.is_none()
    })
    .await;
    took.expect("the words come")
}
