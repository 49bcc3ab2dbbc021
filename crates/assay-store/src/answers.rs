//! Requests that are done once, however often they are sent: the client names each with an idempotency key, and the first
//! answer is kept for a day.
//!
//! A request takes its key before it does anything. What it leads to is kept in the same transaction as what it changes
//! (see [`IdempotencyRecords::create_job_idempotently`]): a client that lost the answer gets the same one again, also when the server was
//! killed meanwhile.

use std::fmt;

use assay_model::AccountId;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::{NewJob, StoreError, SubmitOutcome};

/// How long an answer is kept.
pub const RESPONSE_LIFETIME: SignedDuration = SignedDuration::from_hours(24);
/// A request that has not been answered for this long is dead, and its key free. Longer than any request may take; what
/// a dead server leaves is freed at its next start.
pub const REQUEST_LEASE: SignedDuration = SignedDuration::from_mins(15);
/// Longest answer that is kept, in bytes. Of a longer one only its status is known later.
pub const MAX_RESPONSE_BODY_BYTES: usize = 64 << 10;
/// Answers of an account; over it the oldest go before their time.
pub const MAX_STORED_RESPONSES: u32 = 10_000;

/// What a client calls a request: 1 to 255 visible characters of ASCII.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Longest key, in bytes.
    pub const MAX_BYTES: usize = 255;

    /// Checks the alphabet and the length.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=Self::MAX_BYTES).contains(&text.len());
        (fits && text.bytes().all(|b| b.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A request that is to be done once.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyClaim {
    /// Who asks.
    pub account: AccountId,
    /// What they call it.
    pub key: IdempotencyKey,
    /// Stands for its route and its content: the same for the same request.
    pub request: [u8; 32],
    /// This attempt at it.
    pub attempt: Uuid,
}

impl fmt::Debug for IdempotencyClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("account", &self.account).field("key", &self.key).finish_non_exhaustive()
    }
}

/// What a request was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// HTTP status.
    pub status: u16,
    /// The header of this name.
    pub location: Option<String>,
    /// JSON; `None` when it was longer than [`MAX_RESPONSE_BODY_BYTES`].
    pub body: Option<Vec<u8>>,
}

/// Whether to do a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdempotencyStart {
    /// Do it: the key is this attempt's.
    New,
    /// It was done; this was the answer.
    Done(StoredResponse),
    /// Another attempt is at it.
    Running,
    /// The key belongs to another request.
    Other,
}

/// Answers to requests with an idempotency key.
#[async_trait]
pub trait IdempotencyRecords {
    /// Takes the key for this attempt, if it is free.
    async fn begin_request(&self, once: IdempotencyClaim, now: Timestamp) -> Result<IdempotencyStart, StoreError>;

    /// As [`crate::Records::create_job`], with the answer in the same transaction; `None`, and no job, when the key is
    /// not this attempt's any more.
    async fn create_job_idempotently(
        &self,
        job: NewJob,
        once: IdempotencyClaim,
        answer: StoredResponse,
    ) -> Result<Option<u32>, StoreError>;

    /// As [`crate::Arena::submit`], with the answer in the same transaction if it is accepted; `None`, and nothing
    /// accepted, when the key is not this attempt's any more.
    async fn submit_idempotently(
        &self,
        job: NewJob,
        (daily, day): (u32, Timestamp),
        once: IdempotencyClaim,
        answer: StoredResponse,
    ) -> Result<Option<SubmitOutcome>, StoreError>;

    /// Keeps the answer, or replaces the one that was kept with the job; false when the key is not this attempt's.
    async fn finish_request(&self, once: IdempotencyClaim, answer: StoredResponse) -> Result<bool, StoreError>;

    /// Frees the key, if nothing is kept under it: the attempt failed, and may be made again.
    async fn abandon_request(&self, once: IdempotencyClaim) -> Result<(), StoreError>;

    /// Forgets what is older than [`RESPONSE_LIFETIME`], and what an account has beyond [`MAX_STORED_RESPONSES`]: how many.
    async fn purge_responses(&self, now: Timestamp) -> Result<u64, StoreError>;
}
