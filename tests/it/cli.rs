//! The command line, as scripts and people use it: the built binary over a home of its own.

use crate::place::{Cli, Where, everywhere, words};
use astudio::app::{Kind, Settings};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;

/// Exit codes as documented.
pub const DONE: i32 = 0;
pub const FAILED: i32 = 1;
pub const USAGE: i32 = 2;
pub const WAITING: i32 = 3;
pub const REFUSED: i32 = 4;
pub const NOT_FOUND: i32 = 5;
pub const CONFLICT: i32 = 6;

everywhere! {
    the_life_of_an_agent,
    records_cannot_steer_the_terminal,
    people_and_speaking_for_others,
    keys_come_from_stdin_or_a_variable_and_are_never_shown,
    tokens_show_their_secret_once,
    tools_and_catalogues,
    the_operations_are_listed_and_called_by_id,
}

#[test]
fn without_a_command_it_says_what_to_try_and_makes_nothing() {
    let cli = Cli::new();
    let output = cli.run(&[]);
    assert_eq!(output.status.code(), Some(DONE));
    assert!(words(&output).0.contains("astudio ask"));
    assert!(cli.done(&[])["help"].as_str().unwrap().contains("astudio doctor"));
    assert!(!cli.home().exists());
}

#[test]
fn pages_are_made_without_a_home() {
    let cli = Cli::new();
    let page = words(&cli.run(&["docs", "keys"])).0;
    assert!(page.starts_with("# Keys") && page.contains("`Ctrl-Q`"), "{page}");
    let man = words(&cli.run(&["man"])).0;
    assert!(man.contains(".TH astudio 1") && man.contains("astudio approvals approve"), "{man}");
    assert_eq!(cli.done(&["man"])["man"], man);
    assert!(!cli.home().exists());
}

#[test]
fn a_fresh_home_belongs_to_its_one_person() {
    use std::os::unix::fs::PermissionsExt as _;
    let cli = Cli::new();
    let me = cli.done(&["me"]);
    assert_eq!(me["user_id"], "ann-example");
    assert_eq!(me["tenant"], "local");
    assert_eq!((&me["may_author"], &me["may_administer"], &me["enabled"]), (&json!(true), &json!(true), &json!(true)));
    assert_eq!(me.as_object().unwrap().len(), 6);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&cli.home()), 0o700);
    assert_eq!(mode(&cli.home().join("vault.key")), 0o600);
    // Who the person is stays, whoever the system says they are later.
    let output = cli.command(&["me", "--json"]).env("USER", "other").output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["user_id"], "ann-example");
}

#[test]
fn without_a_name_the_person_is_me() {
    let cli = Cli::new();
    let output = cli.command(&["me", "--json"]).env_remove("USER").output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["user_id"], "me");
}

#[test]
fn faults_of_the_command_line_are_usage_errors() {
    let cli = Cli::new();
    for args in [
        &["nothing"][..],
        &["agents"],
        &["agents", "show"],
        &["me", "--nope"],
        &["ask"],
        &["ask", "a"],
        &["approvals", "list", "--status", "odd"],
    ] {
        let output = cli.run(args);
        assert_eq!(output.status.code(), Some(USAGE), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        let (code, value) = cli.json(args);
        assert_eq!((code, value["code"].as_str()), (USAGE, Some("invalid_request")), "{args:?}");
        assert!(!value["message"].as_str().unwrap().contains('\u{1b}'), "{value}");
    }
    assert!(!cli.home().exists());
    cli.fails(&["agents", "edit", "a"], USAGE, "invalid_request");
    cli.fails(&["tools", "execute", "x", "--args", "[1]"], USAGE, "invalid_request");
    cli.fails(&["--as", "@x", "me"], USAGE, "invalid_request");
    for help in [&["--help"][..], &["--version"], &["ask", "--help"], &["help", "agents"]] {
        assert_eq!(cli.run(help).status.code(), Some(DONE), "{help:?}");
    }
}

#[test]
fn settings_faults_name_the_place() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.home()).unwrap();
    std::fs::write(cli.home().join("config.toml"), "[turn]\nstepz = 3\n").unwrap();
    let (code, value) = cli.json(&["me"]);
    assert_eq!((code, value["code"].as_str()), (USAGE, Some("invalid_config")));
    let message = value["message"].as_str().unwrap();
    for part in ["config.toml", "line 2", "`stepz`"] {
        assert!(message.contains(part), "{message}");
    }
    std::fs::remove_file(cli.home().join("config.toml")).unwrap();
    cli.fails(&["me", "--config", "/nonexistent/x.toml"], USAGE, "invalid_config");
    cli.fails(&["me", "--set", "turn.nothing=1"], USAGE, "invalid_config");
    let output = cli.command(&["me"]).env("ASTUDIO_TURN_STEPS", "many").output().unwrap();
    assert_eq!(output.status.code(), Some(USAGE));
    assert!(words(&output).1.starts_with("error: "));
}

fn the_life_of_an_agent(place: Where) {
    let cli = Cli::on(place);
    let prompt = cli.folder().join("prompt.txt");
    std::fs::write(&prompt, "Be short.\n").unwrap();
    let made = cli.done(&[
        "agents",
        "create",
        "My Desk!",
        "--llm",
        "rehearsal:greeter",
        "--prompt",
        &format!("@{}", prompt.display()),
        "--description",
        "greets",
        "--category",
        "demo",
        "--temperature",
        "0.5",
    ]);
    assert_eq!((made["name"].as_str(), made["version"].as_i64()), (Some("my-desk"), Some(1)));
    let shown = cli.done(&["agents", "show", "my-desk"]);
    assert_eq!(shown["definition"]["system_prompt"], "Be short.\n");
    assert_eq!(shown["definition"]["model_params"]["temperature"], 0.5);
    let list = cli.done(&["agents", "list"]);
    assert_eq!(list["count"], 1);

    let edited = cli.done(&[
        "agents",
        "edit",
        "my-desk",
        "--clear",
        "prompt",
        "--description",
        "says hello",
        "--expected-version",
        "1",
    ]);
    assert_eq!((edited["version"].as_i64(), edited["description"].as_str()), (Some(2), Some("says hello")));
    cli.fails(&["agents", "edit", "my-desk", "--llm", "x:y", "--expected-version", "1"], CONFLICT, "version_conflict");
    cli.fails(&["agents", "create", "my-desk"], CONFLICT, "name_taken");
    cli.fails(&["agents", "show", "nobody"], NOT_FOUND, "not_found");
    cli.fails(&["agents", "visibility", "my-desk", "groups"], USAGE, "groups_required");
    assert_eq!(cli.done(&["agents", "visibility", "my-desk", "tenant"])["visibility"], "tenant");
    assert_eq!(cli.done(&["agents", "reload", "my-desk"])["reloaded"], true);

    let (table, _) = words(&cli.run(&["agents", "list"]));
    assert!(table.starts_with("NAME") && table.contains("my-desk"), "{table}");
    assert!(!table.contains('\u{1b}'), "colour without a terminal: {table:?}");
    assert_eq!(cli.done(&["agents", "delete", "my-desk"])["deleted"], true);
    cli.fails(&["agents", "delete", "my-desk"], NOT_FOUND, "not_found");
}

fn records_cannot_steer_the_terminal(place: Where) {
    let cli = Cli::on(place);
    let text = "red \u{1b}[31m and \u{202e}back\u{9b}2J";
    cli.done(&["agents", "create", "evil", "--llm", "rehearsal:greeter", "--description", text]);
    let (shown, _) = words(&cli.run(&["agents", "show", "evil"]));
    let output = cli.run(&["agents", "show", "evil", "--json"]);
    let (as_json, _) = words(&output);
    for c in ['\u{1b}', '\u{202e}', '\u{9b}'] {
        assert!(!shown.contains(c) && !as_json.contains(c), "{shown}{as_json}");
    }
    assert_eq!(serde_json::from_str::<Value>(&as_json).unwrap()["description"], text);
}

fn people_and_speaking_for_others(place: Where) {
    let cli = Cli::on(place);
    cli.done(&["users", "create", "bob", "--email", "bob@example.com"]);
    assert_eq!(cli.done(&["users", "edit", "bob", "--no-email"])["email"], Value::Null);
    assert_eq!(cli.done(&["--as", "bob", "me"])["may_author"], false);
    cli.fails(&["--as", "bob", "agents", "create", "x"], REFUSED, "authoring_denied");
    cli.fails(&["--as", "bob", "users", "list"], REFUSED, "admin_required");
    assert_eq!(cli.done(&["members", "set", "bob", "--role", "builder", "--group", "desk"])["role"], "Builder");
    let me = cli.done(&["--as", "bob@local", "me"]);
    assert_eq!((me["user_id"].as_str(), me["may_author"].as_bool()), (Some("bob"), Some(true)));
    assert_eq!(cli.done(&["members", "show", "bob"])["groups"], json!(["desk"]));
    cli.fails(&["--as", "ghost", "agents", "list"], REFUSED, "unauthorized");
    cli.fails(&["--as", "bob@elsewhere", "agents", "list"], REFUSED, "unauthorized");
    cli.done(&["members", "remove", "bob"]);
    cli.fails(&["--as", "bob", "agents", "list"], REFUSED, "unauthorized");

    cli.done(&["tenants", "create", "acme", "--name", "Acme"]);
    assert_eq!(cli.done(&["tenants", "edit", "acme", "--approvals", "admins"])["approvals"], "admins");
    assert_eq!(cli.done(&["tenants", "list"])["count"], 2);
    assert_eq!(cli.done(&["tenants", "show", "acme"])["name"], "Acme");
}

#[test]
fn the_environment_can_speak_for_others() {
    let cli = Cli::new();
    cli.done(&["users", "create", "bob"]);
    let output = cli.command(&["me", "--json"]).env("ASTUDIO_AS", "bob").output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["user_id"], "bob");
}

fn keys_come_from_stdin_or_a_variable_and_are_never_shown(place: Where) {
    let cli = Cli::on(place);
    let secret = "sk-test-0123456789abcdef";
    let output = cli.fed(&["keys", "set", "openai", "--json"], &format!("{secret}\n"));
    assert_eq!(output.status.code(), Some(DONE), "{}", words(&output).0);
    let (out, err) = words(&output);
    assert!(!out.contains(secret) && !err.contains(secret));
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["masked"], "sk-…cdef");
    let output = cli.command(&["keys", "set", "anthropic", "--env", "MY_KEY"]).env("MY_KEY", secret).output().unwrap();
    assert_eq!(output.status.code(), Some(DONE));
    let list = cli.done(&["keys", "list"]);
    assert_eq!(list["count"], 2);
    assert!(!list.to_string().contains(secret));
    cli.fails(&["keys", "set", "openai", "--env", "NOT_SET"], USAGE, "invalid_request");
    assert_eq!(cli.fed(&["keys", "set", "openai"], "  \n").status.code(), Some(USAGE));
    assert_eq!(cli.done(&["keys", "delete", "openai"])["deleted"], true);
    assert_eq!(cli.done(&["keys", "list"])["count"], 1);
}

fn tokens_show_their_secret_once(place: Where) {
    let cli = Cli::on(place);
    let token = cli.done(&["tokens", "create", "laptop", "--scope", "run", "--days", "7"]);
    let secret = token["secret"].as_str().unwrap().to_owned();
    for args in [&["tokens", "list"][..], &["tokens", "list", "--all"]] {
        let list = cli.done(args);
        let tokens = list["tokens"].as_array().unwrap();
        assert_eq!(tokens.iter().filter(|token| token["name"] == "laptop").count(), 1, "{list}");
        assert!(!list.to_string().contains(&secret));
    }
    let id = token["id"].as_str().unwrap();
    assert_eq!(cli.done(&["tokens", "revoke", id])["revoked"], true);
    cli.fails(&["tokens", "revoke", "00000000-0000-4000-8000-000000000000", "--all"], NOT_FOUND, "not_found");
}

fn tools_and_catalogues(place: Where) {
    let cli = Cli::on(place);
    let tools = cli.done(&["tools", "list"]);
    assert!(tools.to_string().contains("desk"), "{tools}");
    let (table, _) = words(&cli.run(&["tools", "list"]));
    assert!(table.starts_with("SLUG") && table.contains("desk"), "{table}");
    let clients = cli.done(&["catalog", "llm-clients"]);
    assert!(clients.to_string().contains("rehearsal"), "{clients}");
    cli.fails(&["catalog", "nonsense"], NOT_FOUND, "not_found");
    cli.fails(&["tools", "execute", "desk_nothing"], NOT_FOUND, "not_found");
}

#[test]
fn the_journal_is_kept_and_checked() {
    let cli = Cli::new();
    cli.done(&["agents", "create", "a", "--llm", "rehearsal:greeter"]);
    assert_eq!(cli.done(&["audit", "verify"])["ok"], true);
    let list = cli.done(&["audit", "list", "--limit", "10"]);
    assert!(
        list["entries"].as_array().unwrap().iter().any(|e| e["subject"].as_str().is_some_and(|s| s.contains("a"))),
        "{list}"
    );
    let root = cli.run(&["audit", "seal", "--export"]);
    assert_eq!(root.status.code(), Some(DONE));
    let file = cli.folder().join("root.json");
    std::fs::write(&file, &root.stdout).unwrap();
    let file = file.to_str().unwrap();
    cli.done(&["agents", "create", "b", "--llm", "rehearsal:greeter"]);
    assert_eq!(cli.done(&["audit", "verify", "--root", file])["ok"], true);
    // A root that another journal wrote does not fit.
    let mut other: Value = serde_json::from_slice(&root.stdout).unwrap();
    other["hash"] = json!("0".repeat(64));
    std::fs::write(file, other.to_string()).unwrap();
    let (code, report) = cli.json(&["audit", "verify", "--root", file]);
    assert_eq!((code, report["ok"].as_bool()), (FAILED, Some(false)), "{report}");
    cli.done(&["users", "create", "bob"]);
    cli.fails(&["--as", "bob", "audit", "seal"], REFUSED, "admin_required");
}

#[test]
fn the_schema_is_planned_applied_and_verified() {
    let cli = Cli::new();
    let plan = cli.done(&["migrate", "plan"]);
    assert_eq!(plan["from"], 0);
    let pending = plan["pending"].as_array().unwrap().len();
    assert!(pending > 0);
    let (_, doctor) = cli.json(&["doctor"]);
    assert!(
        doctor["checks"].as_array().unwrap().iter().any(|c| c["name"] == "schema" && c["state"] == "warn"),
        "{doctor}"
    );
    assert_eq!(cli.done(&["migrate", "apply"])["applied"].as_array().unwrap().len(), pending);
    assert_eq!(cli.done(&["migrate", "verify"])["pending"], json!([]));
    assert_eq!(cli.done(&["me"])["tenant"], "local");
}

#[test]
fn the_doctor_looks_and_changes_nothing() {
    let cli = Cli::new();
    let found = cli.done(&["doctor"]);
    assert!(!cli.home().exists());
    let check = |found: &Value, name: &str| {
        found["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|c| c["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {found}"))
            .clone()
    };
    assert!(check(&found, "policy of this home")["detail"].as_str().unwrap().starts_with("own-machine"));
    assert!(check(&found, "policy of a server")["detail"].as_str().unwrap().starts_with("deny-all"));
    let strict = cli.done(&["doctor", "--set", "host.policy=deny-all"]);
    assert!(check(&strict, "policy of this home")["detail"].as_str().unwrap().starts_with("deny-all"));

    cli.done(&["me"]);
    let secret = "sk-doctor-must-not-say";
    let output =
        cli.command(&["doctor", "--json"]).env("GROQ_API_KEY", secret).env("ASTUDIO_TRUN_STEPS", "1").output().unwrap();
    let (text, _) = words(&output);
    assert!(!text.contains(secret));
    let found: Value = serde_json::from_str(&text).unwrap();
    assert!(check(&found, "vault")["detail"].as_str().unwrap().contains("vault.key"));
    assert!(check(&found, "you")["detail"].as_str().unwrap().contains("ann-example in the tenant local, Admin"));
    assert!(check(&found, "environment")["detail"].as_str().unwrap().contains("ASTUDIO_TRUN_STEPS"));
    let provider =
        |name: &str| found["providers"].as_array().unwrap().iter().find(|p| p["provider"] == name).unwrap().clone();
    assert_eq!(provider("groq")["key_found"], "GROQ_API_KEY");
    assert_eq!(provider("openai")["key_found"], Value::Null);
    let (words, _) = words(&cli.run(&["doctor"]));
    assert!(
        words.contains("policy of this home")
            && words.contains("policy of a server")
            && words.contains("set OPENAI_API_KEY"),
        "{words}"
    );

    std::fs::write(cli.home().join("vault.key"), "broken").unwrap();
    assert_eq!(cli.json(&["doctor"]).0, FAILED);
    cli.fails(&["keys", "list"], FAILED, "vault_unavailable");
}

fn the_operations_are_listed_and_called_by_id(place: Where) {
    let cli = Cli::on(place);
    let list = cli.done(&["api"]);
    assert_eq!(list["count"], astudio::contract::ops::ALL.len());
    assert!(place == Where::Server || !cli.home().exists());
    assert_eq!(cli.done(&["api", "call", "me.get"])["tenant"], "local");
    let body = json!({ "name": "a", "llm": "rehearsal:greeter" }).to_string();
    assert_eq!(cli.done(&["api", "call", "agents.create", "--json-body", &body])["name"], "a");
    assert_eq!(cli.done(&["api", "call", "agents.list", "--query", "limit=1"])["next_cursor"], Value::Null);
    let output = cli
        .fed(&["api", "call", "agents.patch", "--path", "name=a", "--body", "-", "--json"], r#"{"description":"x"}"#);
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["description"], "x");
    cli.fails(&["api", "call", "agents.patch", "--path", "name=a", "--json-body", "{"], USAGE, "invalid_json");
    cli.fails(&["api", "call", "agents.get"], USAGE, "invalid_request");
    cli.fails(&["api", "call", "no.such"], NOT_FOUND, "route_not_found");
    cli.fails(&["api", "call", "agents.get", "--path", "a"], USAGE, "invalid_request");
    let answer = cli.done(&["api", "call", "test.ask", "--path", "name=a", "--json-body", r#"{"query":"Hello"}"#]);
    assert_eq!(answer["status"], "done");
}

#[test]
fn a_batch_answers_line_by_line() {
    let cli = Cli::new();
    cli.done(&["users", "create", "bob"]);
    let input = [
        json!({ "id": "agents.create", "body": { "name": "a", "llm": "rehearsal:greeter" } }).to_string(),
        json!({ "id": "agents.get", "path": { "name": "a" } }).to_string(),
        String::new(),
        json!({ "id": "agents.list", "query": { "limit": 5 } }).to_string(),
        json!({ "id": "agents.get", "path": { "name": "b" } }).to_string(),
        "not json".to_owned(),
        json!({ "id": "me.get", "as": "bob" }).to_string(),
        r#"{"id":"agents.patch","path":{"name":"a"},"body":{"model_params":{"max_tokens":99999999999999999999}}}"#
            .to_owned(),
        json!({ "id": "test.stream", "path": { "name": "a" }, "body": { "query": "Hello" } }).to_string(),
    ]
    .join("\n");
    let output = cli.fed(&["api", "batch"], &input);
    assert_eq!(output.status.code(), Some(DONE), "{:?}", words(&output));
    let answers: Vec<Value> = words(&output).0.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let statuses: Vec<i64> = answers.iter().map(|a| a["status"].as_i64().unwrap()).collect();
    assert_eq!(statuses, [201, 200, 200, 404, 400, 200, 400, 200]);
    assert_eq!(answers[3]["body"]["code"], "not_found");
    assert_eq!(answers[5]["body"]["user_id"], "bob");
    assert_eq!(answers[6]["body"]["code"], "invalid_json");
    let events = answers[7]["body"]["events"].as_array().unwrap();
    assert_eq!(events[0]["data"]["type"], "turn");
    assert!(events.iter().any(|e| e["data"]["entry"]["kind"] == "ended"), "{events:?}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let cli = Cli::new();
    for args in [&["api"][..], &["api", "--json"], &["me"], &["completions", "bash"], &["doctor"]] {
        let mut child = cli.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(DONE), "{args:?}");
        assert_eq!(words(&output).1, "", "{args:?}");
    }
}

#[test]
fn completions_for_every_shell() {
    let cli = Cli::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = cli.run(&["completions", shell]);
        assert_eq!(output.status.code(), Some(DONE), "{shell}");
        assert!(words(&output).0.contains("approvals"), "{shell}");
    }
    assert!(cli.done(&["completions", "fish"])["script"].as_str().unwrap().contains("complete"));
    assert_eq!(cli.run(&["completions", "csh"]).status.code(), Some(USAGE));
    assert!(!cli.home().exists());
}

#[test]
fn the_example_of_the_settings_holds_every_setting_with_its_default() {
    let example = include_str!("../../config.example.toml");
    // Prose begins with `# `, a setting with `#` alone.
    let bare = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => rest.to_owned(),
        _ => line.to_owned(),
    };
    let text: Vec<String> = example.lines().map(bare).collect();
    let mut settings = Settings::parse(&text.join("\n")).unwrap();
    let lab = settings.providers.remove("lab").unwrap();
    assert!(settings.providers.is_empty());
    assert_eq!(lab.kind, Some(Kind::OpenAi));
    assert!(
        lab.base_url.is_some() && lab.key_env.is_some() && lab.default_model.is_some() && lab.window_tokens.is_some()
    );
    let office = settings.profiles.remove("office").unwrap();
    assert!(office.server.is_some() && office.token_env.is_some());
    assert_eq!(settings, Settings::default());
    for leaf in astudio::app::leaves() {
        let key = leaf.rsplit('.').next().unwrap();
        assert!(text.iter().any(|line| line.starts_with(&format!("{key} ="))), "{leaf} is missing");
    }
    // As it is handed out it changes nothing.
    assert_eq!(Settings::parse(example).unwrap(), Settings::default());
}

#[test]
fn times_that_make_no_sense_are_refused_before_anything_runs() {
    let cli = Cli::new();
    for setting in
        ["turn.void_seconds=-9223372036854775808", "turn.lease_seconds=0", "turn.approval_seconds=99999999999"]
    {
        let refused = cli.run(&["--set", setting, "me"]);
        assert!(!refused.status.success(), "{setting}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("from 1 to") && !said.contains("panicked"), "{said}");
    }
}
