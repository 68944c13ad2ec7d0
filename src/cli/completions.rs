//! `astudio completions`.

use super::exit::{Exit, Outcome};
use super::output::Output;
use clap::CommandFactory as _;
use clap_complete::Shell;

/// Writes the completions of a shell.
pub fn run(out: &Output, shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::Args::command(), "astudio", &mut script);
    if out.is_json() {
        let script = String::from_utf8_lossy(&script);
        out.json(&serde_json::json!({ "shell": shell.to_string(), "script": script }))?;
    } else {
        out.raw(&script)?;
    }
    Ok(Exit::Done)
}
