//! Acceptance of jobs: from a validated request with its stored policy to a queued job. When a function here returns,
//! the job is durable; on an error nothing of the request remains.
//!
//! Where to begin: [`accept_verification`] and [`accept_submission`]; `accept_job.rs` has the steps that both share.

mod accept_job;
mod submission;
mod verification;

pub(crate) use accept_job::{AcceptedJob, JobOrigin};
pub(crate) use submission::{SubmissionToAccept, accept_submission};
pub(crate) use verification::{VerificationToAccept, accept_verification};
