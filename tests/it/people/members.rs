//! Who may do what, and who may change that.

use super::town::{NOTHING, Town, call_as};
use crate::place::{Where, everywhere};
use crate::world::Answer;
use contract::ops::audit::VerifyAudit;
use contract::ops::me::GetMe;
use contract::ops::people::{
    CreateTenant, CreateUser, DeleteMember, GetMember, GetTenant, GetUser, ListMembers, ListTenants, ListUsers,
    PatchTenant, PatchUser, PutMember,
};
use engine::Caller;
use engine::people::{Bootstrap, Home, bootstrap};
use serde_json::{Value, json};
use store::{Store, StoreSettings};
use tempfile::TempDir;
use trust::journal;

everywhere! {
    async
    what_is_switched_off_or_removed_is_refused_at_once,
    tenants_are_of_the_platform,
    people_of_another_tenant_are_as_if_absent,
    users_are_created_as_viewers_and_changed_with_care,
    a_tenant_keeps_an_active_administrator,
    the_platforms_administrator_is_not_shut_out,
    two_administrators_of_the_platform_do_not_shut_each_other_out,
}

#[tokio::test]
async fn roles_become_scopes_of_one_tenant() {
    let town = Town::new().await;
    let rights = async |who: &str| {
        let me = town.call::<GetMe>(who, &[], NOTHING).await.ok();
        (me["may_author"] == true, me["may_administer"] == true, me["is_superuser"] == true, me["enabled"] == true)
    };
    assert_eq!(rights("ana@acme").await, (true, true, false, true));
    assert_eq!(rights("bo@acme").await, (true, false, false, true));
    assert_eq!(rights("bo@globex").await, (false, false, false, true));
    assert_eq!(rights("vic@acme").await, (false, false, false, true));
    assert_eq!(rights("root@acme").await, (true, true, true, true));
    let me = town.call::<GetMe>("bo@acme", &[], NOTHING).await.ok();
    assert_eq!(me.as_object().unwrap().len(), 6);
    assert_eq!((&me["user_id"], &me["tenant"]), (&json!("bo"), &json!("acme")));
    assert_eq!(town.call::<GetMe>("root", &[], NOTHING).await.ok()["is_superuser"], false);

    // No membership, nobody, no tenant: one and the same answer.
    let refused = town.call::<GetMe>("root@globex", &[], NOTHING).await;
    refused.refused(401, "unauthorized");
    for who in ["nt@acme", "ghost@acme", "ana@nowhere", "ghost"] {
        assert_eq!(town.call::<GetMe>(who, &[], NOTHING).await, refused, "{who}");
    }
}

async fn what_is_switched_off_or_removed_is_refused_at_once(place: Where) {
    let town = Town::on(place).await;
    town.call::<GetMe>("vic@acme", &[], NOTHING).await.ok();
    town.call::<PatchUser>("ana@acme", &[("id", "vic")], json!({ "active": false })).await.ok();
    town.call::<GetMe>("vic@acme", &[], NOTHING).await.refused(401, "unauthorized");
    town.call::<GetMe>("vic", &[], NOTHING).await.refused(401, "unauthorized");

    town.call::<DeleteMember>("gus@globex", &[("user", "bo")], NOTHING).await.ok();
    town.call::<GetMe>("bo@globex", &[], NOTHING).await.refused(401, "unauthorized");
    town.call::<GetMe>("bo@acme", &[], NOTHING).await.ok();

    town.call::<PatchTenant>("root@acme", &[("id", "globex")], json!({ "active": false })).await.ok();
    town.call::<GetMe>("gus@globex", &[], NOTHING).await.refused(401, "unauthorized");
    town.call::<PatchTenant>("root@acme", &[("id", "acme")], json!({ "active": false }))
        .await
        .refused(400, "invalid_request");
}

async fn tenants_are_of_the_platform(place: Where) {
    let town = Town::on(place).await;
    for who in ["ana@acme", "bo@acme", "vic@acme"] {
        town.call::<ListTenants>(who, &[], NOTHING).await.refused(403, "admin_required");
        town.call::<CreateTenant>(who, &[], json!({ "id": "x" })).await.refused(403, "admin_required");
        town.call::<GetTenant>(who, &[("id", "acme")], NOTHING).await.refused(403, "admin_required");
        town.call::<PatchTenant>(who, &[("id", "acme")], json!({ "name": "x" })).await.refused(403, "admin_required");
    }
    let create = async |body: Value| town.call::<CreateTenant>("root@acme", &[], body).await;
    let made = create(json!({ "id": "initech", "name": " Initech Inc. " })).await;
    assert_eq!(made.status, 201);
    let made = made.ok();
    assert_eq!(
        (&made["name"], &made["active"], &made["approvals"]),
        (&json!("Initech Inc."), &json!(true), &json!("asker"))
    );
    for id in ["astudio", "-", "Initech", "a b", "", "_x", &"a".repeat(64), "acme\n"] {
        create(json!({ "id": id })).await.refused(400, "invalid_name");
    }
    let taken = create(json!({ "id": "acme" })).await;
    taken.refused(409, "name_taken");
    assert_eq!(taken.body["message"], "Name 'acme' is not available.");
    create(json!({ "id": "y", "name": "  " })).await.refused(400, "invalid_request");
    create(json!({})).await.refused(400, "invalid_request");
    create(NOTHING).await.refused(400, "invalid_json");

    let patch = async |body: Value| town.call::<PatchTenant>("root@acme", &[("id", "initech")], body).await;
    for rule in ["admins", "asker", "group:sales lead"] {
        assert_eq!(patch(json!({ "approvals": rule })).await.ok()["approvals"], rule);
    }
    for rule in ["", "group:", "group: ", "everyone", "Admins", "group:a,b", "group:a\nb"] {
        patch(json!({ "approvals": rule })).await.refused(400, "invalid_request");
    }
    patch(json!({ "id": "other" })).await.refused(400, "invalid_request");
    town.call::<PatchTenant>("root@acme", &[("id", "nowhere")], NOTHING).await.refused(404, "not_found");
    assert_eq!(town.call::<ListTenants>("root@acme", &[], NOTHING).await.ok()["count"], 3);
}

async fn people_of_another_tenant_are_as_if_absent(place: Where) {
    let town = Town::on(place).await;
    let ids = |list: &Value, of: &str, key: &str| -> Vec<String> {
        list[of].as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
    };
    let users = town.call::<ListUsers>("ana@acme", &[], NOTHING).await.ok();
    assert_eq!(ids(&users, "users", "id"), ["ana", "bo", "root", "vic"]);
    let members = town.call::<ListMembers>("gus@globex", &[], NOTHING).await.ok();
    assert_eq!(ids(&members, "members", "user"), ["bo", "gus"]);

    // `gus` is there, of another tenant; `hex` is not there at all.
    let same = |there: Answer, absent: Answer| {
        there.refused(404, "not_found");
        assert_eq!(there.body.to_string().replace("gus", "hex"), absent.body.to_string());
    };
    let id = |user: &'static str| [("id", user)];
    let user = |user: &'static str| [("user", user)];
    let viewer = json!({ "role": "Viewer" });
    let off = json!({ "active": false });
    same(
        town.call::<GetUser>("ana@acme", &id("gus"), NOTHING).await,
        town.call::<GetUser>("ana@acme", &id("hex"), NOTHING).await,
    );
    same(
        town.call::<PatchUser>("ana@acme", &id("gus"), off.clone()).await,
        town.call::<PatchUser>("ana@acme", &id("hex"), off).await,
    );
    same(
        town.call::<GetMember>("ana@acme", &user("gus"), NOTHING).await,
        town.call::<GetMember>("ana@acme", &user("hex"), NOTHING).await,
    );
    same(
        town.call::<PutMember>("ana@acme", &user("gus"), viewer.clone()).await,
        town.call::<PutMember>("ana@acme", &user("hex"), viewer.clone()).await,
    );
    same(
        town.call::<DeleteMember>("ana@acme", &user("gus"), NOTHING).await,
        town.call::<DeleteMember>("ana@acme", &user("hex"), NOTHING).await,
    );
    // Only the platform takes somebody into a second tenant.
    town.call::<PutMember>("root@acme", &user("gus"), viewer.clone()).await.ok();
    town.call::<PutMember>("root@acme", &user("hex"), viewer.clone()).await.refused(404, "not_found");
    town.call::<GetMe>("gus@acme", &[], NOTHING).await.ok();
    for who in ["bo@acme", "vic@acme"] {
        town.call::<ListUsers>(who, &[], NOTHING).await.refused(403, "admin_required");
        town.call::<PutMember>(who, &user("vic"), viewer.clone()).await.refused(403, "admin_required");
    }
}

async fn users_are_created_as_viewers_and_changed_with_care(place: Where) {
    let town = Town::on(place).await;
    let create = async |who: &str, body: Value| town.call::<CreateUser>(who, &[], body).await;
    let made = create("ana@acme", json!({ "id": "eve", "email": "eve@example.invalid" })).await.ok();
    assert_eq!((&made["name"], &made["active"]), (&json!("eve"), &json!(true)));
    let eve = town.call::<GetMember>("ana@acme", &[("user", "eve")], NOTHING).await.ok();
    assert_eq!((&eve["role"], &eve["groups"]), (&json!("Viewer"), &json!([])));
    for taken in ["eve", "gus", "nt"] {
        create("ana@acme", json!({ "id": taken })).await.refused(409, "name_taken");
    }
    for id in ["", "Eve", "a b", "a:b", &"e".repeat(65)] {
        create("ana@acme", json!({ "id": id })).await.refused(400, "invalid_name");
    }
    for body in
        [json!({ "id": "x", "name": "a\u{1b}[2J" }), json!({ "id": "x", "email": "nobody" }), json!({ "id": 5 })]
    {
        create("ana@acme", body).await.refused(400, "invalid_request");
    }

    let patch = async |who: &str, id: &str, body: Value| town.call::<PatchUser>(who, &[("id", id)], body).await;
    let eve = patch("ana@acme", "eve", json!({ "name": "Eve E.", "email": null })).await.ok();
    assert_eq!((&eve["name"], &eve["email"]), (&json!("Eve E."), &NOTHING));
    // `bo` is of two tenants, `root` of the platform.
    for id in ["bo", "root"] {
        for body in [json!({ "active": false }), json!({ "email": "mine@example.invalid" })] {
            patch("ana@acme", id, body).await.refused(403, "access_denied");
        }
    }
    patch("root@acme", "bo", json!({ "active": false })).await.ok();
    // Not the last administrator, of a tenant or of the platform.
    patch("root@acme", "ana", json!({ "active": false })).await.refused(409, "delete_refused");
    patch("root@acme", "root", json!({ "active": false })).await.refused(409, "delete_refused");
    for odd in ["a@b\u{feff}c", "a@b c", "\u{feff}@b", "a@b\u{85}", "\na@b", "@b", "a@"] {
        patch("root@acme", "ana", json!({ "email": odd })).await.refused(400, "invalid_request");
    }
    assert_eq!(patch("root@acme", "ana", json!({ "email": "\u{feff}a@b " })).await.ok()["email"], "a@b");
    for nothing in ["\u{feff}", "\u{2003}\u{feff} ", "", "Ana\n"] {
        patch("root@acme", "ana", json!({ "name": nothing })).await.refused(400, "invalid_request");
    }
    assert_eq!(patch("root@acme", "ana", json!({ "name": "\u{feff}Ana " })).await.ok()["name"], "Ana");
}

async fn a_tenant_keeps_an_active_administrator(place: Where) {
    let town = Town::on(place).await;
    let put = async |user: &str, role: &str| {
        town.call::<PutMember>("ana@acme", &[("user", user)], json!({ "role": role })).await
    };
    let delete = async |user: &str| town.call::<DeleteMember>("ana@acme", &[("user", user)], NOTHING).await;
    put("ana", "Builder").await.refused(409, "delete_refused");
    delete("ana").await.refused(409, "delete_refused");
    // One who is switched off is no help.
    put("vic", "operator").await.ok();
    town.call::<PatchUser>("ana@acme", &[("id", "vic")], json!({ "active": false })).await.ok();
    delete("ana").await.refused(409, "delete_refused");
    delete("vic").await.ok();
    assert_eq!(put("bo", "Admin").await.ok()["role"], "Admin");
    assert_eq!(put("ana", "Viewer").await.ok()["role"], "Viewer");
    put("bo", "Admin").await.refused(403, "admin_required");

    let groups = json!({ "role": "Builder", "groups": [" b ", "a", "a"] });
    let member = town.call::<PutMember>("bo@acme", &[("user", "ana")], groups).await.ok();
    assert_eq!(member["groups"], json!(["a", "b"]));
    for groups in [json!([""]), json!(["a,b"]), json!(["a\nb"]), json!("a")] {
        let body = json!({ "role": "Viewer", "groups": groups });
        town.call::<PutMember>("bo@acme", &[("user", "ana")], body).await.refused(400, "invalid_request");
    }
}

async fn the_platforms_administrator_is_not_shut_out(place: Where) {
    let town = Town::on(place).await;
    let put =
        async |by: &str, role: &str| town.call::<PutMember>(by, &[("user", "root")], json!({ "role": role })).await;
    let delete = async |by: &str| town.call::<DeleteMember>(by, &[("user", "root")], NOTHING).await;
    put("ana@acme", "Admin").await.refused(403, "access_denied");
    delete("ana@acme").await.refused(403, "access_denied");
    delete("root@acme").await.refused(409, "delete_refused");
    assert_eq!(put("root@acme", "Builder").await.ok()["role"], "Builder");
    // One who cannot sign in is no help; with another who can, one may go.
    town.sql("update users set platform_admin = 1 where id = 'nt'").await;
    delete("root@acme").await.refused(409, "delete_refused");
    town.sql("update users set platform_admin = 1 where id = 'bo'").await;
    delete("bo@acme").await.ok();
    let own = async |who: &str| town.call::<DeleteMember>(who, &[("user", "bo")], NOTHING).await;
    own("bo@acme").await.ok();
    own("bo@globex").await.refused(409, "delete_refused");
}

async fn two_administrators_of_the_platform_do_not_shut_each_other_out(place: Where) {
    let town = Town::on(place).await;
    town.sql("update users set platform_admin = 1 where id = 'gus'").await;
    let off = |who: &'static str, tenant: &'static str| {
        let body = json!({ "active": false });
        async { town.call::<PatchTenant>(who, &[("id", tenant)], body).await.status }
    };
    let both = tokio::join!(off("root@acme", "globex"), off("gus@globex", "acme"));
    assert_eq!([both.0, both.1].iter().filter(|status| **status == 200).count(), 1, "{both:?}");
    let mut inside = Vec::new();
    for who in ["root@acme", "gus@globex"] {
        inside.push(town.call::<GetMe>(who, &[], NOTHING).await.status);
    }
    assert!(inside.contains(&200), "{inside:?}");
}

#[tokio::test]
async fn a_fresh_home_gets_its_person_once() {
    let home = TempDir::new().unwrap();
    let store = Store::open(&StoreSettings::new(home.path())).unwrap();
    assert!(journal::install(&store));
    let wanted = |user: &str| Bootstrap { tenant: "local".into(), user: user.into(), name: "Ana".into() };
    let (one, two) = tokio::join!(bootstrap(&store, wanted("ana")), bootstrap(&store, wanted("bob")));
    let first = one.unwrap();
    assert_eq!(first, two.unwrap());
    assert_eq!(first, Home { tenant: "local".into(), user: first.user.clone() });
    assert_eq!(bootstrap(&store, wanted("eve")).await.unwrap(), first);
    let engine = Town::engine(&store, None);
    let caller = || Caller::user(first.user.clone(), Some("local"));
    let me = call_as::<GetMe>(&engine, caller(), &[], NOTHING).await.ok();
    assert_eq!((&me["may_administer"], &me["is_superuser"]), (&json!(true), &json!(true)));
    assert_eq!(call_as::<ListUsers>(&engine, caller(), &[], NOTHING).await.ok()["count"], 1);
    assert_eq!(call_as::<VerifyAudit>(&engine, caller(), &[], NOTHING).await.ok()["entries"], 1);

    let bad = Bootstrap { tenant: "astudio".into(), ..wanted("ana") };
    assert_eq!(bootstrap(&store, bad).await.unwrap_err().code, contract::Code::InvalidName);
}
