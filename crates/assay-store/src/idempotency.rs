//! Idempotency keys: a client identifies a request with a key, the request takes effect once however often it is sent,
//! and its first response is stored for a day.
//!
//! A request claims its key before it does anything. Its response is stored in the same transaction as its effects (see
//! [`IdempotencyRecords::create_job_idempotently`]), so a client that lost the response gets the same one again, even
//! if the server was killed in between.

use std::fmt;

use assay_model::AccountId;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::{NewJob, StoreError, SubmitOutcome};

/// Lifetime of a stored response.
pub const RESPONSE_LIFETIME: SignedDuration = SignedDuration::from_hours(24);
/// Time after which a request without a response counts as dead and its key is free again. No request takes so long;
/// keys held by a dead server are freed when the server next starts.
pub const REQUEST_LEASE: SignedDuration = SignedDuration::from_mins(15);
/// Maximum length of a stored response body, in bytes. Of a longer one, only the status is stored.
pub const MAX_RESPONSE_BODY_BYTES: usize = 64 << 10;
/// Maximum number of stored responses of an account; beyond it the oldest are purged early.
pub const MAX_STORED_RESPONSES: u32 = 10_000;

/// A client's name for a request: 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Maximum length of a key, in bytes.
    pub const MAX_BYTES: usize = 255;

    /// Parses a key, checking its alphabet and length.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=Self::MAX_BYTES).contains(&text.len());
        (fits && text.bytes().all(|b| b.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    /// Returns the key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One attempt at a request that must take effect only once.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyClaim {
    /// The client's account.
    pub account: AccountId,
    /// The client's name for the request.
    pub key: IdempotencyKey,
    /// Hash of the route and the content: the same for the same request.
    pub request: [u8; 32],
    /// Id of this attempt.
    pub attempt: Uuid,
}

impl fmt::Debug for IdempotencyClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyClaim")
            .field("account", &self.account)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// A response stored under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// HTTP status.
    pub status: u16,
    /// The `Location` header.
    pub location: Option<String>,
    /// JSON; `None` if it was longer than [`MAX_RESPONSE_BODY_BYTES`].
    pub body: Option<Vec<u8>>,
}

/// Result of claiming an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdempotencyStart {
    /// The attempt holds the key and must process the request.
    New,
    /// The request was processed before, with this response.
    Done(StoredResponse),
    /// Another attempt is processing the request.
    Running,
    /// The key belongs to a different request.
    Other,
}

/// Repository of idempotency keys and stored responses.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait IdempotencyRecords {
    /// Claims the key for this attempt, if it is free.
    async fn begin_request(&self, claim: IdempotencyClaim, now: Timestamp) -> Result<IdempotencyStart, StoreError>;

    /// Creates a job as [`crate::JobRecords::create_job`] and stores the response in the same transaction. Returns
    /// `None`, and creates no job, if this attempt no longer holds the key.
    async fn create_job_idempotently(
        &self,
        job: NewJob,
        claim: IdempotencyClaim,
        response: StoredResponse,
    ) -> Result<Option<u32>, StoreError>;

    /// Submits a job as [`crate::SubmissionRecords::submit`] and, if it is accepted, stores the response in the same
    /// transaction. Returns `None`, and accepts nothing, if this attempt no longer holds the key.
    async fn submit_idempotently(
        &self,
        job: NewJob,
        (daily, day): (u32, Timestamp),
        claim: IdempotencyClaim,
        response: StoredResponse,
    ) -> Result<Option<SubmitOutcome>, StoreError>;

    /// Stores the response, replacing one stored with the job. Returns false if this attempt does not hold the key.
    async fn finish_request(&self, claim: IdempotencyClaim, response: StoredResponse) -> Result<bool, StoreError>;

    /// Frees the key if no response is stored under it: the attempt failed and may be repeated.
    async fn abandon_request(&self, claim: IdempotencyClaim) -> Result<(), StoreError>;

    /// Deletes responses older than [`RESPONSE_LIFETIME`] and those beyond [`MAX_STORED_RESPONSES`] of an account.
    /// Returns their number.
    async fn purge_responses(&self, now: Timestamp) -> Result<u64, StoreError>;
}
