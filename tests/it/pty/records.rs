//! An agent from its making to its end: created, edited, saved into a conflict with somebody else, and deleted.

use crate::binary::Desk;
use crate::place::{Where, everywhere};
use serde_json::{Value, json};

everywhere! { an_agent_is_created_edited_and_deleted, what_is_refused_stays_in_the_form, a_conflict_is_settled_field_by_field, changes_of_other_fields_are_no_conflict }

fn agent(desk: &Desk, name: &str) -> Value {
    desk.done(&["agents", "show", name])
}

fn an_agent_is_created_edited_and_deleted(place: Where) {
    let desk = Desk::on(place);
    let mut screen = desk.screen(110, 30);
    screen.see("›chaos").key("n").see("New agent").see("nothing changed");
    screen.type_text("Bright Idea").see("Bright Idea").key("tab").type_text("Has one.").key("tab");
    screen.type_text("rehearsal:greeter").see("● 3 fields changed").key("ctrl-s").see("bright-idea · version 1");
    screen.see("nothing changed");
    let made = agent(&desk, "bright-idea");
    assert_eq!((&made["description"], &made["llm"]), (&json!("Has one."), &json!("rehearsal:greeter")));

    // A save of nothing makes no version; a save of something makes one.
    screen.key("ctrl-s").pause(300).see("bright-idea · version 1");
    screen.type_text(" Or two.").see("● 1 field changed").key("ctrl-s").see("bright-idea · version 2");
    assert_eq!(agent(&desk, "bright-idea")["description"], "Has one. Or two.");

    screen
        .key("esc")
        .see("NAME ↑")
        .key("up")
        .see("›bright-idea")
        // It is deleted as what the list says it is.
        .see("v2 ")
        .key("d")
        .see("goes for good")
        .type_text("bright-idea");
    screen.see("type bright-idea: bright-idea").key("enter").not("goes for good").not("›bright-idea");
    desk.ends(&["agents", "show", "bright-idea"], 5);
}

fn what_is_refused_stays_in_the_form(place: Where) {
    let desk = Desk::on(place);
    let mut screen = desk.screen(80, 24);
    screen.see("›chaos").key("n").see("New agent").type_text("greeter").key("tab tab").type_text("rehearsal:greeter");
    screen.see("● 2 fields changed").key("ctrl-s").see("Name 'greeter' is not available.");
    screen.see("● 2 fields changed").see("rehearsal:greeter");
}

fn a_conflict_is_settled_field_by_field(place: Where) {
    let desk = Desk::on(place);
    let mut screen = desk.screen(120, 40);
    screen.see("›chaos").key("e").see("chaos · version 1");
    let before = agent(&desk, "chaos");
    screen.see("nothing changed").key("ctrl-u").type_text("my words").see("my words");
    screen.key("tab tab").see("category").key("ctrl-u").type_text("mine").see("● 2 fields changed");

    // Somebody else changes the same two fields, and a third one.
    let theirs = json!({ "description": "their words", "category": "theirs", "system_prompt": "their prompt" });
    desk.done(&["api", "call", "agents.patch", "--path", "name=chaos", "--json-body", &theirs.to_string()]);
    screen.key("ctrl-s").see("Somebody saved version 2 meanwhile.").see("? not decided");
    for text in ["mine", "theirs", "before", "my words", "their words", before["description"].as_str().unwrap()] {
        screen.see(&text.chars().take(24).collect::<String>());
    }
    assert_eq!(agent(&desk, "chaos")["description"], "their words", "nothing is overwritten");
    // It is not saved before each field is decided.
    screen.key("ctrl-s").pause(300).see("? not decided");
    screen.key("ctrl-g").see("✓ mine").see("? not decided").key("ctrl-r").see("✓ theirs").not("? not decided");
    screen.key("ctrl-s").see("chaos · version 3").see("nothing changed");
    let after = agent(&desk, "chaos");
    assert_eq!((&after["description"], &after["category"]), (&json!("my words"), &json!("theirs")));
    assert_eq!(after["definition"]["system_prompt"], "their prompt");
}

fn changes_of_other_fields_are_no_conflict(place: Where) {
    let desk = Desk::on(place);
    let mut screen = desk.screen(80, 24);
    screen.see("›chaos").key("e").see("chaos · version 1").key("ctrl-u").type_text("mine").see("● 1 field changed");
    let theirs = json!({ "system_prompt": "their prompt" }).to_string();
    desk.done(&["api", "call", "agents.patch", "--path", "name=chaos", "--json-body", &theirs]);
    screen.key("ctrl-s").see("they are taken over. Save again").key("ctrl-s").until("the saved form", |screen| {
        let screen = screen.contents();
        screen.contains("version 3") && screen.contains("nothing changed")
    });
    let after = agent(&desk, "chaos");
    assert_eq!(
        (&after["description"], &after["definition"]["system_prompt"]),
        (&json!("mine"), &json!("their prompt"))
    );
}
