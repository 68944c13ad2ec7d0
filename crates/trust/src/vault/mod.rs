//! The vault: secrets sealed so that a sealed text opens for the one use it was made for.
//!
//! An envelope is authenticated together with a [`Context`] (whose secret, which one, for what), so a text moved to
//! another row does not open. Master keys have numbers: an old one still opens what it sealed, the active one seals.

mod context;
mod envelope;
mod load;

#[cfg(test)]
mod tests;

pub use context::Context;
pub use envelope::Algorithm;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use zeroize::Zeroizing;

/// A master key: 32 bytes, wiped when dropped.
pub type MasterKey = Zeroizing<[u8; 32]>;

/// Why something could not be sealed or opened, or why there is no vault. Never holds key material or a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// A setting of the vault is malformed.
    #[error("{name} {why}")]
    Setting {
        /// Its name.
        name: String,
        /// What is wrong and what it should be.
        why: String,
    },
    /// The key file of the home cannot be used.
    #[error("the key file vault.key of the home folder {0}")]
    KeyFile(String),
    /// There is no vault: no master key is configured.
    #[error("no master key is configured, so secrets can be neither kept nor read")]
    Unavailable,
    /// The text names a master key that is not configured.
    #[error(
        "the secret was sealed with master key {0}, which is not configured; add it to the settings of the vault again"
    )]
    UnknownKey(u16),
    /// The text is no envelope of this format.
    #[error("the stored secret is not in a known format")]
    Format,
    /// The text was changed, was sealed with another key under this number, or belongs to another record.
    #[error("the stored secret cannot be opened: it was changed, moved, or sealed with another master key")]
    Integrity,
    /// A context without a user, provider, name or id binds to nothing.
    #[error("a secret must belong to somebody and something")]
    Context,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

impl VaultError {
    /// There is no vault, and one is needed.
    pub fn unavailable() -> Self {
        Self::Unavailable
    }
}

/// Master keys, and how new secrets are sealed.
pub struct Vault {
    keys: BTreeMap<u16, MasterKey>,
    active: u16,
    algorithm: Algorithm,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault")
            .field("active", &self.active)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

impl Vault {
    /// A vault with these master keys by number, of which `active` seals.
    ///
    /// # Errors
    /// The active key is not among them.
    pub fn new(keys: BTreeMap<u16, MasterKey>, active: u16, algorithm: Algorithm) -> Result<Self, VaultError> {
        if !keys.contains_key(&active) {
            return Err(VaultError::UnknownKey(active));
        }
        Ok(Self { keys, active, algorithm })
    }

    /// Number of the master key that seals new secrets.
    pub fn active_key(&self) -> u16 {
        self.active
    }

    /// Seals a value for one use. Two sealings of the same value differ.
    ///
    /// # Errors
    /// An empty context, or no random numbers.
    pub fn seal(&self, context: &Context, value: &Value) -> Result<String, VaultError> {
        let key = self.keys.get(&self.active).ok_or(VaultError::UnknownKey(self.active))?;
        let mut nonce = [0; envelope::NONCE];
        getrandom::fill(&mut nonce).map_err(|_| VaultError::Random)?;
        let plain = Zeroizing::new(value.to_string());
        let sealed = envelope::seal(key, self.algorithm, self.active, &nonce, context, plain.as_bytes())?;
        Ok(STANDARD.encode(sealed))
    }

    /// Opens a sealed value for the use it was sealed for.
    ///
    /// # Errors
    /// Anything that does not fit; never an empty value instead.
    pub fn open(&self, context: &Context, sealed: &str) -> Result<Value, VaultError> {
        let bytes = STANDARD.decode(sealed).map_err(|_| VaultError::Format)?;
        let header = envelope::Header::read(&bytes)?;
        let key = self.keys.get(&header.key_id).ok_or(VaultError::UnknownKey(header.key_id))?;
        let plain = envelope::open(key, &header, &bytes, context)?;
        serde_json::from_slice(&plain).map_err(|_| VaultError::Format)
    }
}
