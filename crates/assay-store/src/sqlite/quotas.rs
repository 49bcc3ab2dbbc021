//! What accounts have, beside what they may have. The counts are kept by triggers (see their migration).

use assay_model::AccountId;
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::SqliteRecords;
use super::fail::Sql;
use super::row::{first, value};
use crate::quota::day;
use crate::{AccountUse, JobAsk, NewJob, Quotas, StoreError};

#[async_trait]
impl Quotas for SqliteRecords {
    async fn account_use(&self, account: &AccountId, now: Timestamp) -> Result<AccountUse, StoreError> {
        self.read("reading an account's use", |db| of(db, account, now))
    }
}

/// What a job that is about to be accepted needs, unless a cap of its account stands against it.
pub(super) fn admit(db: &Connection, job: &NewJob) -> Sql<JobAsk> {
    let Some(quota) = job.quota else { return Ok(JobAsk::default()) };
    // An archive that the account has sent before needs no more room.
    let sql = "SELECT EXISTS (SELECT 1 FROM jobs WHERE account = ?1 AND policy_path = ?2
                                           AND policy_removed_at IS NULL)";
    let known: bool = value(db, sql, (job.account.as_str(), &job.policy_path))?;
    let ask = JobAsk { stored_bytes: if known { 0 } else { quota.ask.stored_bytes }, ..quota.ask };
    let now = job.header.created_at;
    match quota.caps.over(&of(db, &job.account, now)?, ask, now) {
        Some(over) => Err(StoreError::OverCap(over).into()),
        None => Ok(ask),
    }
}

pub(super) fn of(db: &Connection, account: &AccountId, now: Timestamp) -> Sql<AccountUse> {
    let sql = "SELECT account, active_jobs, queued_sim_s, stored_bytes FROM account_use WHERE account = ?1";
    let read = |row: &Row<'_>| {
        let number = |column: &str| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.unsigned_abs());
        Ok(AccountUse {
            jobs_today: 0,
            active_jobs: number("active_jobs")?,
            queued_sim_s: number("queued_sim_s")?,
            stored_bytes: number("stored_bytes")?,
        })
    };
    let found = first(db, sql, [account.as_str()], read)?.unwrap_or_default();
    let sql = "SELECT jobs FROM account_days WHERE account = ?1 AND day = ?2";
    let today = first(db, sql, (account.as_str(), day(now)), |row| Ok(row.get::<_, i64>(0)?))?;
    Ok(AccountUse { jobs_today: today.unwrap_or(0).unsigned_abs(), ..found })
}
