//! Personal tokens: shown once, limited, ended.

use super::town::{NOTHING, Town, call_as, found_in};
use contract::ops::agents::PatchAgent;
use contract::ops::keys::{DeleteKey, StoreKey};
use contract::ops::me::GetMe;
use contract::ops::people::{DeleteMember, ListTenants, ListUsers, PutMember};
use contract::ops::tokens::{CreateToken, ListTenantTokens, ListTokens, RevokeTenantToken, RevokeToken};
use engine::Caller;
use engine::tokens::sign_in;
use serde_json::{Value, json};

/// Makes a token; answers its id and secret.
pub async fn token(town: &Town, who: &str, body: Value) -> (String, String) {
    let made = town.call::<CreateToken>(who, &[], body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let text = |key: &str| made.body[key].as_str().unwrap().to_owned();
    (text("id"), text("secret"))
}

#[tokio::test]
async fn tokens_are_shown_once_and_stored_as_a_hash() {
    let town = Town::new().await;
    let (id, secret) = token(&town, "bo@acme", json!({ "name": "ci", "days": 30 })).await;
    assert!(secret.starts_with("tsf_"));
    let list = town.call::<ListTokens>("bo@acme", &[], NOTHING).await.ok();
    let shown = &list["tokens"][0];
    assert_eq!(
        (list["count"].as_i64(), shown["id"].as_str(), shown["role"].as_str()),
        (Some(1), Some(id.as_str()), Some("Builder"))
    );
    assert!(shown.get("secret").is_none() && secret.starts_with(shown["prefix"].as_str().unwrap()));
    assert_eq!(shown["last_used_at"], NOTHING);

    let me = town.with_token::<GetMe>(&secret, NOTHING).await.ok();
    assert_eq!((&me["user_id"], &me["tenant"], &me["may_author"]), (&json!("bo"), &json!("acme"), &json!(true)));
    let used = "select last_used_at from tokens";
    let first = town.count(used).await;
    town.with_token::<GetMe>(&secret, NOTHING).await.ok();
    assert_eq!(town.count(used).await, first, "a second use within the minute is not written");
    town.sql("update tokens set last_used_at = last_used_at - 61000000").await;
    town.with_token::<GetMe>(&secret, NOTHING).await.ok();
    assert!(town.count(used).await > first - 61_000_000 + 1);

    let flipped = format!("{}{}", &secret[..secret.len() - 1], if secret.ends_with('0') { '1' } else { '0' });
    let wrong = [(flipped.as_str(), "whole"), (&secret[..30], "whole"), ("", "whole")];
    for (text, says) in wrong {
        let refusal = town.with_token::<GetMe>(text, NOTHING).await;
        refusal.refused(401, "unauthorized");
        assert!(refusal.body["message"].as_str().unwrap().contains(says));
    }
    assert!(!found_in(town.home.path(), &secret), "the secret is nowhere in the home");
}

#[tokio::test]
async fn tokens_end_by_time_revocation_and_removal() {
    let town = Town::new().await;
    let (_, expired) = token(&town, "vic@acme", json!({ "name": "a", "days": 1 })).await;
    town.sql("update tokens set expires_at = 1").await;
    town.with_token::<GetMe>(&expired, NOTHING).await.refused(401, "unauthorized");

    let (own, revoked) = token(&town, "vic@acme", json!({ "name": "b" })).await;
    // Not by a colleague, not from another tenant, not by one who guesses ids.
    for (who, id) in [
        ("bo@acme", own.as_str()),
        ("bo@globex", &own),
        ("vic@acme", "1"),
        ("vic@acme", "00000000-0000-4000-8000-000000000000"),
    ] {
        town.call::<RevokeToken>(who, &[("id", id)], NOTHING).await.refused(404, "not_found");
    }
    town.call::<RevokeTenantToken>("gus@globex", &[("id", &own)], NOTHING).await.refused(404, "not_found");
    town.call::<RevokeToken>("vic@acme", &[("id", &own)], NOTHING).await.ok();
    town.call::<RevokeToken>("vic@acme", &[("id", &own)], NOTHING).await.refused(404, "not_found");
    town.with_token::<GetMe>(&revoked, NOTHING).await.refused(401, "unauthorized");

    let (id, by_admin) = token(&town, "vic@acme", json!({ "name": "c" })).await;
    let all = town.call::<ListTenantTokens>("ana@acme", &[], NOTHING).await.ok();
    assert_eq!(all["tokens"][0]["user"], "vic");
    assert_eq!(town.call::<ListTenantTokens>("gus@globex", &[], NOTHING).await.ok()["count"], 0);
    town.call::<ListTenantTokens>("bo@acme", &[], NOTHING).await.refused(403, "admin_required");
    town.call::<RevokeTenantToken>("ana@acme", &[("id", &id)], NOTHING).await.ok();
    town.with_token::<GetMe>(&by_admin, NOTHING).await.refused(401, "unauthorized");

    // Taken out and in again: what was made before does not work again.
    let (_, before) = token(&town, "bo@globex", json!({ "name": "d" })).await;
    town.call::<DeleteMember>("gus@globex", &[("user", "bo")], NOTHING).await.ok();
    town.with_token::<GetMe>(&before, NOTHING).await.refused(401, "unauthorized");
    town.sql("insert into members (tenant, user_id, role, since) values ('globex', 'bo', 'Admin', 1)").await;
    town.with_token::<GetMe>(&before, NOTHING).await.refused(401, "unauthorized");
}

#[tokio::test]
async fn a_limited_token_stays_limited() {
    let town = Town::new().await;
    let (_, run) = token(&town, "root@acme", json!({ "name": "r", "scopes": ["run", "read"] })).await;
    let me = town.with_token::<GetMe>(&run, NOTHING).await.ok();
    assert_eq!(
        (&me["may_author"], &me["may_administer"], &me["is_superuser"]),
        (&json!(false), &json!(false), &json!(false))
    );
    town.with_token::<ListTenants>(&run, NOTHING).await.refused(403, "admin_required");
    town.with_token::<ListUsers>(&run, NOTHING).await.refused(403, "admin_required");
    let (_, author) = token(&town, "bo@acme", json!({ "name": "w", "scopes": ["author:agents"] })).await;
    assert_eq!(town.with_token::<GetMe>(&author, NOTHING).await.ok()["may_author"], true);
    town.call::<PutMember>("ana@acme", &[("user", "bo")], json!({ "role": "Viewer" })).await.ok();
    assert_eq!(town.with_token::<GetMe>(&author, NOTHING).await.ok()["may_author"], false, "the role of now counts");

    // The scopes for tools write no agents, and no limited token touches what its person signs in or pays with.
    let (_, tools) =
        token(&town, "bo@acme", json!({ "name": "t", "scopes": ["run", "author:tools", "manage:tools"] })).await;
    for secret in [&tools, &author] {
        town.with_token::<CreateToken>(secret, json!({ "name": "x", "scopes": ["run"] }))
            .await
            .refused(403, "access_denied");
        town.with_token::<StoreKey>(secret, json!({ "provider": "openai", "api_key": "k-123456789" }))
            .await
            .refused(403, "access_denied");
        town.with_token::<DeleteKey>(secret, NOTHING).await.refused(403, "access_denied");
        town.with_token::<RevokeToken>(secret, NOTHING).await.refused(403, "access_denied");
    }
    town.with_token::<PatchAgent>(&tools, json!({ "description": "x" })).await.refused(403, "access_denied");

    for scopes in [json!(["admin"]), json!(["*"]), json!(["run "]), json!("run"), json!([1])] {
        let body = json!({ "name": "x", "scopes": scopes });
        town.call::<CreateToken>("bo@acme", &[], body).await.refused(400, "invalid_request");
    }
    for days in [json!(0), json!(3651), json!(-1), json!(1.5)] {
        let body = json!({ "name": "x", "days": days });
        town.call::<CreateToken>("bo@acme", &[], body).await.refused(400, "invalid_request");
    }
    town.call::<CreateToken>("nt", &[], json!({ "name": "x" })).await.refused(422, "tenant_required");
}

#[tokio::test]
async fn a_token_that_ends_makes_none_that_outlives_it() {
    let town = Town::new().await;
    let (maker, secret) = token(&town, "bo@acme", json!({ "name": "day", "days": 1 })).await;
    let list = town.call::<ListTokens>("bo@acme", &[], NOTHING).await.ok();
    let end = list["tokens"][0]["expires_at"].clone();
    assert!(end.is_string(), "{list}");
    for days in [NOTHING, json!(30)] {
        let made = town.with_token::<CreateToken>(&secret, json!({ "name": "heir", "days": days })).await;
        assert_eq!((made.status, &made.body["expires_at"]), (201, &end), "{days}: {made:?}");
    }
    let (_, endless) = token(&town, "bo@acme", json!({ "name": "endless" })).await;
    let made = town.with_token::<CreateToken>(&endless, json!({ "name": "heir" })).await;
    assert_eq!((made.status, &made.body["expires_at"]), (201, &NOTHING), "{made:?}");
    // One that is revoked between its check and the write makes none.
    let checked = sign_in(&town.store, &secret).await.unwrap();
    town.call::<RevokeToken>("bo@acme", &[("id", &maker)], NOTHING).await.ok();
    let late = Caller { sign_in: Some(checked), ..Caller::default() };
    call_as::<CreateToken>(&town.engine, late, &[], json!({ "name": "late" })).await.refused(401, "unauthorized");
}

#[tokio::test]
async fn a_token_is_limited_whoever_resolves_its_scope() {
    let world = crate::world::World::empty(crate::world::Setup::default());
    for user in ["adm", "sup", "ps"] {
        let (engine, mut caller) = world.host(user);
        let rights = async |caller: &Caller| {
            let me = call_as::<GetMe>(engine, caller.clone(), &[], NOTHING).await.ok();
            me["may_administer"] == true || me["is_superuser"] == true
        };
        assert!(rights(&caller).await, "{user}");
        caller.sign_in.as_mut().unwrap().token_scopes = Some(vec!["run".into(), "author:agents".into()]);
        assert!(!rights(&caller).await, "{user}");
    }
}
