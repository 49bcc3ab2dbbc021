//! What people decide about results.

use assay_model::JobStatus;

/// Most reviews of one job.
pub const MAX_REVIEWS: u32 = 100;

/// What became of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewOutcome {
    /// It is the job's review now.
    Done,
    /// There is no result to review.
    Not(JobStatus),
    /// The job has [`MAX_REVIEWS`] of them.
    TooMany,
    /// There is no such job (of this account).
    NotFound,
}
