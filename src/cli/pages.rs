//! Pages made from the program itself: the manual page, and pages of the documentation.

use super::exit::{Exit, Outcome};
use super::output::Output;
use clap::CommandFactory as _;
use std::io;
use tui::action::ACTIONS;

/// Pages of the documentation that are made from the program's own tables.
#[derive(Debug, clap::Subcommand)]
pub enum Docs {
    /// The keys of the workbench, as docs/keys.md
    Keys,
}

/// Writes a page of the documentation.
pub fn docs(out: &Output, page: &Docs) -> Outcome {
    let text = match page {
        Docs::Keys => tui::docs::keys(),
    };
    out.answer(&serde_json::json!({ "page": text }), |out| out.raw(text.as_bytes()))?;
    Ok(Exit::Done)
}

/// Writes the manual page.
pub fn man(out: &Output) -> Outcome {
    let page = manual()?;
    out.answer(&serde_json::json!({ "man": String::from_utf8_lossy(&page) }), |out| out.raw(&page))?;
    Ok(Exit::Done)
}

/// The manual page: the command line, every command, the keys of the workbench.
fn manual() -> io::Result<Vec<u8>> {
    let mut command = super::Args::command();
    command.build();
    let mut page = Vec::new();
    // All but its section of subcommands, which speaks of a page for each.
    let man = clap_mangen::Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut more = ".SH COMMANDS\n".to_owned();
    commands(&command, "astudio", &mut more);
    more.push_str(".SH KEYS\nIn the workbench, unless the settings say otherwise:\n");
    let mut context = None;
    for info in ACTIONS {
        if context.replace(info.context) != Some(info.context) {
            more.push_str(&format!(".SS {}\n", roff(info.context.title())));
        }
        let keys = tui::docs::labels(info.keys).join(", ");
        more.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", roff(&keys), roff(info.about)));
    }
    page.extend_from_slice(more.as_bytes());
    Ok(page)
}

/// The leaves of the tree of commands, each with what it does.
fn commands(command: &clap::Command, path: &str, page: &mut String) {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        let path = format!("{path} {}", sub.get_name());
        if sub.get_subcommands().next().is_some() {
            commands(sub, &path, page);
        } else {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            page.push_str(&format!(".TP\n\\fB{}\\fR\n{}\n", roff(&path), roff(&about)));
        }
    }
}

/// Text in which roff finds nothing to obey.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_manual_has_every_command_and_every_key() {
        let page = String::from_utf8(super::manual().unwrap()).unwrap();
        for part in [".TH astudio", "astudio approvals approve", "\\fBCtrl\\-P, :\\fR", "astudio reset\\-terminal"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("astudio docs keys"), "hidden");
        assert_eq!(page.matches("Leave the workbench.").count(), 1);
    }

    #[test]
    fn a_key_cannot_begin_a_request() {
        assert_eq!(super::roff(".so x"), "\\&.so x");
        assert_eq!(super::roff("'\\-"), "\\&'\\e\\-");
    }
}
