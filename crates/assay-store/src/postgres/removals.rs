//! Columns of the table of jobs that describe removed files.

use std::collections::HashMap;

use assay_model::{AccountId, JobId};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;

use super::PostgresRecords;
use super::failure::PgResult;
use super::row::{all, change, expect_one, field, first, job_id, micros, number, status, time_or_null, value};
use super::session::PgSession;
use super::{renders, signed_documents, webhooks};
use crate::{EraseOutcome, EvidenceRemoval, REMOVAL_SETTLE_TIME, Removal, RemovalRecords, StoreError};

/// SQL condition that no season that is not closed still needs the job.
pub(super) const UNNEEDED: &str = "(jobs.season IS NULL OR EXISTS (SELECT 1 FROM seasons
    WHERE seasons.scenario = jobs.scenario AND seasons.number = jobs.season AND seasons.state = 'CLOSED'))";

/// SQL condition that only files without a record are to be removed, and that more are about to be recorded.
const IS_RENDERED: &str = "(evidence_removed_at IS NULL AND policy_removed_at IS NULL AND EXISTS (
    SELECT 1 FROM renders WHERE renders.job_id = jobs.job_id AND renders.state <> 'DONE'))";

#[async_trait]
impl RemovalRecords for PostgresRecords {
    async fn erase_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        now: Timestamp,
    ) -> Result<EraseOutcome, StoreError> {
        self.engine.write("erasing a job", |db| erase(db, account, id, now)).await
    }

    async fn drop_evidence(&self, id: JobId, now: Timestamp) -> Result<bool, StoreError> {
        self.engine.write("dropping evidence", |db| drop_evidence(db, id, now)).await
    }

    async fn drop_policies(&self, before: Timestamp, limit: u32, now: Timestamp) -> Result<u64, StoreError> {
        self.engine.write("dropping policies", |db| drop_policies(db, before, limit, now)).await
    }

    async fn count_old_policies(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        self.engine.query("counting old policies", |db| count_old_policies(db, before, limit)).await
    }

    async fn jobs_with_evidence(&self, before: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError> {
        self.engine.query("looking for old evidence", |db| with_evidence(db, before, limit)).await
    }

    async fn evidence_sizes(&self) -> Result<HashMap<JobId, u64>, StoreError> {
        self.engine.query("measuring the evidence", evidence_sizes).await
    }

    async fn pending_removals(&self, limit: u32) -> Result<Vec<Removal>, StoreError> {
        self.engine.query("looking for removals", |db| pending(db, limit)).await
    }

    async fn finish_removal(&self, id: JobId, now: Timestamp) -> Result<(), StoreError> {
        self.engine.write("recording a removal", |db| finish(db, id, now)).await
    }

    async fn is_policy_needed(&self, policy_path: &str) -> Result<bool, StoreError> {
        self.engine.query("checking whether a policy is needed", |db| is_needed(db, policy_path)).await
    }
}

async fn drop_evidence(db: PgSession, id: JobId, now: Timestamp) -> PgResult<bool> {
    let sql = "SELECT job_id FROM jobs
               WHERE job_id = $1 AND completed_at IS NOT NULL AND evidence_removed_at IS NULL FOR NO KEY UPDATE";
    if first(&db, sql, &[&id.0], |_| Ok(())).await?.is_none() {
        return Ok(false);
    }
    renders::stop(&db, id).await?;
    let sql = "UPDATE jobs SET evidence_removed_at = $2, removing = true WHERE job_id = $1";
    expect_one(change(&db, sql, &[&id.0, &micros(now)]).await?, "a job with evidence")?;
    Ok(true)
}

async fn drop_policies(db: PgSession, before: Timestamp, limit: u32, now: Timestamp) -> PgResult<u64> {
    let limit = i64::from(limit);
    let mut jobs = all(&db, &old_policies(), &[&micros(before), &limit], |row| Ok(job_id(row, "job_id")?.0)).await?;
    jobs.sort_unstable();
    // Jobs, then accounts, each in the order of all transactions; the triggers of the change need both.
    let sql = "SELECT job_id FROM jobs WHERE job_id = ANY($1) ORDER BY job_id FOR NO KEY UPDATE";
    all(&db, sql, &[&jobs], |_| Ok(())).await?;
    let sql = "SELECT account FROM account_use WHERE account IN (SELECT account FROM jobs WHERE job_id = ANY($1))
               ORDER BY account FOR NO KEY UPDATE";
    all(&db, sql, &[&jobs], |_| Ok(())).await?;
    let sql = "UPDATE jobs SET policy_removed_at = $2, removing = true
               WHERE job_id = ANY($1) AND policy_removed_at IS NULL";
    change(&db, sql, &[&jobs, &micros(now)]).await
}

async fn count_old_policies(db: PgSession, before: Timestamp, limit: u32) -> PgResult<u64> {
    let sql = format!("SELECT count(*) AS jobs FROM ({}) AS old", old_policies());
    let found = first(&db, &sql, &[&micros(before), &i64::from(limit)], |row| number(row, "jobs")).await?;
    Ok(found.unwrap_or(0))
}

/// Returns the query for the jobs that ended before $1 and whose archives are not needed any more, at most $2.
fn old_policies() -> String {
    format!(
        "SELECT job_id FROM jobs WHERE policy_path IS NOT NULL AND policy_removed_at IS NULL
             AND completed_at < $1 AND {UNNEEDED} ORDER BY completed_at LIMIT $2"
    )
}

async fn with_evidence(db: PgSession, before: Timestamp, limit: u32) -> PgResult<Vec<JobId>> {
    let sql = format!(
        "SELECT job_id FROM jobs
         WHERE completed_at IS NOT NULL AND evidence_removed_at IS NULL AND completed_at < $1 AND {UNNEEDED}
         ORDER BY completed_at LIMIT $2"
    );
    all(&db, &sql, &[&micros(before), &i64::from(limit)], |row| job_id(row, "job_id")).await
}

async fn evidence_sizes(db: PgSession) -> PgResult<HashMap<JobId, u64>> {
    let sql = "SELECT job_id, evidence_bytes FROM jobs WHERE evidence_bytes > 0";
    let sizes = all(&db, sql, &[], |row| Ok((job_id(row, "job_id")?, number(row, "evidence_bytes")?))).await?;
    Ok(sizes.into_iter().collect())
}

async fn pending(db: PgSession, limit: u32) -> PgResult<Vec<Removal>> {
    let sql = format!(
        "SELECT job_id, erased_at, evidence_removed_at, policy_removed_at, policy_path FROM jobs
         WHERE removing AND NOT {IS_RENDERED} ORDER BY job_id LIMIT $1"
    );
    all(&db, &sql, &[&i64::from(limit)], removal).await
}

async fn finish(db: PgSession, id: JobId, now: Timestamp) -> PgResult<()> {
    let settled = now.saturating_sub(REMOVAL_SETTLE_TIME).unwrap_or(Timestamp::MIN);
    let sql = format!(
        "UPDATE jobs SET removing = false
         WHERE job_id = $1 AND completed_at <= $2
               AND greatest(erased_at, evidence_removed_at, 0) <= $2 AND NOT {IS_RENDERED}"
    );
    change(&db, &sql, &[&id.0, &micros(settled)]).await.map(drop)
}

async fn is_needed(db: PgSession, policy_path: &str) -> PgResult<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE policy_path = $1 AND policy_removed_at IS NULL)";
    value(&db, sql, &[&policy_path]).await
}

async fn erase(db: PgSession, account: Option<&AccountId>, id: JobId, now: Timestamp) -> PgResult<EraseOutcome> {
    let sql = "SELECT job_id, status, erased_at FROM jobs
               WHERE job_id = $1 AND ($2::text IS NULL OR account = $2) FOR NO KEY UPDATE";
    let found = first(&db, sql, &[&id.0, &account.map(AccountId::as_str)], |row| {
        Ok((status(row)?, time_or_null(row, "erased_at")?))
    })
    .await;
    match found? {
        None => return Ok(EraseOutcome::NotFound),
        Some((_, Some(at))) => return Ok(EraseOutcome::Already(at)),
        Some((open, None)) if !open.is_final() => return Ok(EraseOutcome::Open(open)),
        Some(_) => {}
    }
    signed_documents::delete(&db, id).await?;
    renders::erase(&db, id).await?;
    webhooks::erase(&db, id).await?;
    let erase = |key: &str| {
        format!(
            "UPDATE jobs SET erased_at = $2, evidence_removed_at = coalesce(evidence_removed_at, $2),
                             policy_removed_at = coalesce(policy_removed_at, $2), removing = true WHERE {key} = $1"
        )
    };
    expect_one(change(&db, &erase("job_id"), &[&id.0, &micros(now)]).await?, "a job to erase")?;
    // Also erases its rerun, which has the same policy.
    change(&db, &erase("rerun_of"), &[&id.0, &micros(now)]).await?;
    Ok(EraseOutcome::Done)
}

fn removal(row: &Row) -> PgResult<Removal> {
    let archive: Option<String> = field(row, "policy_path")?;
    let is_policy_removed = time_or_null(row, "policy_removed_at")?.is_some();
    Ok(Removal {
        job_id: job_id(row, "job_id")?,
        erased: time_or_null(row, "erased_at")?.is_some(),
        evidence: match time_or_null(row, "evidence_removed_at")? {
            Some(_) => EvidenceRemoval::All,
            None => EvidenceRemoval::Unrecorded,
        },
        policy_path: archive.filter(|_| is_policy_removed),
    })
}
