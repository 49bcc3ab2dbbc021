//! The keys of an installation, old ones included, as they are published.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{KeyError, PublicKey};

/// `keys.json`, and the answer of `/.well-known/assay-keys.json`: newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PublishedKeys {
    /// The key that signs now, then the retired ones. What they signed stays signed.
    pub keys: Vec<KnownKey>,
}

/// A published key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KnownKey {
    /// SHA-256 over the DER-encoded `SubjectPublicKeyInfo`, hexadecimal.
    pub keyid: String,
    /// `ed25519`.
    pub algorithm: String,
    /// `SubjectPublicKeyInfo`, PEM.
    pub public_key: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When another took its place; `null` for the one that signs.
    pub retired_at: Option<Timestamp>,
}

impl PublishedKeys {
    /// Makes `key` the one that signs, if it is not; the others are retired.
    ///
    /// # Errors
    /// [`KeyError`] should the key have no form in PEM.
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

    /// The key that signs.
    #[must_use]
    pub fn current(&self) -> Option<&KnownKey> {
        self.keys.first().filter(|key| key.retired_at.is_none())
    }

    /// The key of this id.
    #[must_use]
    pub fn find(&self, keyid: &str) -> Option<&KnownKey> {
        self.keys.iter().find(|key| key.keyid == keyid)
    }
}

impl KnownKey {
    /// The key itself.
    ///
    /// # Errors
    /// [`KeyError::Public`] when the entry is not what it says: not PEM, or not of this id.
    pub fn key(&self) -> Result<PublicKey, KeyError> {
        let key = PublicKey::from_pem(&self.public_key)?;
        if key.keyid()? == self.keyid { Ok(key) } else { Err(KeyError::Public) }
    }
}
