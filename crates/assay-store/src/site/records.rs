//! The part of the records that the server processes of a site share.

use std::time::Duration;

use assay_model::{JobId, Sha256Digest};
use async_trait::async_trait;
use uuid::Uuid;

use crate::{KeyId, SessionHash, StoreError};

/// Time after its last [`SiteRecords::exchange`] at which another process may lead.
pub const SITE_LEASE: Duration = Duration::from_secs(10);

/// The knowledge of a process after [`SiteRecords::exchange`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteExchange {
    /// True if the process leads the site until [`SITE_LEASE`] has passed.
    pub leads: bool,
    /// The bulletins of the other processes that met within [`SITE_LEASE`].
    pub others: Vec<String>,
}

/// A count of the requests of a key, of one kind, within one window of time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestCounter {
    /// The key and the kind.
    pub name: String,
    /// The number of the window.
    pub window: i64,
}

/// A token with which the policy of a job may connect to any process, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionTokenRecord {
    /// Its SHA-256.
    pub hash: [u8; 32],
    /// The key that requested it.
    pub key: KeyId,
    /// The session, if a browser was signed in with the key.
    pub session: Option<SessionHash>,
}

/// Repository of what only matters while several processes share the records. A crash of the database may lose all of
/// it. Times are measured by the clock of the database.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait SiteRecords: Send + Sync + std::fmt::Debug {
    /// Returns the id of these records, which never changes.
    async fn site_id(&self) -> Result<Uuid, StoreError>;

    /// Publishes the bulletin of `process`, keeps or takes the lead for it if possible, and returns the bulletins of
    /// the others.
    async fn exchange(&self, process: Uuid, bulletin: &str) -> Result<SiteExchange, StoreError>;

    /// Withdraws the bulletin and the lead of `process`, which stops.
    async fn leave_site(&self, process: Uuid) -> Result<(), StoreError>;

    /// Counts a request unless there were `limit` already. Returns the new count, or `None` at the limit.
    async fn count_request(&self, counter: &RequestCounter, limit: u32) -> Result<Option<u32>, StoreError>;

    /// Stores the token of a job for `lifetime`; replaces its previous one. Returns false if there are `limit` already.
    async fn put_connection_token(
        &self,
        job: JobId,
        token: &ConnectionTokenRecord,
        lifetime: Duration,
        limit: u32,
    ) -> Result<bool, StoreError>;

    /// Returns the valid token of a job.
    async fn connection_token(&self, job: JobId) -> Result<Option<ConnectionTokenRecord>, StoreError>;

    /// Returns the digest of the machine on which the job's episodes ran, if there are any.
    async fn machine_of(&self, job: JobId) -> Result<Option<Sha256Digest>, StoreError>;

    /// Removes the valid token of a job with this hash. Returns false if there is none, for example because another
    /// process has just removed it.
    async fn redeem_connection_token(&self, job: JobId, hash: &[u8; 32]) -> Result<bool, StoreError>;

    /// Adds requests that were counted elsewhere; returns the new count of each counter, in their order. Removes the
    /// counters of windows before the first of these.
    async fn add_requests(&self, counts: &[(RequestCounter, u32)]) -> Result<Vec<u32>, StoreError>;
}
