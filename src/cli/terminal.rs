//! `astudio reset-terminal`: undoes what a program that died may have left a terminal in.

use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use contract::{Code, StudioError};
use std::fs::File;
use std::process::{Command, Stdio};

/// Writes what undoes every mode to the terminal of this process, wherever its output goes, and lets `stty` set the line.
pub fn reset(out: &Output) -> Outcome {
    let missing = || Failure::Studio(StudioError::new(Code::Unavailable, 503, "There is no terminal here to reset."));
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").map_err(|_| missing())?;
    tui::terminal::reset(&mut terminal).map_err(|_| missing())?;
    // A fresh process does not know how the line was before, so it is set as a shell wants it.
    let sane = stty("sane");
    if ["LC_ALL", "LC_CTYPE", "LANG"].iter().any(|name| std::env::var(name).is_ok_and(|value| is_utf8(&value))) {
        // Else a Backspace on the line takes a part of a letter. What a `stty` does not know it refuses.
        stty("iutf8");
    }
    out.answer(&serde_json::json!({ "reset": true, "line": sane }), |out| {
        if !sane {
            out.note("The modes are undone, but `stty sane` could not be run; run it if what you type is not shown.");
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

fn stty(setting: &str) -> bool {
    let Ok(terminal) = File::open("/dev/tty") else { return false };
    let done = Command::new("stty").arg(setting).stdin(terminal).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
