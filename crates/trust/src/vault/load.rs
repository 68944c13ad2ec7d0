//! Where the master keys come from: the environment, or a key file of the home.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::{Algorithm, MasterKey, Vault, VaultError};

/// Name of the key file.
const FILE: &str = "vault.key";

/// Numbers of master keys that are looked for even if the active one is below.
const LOOKED_FOR: u16 = 255;

/// Master keys by number, and the one that seals.
type Numbered = (BTreeMap<u16, MasterKey>, u16);

/// Reads an environment variable.
type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Vault {
    /// The vault that the settings give: `VAULT_MASTER_KEY_v{N}` with `VAULT_ACTIVE_KEY_ID`; else `MASTER_ENCRYPTION_KEY` as
    /// key 1; else the key file of the home, made on first use; else none. `VAULT_CIPHER_BACKEND` (`aesgcm` or `chacha20`)
    /// says what new secrets are sealed with.
    ///
    /// # Errors
    /// A key or setting that is there and malformed: going on with the next source would seal secrets with a key nobody
    /// chose. A key file that others may read.
    pub fn load(env: Env<'_>, home: Option<&Path>) -> Result<Option<Self>, VaultError> {
        let algorithm = match env("VAULT_CIPHER_BACKEND").as_deref() {
            None | Some("aesgcm") => Algorithm::Aes256Gcm,
            Some("chacha20") => Algorithm::ChaCha20Poly1305,
            Some(_) => {
                return Err(setting("VAULT_CIPHER_BACKEND", "must be 'aesgcm' or 'chacha20'"));
            }
        };
        if let Some((keys, active)) = numbered(env)? {
            return Self::new(keys, active, algorithm).map(Some);
        }
        let key = match (env("MASTER_ENCRYPTION_KEY").map(Zeroizing::new), home) {
            (Some(text), _) => decode("MASTER_ENCRYPTION_KEY", &text)?,
            (None, Some(home)) => key_file(home)?,
            (None, None) => return Ok(None),
        };
        Self::new(BTreeMap::from([(1, key)]), 1, algorithm).map(Some)
    }
}

fn setting(name: &str, why: impl Into<String>) -> VaultError {
    VaultError::Setting { name: name.to_owned(), why: why.into() }
}

/// The numbered master keys of the environment.
fn numbered(env: Env<'_>) -> Result<Option<Numbered>, VaultError> {
    const ACTIVE: &str = "VAULT_ACTIVE_KEY_ID";
    let active = env(ACTIVE)
        .map(|text| text.trim().parse::<u16>().map_err(|_| setting(ACTIVE, "must be a whole number from 0 to 65535")))
        .transpose()?;
    let mut keys = BTreeMap::new();
    for id in 0..=active.unwrap_or(0).max(LOOKED_FOR) {
        let name = format!("VAULT_MASTER_KEY_v{id}");
        if let Some(text) = env(&name).map(Zeroizing::new) {
            keys.insert(id, decode(&name, &text)?);
        }
    }
    match active {
        Some(active) if keys.contains_key(&active) => Ok(Some((keys, active))),
        Some(active) => Err(setting(ACTIVE, format!("names key {active}, but VAULT_MASTER_KEY_v{active} is not set"))),
        None if keys.is_empty() => Ok(None),
        None => Err(setting(ACTIVE, "must say which of the VAULT_MASTER_KEY_v… seals new secrets")),
    }
}

/// Reads 32 bytes in base64 (either alphabet, with or without padding) or hex. Their lengths differ, so neither is taken
/// for the other.
fn decode(name: &str, text: &str) -> Result<MasterKey, VaultError> {
    let text = text.trim();
    let mut bytes = Zeroizing::new(Vec::new());
    if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        bytes.extend((0..32).filter_map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()));
    } else {
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let alphabet = if text.contains(['-', '_']) { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
        *bytes = GeneralPurpose::new(alphabet, config).decode(text).unwrap_or_default();
    }
    let mut key = Zeroizing::new([0; 32]);
    if bytes.len() != key.len() {
        return Err(setting(name, "must be 32 bytes, written in base64 or as 64 hex digits"));
    }
    key.copy_from_slice(&bytes);
    Ok(key)
}

/// The key of the home's key file, made if there is none.
fn key_file(home: &Path) -> Result<MasterKey, VaultError> {
    let path = home.join(FILE);
    if let Some(key) = read(&path)? {
        return Ok(key);
    }
    let made = make(home, &path);
    // Another process may have been first; then its key counts.
    match read(&path)? {
        Some(key) => Ok(key),
        None => Err(made.err().unwrap_or_else(|| file("vanished while it was made"))),
    }
}

fn file(why: impl Into<String>) -> VaultError {
    VaultError::KeyFile(why.into())
}

fn cannot(what: &str, why: &std::io::Error) -> VaultError {
    file(format!("cannot be {what}: {}", why.kind()))
}

fn read(path: &Path) -> Result<Option<MasterKey>, VaultError> {
    let mut opened = match File::open(path) {
        Ok(opened) => opened,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(cannot("read", &e)),
    };
    let about = opened.metadata().map_err(|e| cannot("read", &e))?;
    if !about.is_file() {
        return Err(file("is not a file"));
    }
    if about.mode() & 0o077 != 0 {
        return Err(file("may be used by others; make it yours alone with: chmod 600 vault.key"));
    }
    let mut text = Zeroizing::new(String::with_capacity(128));
    (&mut opened).take(128).read_to_string(&mut text).map_err(|e| cannot("read", &e))?;
    decode(FILE, &text)
        .map(Some)
        .map_err(|_| file("is damaged: it must hold 32 bytes in base64; restore it from a backup"))
}

/// Makes the key file whole or not at all: a complete file under a name of its own gets the name by a link, which fails
/// if the name is taken.
fn make(home: &Path, path: &Path) -> Result<(), VaultError> {
    let mut key = Zeroizing::new([0; 32]);
    getrandom::fill(key.as_mut_slice()).map_err(|_| VaultError::Random)?;
    let mut text = Zeroizing::new(STANDARD.encode(key.as_slice()));
    text.push('\n');

    let draft = home.join(format!("{FILE}.{}", uuid::Uuid::new_v4()));
    let written = (|| {
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::hard_link(&draft, path)
    })();
    let removed = fs::remove_file(&draft);
    let synced = File::open(home).and_then(|folder| folder.sync_all());
    match written {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(cannot("made", &e)),
        _ => removed.and(synced).map_err(|e| cannot("made", &e)),
    }
}
