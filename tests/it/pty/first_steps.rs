//! The first minutes: an empty home, a model server found on this machine, an agent on it, and a chat.

use super::screen::Screen;
use crate::binary::until;
use crate::place::Cli;
use fakes::{Answer, Fake, Protocol};

#[test]
fn the_demo_is_one_key_away() {
    let cli = Cli::new();
    let home = cli.home();
    let mut screen = Screen::open(&home, 80, 24);
    screen
        .see("A workbench for LLM agents")
        .see("No model was found")
        .key("d")
        .see("The demo world is made")
        .see("Tab transcript");
    screen.say("show open orders").see("desk_list_orders").see("· tokens");
    screen.key("ctrl-q");
    assert!(screen.ends().success());
    screen.is_given_back();
}

#[test]
fn a_model_on_this_machine_is_found_and_talked_to() {
    let fake = Fake::answering(Protocol::OpenAi, |request| Answer::text(&format!("You said: {}", request.user_text())));
    let cli = Cli::new();
    let home = cli.home();
    std::fs::create_dir_all(&home).unwrap();
    let settings = format!("[providers.lab]\nbase_url = \"{}\"\n", fake.base_url());
    std::fs::write(home.join("config.toml"), settings).unwrap();
    let mut screen = Screen::open(&home, 80, 24);
    screen.see("A workbench for LLM agents").see("lab:fake-model").see(&format!("lab at {}", fake.address()));
    screen.key("enter").see("The agent lab-fake-model is made.").see("Tab transcript");
    screen.say("good morning").see("You said: good morning").see("· total");
    until("the request", || !fake.requests().is_empty());
    let last = fake.last_request();
    assert_eq!((last.body["model"].as_str(), last.user_text().as_str()), (Some("fake-model"), "good morning"));
    let made = cli.done(&["agents", "show", "lab-fake-model"]);
    assert_eq!(made["llm"], "lab:fake-model");
    // The home is no longer an empty one.
    screen.key("ctrl-q").ends();
    let mut screen = Screen::open(&home, 80, 24);
    screen.see("›lab-fake-model");
}
