//! [`Records`] over the statements of the other files.

use std::sync::Arc;

use assay_model::{AccountId, Artifact, AttemptNote, EpisodeResult, JobId, Judgement, Review};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::row::value;
use super::shards::{ShardFilter, ShardKind};
use super::{SqliteRecords, conclusions, jobs, keys, notes, reconcile, reviews, shards};
use crate::{
    CancelOutcome, Claim, ConclusionClaim, ConclusionFence, Fence, JobCounts, JobFailure, JobFilter, JobOutcome,
    JobRecord, KeyId, KeyRecord, Lease, NewJob, ReconcileSummary, RecordOutcome, Records, ReturnOutcome, ReviewOutcome,
    RevokeOutcome, SignedDocument, SignedDocuments, StoreError, Work,
};

#[async_trait]
impl Records for SqliteRecords {
    async fn create_key(&self, key: KeyRecord) -> Result<(), StoreError> {
        self.write("creating a key", move |db| keys::create(db, &key)).await
    }

    async fn create_first_key(&self, key: KeyRecord) -> Result<bool, StoreError> {
        self.write("creating the first key", move |db| keys::create_first(db, &key)).await
    }

    async fn key(&self, id: &KeyId) -> Result<Option<Arc<KeyRecord>>, StoreError> {
        self.known_key(id)
    }

    async fn keys(&self, account: Option<&AccountId>) -> Result<Vec<KeyRecord>, StoreError> {
        self.read("listing keys", |db| keys::list(db, account))
    }

    async fn revoke_key(&self, id: &KeyId, now: Timestamp) -> Result<bool, StoreError> {
        let id = id.clone();
        self.write("revoking a key", move |db| keys::revoke(db, &id, now)).await
    }

    async fn revoke_key_unless_last_admin(&self, id: &KeyId, now: Timestamp) -> Result<RevokeOutcome, StoreError> {
        let id = id.clone();
        self.write("revoking a key", move |db| keys::revoke_of_many(db, &id, now)).await
    }

    async fn rotate_key(&self, old: &KeyId, new: KeyRecord, now: Timestamp) -> Result<bool, StoreError> {
        let old = old.clone();
        self.write("rotating a key", move |db| keys::rotate(db, &old, &new, now)).await
    }

    async fn touch_key(&self, id: &KeyId, now: Timestamp) -> Result<(), StoreError> {
        let id = id.clone();
        self.write("noting a key's use", move |db| keys::touch(db, &id, now)).await
    }

    async fn has_key_ever_existed(&self) -> Result<bool, StoreError> {
        self.read("looking for keys", keys::any_ever)
    }

    async fn create_job(&self, job: NewJob) -> Result<u32, StoreError> {
        self.write("accepting a job", move |db| jobs::create(db, &job)).await
    }

    async fn job(&self, account: Option<&AccountId>, id: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.ask("reading a job", |db| jobs::get(db, account, id))
    }

    async fn jobs(&self, filter: &JobFilter) -> Result<(Vec<JobRecord>, u64), StoreError> {
        self.read("listing jobs", |db| jobs::list(db, filter))
    }

    async fn episodes(&self, id: JobId, offset: u32, limit: u32) -> Result<Vec<EpisodeResult>, StoreError> {
        self.ask("reading results", |db| jobs::episodes(db, id, offset, limit))
    }

    async fn counts(&self) -> Result<JobCounts, StoreError> {
        self.read("counting jobs", jobs::counts)
    }

    async fn cancel_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        now: Timestamp,
    ) -> Result<CancelOutcome, StoreError> {
        let account = account.cloned();
        self.write("cancelling a job", move |db| jobs::cancel(db, account.as_ref(), id, now)).await
    }

    async fn fail_job(&self, id: JobId, failure: JobFailure, now: Timestamp) -> Result<bool, StoreError> {
        self.write("failing a job", move |db| jobs::fail(db, id, &failure, now)).await
    }

    async fn review_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        key: &KeyId,
        review: Review,
    ) -> Result<ReviewOutcome, StoreError> {
        let (account, key) = (account.cloned(), key.clone());
        self.write("reviewing a job", move |db| reviews::add(db, account.as_ref(), id, &key, &review)).await
    }

    async fn claim_shard(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        let worker = worker.to_owned();
        self.write("claiming a shard", move |db| {
            shards::claim(db, &worker, &ShardFilter::any(ShardKind::Any), now, lease)
        })
        .await
    }

    async fn claim_shard_of_others(
        &self,
        worker: &str,
        accounts: &[AccountId],
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        let (worker, wanted) = (worker.to_owned(), ShardFilter::excluding(accounts));
        self.write("claiming a shard", move |db| shards::claim(db, &worker, &wanted, now, lease)).await
    }

    async fn claim_secret_shard(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        let (worker, wanted) = (worker.to_owned(), ShardFilter::any(ShardKind::Secret));
        self.write("claiming a submission's shard", move |db| shards::claim(db, &worker, &wanted, now, lease)).await
    }

    async fn claim_server_shard(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        let worker = worker.to_owned();
        let wanted = ShardFilter::any(ShardKind::Remote);
        self.write("claiming a policy server's shard", move |db| shards::claim(db, &worker, &wanted, now, lease)).await
    }

    async fn heartbeat(&self, fence: Fence, now: Timestamp, lease: SignedDuration) -> Result<Lease, StoreError> {
        self.lease("prolonging a lease", move |db| shards::heartbeat(db, fence, now, lease)).await
    }

    async fn record_episode(
        &self,
        fence: Fence,
        result: EpisodeResult,
        now: Timestamp,
    ) -> Result<RecordOutcome, StoreError> {
        self.write("recording a result", move |db| shards::record(db, fence, &result, now)).await
    }

    async fn note_attempt(&self, fence: Fence, note: AttemptNote) -> Result<Lease, StoreError> {
        self.write("noting an attempt", move |db| notes::add(db, fence, &note)).await
    }

    async fn postpone_shard(
        &self,
        fence: Fence,
        not_before: Timestamp,
        reason: &str,
    ) -> Result<ReturnOutcome, StoreError> {
        let reason = reason.to_owned();
        self.write("postponing a shard", move |db| shards::postpone(db, fence, not_before, &reason)).await
    }

    async fn release_shard(&self, fence: Fence) -> Result<ReturnOutcome, StoreError> {
        self.write("handing a shard back", move |db| shards::release(db, fence)).await
    }

    async fn fail_shard(&self, fence: Fence, reason: &str, now: Timestamp) -> Result<ReturnOutcome, StoreError> {
        let reason = reason.to_owned();
        self.write("giving a shard up", move |db| shards::give_up(db, fence, &reason, now)).await
    }

    async fn claim_conclusion(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<ConclusionClaim>, StoreError> {
        let worker = worker.to_owned();
        self.lease("claiming a conclusion", move |db| conclusions::claim(db, &worker, now, lease)).await
    }

    async fn heartbeat_conclusion(
        &self,
        fence: ConclusionFence,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Lease, StoreError> {
        self.lease("prolonging a lease", move |db| conclusions::heartbeat(db, fence, now, lease)).await
    }

    async fn return_conclusion(
        &self,
        fence: ConclusionFence,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<ReturnOutcome, StoreError> {
        let reason = reason.map(str::to_owned);
        self.write("handing a conclusion back", move |db| conclusions::hand_back(db, fence, reason.as_deref(), now))
            .await
    }

    async fn add_judgement(
        &self,
        fence: ConclusionFence,
        episode: u32,
        judgement: Judgement,
        frames: Vec<Artifact>,
    ) -> Result<bool, StoreError> {
        self.write("judging an episode", move |db| conclusions::judge(db, fence, episode, &judgement, &frames)).await
    }

    async fn complete_job(
        &self,
        fence: ConclusionFence,
        outcome: JobOutcome,
        signed: SignedDocuments,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write("completing a job", move |db| conclusions::complete(db, fence, &outcome, &signed, now)).await
    }

    async fn signed_document(&self, job: JobId, document: SignedDocument) -> Result<Option<Vec<u8>>, StoreError> {
        self.ask("reading what was signed", |db| conclusions::signed(db, job, document))
    }

    async fn reconcile(&self, now: Timestamp) -> Result<ReconcileSummary, StoreError> {
        self.write("reconciling", move |db| reconcile::reconcile(db, now)).await
    }

    async fn claimable(&self, limit: u32) -> Result<Vec<Work>, StoreError> {
        self.read("looking for work", |db| reconcile::claimable(db, limit))
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.read("asking the database", |db| value::<i64>(db, "SELECT count(*) FROM sqlite_schema", []).map(drop))
    }
}
