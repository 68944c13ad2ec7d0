//! The workbench: `astudio` without a command, and `astudio demo`, on a terminal.

use super::ctx::{Ctx, Reach};
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use crate::app::workbench::{Log, Workbench, profile, profile_of_server};
use crate::app::{App, Places, Settings};
use client::Client;
use contract::{Code, StudioError};
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;
use tui::keymap::Keymap;
use tui::theme::ThemeSetting;

/// After this a person wonders why the program does not end.
const SAYS_WHY: Duration = Duration::from_millis(400);

/// Whether there is a terminal that the workbench can have.
pub fn has_terminal(out: &Output) -> bool {
    is_terminal(out) && !is_dumb()
}

/// Whether there is a terminal on which nothing can be drawn, but lines can be typed.
pub fn has_plain_terminal(out: &Output) -> bool {
    is_terminal(out) && is_dumb()
}

fn is_terminal(out: &Output) -> bool {
    !out.is_json() && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Runs the workbench as this client until the person leaves.
pub async fn run(ctx: &Ctx, client: Client, places: &Places, settings: &Settings, log: Log) -> Outcome {
    Keymap::new(&settings.workbench.keys).map_err(|faults| {
        let message = format!("The settings of the workbench have faults:\n{}", faults.join("\n"));
        Failure::Studio(StudioError::new(Code::InvalidConfig, 422, message))
    })?;
    let (profile, workbench) = match &ctx.reach {
        Reach::Home(app) => (profile(&client).await, Workbench::new(app, places, settings, log)),
        Reach::Server(proxy) => (profile_of_server(proxy), Workbench::on_server(proxy, places, settings, log)),
    };
    let host = Arc::new(workbench);
    if let ThemeSetting::File(file) = &settings.workbench.theme {
        let theme = tui::Host::own_theme(host.as_ref(), file);
        theme.map_err(|why| Failure::Studio(StudioError::new(Code::InvalidConfig, 422, why)))?;
    }
    tracing::info!("the workbench begins");
    let left = tui::run(tui::Options { client, profile, host }).await;
    tracing::info!("the workbench ends");
    left?;
    Ok(Exit::Done)
}

/// Lets what runs come to a safe place, for every command: a write in the hands of its tool is given all the time that its call
/// has, unless the person leaves at once.
pub(super) async fn leave(out: &Output, app: &App) {
    let mut safe = std::pin::pin!(app.engine.runtime.shutdown());
    if tokio::time::timeout(SAYS_WHY, &mut safe).await.is_ok() {
        return;
    }
    out.note("Waiting for what runs to come to a safe place. Ctrl-C leaves at once; it is taken up again later.");
    tokio::select! {
        () = &mut safe => {}
        _ = tokio::signal::ctrl_c() => {}
        () = tokio::time::sleep(app.engine.runtime.shutdown_takes()) => {}
    }
}
