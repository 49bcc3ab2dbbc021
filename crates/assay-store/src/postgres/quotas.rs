//! Usage of accounts. The counts are maintained by triggers (see their migration).

use assay_model::{AccountId, Grid, JobId};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;

use super::failure::PgResult;
use super::row::{change, first, micros, number, value};
use super::session::PgSession;
use super::{PostgresRecords, publication};
use crate::caps::day;
use crate::{AccountUsage, JobDemand, NewJob, QuotaRecords, StoreError};

#[async_trait]
impl QuotaRecords for PostgresRecords {
    async fn account_usage(&self, account: &AccountId, now: Timestamp) -> Result<AccountUsage, StoreError> {
        self.engine.read("reading an account's use", |db| async move { of(&db, account, now).await }).await
    }
}

/// Locks the row of an account, so that caps are checked one after the other.
pub(super) async fn lock_account(db: &PgSession, account: &AccountId) -> PgResult<()> {
    let sql = "INSERT INTO account_use (account) VALUES ($1) ON CONFLICT DO NOTHING";
    if change(db, sql, &[&account.as_str()]).await? == 0 {
        let sql = "SELECT account FROM account_use WHERE account = $1 FOR NO KEY UPDATE";
        first(db, sql, &[&account.as_str()], |_| Ok(())).await?;
    }
    Ok(())
}

/// Returns the demand of a job that is about to be accepted, or fails if it exceeds a cap of its account, whose row is
/// locked afterwards.
pub(super) async fn admit(db: &PgSession, job: &NewJob) -> PgResult<JobDemand> {
    let Some(quota) = job.quota else { return Ok(JobDemand::default()) };
    lock_account(db, &job.account).await?;
    // An archive that the account has sent before needs no additional space.
    let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE account = $1 AND policy_path = $2
                                           AND policy_removed_at IS NULL)";
    let known: bool = value(db, sql, &[&job.account.as_str(), &job.policy_path]).await?;
    let ask = JobDemand { stored_bytes: if known { 0 } else { quota.ask.stored_bytes }, ..quota.ask };
    let now = job.header.created_at;
    match quota.caps.exceeded_by(&of(db, &job.account, now).await?, ask, now) {
        Some(over) => Err(StoreError::CapExceeded(over).into()),
        None => Ok(ask),
    }
}

async fn of(db: &PgSession, account: &AccountId, now: Timestamp) -> PgResult<AccountUsage> {
    let sql = "SELECT account, active_jobs, queued_sim_s, stored_bytes,
                      coalesce((SELECT jobs FROM account_days
                                WHERE account_days.account = account_use.account AND day = $2), 0) AS jobs_today
               FROM account_use WHERE account = $1";
    let found = first(db, sql, &[&account.as_str(), &day(now)], usage).await?.unwrap_or_default();
    let hidden = hidden(db, account, now).await?;
    Ok(AccountUsage {
        jobs_today: found.jobs_today + hidden.jobs_today,
        active_jobs: found.active_jobs + hidden.active_jobs,
        queued_sim_s: found.queued_sim_s + hidden.queued_sim_s,
        ..found
    })
}

fn usage(row: &Row) -> PgResult<AccountUsage> {
    let count = |column| number::<i64>(row, column).map(i64::unsigned_abs);
    Ok(AccountUsage {
        jobs_today: count("jobs_today")?,
        active_jobs: count("active_jobs")?,
        queued_sim_s: count("queued_sim_s")?,
        stored_bytes: count("stored_bytes")?,
    })
}

/// Returns the usage of ended submissions whose end is not published; it counts until then.
async fn hidden(db: &PgSession, account: &AccountId, now: Timestamp) -> PgResult<AccountUsage> {
    let longest = SignedDuration::from_secs(i64::from(Grid::STEP_S + Grid::SETTLE_S));
    let since = now.saturating_sub(longest).map_or(i64::MIN, micros);
    let sql = format!(
        "SELECT count(*) AS active_jobs, coalesce(sum(sim_s), 0)::bigint AS queued_sim_s,
                count(*) FILTER (WHERE status = 'FAILED' AND failed_by_platform
                                 AND created_at / 86400000000 = $4) AS jobs_today, 0::bigint AS stored_bytes
         FROM jobs
         WHERE completed_at >= $2 AND completed_at IS NOT NULL AND policy_path IS NOT NULL
               AND policy_removed_at IS NULL AND account = $1 AND kind = 'submission' AND status <> 'CANCELLED'
               AND {} > $3",
        publication::at("jobs")
    );
    let parameters: [super::row::Parameter<'_>; 4] = [&account.as_str(), &since, &micros(now), &day(now)];
    Ok(first(db, &sql, &parameters, usage).await?.unwrap_or_default())
}

/// Counts again a job that was no longer counted since it FAILED.
pub(super) async fn recount(db: &PgSession, id: JobId) -> PgResult<()> {
    let sql = "UPDATE account_days SET jobs = jobs + 1 WHERE (account, day) IN (
                   SELECT account, created_at / 86400000000 FROM jobs
                   WHERE job_id = $1 AND status = 'FAILED' AND failed_by_platform)";
    change(db, sql, &[&id.0]).await.map(drop)
}
