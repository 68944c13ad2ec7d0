//! Cases G: provider keys of people. Those that need an agent to be asked stand with the test sessions.

use crate::people::{Town, call_as, found_in};
use contract::ops::keys::{DeleteKey, ListKeys, StoreKey};
use engine::{Caller, Engine};
use serde_json::{Value, json};
use tempfile::TempDir;
use trust::keys::stored_key;
use trust::vault::Vault;

const NOTHING: Value = Value::Null;
const SECRET: &str = "sk-proj-0123456789abcdefWXYZ";

fn key(provider: &str, text: &str) -> Value {
    json!({ "provider": provider, "api_key": text })
}

fn own(town: &Town) -> Vault {
    Vault::load(&|_| None, Some(town.home.path())).unwrap().unwrap()
}

async fn opened(town: &Town, vault: &Vault, user: &str, provider: &str) -> Option<String> {
    stored_key(&town.store, vault, user, provider).await.unwrap().map(|key| key.expose().to_owned())
}

#[tokio::test]
async fn g01_g02_g04_a_key_is_stored_masked_and_sealed() {
    let town = Town::new().await;
    let stored = town.call::<StoreKey>("bo@acme", &[], key(" OpenAI ", SECRET)).await;
    assert_eq!((stored.status, &stored.body), (201, &json!({ "provider": "openai", "masked": "sk-…WXYZ" })));
    town.call::<StoreKey>("bo@acme", &[], key("groq", "short")).await.ok();

    let list = town.call::<ListKeys>("bo@acme", &[], NOTHING).await.ok();
    assert_eq!(list["count"], 2);
    assert_eq!(list["keys"][0]["masked"], "*****");
    assert_eq!(list["keys"][1]["provider"], "openai");
    assert_eq!(list["keys"][1].as_object().unwrap().len(), 3);
    assert!(!list.to_string().contains(SECRET));
    assert!(!found_in(town.home.path(), SECRET), "the key is nowhere in the home");
    assert_eq!(opened(&town, &own(&town), "bo", "openai").await.as_deref(), Some(SECRET));

    // Stored again: replaced, and the first time stays.
    let first = list["keys"][1]["created_at"].clone();
    town.call::<StoreKey>("bo@acme", &[], key("openai", " sk-other-key-1234 \n")).await.ok();
    let list = town.call::<ListKeys>("bo@acme", &[], NOTHING).await.ok();
    assert_eq!((&list["count"], &list["keys"][1]["created_at"]), (&json!(2), &first));
    assert_eq!(opened(&town, &own(&town), "bo", "openai").await.as_deref(), Some("sk-other-key-1234"));
}

#[tokio::test]
async fn g06_the_order_of_refusals() {
    let home = TempDir::new().unwrap();
    // Without a vault, so that what comes before the vault shows.
    let town = Town::with(home, None).await;
    let in_url = [("provider", "openai")];
    town.call::<StoreKey>("bo@acme", &in_url, NOTHING).await.refused(400, "invalid_route");
    town.call::<StoreKey>("bo@acme", &[], NOTHING).await.refused(400, "invalid_json");
    for body in [json!({}), json!({ "provider": "openai" }), json!({ "provider": 1, "api_key": "" }), json!([])] {
        town.call::<StoreKey>("bo@acme", &[], body).await.refused(400, "invalid_request");
    }
    for blank in ["", "   ", "\t\n"] {
        let refused = town.call::<StoreKey>("bo@acme", &[], key("nobody", blank)).await;
        refused.refused(422, "invalid_config");
        assert_eq!(refused.body["details"][0]["field"], "api_key");
    }
    let refused = town.call::<StoreKey>("bo@acme", &[], key("nobody", SECRET)).await;
    refused.refused(400, "invalid_provider");
    assert!(!refused.body.to_string().contains(SECRET));
    town.call::<StoreKey>("bo@acme", &[], key("openai", SECRET)).await.refused(503, "vault_unavailable");
    assert_eq!(town.count("select count(*) from keys").await, 0);
}

#[tokio::test]
async fn g07_without_a_master_key_there_are_no_keys() {
    let town = Town::with(TempDir::new().unwrap(), None).await;
    town.call::<ListKeys>("bo@acme", &[], NOTHING).await.refused(503, "vault_unavailable");
    town.call::<StoreKey>("bo@acme", &[], key("openai", SECRET)).await.refused(503, "vault_unavailable");
    town.call::<DeleteKey>("bo@acme", &[("provider", "openai")], NOTHING).await.ok();
}

#[tokio::test]
async fn g09_a_deleted_key_is_gone_and_an_absent_one_is_fine() {
    let town = Town::new().await;
    town.call::<StoreKey>("bo@acme", &[], key("openai", SECRET)).await.ok();
    for _ in 0..2 {
        let gone = town.call::<DeleteKey>("bo@acme", &[("provider", "OpenAI")], NOTHING).await;
        assert_eq!((gone.status, gone.body), (200, json!({ "provider": "openai", "deleted": true })));
    }
    assert_eq!(opened(&town, &own(&town), "bo", "openai").await, None);
    assert_eq!(town.count("select count(*) from audit where action = 'key.deleted'").await, 1);
    town.call::<DeleteKey>("bo@acme", &[], NOTHING).await.refused(400, "missing_provider");
}

#[tokio::test]
async fn g11_g12_keys_are_a_person_s_in_every_tenant() {
    let town = Town::new().await;
    town.call::<StoreKey>("bo@acme", &[], key("openai", SECRET)).await.ok();
    let here = town.call::<ListKeys>("bo@acme", &[], NOTHING).await.ok();
    assert_eq!(town.call::<ListKeys>("bo@globex", &[], NOTHING).await.ok(), here);
    assert_eq!(town.call::<ListKeys>("bo", &[], NOTHING).await.ok(), here);
    for other in ["ana@acme", "root@acme", "nt"] {
        assert_eq!(town.call::<ListKeys>(other, &[], NOTHING).await.ok(), json!({ "keys": [], "count": 0 }));
    }
    town.call::<DeleteKey>("ana@acme", &[("provider", "openai")], NOTHING).await.ok();
    assert_eq!(town.call::<ListKeys>("bo@acme", &[], NOTHING).await.ok(), here, "nobody deletes another's key");
    town.call::<StoreKey>("nt", &[], key("openai", SECRET)).await.ok();
    assert_eq!(town.call::<ListKeys>("nt", &[], NOTHING).await.ok()["count"], 1);

    // What a rotation set aside is no key.
    town.sql("insert into keys select user_id, 'openai#quarantined:1', sealed, key_id, masked, 1, 1 from keys where user_id = 'bo'").await;
    assert_eq!(town.call::<ListKeys>("bo@acme", &[], NOTHING).await.ok(), here);
}

#[tokio::test]
async fn g14_after_a_rotation_old_records_open_and_new_ones_use_the_active_key() {
    const OLD: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const NEW: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";
    let load = |keys: &'static [(&'static str, &'static str)]| {
        Vault::load(&|name| keys.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned()), None).unwrap()
    };
    let before = load(&[("MASTER_ENCRYPTION_KEY", OLD)]);
    let rotated: &[_] = &[("VAULT_MASTER_KEY_v1", OLD), ("VAULT_MASTER_KEY_v2", NEW), ("VAULT_ACTIVE_KEY_ID", "2")];
    let town = Town::with(TempDir::new().unwrap(), before).await;
    town.call::<StoreKey>("bo@acme", &[], key("openai", SECRET)).await.ok();
    let after: Engine = Town::engine(&town.store, load(rotated));
    let bo = || Caller::user("bo", Some("acme"));
    call_as::<StoreKey>(&after, bo(), &[], key("groq", "gsk-0123456789")).await.ok();
    assert_eq!(call_as::<ListKeys>(&after, bo(), &[], NOTHING).await.ok()["count"], 2);
    let vault = load(rotated).unwrap();
    assert_eq!(opened(&town, &vault, "bo", "openai").await.as_deref(), Some(SECRET));
    assert_eq!(opened(&town, &vault, "bo", "groq").await.as_deref(), Some("gsk-0123456789"));
    let id = async |provider: &str| town.count(&format!("select key_id from keys where provider = '{provider}'")).await;
    assert_eq!((id("openai").await, id("groq").await), (1, 2));
}

#[tokio::test]
async fn g17_a_key_that_cannot_be_opened_is_an_error_and_never_none() {
    let town = Town::new().await;
    town.call::<StoreKey>("bo@acme", &[], key("openai", SECRET)).await.ok();
    town.call::<StoreKey>("ana@acme", &[], key("groq", SECRET)).await.ok();
    let vault = own(&town);
    // Moved to another person's row by somebody who can write the database.
    town.sql("update keys set sealed = (select sealed from keys where user_id = 'bo') where user_id = 'ana'").await;
    assert!(stored_key(&town.store, &vault, "ana", "groq").await.is_err());
    assert_eq!(town.call::<ListKeys>("ana@acme", &[], NOTHING).await.ok()["count"], 1);
    town.sql("update keys set sealed = 'damaged' where user_id = 'bo'").await;
    assert!(stored_key(&town.store, &vault, "bo", "openai").await.is_err());
    assert!(stored_key(&town.store, &vault, "bo", "groq").await.unwrap().is_none());
}
