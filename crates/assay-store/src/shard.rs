//! Shards: a job's episodes in consecutive pieces, the unit of queueing, leasing and retry.

use assay_model::{AccountId, AttemptNote, JobHeader, JobId, JobKind};
use jiff::Timestamp;

/// A shard that a worker gave up on is tried this many times again before its job FAILS.
pub const MAX_RETRIES: u32 = 3;
/// Leases in a row that may run out without one new episode. Far above [`MAX_RETRIES`], because a worker that is killed
/// says nothing about the shard; not unlimited, because a shard may kill its worker.
pub const MAX_LAPSES: u32 = 16;

/// Replaced attempts that are kept of an episode; further ones are not listed.
pub const MAX_ATTEMPT_NOTES: u32 = 64;

/// The right to write a shard's results: void as soon as anyone else gets the shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The job.
    pub job_id: JobId,
    /// Index of the shard in the job, from 0.
    pub shard: u32,
    /// Which claim of the shard this is, from 1.
    pub attempt: u32,
}

/// A shard to work on.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What to show with every result.
    pub fence: Fence,
    /// Whose job it is.
    pub account: AccountId,
    /// The job.
    pub header: JobHeader,
    /// The archive, relative to the data folder; `None` for a policy server.
    pub policy_path: Option<String>,
    /// Episodes still to run, ascending; never empty.
    pub episodes: Vec<u32>,
    /// How often workers gave up on this shard since its last new episode.
    pub failures: u32,
    /// What the last of them said.
    pub last_failure: Option<String>,
    /// What earlier attempts at these episodes left.
    pub notes: Vec<AttemptNote>,
}

impl Claim {
    /// Whether it runs in the secret worlds of a season.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        let counted = self.header.plan.episodes;
        self.header.kind() == JobKind::Submission && self.episodes.iter().any(|episode| *episode < counted)
    }
}

/// What became of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It is durable.
    New {
        /// Episodes that the shard still lacks; at 0 the shard is done.
        left_in_shard: u32,
        /// Episodes that the job still lacks; at 0 the job is JUDGING.
        left_in_job: u32,
    },
    /// There is a result of this episode already; nothing changed.
    Duplicate,
    /// The shard is someone else's, or the job has ended; nothing changed. Stop working on it.
    Fenced,
}

/// Whether the shard is still the worker's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// Until the new time.
    Held,
    /// No longer: requeued, done, or the job has ended. Stop working on it.
    Lost,
}

/// What became of a shard (or a conclusion) that was given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnOutcome {
    /// It will be claimed again.
    Requeued,
    /// Retries are used up: the job is FAILED.
    JobFailed,
    /// It was not the caller's any more; nothing changed.
    Fenced,
}

/// What [`crate::Records::reconcile`] put right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReconcileSummary {
    /// Work that can be claimed again because a lease ran out.
    pub requeued: Vec<crate::Work>,
    /// Jobs that are FAILED now because their leases ran out too often.
    pub failed: Vec<JobId>,
    /// The moment the next lease runs out, if any is held.
    pub next_expiry: Option<Timestamp>,
}
