//! The published AG-UI client against our server.

use super::{Web, token};
use crate::binary::Desk;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The client with what it needs, as `scripts/test` installs it beside what is built.
fn installed() -> PathBuf {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = built.join("agui");
    assert!(
        folder.join("node_modules/@ag-ui/client").is_dir(),
        "The AG-UI client is not installed for this test. `scripts/test` installs it once, into {}.",
        folder.display()
    );
    folder
}

#[test]
fn the_published_client_chats_calls_a_tool_and_approves() {
    let desk = Desk::new();
    let web = Web::start(&desk, &[]);
    let ben = token(&desk, "ben", &[]);
    let folder = installed();
    // Node looks for packages beside the file.
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agui/chat.mjs"), folder.join("chat.mjs")).unwrap();
    let output = Command::new("node")
        .current_dir(&folder)
        .args(["chat.mjs", &web.url, &ben, "cancel order 1007"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["approved"][0]["status"], 200, "{said:#}");
    assert_eq!((&said["outcome"]["type"], &said["result"]["status"]), (&json!("success"), &json!("done")), "{said:#}");
    let messages = said["newMessages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["assistant", "tool", "assistant"], "{said:#}");
    assert_eq!(messages[0]["toolCalls"][0]["function"]["name"], "desk_cancel_order");
    assert!(messages[2]["content"].as_str().unwrap().contains("order 1007 is now cancelled"), "{said:#}");
    assert_eq!((desk.changes(1007), desk.order(1007)["status"].as_str()), (1, Some("cancelled")));
}
