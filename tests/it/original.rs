//! The built binary on a Python Agent Studio: commands and the workbench, what works there and what it says of the rest.

use crate::place::{Cli, words};
use crate::pty::screen::Opening;
use fakes::original::{AUTHOR, Original, PASSWORD, SLOWLY, SUPERUSER, VIEWER};
use serde_json::json;

/// Exit codes as documented.
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const REFUSED: i32 = 4;
const NOT_FOUND: i32 = 5;
const CONFLICT: i32 = 6;

fn person(server: &Original, token: &str) -> Cli {
    Cli::visiting(&server.url(), token)
}

/// Three agents of the author's.
fn with_agents(server: &Original) -> Cli {
    let cli = person(server, AUTHOR);
    for (name, llm) in [("alpha", "echo:small"), ("beta", "echo:large"), ("gamma", "broken:model")] {
        cli.done(&["agents", "create", name, "--llm", llm, "--description", &format!("About {name}.")]);
    }
    cli
}

#[test]
fn the_life_of_an_agent() {
    let server = Original::start();
    let cli = with_agents(&server);
    let me = cli.done(&["me"]);
    assert_eq!((&me["user_id"], &me["tenant"], &me["may_author"]), (&json!("u1"), &json!("acme"), &json!(true)));

    let names = |args: &[&str]| -> Vec<String> {
        let list = cli.done(&[&["agents", "list"], args].concat());
        list["agents"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[]), ["alpha", "beta", "gamma"]);
    assert_eq!(names(&["--sort", "-name"]), ["gamma", "beta", "alpha"]);
    assert_eq!(names(&["llm:echo", "--sort", "-name"]), ["beta", "alpha"]);
    assert_eq!(names(&["owner:me", "--limit", "2"]), ["alpha", "beta"]);
    let (table, _) = words(&cli.run(&["agents", "list"]));
    assert!(table.starts_with("NAME") && table.contains("echo:large"), "{table}");
    cli.fails(&["agents", "list", "--sort", "nonsense"], USAGE, "invalid_request");

    let edited = cli.done(&["agents", "edit", "alpha", "--description", "Other words.", "--expected-version", "1"]);
    assert_eq!((&edited["version"], &edited["description"]), (&json!(2), &json!("Other words.")));
    cli.done(&["agents", "edit", "alpha", "--prompt", "Be short.", "--temperature", "0.5"]);
    let shown = cli.done(&["agents", "show", "alpha"]);
    assert_eq!(
        (&shown["version"], &shown["definition"]["system_prompt"], &shown["definition"]["model_params"]["temperature"]),
        (&json!(3), &json!("Be short."), &json!(0.5))
    );
    let stale = cli.run(&["agents", "edit", "alpha", "--description", "x", "--expected-version", "1"]);
    let (_, told) = words(&stale);
    assert!(
        stale.status.code() == Some(CONFLICT) && told.contains('3') && told.contains("--expected-version"),
        "{told}"
    );
    cli.fails(&["agents", "delete", "alpha", "--expected-version", "1"], CONFLICT, "version_conflict");
    cli.fails(&["agents", "create", "alpha"], CONFLICT, "name_taken");
    cli.fails(&["agents", "edit", "alpha", "--temperature", "9"], USAGE, "invalid_config");
    let told = words(&cli.run(&["agents", "edit", "alpha", "--clear", "prompt"]));
    assert!(told.1.contains("'system_prompt' cannot be cleared there"), "{told:?}");

    // Others see what is shared, and change nothing.
    let viewer = person(&server, VIEWER);
    viewer.fails(&["agents", "show", "alpha"], NOT_FOUND, "not_found");
    assert_eq!(cli.done(&["agents", "visibility", "alpha", "tenant"])["visibility"], "tenant");
    assert_eq!(viewer.done(&["agents", "show", "alpha"])["can_manage"], false);
    viewer.fails(&["agents", "edit", "alpha", "--description", "x"], REFUSED, "not_manageable");
    viewer.fails(&["agents", "create", "mine"], REFUSED, "authoring_denied");
    cli.fails(&["agents", "visibility", "alpha", "groups"], USAGE, "groups_required");
    let shared = cli.done(&["agents", "visibility", "alpha", "groups", "--group", "g1"]);
    assert_eq!(shared["allowed_groups"], json!(["g1"]));
    assert_eq!(person(&server, SUPERUSER).done(&["agents", "show", "alpha"])["access"], "admin");
    assert_eq!(cli.done(&["agents", "reload", "alpha"])["reloaded"], true);

    assert_eq!(cli.done(&["agents", "delete", "alpha"])["deleted"], true);
    cli.fails(&["agents", "show", "alpha"], NOT_FOUND, "not_found");
    assert!(!cli.nowhere().exists(), "a home is made by commands on a server");
}

#[test]
fn asking_and_keys() {
    let server = Original::start();
    let cli = with_agents(&server);
    let answer = cli.done(&["ask", "alpha", "hello"]);
    assert_eq!((&answer["response"], &answer["status"]), (&json!("echo[0]: hello"), &json!("done")), "{answer}");
    let asked = cli.run(&["ask", "alpha", "again"]);
    assert_eq!((asked.status.code(), words(&asked).0.trim()), (Some(0), "echo[2]: again"), "{asked:?}");
    assert_eq!(server.seen().iter().filter(|seen| seen.path.ends_with("/ask")).count(), 2, "each was sent once");
    assert_eq!(cli.done(&["sessions", "end", "alpha"])["agent_name"], "alpha");
    assert_eq!(cli.done(&["ask", "alpha", "anew"])["response"], "echo[0]: anew");
    let broken = cli.run(&["ask", "gamma", "hello"]);
    assert_eq!(broken.status.code(), Some(FAILED));
    assert!(words(&broken).1.contains("The model could not answer: overloaded."), "{broken:?}");
    cli.fails(&["ask", "nobody", "hello"], NOT_FOUND, "not_found");

    let secret = "sk-test-0123456789abcdef";
    let stored = cli.fed(&["keys", "set", "anthropic"], &format!("{secret}\n"));
    assert_eq!(stored.status.code(), Some(0), "{stored:?}");
    let list = cli.done(&["keys", "list"]);
    assert_eq!((&list["count"], &list["keys"][0]["masked"]), (&json!(1), &json!("sk-…cdef")));
    let unknown = cli.fed(&["keys", "set", "nonsense"], &format!("{secret}\n"));
    assert_eq!(unknown.status.code(), Some(USAGE));
    assert!(words(&unknown).1.contains("Unsupported provider"), "{unknown:?}");
    for output in [&stored, &unknown] {
        assert!(!words(output).0.contains(secret) && !words(output).1.contains(secret), "{output:?}");
    }
    assert_eq!(cli.done(&["keys", "delete", "anthropic"])["deleted"], true);
    assert_eq!(cli.done(&["keys", "list"])["count"], 0);
    assert_eq!(
        cli.done(&["tools", "execute", "hx_echo", "--args", r#"{"text":"ho","times":2}"#])["result"]["echo"],
        "hoho"
    );
    assert!(words(&cli.run(&["tools", "list"])).0.contains("hx_ledger"));
    assert!(cli.done(&["catalog", "llm-clients"]).to_string().contains("echo"));
}

#[test]
fn signing_in_by_a_token_and_by_a_profile() {
    let server = Original::start();
    person(&server, "token-of-nobody").fails(&["me"], REFUSED, "unauthorized");
    person(&server, "").fails(&["me"], REFUSED, "unauthorized");

    let cli = Cli::new();
    std::fs::create_dir_all(cli.home()).unwrap();
    let (url, login) = (server.url(), server.login_url());
    let profile =
        format!("[profiles.py]\nserver = '{url}'\nlogin_url = '{login}'\nuser = 'u1'\npassword_env = 'PY_PASSWORD'\n");
    std::fs::write(cli.home().join("config.toml"), profile).unwrap();
    let run = |password: &str| {
        let mut command = cli.command(&["me", "--profile", "py", "--json"]);
        command.env("PY_PASSWORD", password).output().unwrap()
    };
    let signed = run(PASSWORD);
    assert_eq!(signed.status.code(), Some(0), "{signed:?}");
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&signed.stdout).unwrap()["user_id"], "u1");
    let wrong = run("guessed");
    assert_eq!(wrong.status.code(), Some(REFUSED), "{wrong:?}");
    let told = words(&wrong).0 + &words(&wrong).1;
    assert!(told.contains("unauthorized") && !told.contains("guessed"), "{told}");
    let home = cli.home();
    let opening = Opening::new(&home, 100, 30).env("ASTUDIO_PROFILE", "py").env("PY_PASSWORD", PASSWORD);
    opening.open().see("acme · u1").see("There are no agents here that you can see.");
    let stranger = person(&server, "token-of-nobody");
    stranger.screen(100, 30).see("The server does not know you. Sign in again. F5 tries again.");
    let unset = cli.run(&["me", "--profile", "py"]);
    assert_eq!(unset.status.code(), Some(USAGE));
    assert!(words(&unset).1.contains("PY_PASSWORD"), "{unset:?}");
}

#[test]
fn what_is_said_wins_and_a_password_is_asked_for_when_it_is_needed() {
    let server = Original::start();
    let cli = Cli::new();
    std::fs::create_dir_all(cli.home()).unwrap();
    let (url, login) = (server.url(), server.login_url());
    let profiles = format!(
        "[profiles.py]\nserver = '{url}'\nlogin_url = '{login}'\nuser = 'u1'\n\
         [profiles.token]\nserver = '{url}'\ntoken_env = 'PY_TOKEN'\n"
    );
    std::fs::write(cli.home().join("config.toml"), profiles).unwrap();
    let run = |args: &[&str], envs: &[(&str, &str)]| {
        let output = cli.command(args).envs(envs.iter().copied()).output().unwrap();
        (output.status.code(), words(&output))
    };
    // What needs no server refuses or answers without a question.
    for args in [&["doctor"][..], &["serve"], &["migrate", "plan"], &["audit", "seal"], &["demo"]] {
        let (code, (_, told)) = run(&[args, &["--profile", "py"]].concat(), &[]);
        assert!(code == Some(USAGE) && told.contains("where the home is"), "{args:?}: {told}");
    }
    for args in [&["completions", "bash"][..], &["api"], &["man"]] {
        assert_eq!(run(&[args, &["--profile", "py"]].concat(), &[]).0, Some(0), "{args:?}");
    }
    let (code, (_, told)) = run(&["me", "--profile", "py"], &[]);
    assert!(code == Some(USAGE) && told.contains("no terminal to ask for the password"), "{told}");
    assert!(server.seen().is_empty(), "{:?}", server.seen());

    let who = |args: &[&str], envs: &[(&str, &str)]| {
        let (code, (said, told)) = run(&[&["me", "--json"], args].concat(), envs);
        assert_eq!(code, Some(0), "{args:?} {envs:?}: {said}{told}");
        let me: serde_json::Value = serde_json::from_str(&said).unwrap();
        me["user_id"].as_str().unwrap().to_owned()
    };
    let (author, viewer) = (("ASTUDIO_TOKEN", AUTHOR), ("PY_TOKEN", VIEWER));
    let of = |token: &str| who(&["--server", &url, "--token", token], &[]);
    let (u1, other, root) = (of(AUTHOR), of(VIEWER), of(SUPERUSER));
    assert!(u1 != other && other != root, "{u1} {other} {root}");
    assert_eq!(who(&["--profile", "token"], &[viewer]), other);
    assert_eq!(
        who(&["--profile", "token"], &[viewer, author]),
        other,
        "an exported token is not sent to a profile's server"
    );
    assert_eq!(who(&["--profile", "py", "--token", AUTHOR], &[]), u1, "and no password is asked for");
    assert_eq!(who(&["--profile", "token", "--token", SUPERUSER], &[viewer, author]), root, "what is typed wins");
    // The workbench asks before the screen is its own, and shows nothing of what is typed.
    let home = cli.home();
    let mut screen = Opening::new(&home, 100, 30).env("ASTUDIO_PROFILE", "py").open();
    screen.see("Password of u1:").type_text(PASSWORD).key("enter").see("acme · u1");
    assert!(!screen.screen().contains(PASSWORD), "{}", screen.screen());
    screen.key("ctrl-q");
    assert!(screen.ends().success());
    // A token without a server is a mistake; a variable that stands there for other calls is none where a home is named.
    let (code, (_, told)) = run(&["me", "--token", AUTHOR], &[]);
    assert!(code == Some(USAGE) && told.contains("--server") && !told.contains(AUTHOR), "{told}");
    assert_eq!(run(&["me"], &[author]).0, Some(0));
}

#[test]
fn what_it_lacks_is_said_in_words() {
    let server = Original::start();
    let cli = with_agents(&server);
    for (args, part) in [
        (&["sessions", "list", "alpha"][..], "one unnamed test session for each agent"),
        (&["sessions", "show", "alpha", "s"], "keeps no transcripts"),
        (&["ask", "alpha", "hello", "--session", "s"], "no names for them"),
        (&["ask", "alpha", "hello", "--model", "echo:large"], "its own model only"),
        (&["ask", "--resume", "s", "--agent", "alpha"], "keeps no transcripts"),
        (&["turns", "show", "0190a0a0-0000-7000-8000-000000000000"], "keeps no turns"),
        (&["turns", "interrupt", "0190a0a0-0000-7000-8000-000000000000"], "cannot be stopped there"),
        (&["approvals", "list"], "over its own web page only"),
        (&["approvals", "withdraw", "i-1"], "cannot be taken back"),
        (&["tenants", "list"], "kept by the program around it"),
        (&["users", "create", "bob"], "kept by the program around it"),
        (&["members", "list"], "kept by the program around it"),
        (&["tokens", "list"], "kept by the program around it"),
        (&["audit", "list"], "it keeps no journal"),
        (&["audit", "verify"], "it keeps no journal"),
    ] {
        let output = cli.run(args);
        let (_, told) = words(&output);
        assert_eq!(output.status.code(), Some(FAILED), "{args:?}: {told}");
        assert!(told.contains("a Python Agent Studio, cannot do this") && told.contains(part), "{args:?}: {told}");
        cli.fails(args, FAILED, "unavailable");
    }
    // A question whose id is known can be answered all the same.
    server.asks_a_person("i-1");
    let decided = cli.done(&["approvals", "approve", "i-1"]);
    assert_eq!((&decided["status"], server.answer_of("i-1")), (&json!("approved"), Some(json!(true))), "{decided}");
    cli.fails(&["approvals", "approve", "i-2"], NOT_FOUND, "not_found");
}

#[test]
fn the_workbench_lists_and_edits_agents() {
    let server = Original::start();
    let cli = with_agents(&server);
    let shown = |name: &str| cli.done(&["agents", "show", name]);
    let mut screen = cli.screen(100, 30);
    screen
        .see("acme · u1")
        .see("›alpha")
        .see("echo:large")
        .key("/")
        .see("Esc close")
        .type_text("llm:broken")
        .not("alpha");
    screen.key("ctrl-u").see(" alpha").key("esc").not("Esc close").key("s").see("UPDATED ↓");
    screen.key("space").see("gamma").key("space");

    screen.key("end").see("›alpha").key("e").see("alpha · version 1").see("nothing changed").key("ctrl-u");
    // A text cannot be emptied there, which is said, and the form stays as it is.
    screen.see("● 1 field changed").key("ctrl-s").see("cannot be cleared there").see("● 1 field changed");
    screen.type_text("my words").see("my words").key("ctrl-s").see("alpha · version 2").see("nothing changed");
    assert_eq!(shown("alpha")["description"], "my words");

    // Saved into somebody else's change.
    screen.key("ctrl-u").type_text("my own").see("● 1 field changed");
    cli.done(&["agents", "edit", "alpha", "--description", "their words"]);
    screen.key("ctrl-s").see("Somebody saved version 3 meanwhile.").see("their words");
    screen.key("ctrl-g").see("✓ mine").key("ctrl-s").see("alpha · version 4").see("nothing changed");
    assert_eq!(shown("alpha")["description"], "my own");

    screen.key("esc").see("NAME").key("n").see("New agent").type_text("Bright Idea").see("Bright Idea");
    screen
        .key("tab tab")
        .type_text("echo:small")
        .see("● 2 fields changed")
        .key("ctrl-s")
        .see("bright-idea · version 1");
    assert_eq!(shown("bright-idea")["llm"], "echo:small");
    screen
        .key("esc")
        .see("NAME")
        .key("/")
        .see("Esc close")
        .type_text("bright")
        .see("›bright-idea")
        .key("enter")
        .see("1 shown");
    screen.key("d").see("goes for good").type_text("bright-idea").see("type bright-idea: bright-idea").key("enter");
    screen.not("goes for good").see("No agent fits the filter.");
    cli.fails(&["agents", "show", "bright-idea"], NOT_FOUND, "not_found");
    screen.key("ctrl-q");
    assert!(screen.ends().success());
    screen.is_given_back();
}

#[test]
fn the_workbench_chats() {
    let server = Original::start();
    let cli = with_agents(&server);
    let mut screen = cli.screen(100, 30);
    screen.chat("beta").see("keeps no transcripts").see("is not shown.");
    screen.say("hello").see("echo[0]: hello").say("and again").see("echo[2]: and again");
    // Gone and come back, what was said stands there.
    screen
        .key("alt-1")
        .see("NAME")
        .key("alt-2")
        .see("ID`.")
        .key("alt-1")
        .see("NAME")
        .key("c")
        .see("echo[2]: and again");
    screen.key("tab").see("Tab write").key("s").see("lists none.").key("esc").not("lists none.").key("tab");
    screen.key("esc").see("NAME").key("/").see("Esc close").key("ctrl-u").type_text("gamma").see("›gamma").key("enter");
    screen.key("c").see("keeps no transcripts").say("hello").see("The model could not answer: overloaded.");
    screen.see("› hello").key("ctrl-q");
    assert!(screen.ends().success());
    assert_eq!(server.seen().iter().filter(|seen| seen.path.ends_with("/ask")).count(), 3, "each was sent once");
}

#[test]
fn a_question_that_was_sent_cannot_be_stopped_and_is_answered() {
    let server = Original::start();
    let cli = with_agents(&server);
    let mut screen = cli.screen(100, 30);
    screen.chat("beta").see("keeps no transcripts").say(SLOWLY).see("working").key("esc").see("stopping");
    // What is written meanwhile waits for the answer.
    screen.say("more").see("queued: more").see("echo[0]: think slowly").see("could not be stopped");
    screen.see("echo[2]: more").say("and more").see("echo[4]: and more").key("ctrl-q");
    assert!(screen.ends().success());
}

#[test]
fn every_place_of_the_workbench_works_or_says_what_is_lacking() {
    let server = Original::start();
    let cli = with_agents(&server);
    let mut screen = cli.screen(100, 30);
    screen.see("NAME");
    for (key, part) in [
        ("alt-2", "over its own web page only"),
        ("a", "over its own web page only"),
        ("f5", "over its own web page only"),
        ("alt-4", "it keeps no journal."),
        ("v", "it keeps no journal."),
        ("o", "There are no older entries."),
        ("alt-5", "the workbench begins"),
        ("alt-6", "profile  127.0.0.1:"),
        ("alt-0", "All stays on the server"),
        ("d", "The demo world is made in a home on this machine"),
        ("alt-3", "You have stored no provider keys."),
    ] {
        screen.key(key).see(part);
        assert!(!screen.screen().to_lowercase().contains("internal"), "{key}: {}", screen.screen());
    }
    screen
        .key("n")
        .see("Key for which provider?")
        .see("echo")
        .key("enter")
        .see("The key for echo.")
        .type_text("sk-test-0123456789");
    screen.key("enter").see("sk-…6789").key("d").see("Delete your key for echo").key("enter").see("You have stored no");
    screen.key("ctrl-q");
    assert!(screen.ends().success());
}
