//! The program as a file and as a process.

use super::Plan;
use super::report::{Report, Unit, thousands};
use std::process::{Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_astudio");

/// `astudio me` from nothing to its end, over the home with many agents.
pub fn start(home: TempDir, plan: &Plan, report: &mut Report) {
    let run = || {
        let since = Instant::now();
        let mut program = Command::new(PROGRAM);
        let status =
            program.arg("--json").arg("me").arg("--home").arg(home.path()).stdout(Stdio::null()).status().unwrap();
        assert!(status.success());
        since.elapsed().as_secs_f64() * 1e3
    };
    // The first one makes the home's key.
    run();
    let took: Vec<f64> = (0..plan.starts).map(|_| run()).collect();
    let name = format!("`astudio me` as a process, {} agents", thousands(plan.agents as f64));
    report.measure(&name, Unit::Millis, &took, 50.0);
}

/// The size of the program, as it is built here.
pub fn size(report: &mut Report) {
    let bytes = std::fs::metadata(PROGRAM).unwrap().len();
    report.measure("size of the program", Unit::Megabytes, &[bytes as f64 / 1e6], 40.0);
}
