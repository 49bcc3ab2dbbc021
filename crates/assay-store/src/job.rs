//! Jobs as the records know them.

use std::num::NonZeroU32;

use assay_model::{
    AccountId, Blame, Conclusion, EpisodeResult, Fingerprint, JobHeader, JobId, JobKind, JobReport, JobStatus, Review,
    ScenarioId, Secret, Verdict,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::RenderCounts;

/// A job to be accepted.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Whose it is.
    pub account: AccountId,
    /// What is known of it; never changes.
    pub header: JobHeader,
    /// The archive, relative to the data folder; `None` for a policy server.
    pub policy_path: Option<String>,
    /// Episodes of one shard (the last shard may have fewer).
    pub shard_episodes: NonZeroU32,
    /// What the account may have, and what the job will need; `None` accepts it in any case.
    pub quota: Option<crate::JobQuota>,
    /// Where its end is to be reported; the query may hold a token.
    pub callback_url: Option<Secret>,
}

/// Why we could not do the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    /// Whose fault it is: ours, or the scenario's. A policy's faults are results and never come here.
    pub blame: Blame,
    /// For the client: no host path, no secret.
    pub message: String,
}

/// Where a job stands, with what belongs to that state.
#[derive(Debug, Clone, PartialEq)]
pub enum JobState {
    /// Accepted.
    Queued,
    /// Taken up.
    Running {
        /// When its first shard was taken.
        started_at: Timestamp,
    },
    /// All episodes recorded.
    Judging {
        /// When its first shard was taken.
        started_at: Timestamp,
    },
    /// There is a verdict.
    Completed {
        /// When its first shard was taken.
        started_at: Timestamp,
        /// When the conclusion was written.
        completed_at: Timestamp,
        /// What was found.
        outcome: Box<crate::JobOutcome>,
    },
    /// We could not do the work.
    Failed {
        /// When its first shard was taken, if any was.
        started_at: Option<Timestamp>,
        /// When we gave up.
        completed_at: Timestamp,
        /// Why.
        failure: JobFailure,
    },
    /// The owner stopped it.
    Cancelled {
        /// When its first shard was taken, if any was.
        started_at: Option<Timestamp>,
        /// When it was stopped.
        completed_at: Timestamp,
    },
}

impl JobState {
    /// The state's name.
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

/// A job as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRecord {
    /// Whose it is.
    pub account: AccountId,
    /// What was asked.
    pub header: JobHeader,
    /// The archive, relative to the data folder.
    pub policy_path: Option<String>,
    /// Where it stands.
    pub state: JobState,
    /// Episodes recorded.
    pub episodes_done: u32,
    /// What a person decided last.
    pub review: Option<Review>,
    /// What was removed since.
    pub removed: crate::RemovalTimes,
    /// How many of its episodes are drawn.
    pub renders: RenderCounts,
}

impl JobRecord {
    /// The object a client reads, with `episodes` as its details (those recorded so far, or a page of them).
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
            // Of a submission it would tell how many of its secret worlds ended badly.
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

    /// The conclusion, once there is one.
    #[must_use]
    pub fn conclusion(&self) -> Option<(&Conclusion, &Fingerprint)> {
        match &self.state {
            JobState::Completed { outcome, .. } => Some((&outcome.conclusion, &outcome.fingerprint)),
            _ => None,
        }
    }
}

/// Which jobs to list, newest first.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only of this kind.
    pub kind: JobKind,
    /// Only this account's; `None` lists all accounts' (for keys that may).
    pub account: Option<AccountId>,
    /// Only on this scenario.
    pub scenario: Option<ScenarioId>,
    /// Only in this state.
    pub status: Option<JobStatus>,
    /// Only with this verdict.
    pub verdict: Option<Verdict>,
    /// Submissions match `status` and `verdict` by what is published of them by then ([`assay_model::Grid`]); without it,
    /// by what they are.
    pub published_by: Option<Timestamp>,
    /// Only older than this job.
    pub before: Option<JobId>,
    /// At most this many.
    pub limit: u32,
    /// Skip this many.
    pub offset: u32,
}

/// What became of a wish to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It is CANCELLED now; workers on it are fenced.
    Done,
    /// It had ended before.
    Already(JobStatus),
    /// There is no such job (of this account).
    NotFound,
}

/// Jobs by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the states are described in JobStatus")]
pub struct JobCounts {
    pub queued: u64,
    pub running: u64,
    pub judging: u64,
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
    /// When the oldest job that has not ended was accepted.
    pub oldest_open: Option<Timestamp>,
    /// When the oldest job that nobody has begun with was accepted.
    pub oldest_queued: Option<Timestamp>,
}
