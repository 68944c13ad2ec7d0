//! Invariants of agents: nothing crosses tenants, nothing hidden shows, nothing refused is written.

use crate::world::{Answer, World, ask, at};
use contract::ops::agents::{
    CreateAgent, DeleteAgent, GetAgent, ListAgents, PatchAgent, ReloadAgent, SetAgentVisibility,
};
use serde_json::json;

/// Every operation on the agent of this name, with a body that would do.
async fn everything(world: &World, user: &str, name: &str) -> Vec<Answer> {
    vec![
        world.call::<GetAgent>(user, at(name)).await,
        world.call::<PatchAgent>(user, at(name).json(json!({ "description": "x" }))).await,
        world.call::<PatchAgent>(user, at(name).json(json!({ "name": "x" }))).await,
        world.call::<PatchAgent>(user, at(name).bytes(b"{")).await,
        world.call::<SetAgentVisibility>(user, at(name).json(json!({ "visibility": "tenant" }))).await,
        world.call::<SetAgentVisibility>(user, at(name).bytes(b"{")).await,
        world.call::<ReloadAgent>(user, at(name)).await,
        world.call::<ReloadAgent>(user, at(name).query("expected_version", "1")).await,
        world.call::<DeleteAgent>(user, at(name)).await,
        world.call::<DeleteAgent>(user, at(name).query("expected_version", "x")).await,
    ]
}

#[tokio::test]
async fn e1_rows_of_another_tenant_change_no_answer() {
    let with = World::new().await;
    let without = World::new().await;
    without.call::<DeleteAgent>("u9", at("b-agent")).await.ok();
    for user in ["u1", "u2", "adm", "sup", "u1-reader"] {
        assert_eq!(everything(&with, user, "b-agent").await, everything(&without, user, "b-agent").await);
        let names = async |world: &World| {
            let list = world.call::<ListAgents>(user, ask()).await.ok();
            list["agents"].as_array().unwrap().iter().map(|a| a["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&with).await, names(&without).await);
    }
    let create =
        async |world: &World| world.call::<CreateAgent>("u1", ask().json(json!({ "name": "b-agent" }))).await.status;
    assert_eq!((create(&with).await, create(&without).await), (201, 201));
}

#[tokio::test]
async fn e2_hidden_and_absent_answer_alike() {
    let world = World::new().await;
    let text = |answers: Vec<Answer>, name: &str| {
        let line = |a: Answer| format!("{} {}", a.status, a.body).replace(name, "NAME");
        answers.into_iter().map(line).collect::<Vec<_>>()
    };
    for (user, hidden) in
        [("u2", "a-private"), ("u2", "a-groups"), ("u2-reader", "a-private"), ("u1", "b-agent"), ("u1", "g-agent")]
    {
        let there = text(everything(&world, user, hidden).await, hidden);
        let absent = text(everything(&world, user, "ghost").await, "ghost");
        assert_eq!(there, absent, "{user} {hidden}");
    }
}

#[tokio::test]
async fn e3_a_refused_write_writes_nothing() {
    let world = World::new().await;
    let before = world.records().await;
    let mut answers = Vec::new();
    for name in ["a-tenant", "a-private", "b-agent", "ghost"] {
        answers.extend(everything(&world, "u2", name).await.split_off(1));
    }
    for body in [
        json!({ "name": "a-private" }),
        json!({ "name": "x", "visibility": "groups", "allowed_groups": ["g9"] }),
        json!({ "name": "x", "config": { "tools": ["nothing"] } }),
        json!({ "name": "x", "bot_class": "OsBot" }),
        json!({ "name": "x", "config": { "top_p": 7 } }),
    ] {
        answers.push(world.call::<CreateAgent>("u2", ask().json(body)).await);
    }
    for body in [
        json!({ "model_params": { "top_k": 0 } }),
        json!({ "owner": "u2" }),
        json!({ "description": "x", "expected_version": 9 }),
    ] {
        answers.push(world.call::<PatchAgent>("u1", at("a-private").json(body)).await);
    }
    answers.push(world.call::<DeleteAgent>("u1", at("a-private").query("expected_version", "9")).await);
    for answer in answers {
        assert!(answer.status >= 400, "{answer:?}");
    }
    assert_eq!(world.records().await, before);

    // A tool that is no longer there refuses a change of the agent that holds it, and writes nothing; deleting it works.
    let plant =
        "update agents set definition = json_set(definition, '$.tools', json('[\"gone\"]')) where name = 'a-private'";
    assert_eq!(world.store.write(move |tx| tx.exec(plant, &[])).await, Ok::<_, store::StoreError>(1));
    let before = world.records().await;
    let refused = world.call::<PatchAgent>("u1", at("a-private").json(json!({ "description": "x" }))).await;
    refused.refused(422, "tooling_not_permitted");
    assert_eq!(world.records().await, before);
    world.call::<DeleteAgent>("u1", at("a-private")).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e13_one_of_many_creations_of_a_name_wins() {
    let world = World::new().await;
    let body = || ask().json(json!({ "name": "sales" }));
    let (a, b, c, d) = tokio::join!(
        world.call::<CreateAgent>("u1", body()),
        world.call::<CreateAgent>("u2", body()),
        world.call::<CreateAgent>("adm", body()),
        world.call::<CreateAgent>("sup", body()),
    );
    let mut statuses = [a.status, b.status, c.status, d.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409]);
    assert_eq!(world.count("select count(*) from agents where name = 'sales'").await, 1);
}

#[tokio::test]
async fn e14_an_older_version_always_loses() {
    let world = World::new().await;
    for _ in 0..3 {
        world.call::<PatchAgent>("adm", at("a-tenant").json(json!({ "description": "newer" }))).await.ok();
    }
    let before = world.records().await;
    for version in [0, 1, 2, 3] {
        let body = json!({ "description": "older", "expected_version": version });
        world.call::<PatchAgent>("u1", at("a-tenant").json(body)).await.refused(409, "version_conflict");
        let query = at("a-tenant").query("expected_version", &version.to_string());
        world.call::<DeleteAgent>("u1", query).await.refused(409, "version_conflict");
    }
    assert_eq!(world.records().await, before);
    world
        .call::<PatchAgent>("u1", at("a-tenant").json(json!({ "description": "x", "expected_version": 4 })))
        .await
        .ok();
}
