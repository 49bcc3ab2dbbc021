//! The table of shards: their leases, and the ways in which a worker returns one.

use assay_model::{AttemptNote, Blame, EpisodeResult};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::claim_entry::ClaimEntry;
use super::claims::{is_recorded, leased};
use super::failure::PgResult;
use super::result_entry::ResultEntry;
use super::row::{change, first, micros, number, until};
use super::session::PgSession;
use super::{PostgresRecords, attempt_notes, jobs};
use crate::shards::MAX_REASON_BYTES;
use crate::{
    Claim, Fence, JobFailure, Lease, MAX_RETRIES, RecordOutcome, ReturnOutcome, ShardRecords, ShardRequest, StoreError,
};

#[async_trait]
impl ShardRecords for PostgresRecords {
    async fn claim_shard(
        &self,
        request: &ShardRequest,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        self.claims.call(ClaimEntry { request: request.clone(), now, lease }).await
    }

    async fn leased_shard(&self, fence: Fence) -> Result<Option<Claim>, StoreError> {
        self.engine.read("reading a shard", |db| leased(db, fence)).await
    }

    async fn is_recorded(&self, fence: Fence, episode: u32) -> Result<bool, StoreError> {
        self.engine.query("looking for a result", |db| is_recorded(db, fence, episode)).await
    }

    async fn heartbeat(&self, fence: Fence, now: Timestamp, lease: SignedDuration) -> Result<Lease, StoreError> {
        self.engine.write_lease("renewing a lease", |db| heartbeat(db, fence, now, lease)).await
    }

    async fn record_episode(
        &self,
        fence: Fence,
        result: EpisodeResult,
        now: Timestamp,
    ) -> Result<RecordOutcome, StoreError> {
        self.results.call(ResultEntry { fence, result, now }).await
    }

    async fn note_attempt(&self, fence: Fence, note: AttemptNote) -> Result<Lease, StoreError> {
        self.engine.write("noting an attempt", |db| attempt_notes::add(db, fence, &note)).await
    }

    async fn postpone_shard(
        &self,
        fence: Fence,
        not_before: Timestamp,
        reason: &str,
    ) -> Result<ReturnOutcome, StoreError> {
        self.engine.write("postponing a shard", |db| postpone(db, fence, not_before, reason)).await
    }

    async fn release_shard(&self, fence: Fence) -> Result<ReturnOutcome, StoreError> {
        self.engine.write("releasing a shard", |db| release(db, fence)).await
    }

    async fn fail_shard(&self, fence: Fence, reason: &str, now: Timestamp) -> Result<ReturnOutcome, StoreError> {
        self.engine.write("failing a shard", |db| give_up(db, fence, reason, now)).await
    }
}

async fn heartbeat(db: PgSession, fence: Fence, now: Timestamp, lease: SignedDuration) -> PgResult<Lease> {
    let sql = "UPDATE shards SET lease_until = greatest(lease_until, $4)
               WHERE job_id = $1 AND shard = $2 AND state = 'LEASED' AND attempt = $3";
    let (shard, attempt) = (i64::from(fence.shard), i64::from(fence.attempt));
    let changed = change(&db, sql, &[&fence.job_id.0, &shard, &attempt, &until(now, lease)]).await?;
    Ok(if changed == 1 { Lease::Held } else { Lease::Lost })
}

async fn release(db: PgSession, fence: Fence) -> PgResult<ReturnOutcome> {
    let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL
               WHERE job_id = $1 AND shard = $2 AND state = 'LEASED' AND attempt = $3";
    let (shard, attempt) = (i64::from(fence.shard), i64::from(fence.attempt));
    let changed = change(&db, sql, &[&fence.job_id.0, &shard, &attempt]).await?;
    Ok(if changed == 1 { ReturnOutcome::Requeued } else { ReturnOutcome::Fenced })
}

async fn postpone(db: PgSession, fence: Fence, not_before: Timestamp, reason: &str) -> PgResult<ReturnOutcome> {
    let sql =
        "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL, not_before = $4, last_failure = $5
         WHERE job_id = $1 AND shard = $2 AND state = 'LEASED' AND attempt = $3";
    let reason = assay_model::sanitise(reason, MAX_REASON_BYTES);
    let (shard, attempt) = (i64::from(fence.shard), i64::from(fence.attempt));
    let changed = change(&db, sql, &[&fence.job_id.0, &shard, &attempt, &micros(not_before), &reason]).await?;
    Ok(if changed == 1 { ReturnOutcome::Requeued } else { ReturnOutcome::Fenced })
}

async fn give_up(db: PgSession, fence: Fence, reason: &str, now: Timestamp) -> PgResult<ReturnOutcome> {
    let reason = assay_model::sanitise(reason, MAX_REASON_BYTES);
    // It may fail the job, whose row is locked first.
    jobs::lock(&db, None, fence.job_id).await?;
    let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL, failures = failures + 1,
                                 last_failure = $4
               WHERE job_id = $1 AND shard = $2 AND state = 'LEASED' AND attempt = $3
               RETURNING job_id, failures";
    let (shard, attempt) = (i64::from(fence.shard), i64::from(fence.attempt));
    let failures =
        first(&db, sql, &[&fence.job_id.0, &shard, &attempt, &reason], |row| number::<u32>(row, "failures")).await;
    let Some(failures) = failures? else { return Ok(ReturnOutcome::Fenced) };
    if failures <= MAX_RETRIES {
        return Ok(ReturnOutcome::Requeued);
    }
    let failure = JobFailure { blame: Blame::Platform, message: reason };
    jobs::fail(&db, fence.job_id, &failure, now).await?;
    Ok(ReturnOutcome::JobFailed)
}
