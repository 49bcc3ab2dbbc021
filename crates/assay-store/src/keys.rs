//! API keys as records. Their text form and their hashing belong to the API.

use std::fmt;
use std::sync::Arc;

use assay_model::{AccountId, Scopes};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;

/// The public part of a key: `[a-z0-9]{1,32}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

/// Maximum length of a key id, in bytes.
const MAX_ID_BYTES: usize = 32;

impl KeyId {
    /// Parses an id, checking its alphabet and length.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=MAX_ID_BYTES).contains(&text.len());
        let valid = fits && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        valid.then(|| Self(text.to_owned()))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Result of revoking a key unless it is the last administrator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokeOutcome {
    /// The key is refused from now on.
    Done,
    /// There is no such key, or it was revoked before.
    NothingToDo,
    /// It is the last valid key with the scope `admin`, and was not revoked.
    LastAdmin,
}

/// A key, without its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its public part.
    pub id: KeyId,
    /// The account it belongs to.
    pub account: AccountId,
    /// The owner's name for it.
    pub name: String,
    /// The permitted operations.
    pub scopes: Scopes,
    /// Hash of the secret.
    pub secret_hash: [u8; 32],
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time from which it is refused.
    pub expires_at: Option<Timestamp>,
    /// Time of its revocation.
    pub revoked_at: Option<Timestamp>,
    /// Time of its last use, to about a minute.
    pub last_used_at: Option<Timestamp>,
}

impl KeyRecord {
    /// Returns true if the key is neither revoked nor expired at `now`.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

impl fmt::Debug for KeyRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRecord")
            .field("id", &self.id)
            .field("account", &self.account)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// Repository of API keys.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait KeyRecords {
    /// Inserts a new key; [`StoreError::Exists`] if its id is taken.
    async fn create_key(&self, key: KeyRecord) -> Result<(), StoreError>;

    /// Inserts `key` if no key has ever existed (revoked ones count). Returns true if it was inserted.
    async fn create_first_key(&self, key: KeyRecord) -> Result<bool, StoreError>;

    /// Returns the key with this id, revoked or not. A change made through these records is visible at once; one made
    /// by another process, after at most 1 s.
    async fn key(&self, id: &KeyId) -> Result<Option<Arc<KeyRecord>>, StoreError>;

    /// Lists all keys (of an account), oldest first, including revoked ones.
    async fn keys(&self, account: Option<&AccountId>) -> Result<Vec<KeyRecord>, StoreError>;

    /// Revokes a key. Returns false if there is none or it was revoked before.
    async fn revoke_key(&self, id: &KeyId, now: Timestamp) -> Result<bool, StoreError>;

    /// Revokes a key unless it is the last one that is valid at `now` and has the scope `admin`.
    async fn revoke_key_unless_last_admin(&self, id: &KeyId, now: Timestamp) -> Result<RevokeOutcome, StoreError>;

    /// Revokes the key `old` and inserts `new` in its place. Returns false, and inserts nothing, if there is no such
    /// key or it was revoked before. [`StoreError::Exists`] if the id of `new` is taken.
    async fn rotate_key(&self, old: &KeyId, new: KeyRecord, now: Timestamp) -> Result<bool, StoreError>;

    /// Sets the time of a key's last use.
    async fn touch_key(&self, id: &KeyId, now: Timestamp) -> Result<(), StoreError>;

    /// Returns true if a key was ever created.
    async fn has_key_ever_existed(&self) -> Result<bool, StoreError>;
}
