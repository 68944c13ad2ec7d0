//! How the workbench begins, and what it takes when nobody does anything.

use super::Plan;
use super::home::{Home, LONG, SHORT};
use super::report::{Report, Unit, thousands};
use super::screen::Screen;
use std::time::Duration;

/// After this without a byte nothing goes on any more.
pub const QUIET: Duration = Duration::from_millis(1_500);

/// From the start of the process to its first byte, and to rows of agents on the screen.
pub fn start(home: &Home, plan: &Plan, report: &mut Report) {
    let (mut bytes, mut pictures) = (Vec::new(), Vec::new());
    // The first one makes the home's key.
    for round in 0..=plan.starts {
        let (byte, picture) = home.open().began();
        if round > 0 {
            bytes.push(byte);
            pictures.push(picture);
        }
    }
    report.measure("first byte", Unit::Millis, &bytes, 30.0);
    let name = format!("first picture: rows of {} agents", thousands(plan.agents as f64));
    report.measure(&name, Unit::Millis, &pictures, 100.0);
}

/// Memory, and what is used and written while nobody does anything: in the list, and in the long conversation.
pub fn idle(home: &Home, plan: &Plan, report: &mut Report) {
    let screen = home.open();
    idle_in(&screen, "the list of agents", plan, report);
    // All pages are read once, so that the list holds all rows.
    screen.send("\x1b[F");
    screen.see(&format!("›{}", SHORT));
    screen.quiet(QUIET);
    memory(&screen, &format!("{} agents, all of them read", thousands(plan.agents as f64)), report);
    drop(screen);
    let screen = home.chat(LONG);
    let name = format!("a conversation of {} messages", thousands(plan.turns as f64 * 2.0));
    idle_in(&screen, &name, plan, report);
    memory(&screen, &name, report);
}

fn idle_in(screen: &Screen, place: &str, plan: &Plan, report: &mut Report) {
    let Some((processor, bytes)) = still(screen, plan.idle) else {
        return report.note("This system does not tell what a process uses.".into());
    };
    report.measure(&format!("processor when idle, {place}"), Unit::Percent, &[processor], 0.1);
    report.measure(&format!("written when idle, {place}"), Unit::Bytes, &[bytes], 0.0);
}

/// Leaves a program alone. Answers the share of a processor that it used, in percent, and the bytes that it wrote.
pub fn still(screen: &Screen, length: Duration) -> Option<(f64, f64)> {
    screen.quiet(QUIET);
    let before = screen.usage()?;
    std::thread::sleep(length);
    Some(screen.usage()?.since(&before))
}

fn memory(screen: &Screen, what: &str, report: &mut Report) {
    if let Some(memory) = screen.memory() {
        report.measure(&format!("memory, {what}"), Unit::Mebibytes, &[memory], 60.0);
    }
}
