//! The published keys of an installation, including retired ones.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{KeyError, PublicKey};

/// Content of `keys.json` and response of `/.well-known/assay-keys.json`, newest key first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PublishedKeys {
    /// The current key, then the retired ones. Statements signed with a retired key remain valid.
    pub keys: Vec<KnownKey>,
}

/// A published key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KnownKey {
    /// Id of the key: SHA-256 over the DER-encoded `SubjectPublicKeyInfo`, 64 hexadecimal digits.
    pub keyid: String,
    /// Algorithm of the key: `ed25519`.
    pub algorithm: String,
    /// Public key: `SubjectPublicKeyInfo` as PEM.
    pub public_key: String,
    /// Time at which the key was created.
    pub created_at: Timestamp,
    /// Time at which the key was replaced by another; `null` for the current key.
    pub retired_at: Option<Timestamp>,
}

impl PublishedKeys {
    /// Makes `key` the current key, unless it already is, and retires the others.
    ///
    /// # Errors
    /// [`KeyError`] if the key cannot be encoded.
    pub fn promote(&mut self, key: &PublicKey, now: Timestamp) -> Result<(), KeyError> {
        let keyid = key.keyid()?;
        if self.current().is_some_and(|current| current.keyid == keyid) {
            return Ok(());
        }
        for old in self.keys.iter_mut().filter(|old| old.retired_at.is_none()) {
            old.retired_at = Some(now);
        }
        let created_at = self.find(&keyid).map_or(now, |known| known.created_at);
        self.keys.retain(|known| known.keyid != keyid);
        let (algorithm, public_key) = ("ed25519".to_owned(), key.to_pem()?);
        self.keys.insert(0, KnownKey { keyid, algorithm, public_key, created_at, retired_at: None });
        Ok(())
    }

    /// Returns the current key, with which statements are signed.
    #[must_use]
    pub fn current(&self) -> Option<&KnownKey> {
        self.keys.first().filter(|key| key.retired_at.is_none())
    }

    /// Returns the key with this id.
    #[must_use]
    pub fn find(&self, keyid: &str) -> Option<&KnownKey> {
        self.keys.iter().find(|key| key.keyid == keyid)
    }
}

impl KnownKey {
    /// Parses the public key.
    ///
    /// # Errors
    /// [`KeyError::Public`] if the entry is invalid: the text is not PEM, or the key has another id.
    pub fn key(&self) -> Result<PublicKey, KeyError> {
        let key = PublicKey::from_pem(&self.public_key)?;
        if key.keyid()? == self.keyid { Ok(key) } else { Err(KeyError::Public) }
    }
}
