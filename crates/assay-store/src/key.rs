//! API keys as rows. How a key looks and how it is hashed is the API's business.

use std::fmt;

use assay_model::{AccountId, Scopes};
use jiff::Timestamp;

/// The public part of a key: `[a-z0-9]{1,32}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

/// Longest key id, in bytes.
const MAX_ID_BYTES: usize = 32;

impl KeyId {
    /// Checks the alphabet and the length.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=MAX_ID_BYTES).contains(&text.len());
        let valid = fits && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        valid.then(|| Self(text.to_owned()))
    }

    /// The id as text.
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

/// Outcome of revoking a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokeOutcome {
    /// It is refused from now on.
    Done,
    /// There is none, or it was revoked before.
    NothingToDo,
    /// It is the last valid key with the scope `admin`, and stays.
    LastAdmin,
}

/// A key, without its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its public part.
    pub id: KeyId,
    /// Whose it is.
    pub account: AccountId,
    /// The owner's name for it.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// Hash of the secret.
    pub secret_hash: [u8; 32],
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
    /// Since when it is refused for good.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used (to about a minute).
    pub last_used_at: Option<Timestamp>,
}

impl KeyRecord {
    /// Neither revoked nor expired at `now`.
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
