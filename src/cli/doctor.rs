//! `astudio doctor`.

use super::ctx::{Bare, needs_home};
use super::exit::{Exit, Outcome};
use super::output::Output;
use super::table::{Table, record};
use crate::app::doctor::{Diagnosis, State, examine};
use std::io;

/// Runs the command.
pub async fn run(bare: &Bare) -> Outcome {
    if bare.server.is_some() {
        return Err(needs_home("doctor"));
    }
    let found = examine(&bare.places, &bare.settings, bare.speak_as.as_deref()).await;
    bare.out.answer(&found, |out| words(out, &found))?;
    Ok(if found.ok { Exit::Done } else { Exit::Failed })
}

fn words(out: &Output, found: &Diagnosis) -> io::Result<()> {
    let fields: Vec<_> = found
        .checks
        .iter()
        .map(|check| {
            let mark = match check.state {
                State::Ok => "ok  ",
                State::Warn => "warn",
                State::Fail => "FAIL",
            };
            (check.name, Some(format!("{mark}  {}", check.detail)))
        })
        .collect();
    record(out, &fields)?;
    out.line("")?;
    let mut table = Table::new(&["PROVIDER", "KEY", "ADDRESS"]);
    for provider in &found.providers {
        let key = match (&provider.key_found, provider.key_needed) {
            (Some(variable), _) => format!("found in {variable}"),
            (None, true) => format!("none; set {}", provider.key_variables.join(" or ")),
            (None, false) => "none needed".to_owned(),
        };
        table.row([
            provider.provider.clone(),
            key,
            if provider.own_address { "from the settings" } else { "its own" }.to_owned(),
        ]);
    }
    table.write(out, "")
}
