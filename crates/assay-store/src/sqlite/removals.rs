//! Columns of the table of jobs that describe removed files.

use std::collections::HashMap;

use assay_model::{AccountId, JobId};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::failure::SqlResult;
use super::row::{all, change, expect_one, first, micros, parsed, status, time_or_null, value};
use super::{SqliteRecords, renders, signed_documents, webhooks};
use crate::{EraseOutcome, EvidenceRemoval, REMOVAL_SETTLE_TIME, Removal, RemovalRecords, RemovalTimes, StoreError};

/// SQL condition that no season that is not closed still needs the job.
pub(super) const UNNEEDED: &str = "(season IS NULL OR EXISTS (SELECT 1 FROM seasons
    WHERE seasons.scenario = jobs.scenario AND seasons.number = jobs.season AND seasons.state = 'CLOSED'))";

/// SQL condition that only files without a record are to be removed, and that more are about to be recorded.
const IS_RENDERED: &str = "(evidence_removed_at IS NULL AND policy_removed_at IS NULL AND EXISTS (
    SELECT 1 FROM renders WHERE renders.job_id = jobs.job_id AND renders.state <> 'DONE'))";

#[async_trait]
impl RemovalRecords for SqliteRecords {
    async fn erase_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        now: Timestamp,
    ) -> Result<EraseOutcome, StoreError> {
        let account = account.cloned();
        self.write("erasing a job", move |db| erase(db, account.as_ref(), id, now)).await
    }

    async fn drop_evidence(&self, id: JobId, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE jobs SET evidence_removed_at = ?2, removing = 1
                   WHERE job_id = ?1 AND completed_at IS NOT NULL AND evidence_removed_at IS NULL";
        let decide = move |db: &Connection| {
            let id = id.to_string();
            let decided = change(db, sql, (&id, micros(now)))? == 1;
            if decided {
                renders::stop(db, &id)?;
            }
            Ok(decided)
        };
        self.write("dropping evidence", decide).await
    }

    async fn drop_policies(&self, before: Timestamp, limit: u32, now: Timestamp) -> Result<u64, StoreError> {
        let sql = format!("UPDATE jobs SET policy_removed_at = ?3, removing = 1 WHERE job_id IN ({})", old_policies());
        let decide = move |db: &Connection| Ok(change(db, &sql, (micros(before), limit, micros(now)))? as u64);
        self.write("dropping policies", decide).await
    }

    async fn count_old_policies(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM ({})", old_policies());
        self.read("counting old policies", |db| value::<i64>(db, &sql, (micros(before), limit))).map(i64::unsigned_abs)
    }

    async fn jobs_with_evidence(&self, before: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError> {
        let sql = format!(
            "SELECT job_id FROM jobs
             WHERE completed_at IS NOT NULL AND evidence_removed_at IS NULL AND completed_at < ?1 AND {UNNEEDED}
             ORDER BY completed_at LIMIT ?2"
        );
        self.read("looking for old evidence", |db| all(db, &sql, (micros(before), limit), |row| parsed(row, "job_id")))
    }

    async fn evidence_sizes(&self) -> Result<HashMap<JobId, u64>, StoreError> {
        let sql = "SELECT job_id, evidence_bytes FROM jobs WHERE evidence_bytes > 0";
        let size = |row: &Row<'_>| Ok((parsed(row, "job_id")?, row.get::<_, i64>("evidence_bytes")?.unsigned_abs()));
        self.read("measuring the evidence", |db| all(db, sql, [], size)).map(|sizes| sizes.into_iter().collect())
    }

    async fn pending_removals(&self, limit: u32) -> Result<Vec<Removal>, StoreError> {
        let sql = format!(
            "SELECT job_id, erased_at, evidence_removed_at, policy_removed_at, policy_path FROM jobs
             WHERE removing = 1 AND NOT {IS_RENDERED} ORDER BY job_id LIMIT ?1"
        );
        self.read("looking for removals", |db| all(db, &sql, [limit], removal))
    }

    async fn finish_removal(&self, id: JobId, now: Timestamp) -> Result<(), StoreError> {
        let settled = now.saturating_sub(REMOVAL_SETTLE_TIME).unwrap_or(Timestamp::MIN);
        let sql = format!(
            "UPDATE jobs SET removing = 0
             WHERE job_id = ?1 AND completed_at <= ?2
                   AND max(coalesce(erased_at, 0), coalesce(evidence_removed_at, 0)) <= ?2 AND NOT {IS_RENDERED}"
        );
        let done = move |db: &Connection| change(db, &sql, (id.to_string(), micros(settled))).map(drop);
        self.write("recording a removal", done).await
    }

    async fn is_policy_needed(&self, policy_path: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE policy_path = ?1 AND policy_removed_at IS NULL)";
        self.read("checking whether a policy is needed", |db| value(db, sql, [policy_path]))
    }
}

/// Returns the query for the jobs that ended before ?1 and whose archives are not needed any more, at most ?2.
fn old_policies() -> String {
    format!(
        "SELECT job_id FROM jobs WHERE policy_path IS NOT NULL AND policy_removed_at IS NULL
             AND completed_at < ?1 AND {UNNEEDED} ORDER BY completed_at LIMIT ?2"
    )
}

fn erase(db: &Connection, account: Option<&AccountId>, id: JobId, now: Timestamp) -> SqlResult<EraseOutcome> {
    let sql = "SELECT job_id, status, erased_at FROM jobs WHERE job_id = ?1 AND (?2 IS NULL OR account = ?2)";
    let id = id.to_string();
    let found = first(db, sql, (&id, account.map(AccountId::as_str)), |row| {
        Ok((status(row)?, time_or_null(row, "erased_at")?))
    })?;
    match found {
        None => return Ok(EraseOutcome::NotFound),
        Some((_, Some(at))) => return Ok(EraseOutcome::Already(at)),
        Some((open, None)) if !open.is_final() => return Ok(EraseOutcome::Open(open)),
        Some(_) => {}
    }
    let sql = "UPDATE jobs SET erased_at = ?2, evidence_removed_at = coalesce(evidence_removed_at, ?2),
               policy_removed_at = coalesce(policy_removed_at, ?2), removing = 1 WHERE job_id = ?1";
    expect_one(change(db, sql, (&id, micros(now)))?, "a job to erase")?;
    // Also erases its rerun, which has the same policy.
    change(db, &sql.replace("job_id = ?1", "rerun_of = ?1"), (&id, micros(now)))?;
    signed_documents::delete(db, &id)?;
    renders::erase(db, &id)?;
    webhooks::erase(db, &id)?;
    Ok(EraseOutcome::Done)
}

fn removal(row: &Row<'_>) -> SqlResult<Removal> {
    let removed = read(row)?;
    let archive: Option<String> = row.get("policy_path")?;
    Ok(Removal {
        job_id: parsed(row, "job_id")?,
        erased: removed.erased_at.is_some(),
        evidence: removed.evidence_at.map_or(EvidenceRemoval::Unrecorded, |_| EvidenceRemoval::All),
        policy_path: archive.filter(|_| removed.policy_at.is_some()),
    })
}

fn read(row: &Row<'_>) -> SqlResult<RemovalTimes> {
    Ok(RemovalTimes {
        erased_at: time_or_null(row, "erased_at")?,
        evidence_at: time_or_null(row, "evidence_removed_at")?,
        policy_at: time_or_null(row, "policy_removed_at")?,
    })
}
