//! Fixed vectors (computed with another implementation of the ciphers), and what must not open.
#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn key(first: u8) -> MasterKey {
    Zeroizing::new(std::array::from_fn(|i| first.wrapping_add(i as u8)))
}

fn vault(ids: &[(u16, u8)], active: u16, algorithm: Algorithm) -> Vault {
    Vault::new(ids.iter().map(|(id, first)| (*id, key(*first))).collect(), active, algorithm).unwrap()
}

const VECTORS: [(Algorithm, u16, &str, &str); 4] = [
    (
        Algorithm::Aes256Gcm,
        7,
        r#"{"api_key":"sk-test"}"#,
        "ogEAB2RlZmdoaWprbG1ub7Cjz68cC5PreaniIQmwqc6xDnKiES0Tr5otlsKHxe2yl4lS0Zo=",
    ),
    (Algorithm::Aes256Gcm, 258, r#"{"a.b":"c"}"#, "ogEBAmRlZmdoaWprbG1ub7Cjz/EXdsKsY6mlOK0+R2O8Jk7xHz3m7pompw=="),
    (
        Algorithm::ChaCha20Poly1305,
        7,
        r#"{"api_key":"sk-test"}"#,
        "ogIAB2RlZmdoaWprbG1ubxFvpO1us54HAaVZRj2q6U3k9RgWskkltMoHVyoeSEEUrNo0NcM=",
    ),
    (
        Algorithm::ChaCha20Poly1305,
        258,
        r#"{"a.b":"c"}"#,
        "ogIBAmRlZmdoaWprbG1ubxFvpLNlzs9AG6UeTG5eo3s8LRrKZJuJ6mJSNg==",
    ),
];

fn context_of(key_id: u16) -> Context {
    if key_id == 7 { Context::provider_key("42", "openai") } else { Context::credential("ana", "jira") }
}

#[test]
fn fixed_vectors_seal_and_open() {
    let nonce = std::array::from_fn(|i| 100 + i as u8);
    for (algorithm, id, plain, text) in VECTORS {
        let sealed = envelope::seal(&key(0), algorithm, id, &nonce, &context_of(id), plain.as_bytes()).unwrap();
        assert_eq!(STANDARD.encode(sealed), text);
        // The header says the algorithm, so any vault with the key opens it.
        let vault = vault(&[(7, 0), (258, 0)], 7, Algorithm::default());
        assert_eq!(vault.open(&context_of(id), text).unwrap().to_string(), plain);
    }
}

#[test]
fn every_changed_byte_and_every_cut_is_found() {
    let vault = vault(&[(7, 0)], 7, Algorithm::default());
    for algorithm in [Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
        let (_, _, plain, text) = VECTORS.into_iter().find(|(a, id, ..)| *a == algorithm && *id == 7).unwrap();
        let bytes = STANDARD.decode(text).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let got = vault.open(&context_of(7), &STANDARD.encode(&changed));
                assert!(got.is_err(), "byte {at} bit {bit}");
            }
            assert!(vault.open(&context_of(7), &STANDARD.encode(&bytes[..at])).is_err());
        }
        for at in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(vault.open(&context_of(7), std::str::from_utf8(&changed).unwrap()).is_err(), "character {at}");
        }
        assert_eq!(vault.open(&context_of(7), text).unwrap().to_string(), plain);
    }
}

#[test]
fn opens_in_its_own_context_only() {
    let contexts = [
        Context::provider_key("7", "openai"),
        Context::provider_key("07", "openai"),
        Context::provider_key("7a", "openai"),
        Context::provider_key("8", "openai"),
        Context::provider_key("7", "groq"),
        Context::credential("7", "openai"),
        Context::credential("7", "api_key"),
        Context::approval_args("7"),
        Context::approval_args("openai"),
    ];
    let vault = vault(&[(1, 3)], 1, Algorithm::ChaCha20Poly1305);
    for (i, made_for) in contexts.iter().enumerate() {
        let sealed = vault.seal(made_for, &json!({"a": i})).unwrap();
        for (j, other) in contexts.iter().enumerate() {
            let got = vault.open(other, &sealed);
            assert_eq!(got, if i == j { Ok(json!({"a": i})) } else { Err(VaultError::Integrity) }, "{i} {j}");
        }
    }
    for empty in [Context::provider_key("", "openai"), Context::provider_key("7", ""), Context::approval_args("")] {
        assert_eq!(vault.seal(&empty, &json!({})), Err(VaultError::Context));
    }
}

#[test]
fn the_type_of_a_user_id_matters() {
    let tag = |id: &str| {
        let bytes = Context::provider_key(id, "p").bytes().unwrap();
        let at = bytes.windows(7).position(|w| w == b"user_id").unwrap() + 7;
        bytes[at]
    };
    let tags: Vec<u8> = ["42", "0", "042", "ana", "4 2", "-4", "٤٢"].map(tag).to_vec();
    assert_eq!(tags, [2, 2, 1, 1, 1, 1, 1]);
}

#[test]
fn an_old_master_key_opens_and_the_active_one_seals() {
    let context = Context::provider_key("ana", "openai");
    let before = vault(&[(1, 10)], 1, Algorithm::Aes256Gcm);
    let old = before.seal(&context, &json!({"api_key": "sk-old"})).unwrap();
    let after = vault(&[(1, 10), (2, 20)], 2, Algorithm::ChaCha20Poly1305);
    assert_eq!(after.open(&context, &old).unwrap()["api_key"], "sk-old");
    let new = after.seal(&context, &json!({"api_key": "sk-new"})).unwrap();
    assert_eq!(STANDARD.decode(&new).unwrap()[..4], [0xA2, 2, 0, 2]);
    assert_eq!(before.open(&context, &new), Err(VaultError::UnknownKey(2)));
    // The same number with another key: an error, never something else.
    assert_eq!(vault(&[(1, 11)], 1, Algorithm::default()).open(&context, &old), Err(VaultError::Integrity));
    assert!(Vault::new(BTreeMap::new(), 1, Algorithm::default()).is_err());
}

#[test]
fn sealed_twice_looks_different_and_shows_nothing() {
    let vault = vault(&[(1, 1)], 1, Algorithm::default());
    let context = Context::credential("ana", "mail");
    let value = json!({"smtp.password": "hunter2", "n": 1});
    let (a, b) = (vault.seal(&context, &value).unwrap(), vault.seal(&context, &value).unwrap());
    assert_ne!(a, b);
    assert_eq!(vault.open(&context, &a).unwrap(), value);
    assert!(!String::from_utf8_lossy(&STANDARD.decode(&a).unwrap()).contains("hunter2"));
    assert_eq!(format!("{vault:?}"), "Vault { active: 1, algorithm: Aes256Gcm, .. }");
}

fn load(pairs: &[(&str, &str)], home: Option<&Path>) -> Result<Option<Vault>, VaultError> {
    let env: HashMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Vault::load(&|name| env.get(name).cloned(), home)
}

const B64: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";

#[test]
fn keys_come_from_the_environment() {
    let probe = |pairs: &[(&str, &str)]| {
        let vault = load(pairs, None).unwrap().unwrap();
        (vault.active, vault.keys.len(), vault.keys[&vault.active] == key(0), vault.algorithm)
    };
    for text in [B64, B64.trim_end_matches('='), HEX, &format!(" {B64}\n")] {
        assert_eq!(probe(&[("MASTER_ENCRYPTION_KEY", text)]), (1, 1, true, Algorithm::Aes256Gcm));
    }
    let numbered = [
        ("VAULT_MASTER_KEY_v1", "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="),
        ("VAULT_MASTER_KEY_v300", HEX),
        ("VAULT_ACTIVE_KEY_ID", "300"),
        ("VAULT_CIPHER_BACKEND", "chacha20"),
        ("MASTER_ENCRYPTION_KEY", "not looked at"),
    ];
    assert_eq!(probe(&numbered), (300, 2, true, Algorithm::ChaCha20Poly1305));
    assert!(load(&[], None).unwrap().is_none());
}

#[test]
fn a_malformed_setting_is_an_error_and_never_the_next_source() {
    let home = tempfile::tempdir().unwrap();
    let secret = "c2hvcnQgYnV0IHNlY3JldA==";
    let bad: [&[(&str, &str)]; 9] = [
        &[("MASTER_ENCRYPTION_KEY", secret)],
        &[("MASTER_ENCRYPTION_KEY", "")],
        &[("MASTER_ENCRYPTION_KEY", &B64[1..])],
        &[("MASTER_ENCRYPTION_KEY", &HEX[1..])],
        &[("VAULT_MASTER_KEY_v1", HEX)],
        &[("VAULT_MASTER_KEY_v1", HEX), ("VAULT_ACTIVE_KEY_ID", "2")],
        &[("VAULT_MASTER_KEY_v1", HEX), ("VAULT_ACTIVE_KEY_ID", "70000")],
        &[("VAULT_MASTER_KEY_v1", HEX), ("VAULT_MASTER_KEY_v2", secret), ("VAULT_ACTIVE_KEY_ID", "1")],
        &[("MASTER_ENCRYPTION_KEY", HEX), ("VAULT_CIPHER_BACKEND", "rot13")],
    ];
    for pairs in bad {
        let error = load(pairs, Some(home.path())).unwrap_err();
        assert!(matches!(error, VaultError::Setting { .. }), "{pairs:?}: {error:?}");
        assert!(!error.to_string().contains(secret));
    }
    assert!(!home.path().join("vault.key").exists());
}

#[test]
fn a_key_file_is_made_once_for_its_owner_alone() {
    let home = tempfile::tempdir().unwrap();
    let context = Context::approval_args("a");
    let sealed = load(&[], Some(home.path())).unwrap().unwrap().seal(&context, &json!({"x": 1})).unwrap();
    let path = home.path().join("vault.key");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "no draft stays");
    assert_eq!(load(&[], Some(home.path())).unwrap().unwrap().open(&context, &sealed).unwrap(), json!({"x": 1}));

    for mode in [0o640, 0o604, 0o660] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = load(&[], Some(home.path())).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
        assert!(!error.contains(home.path().to_str().unwrap()), "{error}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, "short\n").unwrap();
    assert!(matches!(load(&[], Some(home.path())), Err(VaultError::KeyFile(_))));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(load(&[], Some(home.path())), Err(VaultError::KeyFile(_))));
    assert!(matches!(load(&[], Some(&home.path().join("absent"))), Err(VaultError::KeyFile(_))));
}

#[test]
fn processes_that_race_agree_on_one_key() {
    for _ in 0..20 {
        let home = tempfile::tempdir().unwrap();
        let start = std::sync::Barrier::new(4);
        let keys: Vec<MasterKey> = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        load(&[], Some(home.path())).unwrap().unwrap().keys[&1].clone()
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
