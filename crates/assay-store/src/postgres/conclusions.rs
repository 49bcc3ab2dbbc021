//! Conclusions of JUDGING jobs.

use assay_model::{Artifact, Blame, EpisodeResult, JobEvent, JobId, JobStatus, Judgement};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::failure::PgResult;
use super::row::{
    change, expect_one, field, first, job_id, json, json_or_null, micros, number, parsed, to_json, until,
};
use super::session::PgSession;
use super::{PostgresRecords, durations, jobs, renders, signed_documents};
use crate::{
    ConclusionClaim, ConclusionFence, ConclusionRecords, JobFailure, JobOutcome, Lease, MAX_RETRIES, ReturnOutcome,
    SignedDocument, SignedDocuments, StoreError,
};

#[async_trait]
impl ConclusionRecords for PostgresRecords {
    async fn claim_conclusion(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<ConclusionClaim>, StoreError> {
        self.engine.write("claiming a conclusion", |db| claim(db, worker, now, lease)).await
    }

    async fn heartbeat_conclusion(
        &self,
        fence: ConclusionFence,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Lease, StoreError> {
        self.engine.write_lease("renewing a lease", |db| heartbeat(db, fence, now, lease)).await
    }

    async fn return_conclusion(
        &self,
        fence: ConclusionFence,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<ReturnOutcome, StoreError> {
        self.engine.write("returning a conclusion", |db| hand_back(db, fence, reason, now)).await
    }

    async fn add_judgement(
        &self,
        fence: ConclusionFence,
        episode: u32,
        judgement: Judgement,
        frames: Vec<Artifact>,
    ) -> Result<bool, StoreError> {
        self.engine.write("judging an episode", |db| judge(db, fence, episode, (&judgement, &frames))).await
    }

    async fn complete_job(
        &self,
        fence: ConclusionFence,
        outcome: JobOutcome,
        signed: SignedDocuments,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.engine.write("completing a job", |db| complete(db, fence, (&outcome, &signed), now)).await
    }

    async fn signed_document(&self, job: JobId, document: SignedDocument) -> Result<Option<Vec<u8>>, StoreError> {
        self.engine.query("reading a signed document", |db| signed_documents::get(db, job, document)).await
    }
}

async fn claim(
    db: PgSession,
    worker: &str,
    now: Timestamp,
    lease: SignedDuration,
) -> PgResult<Option<ConclusionClaim>> {
    let sql = "UPDATE jobs SET judge_attempt = judge_attempt + 1, judge_worker = $1, judge_lease_until = $2
               WHERE job_id = (SELECT job_id FROM jobs WHERE status = 'JUDGING' AND judge_worker IS NULL
                               ORDER BY job_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
               RETURNING job_id, account, header, policy_path, machine_fingerprint, judge_attempt, num_episodes";
    let claimed = first(&db, sql, &[&worker, &until(now, lease)], |row| {
        let (job_id, attempt) = (job_id(row, "job_id")?, number(row, "judge_attempt")?);
        let claim = ConclusionClaim {
            fence: ConclusionFence { job_id, attempt },
            account: parsed(row, "account")?,
            header: json(row, "header")?,
            policy_path: field(row, "policy_path")?,
            machine: json_or_null(row, "machine_fingerprint")?,
            episodes: Vec::new(),
        };
        Ok((claim, number(row, "num_episodes")?))
    })
    .await;
    let Some((mut claim, episodes)) = claimed? else { return Ok(None) };
    claim.episodes = jobs::episodes(&db, claim.fence.job_id, 0, episodes).await?;
    Ok(Some(claim))
}

async fn heartbeat(db: PgSession, fence: ConclusionFence, now: Timestamp, lease: SignedDuration) -> PgResult<Lease> {
    let sql = "UPDATE jobs SET judge_lease_until = greatest(judge_lease_until, $3)
               WHERE job_id = $1 AND status = 'JUDGING' AND judge_worker IS NOT NULL AND judge_attempt = $2";
    let changed = change(&db, sql, &[&fence.job_id.0, &i64::from(fence.attempt), &until(now, lease)]).await?;
    Ok(if changed == 1 { Lease::Held } else { Lease::Lost })
}

async fn hand_back(
    db: PgSession,
    fence: ConclusionFence,
    reason: Option<&str>,
    now: Timestamp,
) -> PgResult<ReturnOutcome> {
    let sql = "UPDATE jobs SET judge_worker = NULL, judge_lease_until = NULL, judge_failures = judge_failures + $3
               WHERE job_id = $1 AND status = 'JUDGING' AND judge_worker IS NOT NULL AND judge_attempt = $2
               RETURNING job_id, judge_failures";
    let failed = i64::from(reason.is_some());
    let parameters: [super::row::Parameter<'_>; 3] = [&fence.job_id.0, &i64::from(fence.attempt), &failed];
    let failures = first(&db, sql, &parameters, |row| number::<u32>(row, "judge_failures")).await?;
    match (failures, reason) {
        (None, _) => Ok(ReturnOutcome::Fenced),
        (Some(failures), Some(reason)) if failures > MAX_RETRIES => {
            let failure = JobFailure { blame: Blame::Platform, message: reason.to_owned() };
            jobs::fail(&db, fence.job_id, &failure, now).await?;
            Ok(ReturnOutcome::JobFailed)
        }
        _ => Ok(ReturnOutcome::Requeued),
    }
}

async fn judge(
    db: PgSession,
    fence: ConclusionFence,
    episode: u32,
    (judgement, frames): (&Judgement, &[Artifact]),
) -> PgResult<bool> {
    let sql = "SELECT episodes.job_id, result FROM jobs JOIN episodes USING (job_id)
               WHERE job_id = $1 AND episode = $2
                 AND jobs.status = 'JUDGING' AND judge_worker IS NOT NULL AND judge_attempt = $3
               FOR NO KEY UPDATE";
    let (id, episode, attempt) = (fence.job_id.0, i64::from(episode), i64::from(fence.attempt));
    let found = first(&db, sql, &[&id, &episode, &attempt], |row| json::<EpisodeResult>(row, "result")).await;
    let Some(mut result) = found? else { return Ok(false) };
    result.add_judgement(judgement.clone(), frames.to_vec());
    let sql = "UPDATE episodes SET result = $3 WHERE job_id = $1 AND episode = $2";
    expect_one(change(&db, sql, &[&id, &episode, &to_json(&result)?]).await?, "an episode to judge")?;
    Ok(true)
}

async fn complete(
    db: PgSession,
    fence: ConclusionFence,
    (outcome, signed): (&JobOutcome, &SignedDocuments),
    now: Timestamp,
) -> PgResult<bool> {
    let from = JobStatus::Judging;
    let to = from.after(JobEvent::Concluded).map_err(|e| StoreError::corrupt(fence.job_id, "status", e))?;
    let sql = "UPDATE jobs SET status = $4, completed_at = $5, verdict = $6, conclusion = $7, fingerprint = $8,
                               judge_worker = NULL, judge_lease_until = NULL, removing = true
               WHERE job_id = $1 AND judge_attempt = $2 AND status = $3 AND judge_worker IS NOT NULL";
    let changed = change(
        &db,
        sql,
        &[
            &fence.job_id.0,
            &i64::from(fence.attempt),
            &from.as_str(),
            &to.as_str(),
            &micros(now),
            &outcome.conclusion.verdict.to_string(),
            &to_json(&outcome.conclusion)?,
            &to_json(&outcome.fingerprint)?,
        ],
    )
    .await;
    if changed? == 0 {
        return Ok(false);
    }
    signed_documents::insert(&db, fence.job_id, signed).await?;
    renders::queue(&db, fence.job_id).await?;
    durations::measure_conclusion(&db, fence.job_id, now).await?;
    Ok(true)
}
