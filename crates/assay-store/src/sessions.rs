//! Browser sessions.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{KeyId, StoreError};

/// Maximum number of sessions per key; a new one ends the oldest.
pub const MAX_SESSIONS_OF_KEY: u32 = 100;

/// Hash of the secret in a session's cookie.
pub type SessionHash = [u8; 32];

/// A browser that signed in with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Hash of the cookie's secret.
    pub hash: SessionHash,
    /// The key it signed in with: the session has the key's permissions for as long as the key is valid.
    pub key: KeyId,
    /// Time of signing in.
    pub created_at: Timestamp,
    /// Time from which it is refused.
    pub expires_at: Timestamp,
}

/// Repository of browser sessions.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait SessionRecords {
    /// Inserts a new session and deletes those that have expired by its start, and the oldest beyond
    /// [`MAX_SESSIONS_OF_KEY`].
    async fn create_session(&self, session: SessionRecord) -> Result<(), StoreError>;

    /// Returns the session with this hash, expired or not.
    async fn session(&self, hash: &SessionHash) -> Result<Option<SessionRecord>, StoreError>;

    /// Deletes a session. Returns false if there was none.
    async fn end_session(&self, hash: &SessionHash) -> Result<bool, StoreError>;
}
