//! Manual reviews of results.

use assay_model::{AccountId, JobId, JobStatus, Review};
use async_trait::async_trait;

use crate::{KeyId, StoreError};

/// Maximum number of reviews of one job.
pub const MAX_REVIEWS: u32 = 100;

/// Result of adding a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewOutcome {
    /// The review was added, and is the job's current one.
    Done,
    /// The job is in this state and has no result to review.
    Not(JobStatus),
    /// The job already has [`MAX_REVIEWS`] reviews.
    TooMany,
    /// There is no such job (of this account).
    NotFound,
}

/// Repository of reviews.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait ReviewRecords {
    /// Adds a review to a COMPLETED job (of `account`) without changing anything measured. The last review is shown
    /// with the job; at most [`MAX_REVIEWS`] are stored.
    async fn review_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        key: &KeyId,
        review: Review,
    ) -> Result<ReviewOutcome, StoreError>;
}
