//! From a key to what it changes on the screen.

use super::Plan;
use super::home::{FAST, Home, LONG, SHORT};
use super::report::{Report, Unit, median, quantile, thousands};
use super::screen::{Screen, rows};
use std::time::Duration;
use vt100::Screen as Shown;

/// Between two keys: a fast typist's.
const GAP: Duration = Duration::from_millis(40);
/// Columns that the names of the places take.
const PLACES: usize = 13;
/// What is typed before the line is cleared.
const LETTERS: &str = "the quick brown fox jumps over the lazy dog";

/// Times of keys, in milliseconds, against what half of them and 99 of 100 may take.
fn measure(name: &str, took: &[f64], half: f64, most: f64, report: &mut Report) {
    report.measure(&format!("{name}: median"), Unit::Millis, &[median(took)], half);
    report.measure(&format!("{name}: 99 of 100 within"), Unit::Millis, &[quantile(took, 0.99)], most);
}

/// The selection moves up from the end of all rows.
pub fn list(home: &Home, plan: &Plan, report: &mut Report) {
    let screen = home.open();
    let mut now = None;
    let end = screen.answer("\x1b[F", "the last row", |screen| {
        now = selected(screen);
        now.as_deref() == Some(SHORT)
    });
    let agents = thousands(plan.agents as f64);
    report.note(format!("From the first of {agents} agents to the last, all of them read: {end:.0} ms."));
    screen.quiet(Duration::from_secs(1));
    let took: Vec<f64> = (0..plan.keys)
        .map(|_| {
            std::thread::sleep(GAP);
            screen.answer("\x1b[A", "another row", |screen| {
                let before = now.clone();
                now = selected(screen);
                now != before
            })
        })
        .collect();
    measure(&format!("key to screen, {agents} agents"), &took, 5.0, 16.0, report);
}

fn selected(screen: &Shown) -> Option<String> {
    let name = |row: String| row.split_once('›')?.1.split_whitespace().next().map(str::to_owned);
    rows(screen).map(|row| row.chars().skip(PLACES).collect()).find_map(name)
}

/// Letters in the composer, and pages of the transcript, of the long conversation and of the short one.
pub fn chats(home: &Home, plan: &Plan, report: &mut Report) {
    let messages = thousands(plan.turns as f64 * 2.0);
    let (short, _) = chat(home, SHORT, plan);
    let (long, pages) = chat(home, LONG, plan);
    measure(&format!("key to screen, conversation of {messages} messages"), &long, 5.0, 16.0, report);
    measure(&format!("a page up in {messages} messages"), &pages, 5.0, 16.0, report);
    let ratio = median(&long) / median(&short);
    report.measure("a key in the long conversation against the short one", Unit::Times, &[ratio], 1.1);
}

fn chat(home: &Home, agent: &str, plan: &Plan) -> (Vec<f64>, Vec<f64>) {
    let screen = home.chat(agent);
    screen.quiet(Duration::from_secs(1));
    let letters = letters(&screen, plan.keys);
    clear(&screen, "\x15");
    let pages = (0..plan.keys.min(plan.turns / 4)).map(|_| {
        std::thread::sleep(GAP);
        let before = screen.contents();
        screen.answer("\x1b[5~", "another page", |screen| screen.contents() != before)
    });
    // The short conversation has few pages.
    (letters, if agent == LONG { pages.collect() } else { Vec::new() })
}

/// Types letters one by one, and sees each come up.
pub fn letters(screen: &Screen, keys: usize) -> Vec<f64> {
    let mut typed = String::new();
    let mut took = Vec::new();
    for letter in LETTERS.split("").filter(|letter| !letter.is_empty()).cycle().take(keys) {
        if typed.len() >= LETTERS.len() {
            typed.clear();
            clear(screen, "\x15");
        }
        std::thread::sleep(GAP);
        typed += letter;
        if letter == " " {
            // Nothing to be seen.
            screen.send(letter);
        } else {
            took.push(screen.answer(letter, "the letter", |screen| composer(screen) == typed));
        }
    }
    took
}

/// Empties the composer by this key.
fn clear(screen: &Screen, key: &str) {
    let before = screen.with(composer);
    screen.answer(key, "an empty composer", |screen| before.is_empty() || composer(screen) != before);
}

/// What stands in the composer, whose row begins with a sign of its own.
fn composer(screen: &Shown) -> String {
    let typed = rows(screen).filter_map(|row| row.split_once("› ").map(|(_, typed)| typed.trim_end().to_owned()));
    typed.last().unwrap_or_default()
}

/// A large paste, until its placeholder is seen.
pub fn paste(home: &Home, plan: &Plan, report: &mut Report) {
    let screen = home.chat(SHORT);
    screen.quiet(Duration::from_secs(1));
    let took: Vec<f64> = (0..plan.pastes).map(|_| paste_one(&screen, plan.lines)).collect();
    report.measure(&format!("paste of {} lines", thousands(plan.lines as f64)), Unit::Millis, &took, 200.0);
}

/// Pastes so many lines of a log, and takes them away again.
pub fn paste_one(screen: &Screen, lines: usize) -> f64 {
    let line = "2026-01-01T00:00:00Z worker 7 took order 1007 from the queue\n";
    let text = format!("\x1b[200~{}\x1b[201~", line.repeat(lines));
    let took = screen.answer(&text, "the placeholder", |screen| composer(screen).contains("asted"));
    clear(screen, "\x03");
    // The same key again soon would leave the program.
    std::thread::sleep(Duration::from_secs(2));
    took
}

/// Letters in the composer while an answer streams in.
pub fn stream(home: &Home, plan: &Plan, report: &mut Report) {
    let screen = home.chat(FAST);
    screen.quiet(Duration::from_secs(1));
    screen.answer("tell", "what was typed", |screen| composer(screen) == "tell");
    screen.send("\r");
    let first = screen.until("words", |screen| middle(screen) > 1_000);
    let begun = screen.with(middle);
    let took = letters(&screen, plan.keys);
    let (seconds, words) = (first.elapsed().as_secs_f64(), screen.with(middle).saturating_sub(begun));
    let rate = words as f64 / seconds;
    measure(&format!("key to screen in a stream of {} tokens/s", thousands(rate)), &took, 16.0, 30.0, report);
    report.note(format!("The stream: {} words seen in {seconds:.1} s.", thousands(words as f64)));
}

/// The number of the word in the middle of those on screen: a frame of which a part was read may show odd ones.
fn middle(screen: &Shown) -> usize {
    let word = |word: &str| word.strip_prefix('w')?.parse().ok();
    let mut words: Vec<usize> =
        rows(screen).flat_map(|row| row.split_whitespace().filter_map(word).collect::<Vec<_>>()).collect();
    words.sort_unstable();
    words.get(words.len() / 2).copied().unwrap_or(0)
}
