//! The table of shards: their leases, and the ways in which a worker returns one.

use assay_model::{AttemptNote, Blame, EpisodeResult};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use super::claims::{PreparedRequest, claim, leased};
use super::failure::SqlResult;
use super::results::record;
use super::row::{change, micros, until, value};
use super::{SqliteRecords, attempt_notes, jobs};
use crate::shards::MAX_REASON_BYTES;
use crate::{
    Claim, Fence, JobFailure, Lease, MAX_RETRIES, RecordOutcome, ReturnOutcome, ShardRecords, ShardRequest, StoreError,
};

#[async_trait]
impl ShardRecords for SqliteRecords {
    async fn claim_shard(
        &self,
        request: &ShardRequest,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        let request = PreparedRequest::new(request);
        self.write("claiming a shard", move |db| claim(db, &request?, now, lease)).await
    }

    async fn leased_shard(&self, fence: Fence) -> Result<Option<Claim>, StoreError> {
        self.read("reading a shard", |db| leased(db, fence))
    }

    async fn is_recorded(&self, fence: Fence, episode: u32) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM episodes AS e JOIN shards AS s USING (job_id, shard)
                                  WHERE e.job_id = ?1 AND e.shard = ?2 AND e.episode = ?4 AND s.attempt = ?3)";
        let values = (fence.job_id.to_string(), fence.shard, fence.attempt, episode);
        self.query("looking for a result", |db| value(db, sql, values))
    }

    async fn heartbeat(&self, fence: Fence, now: Timestamp, lease: SignedDuration) -> Result<Lease, StoreError> {
        self.write_lease("renewing a lease", move |db| heartbeat(db, fence, now, lease)).await
    }

    async fn record_episode(
        &self,
        fence: Fence,
        result: EpisodeResult,
        now: Timestamp,
    ) -> Result<RecordOutcome, StoreError> {
        self.write("recording a result", move |db| record(db, fence, &result, now)).await
    }

    async fn note_attempt(&self, fence: Fence, note: AttemptNote) -> Result<Lease, StoreError> {
        self.write("noting an attempt", move |db| attempt_notes::add(db, fence, &note)).await
    }

    async fn postpone_shard(
        &self,
        fence: Fence,
        not_before: Timestamp,
        reason: &str,
    ) -> Result<ReturnOutcome, StoreError> {
        let reason = reason.to_owned();
        self.write("postponing a shard", move |db| postpone(db, fence, not_before, &reason)).await
    }

    async fn release_shard(&self, fence: Fence) -> Result<ReturnOutcome, StoreError> {
        self.write("releasing a shard", move |db| release(db, fence)).await
    }

    async fn fail_shard(&self, fence: Fence, reason: &str, now: Timestamp) -> Result<ReturnOutcome, StoreError> {
        let reason = reason.to_owned();
        self.write("failing a shard", move |db| give_up(db, fence, &reason, now)).await
    }
}

fn heartbeat(db: &Connection, fence: Fence, now: Timestamp, lease: SignedDuration) -> SqlResult<Lease> {
    let sql = "UPDATE shards SET lease_until = max(lease_until, ?4)
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
    let changed = change(db, sql, (fence.job_id.to_string(), fence.shard, fence.attempt, until(now, lease)))?;
    Ok(if changed == 1 { Lease::Held } else { Lease::Lost })
}

fn release(db: &Connection, fence: Fence) -> SqlResult<ReturnOutcome> {
    let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
    let changed = change(db, sql, (fence.job_id.to_string(), fence.shard, fence.attempt))?;
    Ok(if changed == 1 { ReturnOutcome::Requeued } else { ReturnOutcome::Fenced })
}

fn postpone(db: &Connection, fence: Fence, not_before: Timestamp, reason: &str) -> SqlResult<ReturnOutcome> {
    let sql =
        "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL, not_before = ?4, last_failure = ?5
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
    let reason = assay_model::sanitise(reason, MAX_REASON_BYTES);
    let values = (fence.job_id.to_string(), fence.shard, fence.attempt, micros(not_before), reason);
    Ok(if change(db, sql, values)? == 1 { ReturnOutcome::Requeued } else { ReturnOutcome::Fenced })
}

fn give_up(db: &Connection, fence: Fence, reason: &str, now: Timestamp) -> SqlResult<ReturnOutcome> {
    let reason = assay_model::sanitise(reason, MAX_REASON_BYTES);
    let id = fence.job_id.to_string();
    let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL, failures = failures + 1,
                                 last_failure = ?4
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
    if change(db, sql, (&id, fence.shard, fence.attempt, &reason))? == 0 {
        return Ok(ReturnOutcome::Fenced);
    }
    let failures: u32 = value(db, "SELECT failures FROM shards WHERE job_id = ?1 AND shard = ?2", (&id, fence.shard))?;
    if failures <= MAX_RETRIES {
        return Ok(ReturnOutcome::Requeued);
    }
    let failure = JobFailure { blame: Blame::Platform, message: reason };
    jobs::fail(db, fence.job_id, &failure, now)?;
    Ok(ReturnOutcome::JobFailed)
}
