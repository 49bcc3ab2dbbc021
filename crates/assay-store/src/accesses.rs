//! Accesses of administrators and reviewers to what belongs to other accounts.

use assay_model::AccountId;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::{KeyId, StoreError};

/// Accesses of a key to the same thing in the same way within such a window are recorded once.
pub const ACCESS_WINDOW: SignedDuration = SignedDuration::from_secs(60);
/// Maximum length of the name of a thing, in bytes.
pub const MAX_ACCESS_TARGET_BYTES: usize = 256;

/// An access to something of another account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRecord {
    /// Time of the access; of several in a window, of the first.
    pub at: Timestamp,
    /// The key that was used.
    pub key: KeyId,
    /// Account of the key.
    pub account: AccountId,
    /// Account that owns the thing.
    pub owner: AccountId,
    /// The action, such as `read a report`.
    pub action: String,
    /// Id of the thing: of a job, a key or a scenario.
    pub target: String,
}

impl AccessRecord {
    /// Returns the number of the window, since 1970.
    pub(crate) fn window(&self) -> i64 {
        self.at.as_second().div_euclid(ACCESS_WINDOW.as_secs())
    }
}

/// Selection of accesses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessFilter {
    /// Only those with keys of this account.
    pub account: Option<AccountId>,
    /// Only those to things of this account.
    pub owner: Option<AccountId>,
    /// Number of records to skip.
    pub offset: u32,
    /// Maximum number of records.
    pub limit: u32,
}

/// Repository of accesses.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait AccessRecords {
    /// Records accesses; one that is recorded for its window already is not repeated.
    async fn record_accesses(&self, accesses: Vec<AccessRecord>) -> Result<(), StoreError>;

    /// Returns the accesses that match, newest first.
    async fn accesses(&self, filter: &AccessFilter) -> Result<Vec<AccessRecord>, StoreError>;

    /// Deletes up to `limit` accesses before a time. Returns their number.
    async fn forget_accesses(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;
}
