//! The trait of the truth.

use std::sync::Arc;

use assay_model::{AccountId, Artifact, AttemptNote, EpisodeResult, JobId, Judgement, Review};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::{
    CancelOutcome, Claim, CommunityRecords, ConclusionClaim, ConclusionFence, EventRecords, Fence, IdempotencyRecords,
    JobCounts, JobFailure, JobFilter, JobOutcome, JobRecord, KeyId, KeyRecord, Lease, NewJob, QueueReader,
    QuotaRecords, ReconcileSummary, RecordOutcome, RemovalRecords, RenderRecords, ReturnOutcome, ReviewOutcome,
    RevokeOutcome, SeasonRecords, SessionRecords, SignedDocument, SignedDocuments, StoreError, WebhookRecords,
};

/// Keys, jobs, shards, results. Every method is one transaction and durable before it answers; only the claim of a
/// conclusion and prolonged leases may be lost with the machine, on which their worker dies too.
///
/// # Errors
/// Every method fails with [`StoreError`] when the engine does; what can happen in the normal course is in the `Ok`.
#[async_trait]
pub trait Records:
    IdempotencyRecords
    + SeasonRecords
    + CommunityRecords
    + EventRecords
    + QueueReader
    + QuotaRecords
    + RemovalRecords
    + RenderRecords
    + SessionRecords
    + WebhookRecords
{
    // -- keys

    /// Keeps a new key; [`StoreError::Exists`] if its id is taken.
    async fn create_key(&self, key: KeyRecord) -> Result<(), StoreError>;

    /// Keeps `key` if no key has ever existed (revoked ones count); tells whether it did.
    async fn create_first_key(&self, key: KeyRecord) -> Result<bool, StoreError>;

    /// The key with this id, revoked or not.
    async fn key(&self, id: &KeyId) -> Result<Option<Arc<KeyRecord>>, StoreError>;

    /// All keys (of an account), oldest first, revoked ones included.
    async fn keys(&self, account: Option<&AccountId>) -> Result<Vec<KeyRecord>, StoreError>;

    /// Refuses the key from now on; false if there is none or it was revoked before.
    async fn revoke_key(&self, id: &KeyId, now: Timestamp) -> Result<bool, StoreError>;

    /// As [`Self::revoke_key`], but leaves the last key that is valid at `now` and has the scope `admin`.
    async fn revoke_key_unless_last_admin(&self, id: &KeyId, now: Timestamp) -> Result<RevokeOutcome, StoreError>;

    /// Refuses the key `old` from now on and keeps `new` in its place; false, and nothing kept, if there is none or it was
    /// revoked before. [`StoreError::Exists`] if the id of `new` is taken.
    async fn rotate_key(&self, old: &KeyId, new: KeyRecord, now: Timestamp) -> Result<bool, StoreError>;

    /// Notes a use.
    async fn touch_key(&self, id: &KeyId, now: Timestamp) -> Result<(), StoreError>;

    /// Whether any key was ever made.
    async fn has_key_ever_existed(&self) -> Result<bool, StoreError>;

    // -- jobs

    /// Accepts a job: header, policy and shards. [`StoreError::Exists`] if the id is taken, [`StoreError::CapExceeded`] if a cap
    /// of its account stands against it. Returns its shards' number.
    async fn create_job(&self, job: NewJob) -> Result<u32, StoreError>;

    /// A job as it stands; `None` also when `account` is given and is not its owner.
    async fn job(&self, account: Option<&AccountId>, id: JobId) -> Result<Option<JobRecord>, StoreError>;

    /// A page of jobs and the number of all that match (`before`, `limit` and `offset` apart).
    async fn jobs(&self, filter: &JobFilter) -> Result<(Vec<JobRecord>, u64), StoreError>;

    /// A page of a job's results, by index.
    async fn episodes(&self, id: JobId, offset: u32, limit: u32) -> Result<Vec<EpisodeResult>, StoreError>;

    /// Jobs by state.
    async fn counts(&self) -> Result<JobCounts, StoreError>;

    /// Stops a job that has not ended. Its workers learn it at their next heartbeat or result. A submission whose end is
    /// not published ([`assay_model::Grid`]) is stopped as if it had not ended.
    async fn cancel_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        now: Timestamp,
    ) -> Result<CancelOutcome, StoreError>;

    /// Ends a job as FAILED, whoever works on it; false if it had ended before.
    async fn fail_job(&self, id: JobId, failure: JobFailure, now: Timestamp) -> Result<bool, StoreError>;

    /// Puts a person's decision beside the result of a COMPLETED job (of `account`); what was measured stays as it is.
    /// The last one is shown with the job, at most [`crate::MAX_REVIEWS`] are kept.
    async fn review_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        key: &KeyId,
        review: Review,
    ) -> Result<ReviewOutcome, StoreError>;

    // -- shards

    /// Takes a queued shard of a job whose policy we run, until `now + lease`: of the account that holds the fewest such
    /// shards, the oldest.
    async fn claim_shard(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError>;

    /// As [`Records::claim_shard`], of an account that is none of `accounts`.
    async fn claim_shard_of_others(
        &self,
        worker: &str,
        accounts: &[AccountId],
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError>;

    /// As [`Records::claim_shard`], if the shard whose turn it is runs in the secret worlds of a season
    /// ([`Claim::is_secret`]); `None` also if it does not.
    async fn claim_secret_shard(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError>;

    /// As [`Records::claim_shard`], of a job whose policy is a server. It is the job's only shard, so that whoever holds
    /// it knows of all connections to that server.
    async fn claim_server_shard(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError>;

    /// Prolongs a lease to `now + lease`.
    async fn heartbeat(&self, fence: Fence, now: Timestamp, lease: SignedDuration) -> Result<Lease, StoreError>;

    /// Writes one result. The last one of a shard ends the shard, the last one of a job moves it to JUDGING. The first
    /// failure of a certification ([`assay_model::Plan::ends_with`]) becomes its last episode: results behind it are
    /// dropped, and whoever works on them is fenced.
    /// [`StoreError::Invalid`] for an episode that is not of the shard.
    async fn record_episode(
        &self,
        fence: Fence,
        result: EpisodeResult,
        now: Timestamp,
    ) -> Result<RecordOutcome, StoreError>;

    /// Keeps a fact about one of the shard's episodes until that has its result; see [`AttemptNote`].
    async fn note_attempt(&self, fence: Fence, note: AttemptNote) -> Result<Lease, StoreError>;

    /// Hands a shard back that is not to be claimed before `not_before`, because something that it needs can't be reached
    /// (`reason`, for the log): counts as no failure.
    async fn postpone_shard(
        &self,
        fence: Fence,
        not_before: Timestamp,
        reason: &str,
    ) -> Result<ReturnOutcome, StoreError>;

    /// Hands a shard back (the worker is leaving): counts as no failure.
    async fn release_shard(&self, fence: Fence) -> Result<ReturnOutcome, StoreError>;

    /// Gives a shard up because *we* could not run it (a lane died). After [`crate::MAX_RETRIES`] retries without a new
    /// episode the job is FAILED, blame `platform`, with `reason` as its message.
    async fn fail_shard(&self, fence: Fence, reason: &str, now: Timestamp) -> Result<ReturnOutcome, StoreError>;

    // -- conclusions

    /// Takes a JUDGING job that nobody concludes, the oldest, until `now + lease`.
    async fn claim_conclusion(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<ConclusionClaim>, StoreError>;

    /// Prolongs the lease of a conclusion.
    async fn heartbeat_conclusion(
        &self,
        fence: ConclusionFence,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Lease, StoreError>;

    /// Hands a conclusion back; with a `reason` it counts as a failure, as in [`Records::fail_shard`].
    async fn return_conclusion(
        &self,
        fence: ConclusionFence,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<ReturnOutcome, StoreError>;

    /// Adds the second judge's view to an episode, with the frames that it saw; nothing that was measured changes. False
    /// if the claim is not valid any more.
    async fn add_judgement(
        &self,
        fence: ConclusionFence,
        episode: u32,
        judgement: Judgement,
        frames: Vec<Artifact>,
    ) -> Result<bool, StoreError>;

    /// Writes the outcome, and what was signed of it: JUDGING becomes COMPLETED. False if the claim is not valid any more.
    async fn complete_job(
        &self,
        fence: ConclusionFence,
        outcome: JobOutcome,
        signed: SignedDocuments,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// A document that was signed of a job; `None` before the job is COMPLETED and once it was erased.
    async fn signed_document(&self, job: JobId, document: SignedDocument) -> Result<Option<Vec<u8>>, StoreError>;

    // -- upkeep

    /// Requeues what belonged to workers whose leases ran out; to be called at start and every few seconds.
    async fn reconcile(&self, now: Timestamp) -> Result<ReconcileSummary, StoreError>;

    /// Everything that can be claimed now, at most `limit` entries: primes a queue at start.
    async fn claimable(&self, limit: u32) -> Result<Vec<crate::Work>, StoreError>;

    /// Answers if the engine works (for readiness).
    async fn ping(&self) -> Result<(), StoreError>;
}
