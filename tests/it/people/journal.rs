//! What happened, as administrators read and check it.

use super::tokens::token;
use super::town::{NOTHING, Town};
use crate::world::answer;
use contract::ops::audit::{ListAudit, VerifyAudit};
use contract::ops::people::{CreateUser, PatchUser, PutMember};
use contract::ops::tokens::RevokeToken;
use contract::wire::WireRequest;
use engine::Caller;
use serde_json::json;

#[tokio::test]
async fn what_happened_is_in_the_journal_of_its_tenant() {
    let town = Town::new().await;
    town.call::<CreateUser>("ana@acme", &[], json!({ "id": "eve" })).await.ok();
    town.call::<PutMember>("ana@acme", &[("user", "eve")], json!({ "role": "Builder" })).await.ok();
    let (id, secret) = token(&town, "eve@acme", json!({ "name": "t" })).await;
    town.call::<RevokeToken>("eve@acme", &[("id", &id)], NOTHING).await.ok();
    // Neither a repetition nor a refusal is an event.
    town.call::<PutMember>("ana@acme", &[("user", "eve")], json!({ "role": "Builder" })).await.ok();
    town.call::<CreateUser>("ana@acme", &[], json!({ "id": "eve" })).await.refused(409, "name_taken");
    town.call::<PatchUser>("root@acme", &[("id", "bo")], json!({ "name": "Bo" })).await.ok();

    let list = town.call::<ListAudit>("ana@acme", &[], NOTHING).await.ok();
    let actions: Vec<&str> =
        list["entries"].as_array().unwrap().iter().map(|e| e["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["user.updated", "token.revoked", "token.created", "member.updated", "user.created"]);
    assert_eq!((list["entries"][0]["seq"].as_i64(), &list["next_cursor"]), (Some(5), &NOTHING));
    assert!(!list.to_string().contains(&secret));
    // Of two tenants, told in both; nothing else of one is seen in the other.
    let other = town.call::<ListAudit>("gus@globex", &[], NOTHING).await.ok();
    assert_eq!((other["count"].as_i64(), other["entries"][0]["action"].as_str()), (Some(1), Some("user.updated")));
    town.call::<ListAudit>("bo@acme", &[], NOTHING).await.refused(403, "admin_required");

    let own = town.call::<VerifyAudit>("gus@globex", &[], NOTHING).await.ok();
    assert_eq!((&own["ok"], &own["entries"], &own["roots"]), (&json!(true), &json!(1), &json!(0)));
    let all = town.call::<VerifyAudit>("root@acme", &[], NOTHING).await.ok();
    assert_eq!((&all["ok"], &all["entries"], &all["unsealed"]), (&json!(true), &json!(6), &json!(0)));
    assert_eq!(
        town.sql("update audit set actor = 'mallory' where partition = 'acme' and action = 'token.created'").await,
        1
    );
    assert_eq!(town.call::<VerifyAudit>("ana@acme", &[], NOTHING).await.ok()["ok"], false);
    assert_eq!(town.call::<VerifyAudit>("gus@globex", &[], NOTHING).await.ok(), own);
}

#[tokio::test]
async fn the_journal_is_paged() {
    let town = Town::new().await;
    for n in 0..5 {
        town.call::<CreateUser>("ana@acme", &[], json!({ "id": format!("n{n}") })).await.ok();
    }
    let page = async |query: &[(&str, &str)]| {
        let query = query.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let request = WireRequest { query, ..WireRequest::default() };
        answer::<ListAudit>(town.engine.call::<ListAudit>(Caller::user("ana", Some("acme")), request).await)
    };
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut query = vec![("limit", "2")];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let list = page(&query).await.ok();
        seen.extend(list["entries"].as_array().unwrap().iter().map(|e| e["seq"].as_i64().unwrap()));
        cursor = list["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
    for bad in [("limit", "0"), ("cursor", "x"), ("q", "a"), ("sort", "at")] {
        page(&[bad]).await.refused(400, "invalid_request");
    }
}
