//! Results of episodes, recorded under the fence of the shard that they belong to (`migrations/0004_results.sql`).

use std::collections::{BTreeMap, HashMap};

use assay_model::{JobHeader, JobId, JobKind};
use futures_util::future::join3;

use super::durations::WINDOW;
use super::failure::{PgFailure, PgResult, is_lost};
use super::result_entry::ResultEntry;
use super::row::{all, bigint, change, field, first, job_id, json, micros, number, text, time_or_null, to_json};
use super::session::PgSession;
use crate::renders::is_rendered_later;
use crate::{RecordOutcome, StoreError};

const RECORD: &str = "SELECT outcome, left_in_shard, left_in_job, since
                      FROM record_result($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

/// A job with results to be recorded; its row is locked.
struct LockedJob {
    account: String,
    header: JobHeader,
    is_remote: bool,
}

/// Changes of rows that many jobs share, made at the end of a transaction and in a fixed order.
#[derive(Default)]
struct SharedChanges {
    evidence_bytes: BTreeMap<(String, JobId), i64>,
    durations: BTreeMap<(String, bool), Vec<f64>>,
}

/// Records results in the open transaction.
pub(super) async fn record_all(
    db: PgSession,
    entries: &[&ResultEntry],
) -> PgResult<Vec<Result<RecordOutcome, StoreError>>> {
    let jobs = lock_jobs(&db, entries).await?;
    db.prepare(RECORD).await?;
    let (mut outcomes, mut shared) = (Vec::with_capacity(entries.len()), SharedChanges::default());
    for entry in entries {
        outcomes.push(match jobs.get(&entry.fence.job_id) {
            Some(job) => record(&db, job, entry, &mut shared).await?,
            None => Ok(RecordOutcome::Fenced),
        });
    }
    shared.apply(&db).await?;
    Ok(outcomes)
}

async fn lock_jobs(db: &PgSession, entries: &[&ResultEntry]) -> PgResult<HashMap<JobId, LockedJob>> {
    let ids: Vec<_> = entries.iter().map(|entry| entry.fence.job_id.0).collect();
    // All transactions lock jobs in the same order, before anything else.
    let sql = "SELECT job_id, account, header, policy_path IS NULL AS is_remote FROM jobs WHERE job_id = ANY($1)
               ORDER BY job_id FOR NO KEY UPDATE";
    let locked = all(db, sql, &[&ids], |row| {
        let (account, header) = (text(row, "account")?.to_owned(), json(row, "header")?);
        Ok((job_id(row, "job_id")?, LockedJob { account, header, is_remote: field(row, "is_remote")? }))
    })
    .await;
    Ok(locked?.into_iter().collect())
}

/// Records a result in a savepoint.
async fn record(
    db: &PgSession,
    job: &LockedJob,
    entry: &ResultEntry,
    shared: &mut SharedChanges,
) -> PgResult<Result<RecordOutcome, StoreError>> {
    // One exchange with the server: the three statements are sent before the first is answered.
    let (begun, result, ended) =
        join3(db.batch("SAVEPOINT result"), call(db, job, entry, shared), db.batch("RELEASE SAVEPOINT result")).await;
    begun?;
    match result {
        Ok(outcome) => ended.map(|()| Ok(outcome)),
        // Refused without a failing statement.
        Err(PgFailure::Store(error)) => ended.map(|()| Err(error)),
        Err(PgFailure::Statement(error)) if !is_lost(&error) && !PgFailure::is_conflict(&error) => {
            db.batch("ROLLBACK TO SAVEPOINT result; RELEASE SAVEPOINT result").await?;
            Ok(Err(super::failure::database("recording a result", error)))
        }
        Err(failure) => Err(failure),
    }
}

async fn call(
    db: &PgSession,
    job: &LockedJob,
    ResultEntry { fence, result, now }: &ResultEntry,
    shared: &mut SharedChanges,
) -> PgResult<RecordOutcome> {
    let status = serde_json::to_value(result.status).ok().and_then(|value| value.as_str().map(str::to_owned));
    let render_later = is_rendered_later(&job.header, result).then_some(result.violations.is_empty());
    let found = first(
        db,
        RECORD,
        &[
            &fence.job_id.0,
            &i64::from(fence.shard),
            &i64::from(fence.attempt),
            &i64::from(result.episode),
            &i64::from(job.header.plan.episodes),
            &status,
            &result.wall_time_s,
            &to_json(result)?,
            &job.header.plan.ends_with(result),
            &render_later,
            &micros(*now),
        ],
        |row| {
            Ok(match text(row, "outcome")? {
                "NEW" => {
                    let (left_in_shard, left_in_job) = (number(row, "left_in_shard")?, number(row, "left_in_job")?);
                    (RecordOutcome::New { left_in_shard, left_in_job }, time_or_null(row, "since")?)
                }
                "DUPLICATE" => (RecordOutcome::Duplicate, None),
                "FENCED" => (RecordOutcome::Fenced, None),
                _ => {
                    let text =
                        format!("episode {} is not in shard {} of {}", result.episode, fence.shard, fence.job_id);
                    return Err(StoreError::Invalid(text).into());
                }
            })
        },
    )
    .await;
    let (outcome, since) = found?.ok_or_else(|| StoreError::Invalid("a result had no outcome".into()))?;
    if matches!(outcome, RecordOutcome::New { .. }) {
        let stored: u64 = result.evidence.iter().map(|artifact| artifact.size_bytes).sum();
        *shared.evidence_bytes.entry((job.account.clone(), fence.job_id)).or_default() += bigint(stored);
        // The durations of submissions would otherwise show in the forecast of every job.
        if let Some(since) = since.filter(|_| job.header.kind() != JobKind::Submission) {
            let seconds = now.duration_since(since).as_secs_f64().max(0.0);
            let key = (job.header.scenario.to_string(), job.is_remote);
            shared.durations.entry(key).or_default().push(seconds);
        }
    }
    Ok(outcome)
}

impl SharedChanges {
    async fn apply(self, db: &PgSession) -> PgResult<()> {
        for ((_, job), bytes) in self.evidence_bytes.into_iter().filter(|(_, bytes)| *bytes > 0) {
            // A trigger adds them to the account.
            change(db, "UPDATE jobs SET evidence_bytes = evidence_bytes + $2 WHERE job_id = $1", &[&job.0, &bytes])
                .await?;
        }
        for ((scenario, is_remote), durations) in self.durations {
            let sql = "SELECT measure_episodes($1, $2, $3, $4)";
            change(db, sql, &[&scenario, &is_remote, &durations, &i64::from(WINDOW)]).await?;
        }
        Ok(())
    }
}
