//! Cases C: patch, share, reload, delete agents.

use crate::world::{Answer, Ask, Setup, World, answer, ask, at, opened};
use contract::Operation;
use contract::ops::agents::{CreateAgent, DeleteAgent, GetAgent, PatchAgent, ReloadAgent, SetAgentVisibility};
use contract::wire::Late;
use engine::{Engine, Pbac, Serve};
use rules::scope::RequestScope;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use store::Store;

async fn patch(world: &World, user: &str, name: &str, body: Value) -> Answer {
    world.call::<PatchAgent>(user, at(name).json(body)).await
}

async fn share(world: &World, user: &str, name: &str, body: Value) -> Answer {
    world.call::<SetAgentVisibility>(user, at(name).json(body)).await
}

#[tokio::test]
async fn c01_c02_patches_merge_and_count() {
    let world = World::new().await;
    let one = patch(&world, "u1", "a-private", json!({ "description": "new", "model_params": { "temperature": 0.5 } }))
        .await
        .ok();
    assert_eq!(one["version"], 2);
    assert_eq!(one["description"], "new");
    assert_eq!(one["definition"]["description"], "new");
    assert_eq!(one["definition"]["llm"], "anthropic:x");
    let two =
        patch(&world, "u1", "a-private", json!({ "model_params": { "top_k": 5 }, "category": "sales" })).await.ok();
    assert_eq!(two["version"], 3);
    let params = json!({ "temperature": 0.5, "max_tokens": null, "top_k": 5, "top_p": null });
    assert_eq!(two["definition"]["model_params"], params);
    assert_eq!(two["category"], "sales");

    // Null clears.
    let body = json!({ "llm": null, "description": null, "system_prompt": null, "category": null, "model_params": { "top_k": null } });
    let three = patch(&world, "u1", "a-private", body).await.ok();
    let params = json!({ "temperature": 0.5, "max_tokens": null, "top_k": null, "top_p": null });
    let cleared = json!({
        "bot_class": "BasicBot", "llm": null, "description": null, "category": "general", "model_params": params,
        "system_prompt": null, "tools": [],
    });
    assert_eq!(three["definition"], cleared);
    let four = patch(&world, "u1", "a-private", json!({ "model_params": null })).await.ok();
    assert_eq!(four["definition"]["model_params"]["temperature"], Value::Null);
    assert_eq!(four["version"], 5);
    assert_eq!(world.call::<GetAgent>("u1", at("a-private")).await.ok(), four);
    let history = "select count(*) from agent_versions v join agents a on a.id = v.agent_id where a.name = 'a-private'";
    assert_eq!(world.count(history).await, 5);
}

#[tokio::test]
async fn c04_the_name_is_immutable() {
    let world = World::new().await;
    patch(&world, "u1", "a-private", json!({ "name": "b" })).await.refused(422, "name_immutable");
    patch(&world, "u1", "a-private", json!({ "bot_class": "Agent", "owner": "u2" }))
        .await
        .refused(422, "name_immutable");
}

#[tokio::test]
async fn c06_unknown_fields_are_refused() {
    let world = World::new().await;
    for body in [
        json!({ "tools": [] }),
        json!({ "color": "red" }),
        json!({ "model_params": { "heat": 1 } }),
        json!({ "model_params": 7 }),
        json!({ "description": 7 }),
    ] {
        patch(&world, "u1", "a-private", body).await.refused(422, "invalid_request");
    }
    patch(&world, "u1", "a-private", json!({ "model_params": { "top_p": 2 } })).await.refused(422, "invalid_config");
    patch(&world, "u1", "a-private", json!({ "category": "No Slug" })).await.refused(400, "invalid_category");
    patch(&world, "u1", "a-private", json!([])).await.refused(400, "invalid_request");
    world.call::<PatchAgent>("u1", at("a-private").bytes(b"{")).await.refused(400, "invalid_json");
}

#[tokio::test]
async fn c07_reserved_keys_are_refused() {
    let world = World::new().await;
    for key in ["owner", "created_by", "tenant", "visibility", "allowed_groups"] {
        patch(&world, "u1", "a-private", json!({ key: "x" })).await.refused(400, "reserved_config_key");
    }
}

#[tokio::test]
async fn c09_the_current_version_is_accepted() {
    let world = World::new().await;
    let body = |version: i64| json!({ "description": "x", "expected_version": version });
    assert_eq!(patch(&world, "u1", "a-private", body(1)).await.ok()["version"], 2);
    let stale = patch(&world, "u1", "a-private", body(1)).await;
    stale.refused(409, "version_conflict");
    assert_eq!(stale.body["details"], json!({ "current_version": 2 }));
}

#[tokio::test]
async fn c11_who_may_patch() {
    let world = World::new().await;
    let body = || json!({ "description": "x" });
    for name in ["ghost", "b-agent", "g-agent"] {
        patch(&world, "u1", name, body()).await.refused(404, "not_found");
    }
    patch(&world, "u2", "a-private", json!({ "name": "x" })).await.refused(404, "not_found");
    patch(&world, "u2", "a-tenant", json!({ "name": "x" })).await.refused(403, "not_manageable");
    assert_eq!(patch(&world, "adm", "a-tenant", body()).await.ok()["owner"], "u1");
    // The right to author is asked for only where the record could be changed.
    patch(&world, "u1-reader", "a-private", body()).await.refused(403, "authoring_denied");
    patch(&world, "u2-reader", "a-private", body()).await.refused(404, "not_found");
    patch(&world, "u2-reader", "a-tenant", body()).await.refused(403, "not_manageable");
    patch(&world, "nt", "a-tenant", body()).await.refused(422, "tenant_required");
}

#[tokio::test]
async fn c19_groups_of_a_change() {
    let world = World::new().await;
    let groups = |groups: &[&str]| json!({ "visibility": "groups", "allowed_groups": groups });
    share(&world, "u1", "a-private", groups(&[])).await.refused(422, "groups_required");
    share(&world, "u1", "a-private", groups(&["g9"])).await.refused(422, "groups_not_allowed");
    let shared = share(&world, "adm", "a-private", groups(&["g9"])).await.ok();
    assert_eq!((&shared["version"], &shared["allowed_groups"]), (&json!(2), &json!(["g9"])));
    assert!(shared.get("definition").is_some());
    assert_eq!(share(&world, "sup", "a-private", groups(&["g8"])).await.ok()["version"], 3);
    share(&world, "g1u", "a-private", groups(&["g1"])).await.refused(404, "not_found");
    share(&world, "u2", "a-tenant", json!({})).await.refused(403, "not_manageable");
    // The right to author is not asked for; the body's version is ignored.
    share(&world, "u1-reader", "a-private", json!({ "visibility": "tenant", "expected_version": 1 })).await.ok();
    for bad in [
        json!({}),
        json!({ "visibility": "public" }),
        json!({ "visibility": "groups", "allowed_groups": "g1" }),
        json!([]),
    ] {
        share(&world, "u1", "a-private", bad).await.refused(400, "invalid_request");
    }
    world.call::<SetAgentVisibility>("u1", at("a-private").bytes(b"{")).await.refused(400, "invalid_json");
}

#[tokio::test]
async fn c21_a_plain_host_stays_private() {
    let world = World::new().await;
    for visibility in ["tenant", "groups"] {
        share(&world, "p1", "g-agent", json!({ "visibility": visibility })).await.refused(422, "tenant_required");
    }
    share(&world, "p1", "g-agent", json!({ "visibility": "private" })).await.ok();
    share(&world, "p2", "g-agent", json!({ "visibility": "private" })).await.refused(403, "not_manageable");
}

#[tokio::test]
async fn c22_groups_belong_to_groups() {
    let world = World::new().await;
    for user in ["u1", "adm"] {
        let body = json!({ "visibility": "private", "allowed_groups": ["g1"] });
        share(&world, user, "a-private", body).await.refused(422, "invalid_visibility");
    }
}

#[tokio::test]
async fn c24_what_is_private_again_is_gone_for_others() {
    let world = World::new().await;
    world.call::<GetAgent>("u2", at("a-tenant")).await.ok();
    share(&world, "u1", "a-tenant", json!({ "visibility": "private" })).await.ok();
    world.call::<GetAgent>("u2", at("a-tenant")).await.refused(404, "not_found");
}

#[tokio::test]
async fn c26_reload_takes_no_version() {
    let world = World::new().await;
    let with = |name: &str| at(name).query("expected_version", "1");
    world.call::<ReloadAgent>("u1", with("a-private")).await.refused(400, "expected_version_unsupported");
    world.call::<ReloadAgent>("u2", with("a-tenant")).await.refused(403, "not_manageable");
    world.call::<ReloadAgent>("u1-reader", with("a-private")).await.refused(403, "authoring_denied");
}

#[tokio::test]
async fn c27_who_may_reload() {
    let world = World::new().await;
    let reload = async |user: &str, name: &str| world.call::<ReloadAgent>(user, at(name)).await;
    reload("u1", "ghost").await.refused(404, "not_found");
    reload("u2", "a-private").await.refused(404, "not_found");
    reload("u2", "a-tenant").await.refused(403, "not_manageable");
    let done = reload("u1", "a-private").await.ok();
    let expected = json!({ "name": "a-private", "reloaded": true, "previous_instance_closed": false, "warnings": [] });
    assert_eq!(done, expected);
    // A reload is no change.
    assert_eq!(world.call::<GetAgent>("u1", at("a-private")).await.ok()["version"], 1);
    reload("p2", "g-agent").await.ok();
    reload("p2", "ghost").await.refused(404, "not_found");
    let off =
        world.store.write(|tx| tx.exec("update agents set status = 'disabled' where name = 'a-private'", &[])).await;
    assert_eq!(off, Ok::<_, store::StoreError>(1));
    reload("u1", "a-private").await.refused(404, "not_found");
}

#[tokio::test]
async fn c29_a_cleanup_that_fails_is_a_warning() {
    let world = World::new().await;
    let body = json!({ "name": "stuck", "config": { "tools": ["hx_stuck"] } });
    world.call::<CreateAgent>("u1", ask().json(body)).await.ok();
    assert_eq!(world.call::<ReloadAgent>("u1", at("stuck")).await.ok()["warnings"], json!([]));
    // Now there is an instance with a built tool, which cannot be closed.
    let again = world.call::<ReloadAgent>("u1", at("stuck")).await.ok();
    assert_eq!((&again["reloaded"], &again["previous_instance_closed"]), (&json!(true), &json!(false)));
    assert_eq!(again["warnings"].as_array().unwrap().len(), 1, "{again}");
}

#[tokio::test]
async fn c31_who_may_delete() {
    let world = World::new().await;
    let delete = async |user: &str, name: &str| world.call::<DeleteAgent>(user, at(name)).await;
    delete("u2", "a-tenant").await.refused(403, "not_manageable");
    delete("u2", "a-private").await.refused(404, "not_found");
    delete("u1-reader", "a-tenant").await.refused(403, "authoring_denied");
    assert_eq!(delete("adm", "a-tenant").await.ok(), json!({ "name": "a-tenant", "deleted": true }));
    delete("adm", "a-tenant").await.refused(404, "not_found");
    assert_eq!(world.count("select count(*) from audit where action = 'agent.deleted' and actor = 'adm'").await, 1);
    // The name is free again, for another record.
    world.call::<CreateAgent>("u2", ask().json(json!({ "name": "a-tenant" }))).await.ok();
}

#[tokio::test]
async fn c32_versions_of_a_deletion() {
    let world = World::new().await;
    let delete =
        async |version: &str| world.call::<DeleteAgent>("u1", at("a-groups").query("expected_version", version)).await;
    delete("x").await.refused(400, "invalid_expected_version");
    delete("1").await.refused(409, "version_conflict");
    delete("2").await.ok();
    world.call::<DeleteAgent>("u1", at("a-private").query("expected_version", "")).await.ok();
}

#[tokio::test]
async fn c36_deleting_leaves_the_other_tenant_alone() {
    let world = World::new().await;
    world.call::<CreateAgent>("u9", ask().json(json!({ "name": "a-private" }))).await.ok();
    let before = world.call::<GetAgent>("u9", at("a-private")).await.ok();
    world.call::<DeleteAgent>("u1", at("a-private")).await.ok();
    assert_eq!(world.call::<GetAgent>("u9", at("a-private")).await.ok(), before);
    world.call::<GetAgent>("u1", at("a-private")).await.refused(404, "not_found");
}

// The race harness. A body or query is opened after the caller was authorised and before the transaction; PBAC is asked
// once more after a caller was authorised anew. Both are places from which a rival can write at exactly the wrong moment.

/// What a rival does.
type Rival = Arc<dyn Fn(&Store) + Send + Sync>;

fn touch() -> Rival {
    sql("update agents set version = version + 1 where name = 'a-private' and partition = 'acme'")
}

/// Deletes the row; one of the same name belongs to somebody else.
fn recreate() -> Rival {
    sql("update agents set id = 'another', owner = 'u2', version = 1 where name = 'a-private' and partition = 'acme'")
}

fn sql(text: &'static str) -> Rival {
    Arc::new(move |store| {
        let store = store.clone();
        // The harness stands inside synchronous code of a running runtime, so the write waits on a thread of its own.
        let written = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(store.write(move |tx| tx.exec(text, &[])))
        });
        assert_eq!(written.join().unwrap(), Ok::<_, store::StoreError>(1));
    })
}

/// Serves an operation while `rival` writes between check and write.
async fn raced<O: Operation>(world: &World, user: &str, ask: Ask, path: O::Path, rival: Rival) -> Answer
where
    Engine: Serve<O>,
{
    let (engine, caller) = world.host(user);
    let who = engine.admit(caller, &O::GATES, O::EFFECT).await.unwrap();
    let (query, body) = opened::<O>(ask);
    let (store, once) = (world.store.clone(), Arc::new(AtomicUsize::new(0)));
    let strike = move || {
        if once.fetch_add(1, Ordering::SeqCst) == 0 {
            rival(&store);
        }
    };
    let strike_again = strike.clone();
    let query = Late::new(move || {
        strike();
        query
    });
    let body = Late::new(move || {
        strike_again();
        body
    });
    answer::<O>(engine.serve(who, path, query, body).await)
}

fn path(name: &str) -> contract::ops::common::NamePath {
    contract::ops::common::NamePath { name: name.into() }
}

/// Strikes when PBAC is asked the second time in a request: after the caller was authorised anew.
#[derive(Default)]
struct Striking {
    asked: AtomicUsize,
    target: Mutex<Option<(Store, Rival)>>,
}

impl Pbac for Striking {
    fn allows(&self, _: &RequestScope, _: &str, _: &str) -> Option<bool> {
        if let Some((store, rival)) = &*self.target.lock().unwrap()
            && self.asked.fetch_add(1, Ordering::SeqCst) == 1
        {
            rival(store);
        }
        None
    }
}

#[tokio::test]
async fn c16_stale_once_is_retried_and_twice_is_a_conflict() {
    let world = World::new().await;
    let body = || at("").json(json!({ "description": "x" }));
    let once = raced::<PatchAgent>(&world, "u1", body(), path("a-private"), touch()).await.ok();
    assert_eq!((&once["version"], &once["description"]), (&json!(3), &json!("x")));

    let pbac = Arc::new(Striking::default());
    let world = World::with(Setup { pbac: Some(pbac.clone()), ..Setup::default() }).await;
    *pbac.target.lock().unwrap() = Some((world.store.clone(), touch()));
    let twice = raced::<PatchAgent>(&world, "u1", body(), path("a-private"), touch()).await;
    twice.refused(409, "version_conflict");
    *pbac.target.lock().unwrap() = None;
    let item = world.call::<GetAgent>("u1", at("a-private")).await.ok();
    assert_eq!((&item["version"], &item["description"]), (&json!(3), &json!("About a-private.")));

    // The client's own version comes before all that.
    let world = World::new().await;
    let expected = at("").json(json!({ "description": "x", "expected_version": 1 }));
    let stale = raced::<PatchAgent>(&world, "u1", expected, path("a-private"), touch()).await;
    stale.refused(409, "version_conflict");
}

#[tokio::test]
async fn c17_a_row_recreated_by_another_is_left_alone() {
    // Not theirs to see: nothing tells that it is there.
    let rest =
        "select count(*) from agents where id = 'another' and owner = 'u2' and version = 1 and visibility = 'private'";
    let world = World::new().await;
    let body = at("").json(json!({ "description": "x" }));
    raced::<PatchAgent>(&world, "u1", body, path("a-private"), recreate()).await.refused(404, "not_found");
    assert_eq!(world.count(rest).await, 1);

    let world = World::new().await;
    raced::<DeleteAgent>(&world, "u1", ask(), path("a-private"), recreate()).await.refused(404, "not_found");
    assert_eq!(world.count(rest).await, 1);

    let world = World::new().await;
    let body = at("").json(json!({ "visibility": "tenant" }));
    raced::<SetAgentVisibility>(&world, "u1", body, path("a-private"), recreate()).await.refused(404, "not_found");
    assert_eq!(world.count(rest).await, 1);

    // A version that fits neither is a conflict, and does not tell the other row's version.
    let world = World::new().await;
    let query = ask().query("expected_version", "7");
    let conflict = raced::<DeleteAgent>(&world, "u1", query, path("a-private"), recreate()).await;
    conflict.refused(409, "version_conflict");
    assert_eq!(conflict.body["details"], Value::Null);
    assert_eq!(world.count(rest).await, 1);

    // An administrator may have it: the change goes to the row that is there.
    let world = World::new().await;
    let body = at("").json(json!({ "description": "x" }));
    let item = raced::<PatchAgent>(&world, "adm", body, path("a-private"), recreate()).await.ok();
    assert_eq!((&item["agent_id"], &item["owner"], &item["version"]), (&json!("another"), &json!("u2"), &json!(2)));
}
