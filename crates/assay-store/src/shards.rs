//! Shards: consecutive ranges of a job's episodes, the unit of queueing, leasing and retry.

use assay_model::{
    AccountId, AssignedPolicy, Assignment, AttemptNote, EpisodeResult, Fence, JobHeader, JobKind, SeedSource,
};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::{ShardRequest, StoreError};

/// Maximum number of retries of a failed shard before its job FAILS.
pub const MAX_RETRIES: u32 = 3;
/// Maximum number of consecutive leases that may expire without a new episode. Far above [`MAX_RETRIES`], because a
/// killed worker is usually not the shard's fault, but not unlimited, because a shard may kill its worker.
pub const MAX_LAPSES: u32 = 16;

/// Maximum number of replaced attempts that are noted per episode; further ones are not listed.
pub const MAX_ATTEMPT_NOTES: u32 = 64;

/// Maximum length of a reason stored with a shard, in bytes.
pub(crate) const MAX_REASON_BYTES: usize = 2048;

/// A claimed shard.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Must be presented with every result.
    pub fence: Fence,
    /// The job's account.
    pub account: AccountId,
    /// The job.
    pub header: JobHeader,
    /// The archive, relative to the data folder; `None` for a policy server.
    pub policy_path: Option<String>,
    /// Episodes still to run, ascending; never empty.
    pub episodes: Vec<u32>,
    /// Number of failures of this shard since its last new episode.
    pub failures: u32,
    /// The reason of the last failure.
    pub last_failure: Option<String>,
    /// Notes of earlier attempts at these episodes.
    pub notes: Vec<AttemptNote>,
}

impl Claim {
    /// Returns what a worker must know to run it, with the episodes' seeds from `seeds`.
    #[must_use]
    pub fn assignment(&self, seeds: &SeedSource, max_episode_bytes: u64) -> Assignment {
        let header = &self.header;
        let policy = match (&self.policy_path, header.policy_sha256) {
            (Some(_), Some(sha256)) => {
                AssignedPolicy::Archive { sha256, runtime: header.runtime.clone(), models: header.models.clone() }
            }
            _ => AssignedPolicy::Server { replan_steps: header.replan_steps },
        };
        Assignment {
            fence: self.fence,
            account: self.account.clone(),
            scenario: header.scenario.clone(),
            scenario_version: header.scenario_version.clone(),
            scenario_digest: header.scenario_digest,
            policy,
            record: header.record,
            plan: header.plan,
            kind: header.kind(),
            created_at: header.created_at,
            episodes: seeds.assign(&self.episodes),
            failures: self.failures,
            notes: self.notes.clone(),
            max_episode_bytes,
        }
    }

    /// Returns true if it runs in the secret worlds of a season.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        let counted = self.header.plan.episodes;
        self.header.kind() == JobKind::Submission && self.episodes.iter().any(|episode| *episode < counted)
    }
}

/// Result of recording an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It is durable.
    New {
        /// Number of episodes that the shard still lacks; at 0 the shard is done.
        left_in_shard: u32,
        /// Number of episodes that the job still lacks; at 0 the job is JUDGING.
        left_in_job: u32,
    },
    /// The episode already has a result; nothing changed.
    Duplicate,
    /// Another worker holds the shard, or the job has ended; nothing changed. The worker must stop working on it.
    Fenced,
}

/// The state of a worker's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// The worker holds it until the new time.
    Held,
    /// The lease is lost: the work was requeued, is done, or its job has ended. The worker must stop working on it.
    Lost,
}

/// Result of returning a shard (or a conclusion).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnOutcome {
    /// It can be claimed again.
    Requeued,
    /// Retries are exhausted: the job is FAILED.
    JobFailed,
    /// The caller no longer held it; nothing changed.
    Fenced,
}

/// Repository of shards and of the results written against them.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait ShardRecords {
    /// Claims a queued shard that `request` admits, until `now + lease`: the oldest one of the account that holds the
    /// fewest shards of that kind. The first claim of a job pins it to the request's machine.
    async fn claim_shard(
        &self,
        request: &ShardRequest,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError>;

    /// Returns a shard with this claim, as long as its holder holds it.
    async fn leased_shard(&self, fence: Fence) -> Result<Option<Claim>, StoreError>;

    /// Returns true if this claim wrote the result of an episode, and no later claim of the shard exists: its holder
    /// may repeat the result, because the answer was lost.
    async fn is_recorded(&self, fence: Fence, episode: u32) -> Result<bool, StoreError>;

    /// Extends a lease to `now + lease`.
    async fn heartbeat(&self, fence: Fence, now: Timestamp, lease: SignedDuration) -> Result<Lease, StoreError>;

    /// Writes one result. The last one of a shard ends the shard; the last one of a job moves the job to JUDGING. The
    /// first failure of a certification ([`assay_model::Plan::ends_with`]) becomes its last episode: results after it
    /// are deleted, and workers running such episodes are fenced. [`StoreError::Invalid`] for an episode outside the
    /// shard.
    async fn record_episode(
        &self,
        fence: Fence,
        result: EpisodeResult,
        now: Timestamp,
    ) -> Result<RecordOutcome, StoreError>;

    /// Stores a fact about one of the shard's episodes until that episode has its result; see [`AttemptNote`].
    async fn note_attempt(&self, fence: Fence, note: AttemptNote) -> Result<Lease, StoreError>;

    /// Returns a shard to the queue, not to be claimed before `not_before`, because something it needs is unreachable
    /// (`reason`, for the log). Does not count as a failure.
    async fn postpone_shard(
        &self,
        fence: Fence,
        not_before: Timestamp,
        reason: &str,
    ) -> Result<ReturnOutcome, StoreError>;

    /// Returns a shard to the queue because the worker is leaving. Does not count as a failure.
    async fn release_shard(&self, fence: Fence) -> Result<ReturnOutcome, StoreError>;

    /// Returns a shard because of an internal error (a lane died). After [`MAX_RETRIES`] retries without a new episode
    /// the job is FAILED, blame `platform`, with `reason` as its message.
    async fn fail_shard(&self, fence: Fence, reason: &str, now: Timestamp) -> Result<ReturnOutcome, StoreError>;
}
