//! Conclusions of JUDGING jobs.

use assay_model::{Artifact, Blame, EpisodeResult, Fingerprint, JobEvent, JobId, JobStatus, Judgement};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use super::failure::SqlResult;
use super::row::{change, expect_one, first, json, micros, parsed, to_json, until, value};
use super::{SqliteRecords, jobs, queue_snapshot, renders, signed_documents};
use crate::{
    ConclusionClaim, ConclusionFence, ConclusionRecords, JobFailure, JobOutcome, Lease, MAX_RETRIES, ReturnOutcome,
    SignedDocument, SignedDocuments, StoreError,
};

#[async_trait]
impl ConclusionRecords for SqliteRecords {
    async fn claim_conclusion(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<ConclusionClaim>, StoreError> {
        let worker = worker.to_owned();
        self.write_lease("claiming a conclusion", move |db| claim(db, &worker, now, lease)).await
    }

    async fn heartbeat_conclusion(
        &self,
        fence: ConclusionFence,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Lease, StoreError> {
        self.write_lease("renewing a lease", move |db| heartbeat(db, fence, now, lease)).await
    }

    async fn return_conclusion(
        &self,
        fence: ConclusionFence,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<ReturnOutcome, StoreError> {
        let reason = reason.map(str::to_owned);
        self.write("returning a conclusion", move |db| hand_back(db, fence, reason.as_deref(), now)).await
    }

    async fn add_judgement(
        &self,
        fence: ConclusionFence,
        episode: u32,
        judgement: Judgement,
        frames: Vec<Artifact>,
    ) -> Result<bool, StoreError> {
        self.write("judging an episode", move |db| judge(db, fence, episode, &judgement, &frames)).await
    }

    async fn complete_job(
        &self,
        fence: ConclusionFence,
        outcome: JobOutcome,
        signed: SignedDocuments,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write("completing a job", move |db| complete(db, fence, &outcome, &signed, now)).await
    }

    async fn signed_document(&self, job: JobId, document: SignedDocument) -> Result<Option<Vec<u8>>, StoreError> {
        self.query("reading a signed document", |db| signed_documents::get(db, job, document))
    }
}

pub(super) fn claim(
    db: &Connection,
    worker: &str,
    now: Timestamp,
    lease: SignedDuration,
) -> SqlResult<Option<ConclusionClaim>> {
    let sql = "SELECT job_id FROM jobs WHERE status = 'JUDGING' AND judge_worker IS NULL ORDER BY job_id LIMIT 1";
    let Some(job_id) = first(db, sql, [], |row| parsed::<JobId>(row, "job_id"))? else { return Ok(None) };
    let id = job_id.to_string();
    let sql = "UPDATE jobs SET judge_attempt = judge_attempt + 1, judge_worker = ?2, judge_lease_until = ?3
               WHERE job_id = ?1 AND status = 'JUDGING' AND judge_worker IS NULL";
    expect_one(change(db, sql, (&id, worker, until(now, lease)))?, "a job to conclude")?;
    let sql = "SELECT job_id, account, header, policy_path, judge_attempt, num_episodes FROM jobs WHERE job_id = ?1";
    first(db, sql, [&id], |row| {
        let attempt = row.get("judge_attempt")?;
        Ok(ConclusionClaim {
            fence: ConclusionFence { job_id, attempt },
            account: parsed(row, "account")?,
            header: json(row, "header")?,
            policy_path: row.get("policy_path")?,
            episodes: jobs::episodes(db, job_id, 0, row.get("num_episodes")?)?,
            machine: machine(db, &id)?,
        })
    })
}

/// Returns the machine that a job is pinned to.
fn machine(db: &Connection, id: &str) -> SqlResult<Option<Fingerprint>> {
    let sql = "SELECT digest, fingerprint FROM machines
               WHERE digest = (SELECT machine FROM shards WHERE job_id = ?1 AND machine IS NOT NULL LIMIT 1)";
    first(db, sql, [id], |row| json(row, "fingerprint"))
}

pub(super) fn heartbeat(
    db: &Connection,
    fence: ConclusionFence,
    now: Timestamp,
    lease: SignedDuration,
) -> SqlResult<Lease> {
    let sql = "UPDATE jobs SET judge_lease_until = max(judge_lease_until, ?3)
               WHERE job_id = ?1 AND status = 'JUDGING' AND judge_worker IS NOT NULL AND judge_attempt = ?2";
    let changed = change(db, sql, (fence.job_id.to_string(), fence.attempt, until(now, lease)))?;
    Ok(if changed == 1 { Lease::Held } else { Lease::Lost })
}

pub(super) fn hand_back(
    db: &Connection,
    fence: ConclusionFence,
    reason: Option<&str>,
    now: Timestamp,
) -> SqlResult<ReturnOutcome> {
    let id = fence.job_id.to_string();
    let sql = "UPDATE jobs SET judge_worker = NULL, judge_lease_until = NULL, judge_failures = judge_failures + ?3
               WHERE job_id = ?1 AND status = 'JUDGING' AND judge_worker IS NOT NULL AND judge_attempt = ?2";
    if change(db, sql, (&id, fence.attempt, u32::from(reason.is_some())))? == 0 {
        return Ok(ReturnOutcome::Fenced);
    }
    let failures: u32 = value(db, "SELECT judge_failures FROM jobs WHERE job_id = ?1", [&id])?;
    match reason {
        Some(reason) if failures > MAX_RETRIES => {
            let failure = JobFailure { blame: Blame::Platform, message: reason.to_owned() };
            jobs::fail(db, fence.job_id, &failure, now)?;
            Ok(ReturnOutcome::JobFailed)
        }
        _ => Ok(ReturnOutcome::Requeued),
    }
}

pub(super) fn judge(
    db: &Connection,
    fence: ConclusionFence,
    episode: u32,
    judgement: &Judgement,
    frames: &[Artifact],
) -> SqlResult<bool> {
    let id = fence.job_id.to_string();
    let sql = "SELECT episodes.job_id, result FROM episodes JOIN jobs USING (job_id)
               WHERE job_id = ?1 AND episode = ?2
                 AND jobs.status = 'JUDGING' AND judge_worker IS NOT NULL AND judge_attempt = ?3";
    let found = first(db, sql, (&id, episode, fence.attempt), |row| json::<EpisodeResult>(row, "result"))?;
    let Some(mut result) = found else { return Ok(false) };
    result.add_judgement(judgement.clone(), frames.to_vec());
    let sql = "UPDATE episodes SET result = ?3 WHERE job_id = ?1 AND episode = ?2";
    expect_one(change(db, sql, (&id, episode, to_json(&result)?))?, "an episode to judge")?;
    Ok(true)
}

pub(super) fn complete(
    db: &Connection,
    fence: ConclusionFence,
    outcome: &JobOutcome,
    signed: &SignedDocuments,
    now: Timestamp,
) -> SqlResult<bool> {
    let from = JobStatus::Judging;
    let to = from.after(JobEvent::Concluded).map_err(|e| StoreError::corrupt(fence.job_id, "status", e))?;
    let sql = "UPDATE jobs SET status = ?4, completed_at = ?5, verdict = ?6, conclusion = ?7, fingerprint = ?8,
                               judge_worker = NULL, judge_lease_until = NULL, removing = 1
               WHERE job_id = ?1 AND judge_attempt = ?2 AND status = ?3 AND judge_worker IS NOT NULL";
    let values = (
        fence.job_id.to_string(),
        fence.attempt,
        from.as_str(),
        to.as_str(),
        micros(now),
        outcome.conclusion.verdict.to_string(),
        to_json(&outcome.conclusion)?,
        to_json(&outcome.fingerprint)?,
    );
    if change(db, sql, values)? == 0 {
        return Ok(false);
    }
    queue_snapshot::measure_conclusion(db, fence.job_id, now)?;
    signed_documents::insert(db, fence.job_id, signed)?;
    renders::queue(db, &fence.job_id.to_string())?;
    Ok(true)
}
