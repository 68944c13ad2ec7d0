//! The envelope: a header of 16 bytes, the ciphertext, a tag of 16 bytes.
//!
//! Header: `0xA2`, algorithm, number of the master key (two bytes), nonce of 12 bytes. Header and context are
//! authenticated; the key is derived from the master key for this purpose and algorithm.

use aes_gcm::Aes256Gcm;
use chacha20poly1305::ChaCha20Poly1305;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{Context, MasterKey, VaultError};

/// Bytes of a nonce. Random: fine below 2^32 secrets for one master key.
pub(super) const NONCE: usize = 12;
const HEADER: usize = 16;
const TAG: usize = 16;
const VERSION: u8 = 0xA2;

/// What a secret is sealed with. An envelope says it, so changing it leaves old ones readable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// AES-256-GCM.
    #[default]
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

impl Algorithm {
    const fn id(self) -> u8 {
        match self {
            Self::Aes256Gcm => 1,
            Self::ChaCha20Poly1305 => 2,
        }
    }

    fn seal(self, key: &[u8; 32], nonce: &[u8; NONCE], payload: Payload<'_, '_>) -> Result<Vec<u8>, VaultError> {
        match self {
            Self::Aes256Gcm => Aes256Gcm::new(key.into()).encrypt(nonce.into(), payload),
            Self::ChaCha20Poly1305 => ChaCha20Poly1305::new(key.into()).encrypt(nonce.into(), payload),
        }
        .map_err(|_| VaultError::Integrity)
    }

    fn open(self, key: &[u8; 32], nonce: &[u8; NONCE], payload: Payload<'_, '_>) -> Result<Vec<u8>, VaultError> {
        match self {
            Self::Aes256Gcm => Aes256Gcm::new(key.into()).decrypt(nonce.into(), payload),
            Self::ChaCha20Poly1305 => ChaCha20Poly1305::new(key.into()).decrypt(nonce.into(), payload),
        }
        .map_err(|_| VaultError::Integrity)
    }
}

/// What an envelope says of itself.
#[derive(Debug)]
pub(super) struct Header {
    algorithm: Algorithm,
    /// Number of the master key.
    pub(super) key_id: u16,
    nonce: [u8; NONCE],
}

impl Header {
    /// Reads the header of an envelope.
    pub(super) fn read(envelope: &[u8]) -> Result<Self, VaultError> {
        if envelope.len() < HEADER + TAG {
            return Err(VaultError::Format);
        }
        let &[VERSION, algorithm, high, low, ref nonce @ ..] = &envelope[..HEADER] else {
            return Err(VaultError::Format);
        };
        let algorithm = match algorithm {
            1 => Algorithm::Aes256Gcm,
            2 => Algorithm::ChaCha20Poly1305,
            _ => return Err(VaultError::Format),
        };
        let nonce = nonce.try_into().map_err(|_| VaultError::Format)?;
        Ok(Self { algorithm, key_id: u16::from_be_bytes([high, low]), nonce })
    }
}

/// The envelope of a plain text.
pub(super) fn seal(
    master: &MasterKey,
    algorithm: Algorithm,
    key_id: u16,
    nonce: &[u8; NONCE],
    context: &Context,
    plain: &[u8],
) -> Result<Vec<u8>, VaultError> {
    let mut out = Vec::with_capacity(HEADER + plain.len() + TAG);
    out.extend([VERSION, algorithm.id()]);
    out.extend(key_id.to_be_bytes());
    out.extend(nonce);
    let aad = aad(&out, context)?;
    let key = derive(master, algorithm)?;
    out.extend(algorithm.seal(&key, nonce, Payload { msg: plain, aad: &aad })?);
    Ok(out)
}

/// The plain text of an envelope whose header was read.
pub(super) fn open(
    master: &MasterKey,
    header: &Header,
    envelope: &[u8],
    context: &Context,
) -> Result<Zeroizing<Vec<u8>>, VaultError> {
    let (head, msg) = envelope.split_at(HEADER);
    let aad = aad(head, context)?;
    let key = derive(master, header.algorithm)?;
    header.algorithm.open(&key, &header.nonce, Payload { msg, aad: &aad }).map(Zeroizing::new)
}

fn aad(header: &[u8], context: &Context) -> Result<Vec<u8>, VaultError> {
    let mut out = b"NAVVAULT-AAD".to_vec();
    out.extend(header);
    out.extend(context.bytes()?);
    Ok(out)
}

fn derive(master: &MasterKey, algorithm: Algorithm) -> Result<Zeroizing<[u8; 32]>, VaultError> {
    let mut key = Zeroizing::new([0; 32]);
    let mut info = b"navigator-vault/v2/db".to_vec();
    info.push(algorithm.id());
    Hkdf::<Sha256>::new(None, master.as_slice())
        .expand(&info, key.as_mut_slice())
        .map_err(|_| VaultError::Integrity)?;
    Ok(key)
}
