//! Usage of accounts. The counts are maintained by triggers (see their migration).

use assay_model::{AccountId, Grid, JobId};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, Row};

use super::failure::SqlResult;
use super::row::{change, first, micros, value};
use super::{SqliteRecords, publication};
use crate::caps::day;
use crate::{AccountUsage, JobDemand, NewJob, QuotaRecords, StoreError};

#[async_trait]
impl QuotaRecords for SqliteRecords {
    async fn account_usage(&self, account: &AccountId, now: Timestamp) -> Result<AccountUsage, StoreError> {
        self.read("reading an account's use", |db| of(db, account, now))
    }
}

/// Returns the demand of a job that is about to be accepted, or fails if it exceeds a cap of its account.
pub(super) fn admit(db: &Connection, job: &NewJob) -> SqlResult<JobDemand> {
    let Some(quota) = job.quota else { return Ok(JobDemand::default()) };
    // An archive that the account has sent before needs no additional space.
    let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE account = ?1 AND policy_path = ?2
                                           AND policy_removed_at IS NULL)";
    let known: bool = value(db, sql, (job.account.as_str(), &job.policy_path))?;
    let ask = JobDemand { stored_bytes: if known { 0 } else { quota.ask.stored_bytes }, ..quota.ask };
    let now = job.header.created_at;
    match quota.caps.exceeded_by(&of(db, &job.account, now)?, ask, now) {
        Some(over) => Err(StoreError::CapExceeded(over).into()),
        None => Ok(ask),
    }
}

pub(super) fn of(db: &Connection, account: &AccountId, now: Timestamp) -> SqlResult<AccountUsage> {
    let sql = "SELECT account, active_jobs, queued_sim_s, stored_bytes FROM account_use WHERE account = ?1";
    let read = |row: &Row<'_>| {
        let number = |column: &str| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.unsigned_abs());
        Ok(AccountUsage {
            jobs_today: 0,
            active_jobs: number("active_jobs")?,
            queued_sim_s: number("queued_sim_s")?,
            stored_bytes: number("stored_bytes")?,
        })
    };
    let found = first(db, sql, [account.as_str()], read)?.unwrap_or_default();
    let sql = "SELECT jobs FROM account_days WHERE account = ?1 AND day = ?2";
    let today = first(db, sql, (account.as_str(), day(now)), |row| Ok(row.get::<_, i64>(0)?))?;
    let hidden = hidden(db, account, now)?;
    Ok(AccountUsage {
        jobs_today: today.unwrap_or(0).unsigned_abs() + hidden.jobs_today,
        active_jobs: found.active_jobs + hidden.active_jobs,
        queued_sim_s: found.queued_sim_s + hidden.queued_sim_s,
        ..found
    })
}

/// Returns the usage of ended submissions whose end is not published; it counts until then.
fn hidden(db: &Connection, account: &AccountId, now: Timestamp) -> SqlResult<AccountUsage> {
    let longest = SignedDuration::from_secs(i64::from(Grid::STEP_S + Grid::SETTLE_S));
    let since = now.saturating_sub(longest).map_or(i64::MIN, micros);
    let sql = format!(
        "SELECT count(*), coalesce(sum(sim_s), 0),
                coalesce(sum(status = 'FAILED' AND failure ->> 'blame' = 'platform'
                             AND created_at / 86400000000 = ?4), 0)
         FROM jobs INDEXED BY jobs_with_policy
         WHERE completed_at >= ?2 AND completed_at IS NOT NULL AND policy_path IS NOT NULL
               AND policy_removed_at IS NULL AND account = ?1 AND kind = 'submission' AND status <> 'CANCELLED'
               AND {} > ?3",
        publication::at("jobs")
    );
    let read = |row: &Row<'_>| {
        let number = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.unsigned_abs());
        Ok(AccountUsage { active_jobs: number(0)?, queued_sim_s: number(1)?, jobs_today: number(2)?, stored_bytes: 0 })
    };
    Ok(first(db, &sql, (account.as_str(), since, micros(now), day(now)), read)?.unwrap_or_default())
}

/// Counts again a job that was no longer counted since it FAILED.
pub(super) fn recount(db: &Connection, id: JobId) -> SqlResult<()> {
    let sql = "UPDATE account_days SET jobs = jobs + 1 WHERE (account, day) IN (
                   SELECT account, created_at / 86400000000 FROM jobs
                   WHERE job_id = ?1 AND status = 'FAILED' AND failure ->> 'blame' = 'platform')";
    change(db, sql, [id.to_string()]).map(drop)
}
