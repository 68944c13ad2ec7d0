//! What the command line says where a person could be misled.

use super::cli::NOT_FOUND;
use super::cli_asks::desk;
use super::place::{Cli, words};

#[test]
fn a_toolkit_and_its_tools_say_why_they_do_not_run_by_themselves() {
    let cli = desk();
    for (slug, why) in [
        ("desk_orders", "it is a toolkit, of the tools"),
        (
            "desk_cancel_order",
            "it belongs to the toolkit desk_orders. An agent that has that calls it, after a person's approval",
        ),
        ("nothing", "Tool 'nothing' not found."),
    ] {
        let output = cli.run(&["tools", "execute", slug]);
        assert_eq!(output.status.code(), Some(NOT_FOUND), "{slug}");
        assert!(words(&output).1.contains(why), "{:?}", words(&output));
    }
}

#[test]
fn a_usage_line_shows_no_flag_that_was_not_typed() {
    let cli = Cli::new();
    let told = words(&cli.run(&["agents", "show"])).1;
    assert!(told.contains("Usage: astudio agents show <NAME>"), "{told}");
    assert!(words(&cli.run(&["--help"])).0.contains("[env: ASTUDIO_HOME]"));
}

#[test]
fn a_reset_says_what_it_did_in_its_order() {
    let cli = desk();
    let told = words(&cli.run(&["demo", "--reset", "--no-open"])).0;
    assert!(told.find("deleted:").unwrap() < told.find("made:").unwrap(), "{told}");
}

#[test]
fn the_tokens_of_the_demo_are_shown_once_also_when_the_workbench_made_it() {
    let cli = Cli::new();
    let mut screen = cli.screen(80, 24);
    screen
        .see("A workbench for LLM agents")
        .key("d")
        .see("The demo world is made")
        .see("Nothing was said yet.")
        .key("ctrl-q");
    assert!(screen.ends().success());
    let first = words(&cli.run(&["demo", "--no-open"]));
    assert!(first.0.contains("shown once:") && first.0.contains("  ben   tsf_"), "{first:?}");
    let (said, beside) = words(&cli.run(&["demo", "--no-open"]));
    assert!(!said.contains("tsf_") && beside.contains("were shown when they were made"), "{said}{beside}");
    assert!(beside.contains(" tokens create NAME`"), "{beside}");
}
