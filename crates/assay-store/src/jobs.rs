//! Jobs: how they are created, read, listed and ended.

use std::num::NonZeroU32;

use assay_model::{
    AccountId, Blame, Conclusion, EpisodeResult, Fingerprint, JobHeader, JobId, JobKind, JobReport, JobStatus, Review,
    ScenarioId, Secret, Verdict,
};
use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Confinement, RenderCounts, StoreError};

/// A job to be accepted.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Its account.
    pub account: AccountId,
    /// The request and its fixed parameters.
    pub header: JobHeader,
    /// The archive, relative to the data folder; `None` for a policy server.
    pub policy_path: Option<String>,
    /// Number of episodes per shard; the last shard may have fewer.
    pub shard_episodes: NonZeroU32,
    /// The account's caps and the job's demand; `None` accepts it in any case.
    pub quota: Option<crate::JobQuota>,
    /// Its demands on workers.
    pub demands: crate::JobDemands,
    /// Address to which its end is reported; the query may contain a token.
    pub callback_url: Option<Secret>,
}

impl NewJob {
    /// Returns true if its policy is a server.
    pub(crate) fn is_remote(&self) -> bool {
        self.policy_path.is_none()
    }

    /// Returns the first episode and the end of each shard. The showcase has its own shard, the first: its world is
    /// public and the others are not, and the time at which it runs must reveal nothing about them.
    pub(crate) fn shard_ranges(&self) -> Vec<(u32, u32)> {
        let (counted, episodes) = (self.header.plan.episodes, self.header.episodes_to_run());
        // One shard, because only a single worker can count the connections that a server allows.
        let size = if self.is_remote() { episodes } else { self.shard_episodes.get() };
        let cut = |start: u32, end: u32| {
            let starts = (start..end).step_by(usize::try_from(size.max(1)).unwrap_or(usize::MAX));
            starts.map(move |first| (first, first.saturating_add(size).min(end)))
        };
        cut(counted, episodes).chain(cut(0, counted)).collect()
    }

    /// Returns how far the job may leave the server.
    #[must_use]
    pub fn confinement(&self) -> Confinement {
        match self.header.kind() {
            _ if self.demands.connects => Confinement::Server,
            JobKind::Submission | JobKind::Rerun => Confinement::Trusted,
            JobKind::Verify => Confinement::Anywhere,
        }
    }
}

/// The failure of a job that is not due to its policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    /// Its cause: assay or its machine (`platform`), or the scenario. A policy's failures are results and never appear
    /// here.
    pub blame: Blame,
    /// Message for the client: contains no host path and no secret.
    pub message: String,
}

/// The state of a job, with the data of that state.
#[derive(Debug, Clone, PartialEq)]
pub enum JobState {
    /// Accepted, and not started.
    Queued,
    /// Started.
    Running {
        /// Time at which its first shard was claimed.
        started_at: Timestamp,
    },
    /// All episodes are recorded.
    Judging {
        /// Time at which its first shard was claimed.
        started_at: Timestamp,
    },
    /// Concluded with a verdict.
    Completed {
        /// Time at which its first shard was claimed.
        started_at: Timestamp,
        /// Time at which the conclusion was written.
        completed_at: Timestamp,
        /// Its result.
        outcome: Box<crate::JobOutcome>,
    },
    /// Ended by a failure of assay or of the scenario.
    Failed {
        /// Time at which its first shard was claimed, if any was.
        started_at: Option<Timestamp>,
        /// Time of the failure.
        completed_at: Timestamp,
        /// The failure.
        failure: JobFailure,
    },
    /// Cancelled by its owner.
    Cancelled {
        /// Time at which its first shard was claimed, if any was.
        started_at: Option<Timestamp>,
        /// Time of the cancellation.
        completed_at: Timestamp,
    },
}

impl JobState {
    /// Returns the state's name.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        match self {
            Self::Queued => JobStatus::Queued,
            Self::Running { .. } => JobStatus::Running,
            Self::Judging { .. } => JobStatus::Judging,
            Self::Completed { .. } => JobStatus::Completed,
            Self::Failed { .. } => JobStatus::Failed,
            Self::Cancelled { .. } => JobStatus::Cancelled,
        }
    }

    fn times(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        match self {
            Self::Queued => (None, None),
            Self::Running { started_at } | Self::Judging { started_at } => (Some(*started_at), None),
            Self::Completed { started_at, completed_at, .. } => (Some(*started_at), Some(*completed_at)),
            Self::Failed { started_at, completed_at, .. } | Self::Cancelled { started_at, completed_at } => {
                (*started_at, Some(*completed_at))
            }
        }
    }

    fn waiting_for(&self) -> Option<String> {
        match self {
            Self::Queued => Some("a free lane".to_owned()),
            Self::Judging { .. } => Some("the conclusion".to_owned()),
            _ => None,
        }
    }
}

/// The current record of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRecord {
    /// Its account.
    pub account: AccountId,
    /// The request and its fixed parameters.
    pub header: JobHeader,
    /// The archive, relative to the data folder.
    pub policy_path: Option<String>,
    /// Its state.
    pub state: JobState,
    /// Number of recorded episodes.
    pub episodes_done: u32,
    /// The last manual review.
    pub review: Option<Review>,
    /// Times of removals.
    pub removed: crate::RemovalTimes,
    /// Counts of rendered episodes.
    pub renders: RenderCounts,
}

impl JobRecord {
    /// Returns the report of the job, with `episodes` as its details (those recorded so far, or a page of them).
    #[must_use]
    pub fn report(&self, episodes: &[EpisodeResult]) -> JobReport {
        let state = &self.state;
        let mut report =
            JobReport::queued(&self.header).in_status(state.status(), state.waiting_for()).with_episodes(episodes);
        report.progress.episodes_done = self.episodes_done;
        report.review.clone_from(&self.review);
        report.erased_at = self.removed.erased_at;
        report.evidence_removed_at = self.removed.evidence_at;
        (report.started_at, report.completed_at) = state.times();
        if self.header.kind() != JobKind::Submission {
            // For a submission this would reveal how many of its secret worlds ended in violations.
            let RenderCounts { total, open, .. } = self.renders;
            report.progress = report.progress.with_videos(total.saturating_sub(open), total);
        }
        match state {
            JobState::Completed { outcome, .. } => {
                report = report.with_conclusion(&outcome.conclusion);
                report.fingerprint = Some(outcome.fingerprint.clone());
            }
            JobState::Failed { failure, .. } => {
                report.blame = Some(failure.blame);
                report.error_message = Some(failure.message.clone());
            }
            JobState::Queued | JobState::Running { .. } | JobState::Judging { .. } | JobState::Cancelled { .. } => {}
        }
        report
    }

    /// Returns the conclusion and the fingerprint of a COMPLETED job.
    #[must_use]
    pub fn conclusion(&self) -> Option<(&Conclusion, &Fingerprint)> {
        match &self.state {
            JobState::Completed { outcome, .. } => Some((&outcome.conclusion, &outcome.fingerprint)),
            _ => None,
        }
    }
}

/// Filter of a list of jobs, newest first.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only of this kind.
    pub kind: JobKind,
    /// Only this account's; `None` lists all accounts' (for keys with that permission).
    pub account: Option<AccountId>,
    /// Only on this scenario.
    pub scenario: Option<ScenarioId>,
    /// Only in this state.
    pub status: Option<JobStatus>,
    /// Only with this verdict.
    pub verdict: Option<Verdict>,
    /// Submissions match `status` and `verdict` by their state published by then ([`assay_model::Grid`]); without it,
    /// by their actual state.
    pub published_by: Option<Timestamp>,
    /// Only jobs older than this one.
    pub before: Option<JobId>,
    /// Maximum number of jobs.
    pub limit: u32,
    /// Number of jobs to skip.
    pub offset: u32,
}

/// Result of cancelling a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It is CANCELLED; its workers are fenced.
    Done,
    /// It had already ended, in this state.
    Already(JobStatus),
    /// There is no such job (of this account).
    NotFound,
}

/// Number of jobs by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the states are described in JobStatus")]
pub struct JobCounts {
    pub queued: u64,
    pub running: u64,
    pub judging: u64,
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
    /// Time at which the oldest job that has not ended was accepted.
    pub oldest_open: Option<Timestamp>,
    /// Time at which the oldest QUEUED job was accepted.
    pub oldest_queued: Option<Timestamp>,
}

/// Repository of jobs.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait JobRecords {
    /// Accepts a job: header, policy and shards. [`StoreError::Exists`] if the id is taken, [`StoreError::CapExceeded`]
    /// if it would exceed a cap of its account, [`StoreError::MissingModel`] if the account lacks a model that it
    /// names. Returns the number of its shards.
    async fn create_job(&self, job: NewJob) -> Result<u32, StoreError>;

    /// Returns the current record of a job; `None` also if `account` is given and is not its owner.
    async fn job(&self, account: Option<&AccountId>, id: JobId) -> Result<Option<JobRecord>, StoreError>;

    /// Lists a page of jobs. The number is that of all matching jobs, regardless of `before`, `limit` and `offset`.
    async fn jobs(&self, filter: &JobFilter) -> Result<(Vec<JobRecord>, u64), StoreError>;

    /// Lists a page of a job's results, by index.
    async fn episodes(&self, id: JobId, offset: u32, limit: u32) -> Result<Vec<EpisodeResult>, StoreError>;

    /// Returns a job, as [`Self::job`] does, with its first `limit` results.
    async fn job_with_episodes(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        limit: u32,
    ) -> Result<Option<(JobRecord, Vec<EpisodeResult>)>, StoreError> {
        let Some(job) = self.job(account, id).await? else { return Ok(None) };
        let episodes = match job.episodes_done {
            0 => Vec::new(),
            _ => self.episodes(id, 0, limit).await?,
        };
        Ok(Some((job, episodes)))
    }

    /// Counts jobs by state.
    async fn counts(&self) -> Result<JobCounts, StoreError>;

    /// Cancels a job that has not ended. Its workers learn this at their next heartbeat or result. A submission whose
    /// end is not published ([`assay_model::Grid`]) is cancelled as if it had not ended.
    async fn cancel_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        now: Timestamp,
    ) -> Result<CancelOutcome, StoreError>;

    /// Ends a job as FAILED, even if a worker holds it. Returns false if it had ended before.
    async fn fail_job(&self, id: JobId, failure: JobFailure, now: Timestamp) -> Result<bool, StoreError>;
}
