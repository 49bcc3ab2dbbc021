//! Sessions of browsers.

use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{KeyId, StoreError};

/// Sessions that a key may have at a time; a new one ends the oldest.
pub const MAX_SESSIONS_OF_KEY: u32 = 100;

/// What is kept of the secret in a session's cookie.
pub type SessionHash = [u8; 32];

/// A browser that signed in with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Of the cookie's secret.
    pub hash: SessionHash,
    /// What it signed in with: the session may do what the key may, as long as the key is good.
    pub key: KeyId,
    /// When it signed in.
    pub created_at: Timestamp,
    /// From when on it is refused.
    pub expires_at: Timestamp,
}

/// The part of the records that keeps sessions.
#[async_trait]
pub trait SessionRecords: Send + Sync + fmt::Debug {
    /// Keeps a new session, and forgets those that have expired by its start and the oldest above
    /// [`MAX_SESSIONS_OF_KEY`].
    async fn create_session(&self, session: SessionRecord) -> Result<(), StoreError>;

    /// The session with this hash, expired or not.
    async fn session(&self, hash: &SessionHash) -> Result<Option<SessionRecord>, StoreError>;

    /// Forgets a session; false if there was none.
    async fn end_session(&self, hash: &SessionHash) -> Result<bool, StoreError>;
}
