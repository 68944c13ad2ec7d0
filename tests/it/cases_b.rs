//! Cases B: create, list, read agents.

use crate::world::{Answer, Setup, World, ask, at};
use contract::ops::agents::{CreateAgent, DeleteAgent, GetAgent, ListAgents, PatchAgent};
use serde_json::{Value, json};

async fn create(world: &World, user: &str, body: Value) -> Answer {
    world.call::<CreateAgent>(user, ask().json(body)).await
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// `name access can_manage` of every item.
fn listed(list: &Value) -> Vec<String> {
    let items = list["agents"].as_array().unwrap();
    assert_eq!(list["count"], items.len());
    let line = |item: &Value| {
        format!("{} {} {}", item["name"].as_str().unwrap(), item["access"].as_str().unwrap(), item["can_manage"])
    };
    items.iter().map(line).collect()
}

#[tokio::test]
async fn b01_valid_body_creates() {
    let world = World::new().await;
    let made = create(&world, "u1", json!({ "name": "sales" })).await;
    assert_eq!(made.status, 201);
    assert_eq!(keys(&made.body), ["agent_id", "file_path", "name", "persisted", "source", "tenant", "version"]);
    let id = made.body["agent_id"].as_str().unwrap();
    assert!(contract::ids::is_id(id), "{id}");
    let expected = json!({
        "agent_id": id, "file_path": null, "name": "sales", "persisted": true, "source": "studio", "tenant": "acme", "version": 1,
    });
    assert_eq!(made.body, expected);
}

#[tokio::test]
async fn b02_explicit_persist_false_warns() {
    let world = World::new().await;
    let made = create(&world, "u1", json!({ "name": "sales", "persist": false })).await.ok();
    assert_eq!(made["warnings"].as_array().unwrap().len(), 1);
    let made = create(&world, "u1", json!({ "name": "sales2", "persist": true })).await.ok();
    assert!(made.get("warnings").is_none());
}

#[tokio::test]
async fn b04_a_name_of_another_tenant_is_free() {
    let world = World::new().await;
    assert_eq!(create(&world, "u1", json!({ "name": "b-agent" })).await.status, 201);
    // In the own tenant it is not, seen or not, and the refusal does not tell which.
    for user in ["u1", "u2"] {
        let taken = create(&world, user, json!({ "name": "a-private" })).await;
        taken.refused(409, "name_taken");
        assert_eq!(taken.body["message"], "Name 'a-private' is not available.");
        assert_eq!(taken.body["details"], Value::Null);
    }
}

#[tokio::test]
async fn b06_expected_version_is_unsupported_on_create() {
    let world = World::new().await;
    let body = json!({ "name": "sales", "expected_version": 1, "visibility": 7 });
    create(&world, "u1", body).await.refused(400, "expected_version_unsupported");
}

#[tokio::test]
async fn b07_expected_version_must_be_a_whole_number() {
    let world = World::new().await;
    for bad in [json!("nope"), json!(1.5), json!([1]), json!(true)] {
        let patch = at("a-private").json(json!({ "expected_version": bad, "description": "x" }));
        world.call::<PatchAgent>("u1", patch).await.refused(400, "invalid_expected_version");
    }
    // Absent, null and empty mean none; a text with a number is one.
    for good in [json!(null), json!(""), json!("3")] {
        let patch = at("a-private").json(json!({ "expected_version": good, "description": "x" }));
        world.call::<PatchAgent>("u1", patch).await.ok();
    }
}

#[tokio::test]
async fn b09_class_outside_the_allow_list() {
    let world = World::new().await;
    for class in ["OsBot", "basicbot", "AbstractBot", ""] {
        create(&world, "u1", json!({ "name": "sales", "bot_class": class }))
            .await
            .refused(422, "bot_class_not_allowed");
        // A plain host refuses it by another name.
        create(&world, "p1", json!({ "name": "sales", "bot_class": class })).await.refused(400, "invalid_bot_class");
    }
    let mut setup = Setup::default();
    setup.settings.class_allowlist.insert("OsBot".into());
    let world = World::with(setup).await;
    create(&world, "u1", json!({ "name": "sales", "bot_class": "OsBot" })).await.ok();
    assert_eq!(world.call::<GetAgent>("u1", at("sales")).await.ok()["class_name"], "OsBot");
}

#[tokio::test]
async fn b11_reserved_config_keys() {
    let world = World::new().await;
    for key in ["created_by", "owner", "tenant", "visibility", "allowed_groups"] {
        create(&world, "u1", json!({ "name": "sales", "config": { key: "x" } }))
            .await
            .refused(400, "reserved_config_key");
    }
    // The first in alphabetical order is named.
    let both = create(&world, "u1", json!({ "name": "sales", "config": { "owner": "x", "created_by": "y" } })).await;
    assert!(both.body["message"].as_str().unwrap().contains("'created_by'"), "{both:?}");
}

#[tokio::test]
async fn b12_owner_and_tenant_come_from_the_server() {
    let world = World::new().await;
    let body = json!({ "name": "sales", "owner": "u2", "tenant": "globex", "created_by": "u2", "model_params": 1, "unknown": [] });
    assert_eq!(create(&world, "u1", body).await.ok()["tenant"], "acme");
    let item = world.call::<GetAgent>("u1", at("sales")).await.ok();
    assert_eq!((&item["owner"], &item["tenant"]), (&json!("u1"), &json!("acme")));
}

#[tokio::test]
async fn b14_the_name_becomes_a_slug() {
    let world = World::new().await;
    assert_eq!(create(&world, "u1", json!({ "name": "My Cool Agent" })).await.ok()["name"], "my-cool-agent");
    world.call::<GetAgent>("u1", at("my-cool-agent")).await.ok();
    create(&world, "u1", json!({ "name": "my_cool  AGENT" })).await.refused(409, "name_taken");
}

#[tokio::test]
async fn b16_names_without_letters_or_too_long() {
    let world = World::new().await;
    for bad in ["!!!", "", "___"] {
        create(&world, "u1", json!({ "name": bad })).await.refused(400, "invalid_name");
    }
    create(&world, "u1", json!({ "name": "a".repeat(65) })).await.refused(400, "invalid_name");
    create(&world, "u1", json!({ "name": "a".repeat(64) })).await.ok();
    // The empty name is refused before the category, the long one after the configuration.
    create(&world, "u1", json!({ "name": "!", "category": "A" })).await.refused(400, "invalid_name");
    let late = json!({ "name": "a".repeat(65), "config": { "llm": "x" } });
    create(&world, "u1", late).await.refused(422, "unsupported_config_key");
}

#[tokio::test]
async fn b17_a_category_is_a_slug() {
    let world = World::new().await;
    for bad in ["../../outside", "Sales", "", "a\n"] {
        create(&world, "u1", json!({ "name": "sales", "category": bad })).await.refused(400, "invalid_category");
    }
    world.call::<GetAgent>("u1", at("sales")).await.refused(404, "not_found");
}

#[tokio::test]
async fn b19_a_body_that_is_no_object() {
    let world = World::new().await;
    let raw = async |bytes: &[u8]| world.call::<CreateAgent>("u1", ask().bytes(bytes)).await;
    for bad in [
        &b"{"[..],
        b"",
        b"name=sales",
        b"{\"name\":\"a\\u0000\"}",
        b"{\"name\":\"a\",\"x\":99999999999999999999}",
        b"\xff",
    ] {
        raw(bad).await.refused(400, "invalid_json");
    }
    world.call::<CreateAgent>("u1", ask()).await.refused(400, "invalid_json");
    for bad in [&b"[]"[..], b"\"sales\"", b"null", b"7"] {
        raw(bad).await.refused(400, "invalid_request");
    }
    for bad in [
        json!({}),
        json!({ "name": 7 }),
        json!({ "name": null }),
        json!({ "name": "a", "llm": 7 }),
        json!({ "name": "a", "config": [] }),
        json!({ "name": "a", "config": { "system_prompt": 7 } }),
        json!({ "name": "a", "config": { "tools": "calc" } }),
        json!({ "name": "a", "allowed_groups": "g1" }),
        json!({ "name": "a", "persist": "no" }),
    ] {
        create(&world, "u1", bad).await.refused(400, "invalid_request");
    }
    // The address comes before the body.
    world.call::<CreateAgent>("u1", at("sales").bytes(b"{")).await.refused(400, "invalid_route");
}

#[tokio::test]
async fn b21_sampling_parameters_come_from_config() {
    let world = World::new().await;
    let config = json!({ "temperature": 0.4, "max_tokens": 100, "top_k": null });
    create(&world, "u1", json!({ "name": "sales", "config": config })).await.ok();
    let item = world.call::<GetAgent>("u1", at("sales")).await.ok();
    let expected = json!({ "temperature": 0.4, "max_tokens": 100, "top_k": null, "top_p": null });
    assert_eq!(item["definition"]["model_params"], expected);

    let bad = json!({ "name": "b", "config": { "temperature": 3, "top_p": 0, "max_tokens": u64::MAX, "top_k": "5" } });
    let refused = create(&world, "u1", bad).await;
    refused.refused(422, "invalid_config");
    let faults: Vec<_> = refused.body["details"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["field"].clone(), f["constraint"].clone()))
        .collect();
    for fault in [("temperature", "le"), ("top_p", "gt"), ("max_tokens", "le"), ("top_k", "type")] {
        assert!(faults.contains(&(json!(fault.0), json!(fault.1))), "{faults:?}");
    }
}

#[tokio::test]
async fn b22_prompt_and_tools_have_places_of_their_own() {
    let world = World::new().await;
    let config = json!({ "system_prompt": "Be kind.", "tools": ["hx_notes"] });
    create(&world, "u1", json!({ "name": "sales", "config": config })).await.ok();
    let definition = world.call::<GetAgent>("u1", at("sales")).await.ok()["definition"].clone();
    assert_eq!(definition["system_prompt"], "Be kind.");
    assert_eq!(definition["tools"], json!(["hx_notes"]));

    for key in ["llm", "model", "model_config", "chatbot_id", "name", "mcp_servers", "toolkits", "vector_store_config"]
    {
        for user in ["u1", "p1"] {
            create(&world, user, json!({ "name": "b", "config": { key: "x" } }))
                .await
                .refused(422, "unsupported_config_key");
        }
    }
    // Free keys are for plain hosts.
    create(&world, "u1", json!({ "name": "b", "config": { "mood": "x" } }))
        .await
        .refused(422, "unsupported_config_key");
    create(&world, "p1", json!({ "name": "b", "config": { "mood": "x" } })).await.ok();
    // The policy judges the tools of a tenant.
    for (tools, item) in [(json!(["calc"]), "calc"), (json!([7]), "tools[0]")] {
        let refused = create(&world, "u1", json!({ "name": "b", "config": { "tools": tools } })).await;
        refused.refused(422, "tooling_not_permitted");
        assert_eq!(refused.body["details"], json!({ "reason": "toolkit_unavailable", "item": item }));
    }
}

#[tokio::test]
async fn b24_a_peer_sees_what_is_shared() {
    let world = World::new().await;
    let list = world.call::<ListAgents>("u2", ask()).await.ok();
    assert_eq!(listed(&list), ["a-tenant tenant false"]);
    assert_eq!(keys(&list), ["agents", "count"]);
    assert!(list["agents"][0].get("definition").is_none());
    assert_eq!(
        listed(&world.call::<ListAgents>("g1u", ask()).await.ok()),
        ["a-groups groups false", "a-tenant tenant false"]
    );
    let own = ["a-groups owner true", "a-private owner true", "a-tenant owner true"];
    assert_eq!(listed(&world.call::<ListAgents>("u1", ask()).await.ok()), own);
    assert_eq!(world.call::<ListAgents>("nt", ask()).await.ok(), json!({ "agents": [], "count": 0 }));
}

#[tokio::test]
async fn b26_an_administrator_sees_all() {
    let world = World::new().await;
    let list = world.call::<ListAgents>("adm", ask()).await.ok();
    assert_eq!(listed(&list), ["a-groups admin true", "a-private admin true", "a-tenant admin true"]);
}

#[tokio::test]
async fn b27_a_superuser_stays_in_the_tenant() {
    let world = World::new().await;
    let list = world.call::<ListAgents>("sup", ask().on("acme")).await.ok();
    assert_eq!(listed(&list), ["a-groups admin true", "a-private admin true", "a-tenant admin true"]);
    world.call::<ListAgents>("sup", ask().on("globex")).await.refused(403, "tenant_mismatch");
    world.call::<GetAgent>("sup", at("b-agent")).await.refused(404, "not_found");
}

#[tokio::test]
async fn b29_what_cannot_be_seen_is_not_there() {
    let world = World::new().await;
    let mut bodies = Vec::new();
    for name in ["g-agent", "b-agent", "ghost", "Not A Name"] {
        let refused = world.call::<GetAgent>("u1", at(name)).await;
        refused.refused(404, "not_found");
        bodies.push(refused.body.to_string().replace(name, "NAME"));
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}

#[tokio::test]
async fn b31_managers_read_the_definition() {
    let world = World::new().await;
    let item = world.call::<GetAgent>("adm", at("a-private")).await.ok();
    let fields = ["bot_class", "category", "description", "llm", "model_params", "system_prompt", "tools"];
    assert_eq!(keys(&item["definition"]), fields);
    let mut shown = keys(&item);
    shown.retain(|key| *key != "definition");
    let all = [
        "access",
        "agent_id",
        "allowed_groups",
        "at_startup",
        "can_manage",
        "category",
        "class_name",
        "description",
        "enabled",
        "file_path",
        "llm",
        "module",
        "name",
        "origin",
        "owner",
        "priority",
        "source",
        "tags",
        "tenant",
        "updated_at",
        "version",
        "visibility",
    ];
    assert_eq!(shown, all);
    assert!(item["updated_at"].as_str().unwrap().ends_with("+00:00"));
}

#[tokio::test]
async fn b32_others_do_not() {
    let world = World::new().await;
    let item = world.call::<GetAgent>("u2", at("a-tenant")).await.ok();
    assert!(item.get("definition").is_none());
    assert_eq!((&item["access"], &item["can_manage"]), (&json!("tenant"), &json!(false)));
}

#[tokio::test]
async fn b34_a_plain_host_shows_all_and_lets_owners_manage() {
    let world = World::new().await;
    let item = world.call::<GetAgent>("p2", at("g-agent")).await.ok();
    assert_eq!(
        (&item["access"], &item["can_manage"], &item["tenant"]),
        (&json!("global"), &json!(false), &json!(null))
    );
    assert!(item.get("definition").is_none());
    for manager in ["p1", "ps"] {
        let item = world.call::<GetAgent>(manager, at("g-agent")).await.ok();
        assert_eq!((&item["access"], &item["can_manage"]), (&json!("global"), &json!(true)));
        assert!(item.get("definition").is_some());
    }
    assert_eq!(listed(&world.call::<ListAgents>("p2", ask()).await.ok()), ["g-agent global false"]);
    world.call::<GetAgent>("p1", at("a-tenant")).await.refused(404, "not_found");
    world.call::<DeleteAgent>("p2", at("g-agent")).await.refused(403, "not_manageable");
    create(&world, "p2", json!({ "name": "g-agent", "bot_class": "Nonsense" })).await.refused(409, "name_taken");
}

#[tokio::test]
async fn b36_a_plain_host_has_nobody_to_share_with() {
    let world = World::new().await;
    for visibility in ["tenant", "groups"] {
        create(&world, "p1", json!({ "name": "x", "visibility": visibility })).await.refused(422, "tenant_required");
    }
    create(&world, "p1", json!({ "name": "x", "allowed_groups": ["g1"] })).await.refused(422, "tenant_required");
    for user in ["p1", "u1"] {
        create(&world, user, json!({ "name": "x", "visibility": "public" })).await.refused(400, "invalid_request");
    }
    let shared =
        |visibility: &str, groups: &[&str]| json!({ "name": "x", "visibility": visibility, "allowed_groups": groups });
    create(&world, "u1", shared("groups", &[])).await.refused(422, "groups_required");
    create(&world, "u1", shared("groups", &["g9"])).await.refused(422, "groups_not_allowed");
    create(&world, "u1", shared("private", &["g1"])).await.refused(422, "invalid_visibility");
    create(&world, "nt", shared("private", &[])).await.refused(422, "tenant_required");
    create(&world, "u1-reader", shared("private", &[])).await.refused(403, "authoring_denied");
    create(&world, "g1u", shared("groups", &["g1"])).await.ok();
}

#[tokio::test]
async fn paged_lists_walk_everything_once() {
    let world = World::new().await;
    for n in 0..12 {
        create(&world, "u1", json!({ "name": format!("p{n:02}"), "visibility": "tenant", "llm": "openai:gpt" }))
            .await
            .ok();
    }
    for sort in ["name", "-name", "updated_at", "-updated_at"] {
        for user in ["u2", "adm"] {
            let (mut names, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let mut page = ask().query("limit", "5").query("sort", sort).query("q", "vis:tenant");
                if let Some(cursor) = &cursor {
                    page = page.query("cursor", cursor);
                }
                let page = world.call::<ListAgents>(user, page).await.ok();
                names.extend(page["agents"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap().to_owned()));
                match page["next_cursor"].as_str() {
                    Some(next) => cursor = Some(next.to_owned()),
                    None => break,
                }
            }
            assert_eq!(names.len(), 13, "{sort}");
            let last = if sort.starts_with('-') { names.first() } else { names.last() };
            assert_eq!(last.map(String::as_str), Some("p11"));
            names.sort();
            names.dedup();
            assert_eq!(names.len(), 13);
        }
    }
    let q = async |user: &str, q: &str| listed(&world.call::<ListAgents>(user, ask().query("q", q)).await.ok()).len();
    assert_eq!(q("u1", "owner:me llm:OPENAI").await, 12);
    assert_eq!(q("u2", "owner:me").await, 0);
    assert_eq!(q("u2", "\"about a-t\"").await, 1);
    assert_eq!(q("u1", "vis:groups status:active category:general").await, 1);
    assert_eq!(q("nt", "").await, 0);
    for (key, bad) in [("limit", "0"), ("limit", "1001"), ("cursor", "x"), ("sort", "size"), ("q", "color:red")] {
        world.call::<ListAgents>("u1", ask().query(key, bad)).await.refused(400, "invalid_request");
    }
}
