//! The command tree as a whole.
#![allow(clippy::unwrap_used)]

use super::coverage::{API_ONLY, COMMANDS};
use super::reach::Way;
use super::{Args, Global};
use clap::{CommandFactory as _, Parser as _};
use std::collections::BTreeSet;

fn command(path: &str) -> Option<clap::Command> {
    let mut at = Args::command();
    for word in path.split(' ') {
        at = at.find_subcommand(word)?.clone();
    }
    Some(at)
}

#[test]
fn the_tree_is_sound() {
    Args::command().debug_assert();
}

#[test]
fn every_operation_has_a_command_or_a_reason_to_have_none() {
    let all: BTreeSet<&str> = contract::ops::ALL.iter().map(|meta| meta.id).collect();
    let called: BTreeSet<&str> = COMMANDS.iter().map(|(id, _)| *id).collect();
    let api: BTreeSet<&str> = API_ONLY.iter().map(|(id, _)| *id).collect();
    assert!(called.is_disjoint(&api));
    let reached: BTreeSet<&str> = called.union(&api).copied().collect();
    let missing: Vec<_> = all.difference(&reached).collect();
    let unknown: Vec<_> = reached.difference(&all).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "without a command: {missing:?}; unknown: {unknown:?}");
}

#[test]
fn every_command_of_the_table_exists_and_is_a_leaf() {
    for (id, path) in COMMANDS {
        let found = command(path).unwrap_or_else(|| panic!("{id}: there is no command `{path}`"));
        assert!(found.get_subcommands().next().is_none(), "{path}");
    }
}

/// The leaves of the tree below `command`, as words.
fn leaves(command: &clap::Command, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    let below: Vec<_> = command.get_subcommands().filter(|c| c.get_name() != "help").collect();
    if below.is_empty() {
        out.push(path.clone());
    }
    for sub in below {
        path.push(sub.get_name().to_owned());
        leaves(sub, path, out);
        path.pop();
    }
}

#[test]
fn every_command_has_json_and_says_what_it_does() {
    let mut tree = Args::command();
    tree.build();
    let mut all = Vec::new();
    leaves(&tree, &mut Vec::new(), &mut all);
    assert!(all.len() > 50, "{}", all.len());
    for path in all {
        let found = path.iter().fold(&tree, |at, word| at.find_subcommand(word).unwrap());
        assert!(found.get_about().is_some(), "{path:?}");
        assert!(found.get_arguments().any(|arg| arg.get_long() == Some("json")), "{path:?}");
    }
}

#[test]
fn no_key_is_ever_an_argument() {
    assert!(Args::try_parse_from(["astudio", "keys", "set", "openai", "sk-secret"]).is_err());
}

#[test]
fn an_empty_token_is_none() {
    for empty in ["", " "] {
        assert!(Args::try_parse_from(["astudio", "--token", empty, "me"]).is_err());
    }
}

#[test]
fn the_command_for_another_terminal_is_quoted() {
    let mut global = Global {
        plain: false,
        json: false,
        home: Some("/a b/it's".into()),
        config: None,
        server: None,
        token: Some(text::Secret::new("geheim".into())),
        token_typed: true,
        profile: None,
        speak_as: Some("ann@acme".into()),
        set: Vec::new(),
    };
    let at_home = |global: &Global| Way::of(global, false, None).to_string();
    assert_eq!(at_home(&global), r"astudio --home '/a b/it'\''s' --as ann@acme");
    global.home = None;
    global.speak_as = None;
    assert_eq!(at_home(&global), "astudio");
    assert!(!format!("{global:?}").contains("geheim"));
}

#[test]
fn the_command_for_a_server_names_no_home_and_no_token() {
    let args = ["astudio", "--home", "/h", "--token", "geheim", "--server", "http://h:1", "me"];
    let mut global = Args::try_parse_from(args).unwrap().global;
    let way = |global: &Global, config: &str| Way::of(global, true, Some(config.as_ref())).to_string();
    assert_eq!(way(&global, "/h/config.toml"), "astudio --server http://h:1");
    (global.server, global.profile) = (None, Some("my lab".into()));
    assert_eq!(way(&global, "/etc/astudio/config.toml"), "astudio --profile 'my lab'");
    // What names the profile is found without the home.
    assert_eq!(way(&global, "/h/config.toml"), "astudio --config /h/config.toml --profile 'my lab'");
    global.config = Some("/c.toml".into());
    assert_eq!(way(&global, "/c.toml"), "astudio --config /c.toml --profile 'my lab'");
}
