//! The table of jobs: creates, reads, lists and ends them.

use assay_model::{AccountId, EpisodeResult, JobEvent, JobId, JobKind, JobStatus};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row, named_params};

use super::failure::{SqlResult, is_taken};
use super::row::{
    Column, all, change, expect_one, field, first, json, json_or_null, micros, parsed, status, status_in, time,
    time_or_null, to_json, value,
};
use super::{SqliteRecords, models, publication, quotas, renders, signed_documents, webhooks};
use crate::shard_request::label_texts;
use crate::{
    CancelOutcome, JobCounts, JobFailure, JobFilter, JobOutcome, JobRecord, JobRecords, JobState, NewJob, RemovalTimes,
    RenderCounts, StoreError,
};

/// The columns that [`read`] reads, in its order.
pub(super) const COLUMNS: &str = "job_id, account, status, header, policy_path, episodes_done, started_at, completed_at, \
                       conclusion, fingerprint, failure, \
                       erased_at, evidence_removed_at, policy_removed_at, \
                       (SELECT review FROM reviews WHERE reviews.job_id = jobs.job_id \
                       ORDER BY number DESC LIMIT 1) AS review, \
                       CASE WHEN episodes_done > 0 THEN \
                       (SELECT sum(1 + ((state <> 'DONE') << 20) + ((part = 'LOG' AND state <> 'DONE') << 40)) \
                       FROM renders WHERE renders.job_id = jobs.job_id) END AS renders";

#[async_trait]
impl JobRecords for SqliteRecords {
    async fn create_job(&self, job: NewJob) -> Result<u32, StoreError> {
        self.write("accepting a job", move |db| create(db, &job)).await
    }

    async fn job(&self, account: Option<&AccountId>, id: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.query("reading a job", |db| get(db, account, id))
    }

    async fn jobs(&self, filter: &JobFilter) -> Result<(Vec<JobRecord>, u64), StoreError> {
        self.read("listing jobs", |db| list(db, filter))
    }

    async fn episodes(&self, id: JobId, offset: u32, limit: u32) -> Result<Vec<EpisodeResult>, StoreError> {
        self.query("reading results", |db| episodes(db, id, offset, limit))
    }

    async fn counts(&self) -> Result<JobCounts, StoreError> {
        self.read("counting jobs", counts)
    }

    async fn cancel_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        now: Timestamp,
    ) -> Result<CancelOutcome, StoreError> {
        let account = account.cloned();
        self.write("cancelling a job", move |db| cancel(db, account.as_ref(), id, now)).await
    }

    async fn fail_job(&self, id: JobId, failure: JobFailure, now: Timestamp) -> Result<bool, StoreError> {
        self.write("failing a job", move |db| fail(db, id, &failure, now)).await
    }
}

pub(super) fn create(db: &Connection, job: &NewJob) -> SqlResult<u32> {
    let episodes = job.header.episodes_to_run();
    if job.header.plan.episodes == 0 {
        return Err(StoreError::Invalid("a job must have at least one episode".into()).into());
    }
    let ask = quotas::admit(db, job)?;
    let id = job.header.job_id.to_string();
    let inserted = db
        .prepare_cached(
            "INSERT INTO jobs (job_id, account, scenario, status, header, policy_path, num_episodes, created_at, kind,
                               season, sim_s, policy_bytes)
             VALUES (:id, :account, :scenario, 'QUEUED', :header, :policy, :episodes, :created, :kind, :season, :sim_s,
                     :policy_bytes)",
        )?
        .execute(named_params! {
            ":id": id,
            ":account": job.account.as_str(),
            ":scenario": job.header.scenario.as_str(),
            ":header": to_json(&job.header)?,
            ":policy": job.policy_path,
            ":episodes": episodes,
            ":created": micros(job.header.created_at),
            ":kind": job.header.kind().as_str(),
            ":season": job.header.arena.as_ref().map(|entry| entry.season),
            ":sim_s": i64::try_from(ask.sim_s).unwrap_or(i64::MAX),
            ":policy_bytes": i64::try_from(ask.stored_bytes).unwrap_or(i64::MAX),
        });
    match inserted {
        Ok(_) => {}
        Err(e) if is_taken(&e) => return Err(StoreError::Exists { what: "job", id }.into()),
        Err(e) => return Err(e.into()),
    }
    models::claim(db, job)?;
    let shards = job.shard_ranges();
    let sql = "INSERT INTO shards (job_id, shard, account, first_episode, end_episode, state, remote, runtime, cameras,
                                   memory_mib, confined, labels)
               VALUES (?1, ?2, ?3, ?4, ?5, 'QUEUED', ?6, ?7, ?8, ?9, ?10, ?11)";
    let (remote, runtime) = (job.is_remote(), job.header.runtime.as_ref().map(|runtime| runtime.sha256.to_string()));
    let (cameras, memory) = (job.header.render_profile.is_some(), job.demands.memory_mib);
    let (confined, labels) = (job.confinement().level(), label_texts(&job.header.labels));
    let labels = if labels.is_empty() { None } else { Some(to_json(&labels)?) };
    for (shard, (start, end)) in (0..).zip(&shards) {
        let values =
            (&id, shard, job.account.as_str(), *start, *end, remote, &runtime, cameras, memory, confined, &labels);
        change(db, sql, values)?;
    }
    webhooks::create(db, job)?;
    Ok(u32::try_from(shards.len()).unwrap_or(u32::MAX))
}

pub(super) fn get(db: &Connection, account: Option<&AccountId>, id: JobId) -> SqlResult<Option<JobRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM jobs WHERE job_id = ?1 AND (?2 IS NULL OR account = ?2)");
    first(db, &sql, (id.to_string(), account.map(AccountId::as_str)), read)
}

pub(super) fn list(db: &Connection, filter: &JobFilter) -> SqlResult<(Vec<JobRecord>, u64)> {
    let account = filter.account.as_ref().map(AccountId::as_str);
    let scenario = filter.scenario.as_ref().map(assay_model::ScenarioId::as_str);
    let status = filter.status.map(JobStatus::as_str);
    let verdict = filter.verdict.map(|verdict| verdict.to_string());
    let published_by = filter.published_by.map(micros);
    let before = filter.before.map(|id| id.to_string());
    let matching = matching(filter);
    let page = format!(
        "SELECT {COLUMNS} FROM jobs WHERE {matching} AND (?6 IS NULL OR job_id < ?6)
         ORDER BY job_id DESC LIMIT ?7 OFFSET ?8"
    );
    let values = (account, scenario, status, &verdict, published_by, before, filter.limit, filter.offset);
    let jobs = all(db, &page, values, read)?;
    let kept = match filter.kind {
        JobKind::Verify => Some("verifications"),
        JobKind::Submission => Some("submissions"),
        JobKind::Rerun => None,
    };
    let kept = kept.filter(|_| scenario.is_none() && status.is_none() && verdict.is_none());
    let total: i64 = match kept {
        Some(kept) => {
            let owner = wanted(account.is_some(), "account = ?1", "?1 IS NULL");
            value(db, &format!("SELECT coalesce(sum({kept}), 0) FROM account_use WHERE {owner}"), [account])?
        }
        None => {
            let sql = format!("SELECT count(*) FROM jobs WHERE {matching}");
            value(db, &sql, (account, scenario, status, &verdict, published_by))?
        }
    };
    Ok((jobs, total.unsigned_abs()))
}

/// Returns the SQL condition of the filter without `before`: `?1` is the account, then scenario, status, verdict and
/// `published_by`.
fn matching(filter: &JobFilter) -> String {
    let by_published = filter.published_by.is_some() && filter.kind == JobKind::Submission;
    let (status, time) = match by_published {
        true => (publication::status("?5"), "?5 IS NOT NULL"),
        false => ("jobs.status".to_owned(), "(?5 IS NULL OR true)"),
    };
    let status_is = format!("{status} = ?3");
    let verdict_is = match by_published {
        true => format!("verdict = ?4 AND {status} = 'COMPLETED'"),
        false => "verdict = ?4".to_owned(),
    };
    let conditions = [
        wanted(filter.account.is_some(), "account = ?1", "?1 IS NULL"),
        wanted(filter.scenario.is_some(), "scenario = ?2", "?2 IS NULL"),
        wanted(filter.status.is_some(), &status_is, "?3 IS NULL"),
        wanted(filter.verdict.is_some(), &verdict_is, "?4 IS NULL"),
        time,
    ];
    format!("kind = '{}' AND {}", filter.kind.as_str(), conditions.join(" AND "))
}

/// Selects a separate text for each case: with `?1 IS NULL OR` SQLite would not use the index of accounts, and a column
/// that is merely named would be read from every counted row.
fn wanted<'a>(is_given: bool, condition: &'a str, nothing: &'a str) -> &'a str {
    if is_given { condition } else { nothing }
}

pub(super) fn episodes(db: &Connection, id: JobId, offset: u32, limit: u32) -> SqlResult<Vec<EpisodeResult>> {
    let sql = "SELECT job_id, result FROM episodes WHERE job_id = ?1 ORDER BY episode LIMIT ?2 OFFSET ?3";
    all(db, sql, (id.to_string(), limit, offset), |row| json(row, "result"))
}

pub(super) fn counts(db: &Connection) -> SqlResult<JobCounts> {
    let mut counts = JobCounts::default();
    let rows =
        all(db, "SELECT status, count(*) AS n, min(created_at) AS oldest FROM jobs GROUP BY status", [], |row| {
            Ok((status(row)?, row.get::<_, i64>("n")?.unsigned_abs(), time(row, "oldest")?))
        })?;
    for (status, n, oldest) in rows {
        *match status {
            JobStatus::Queued => &mut counts.queued,
            JobStatus::Running => &mut counts.running,
            JobStatus::Judging => &mut counts.judging,
            JobStatus::Completed => &mut counts.completed,
            JobStatus::Failed => &mut counts.failed,
            JobStatus::Cancelled => &mut counts.cancelled,
        } = n;
        if status == JobStatus::Queued {
            counts.oldest_queued = Some(oldest);
        }
        if !status.is_final() {
            counts.oldest_open = Some(counts.oldest_open.map_or(oldest, |known| known.min(oldest)));
        }
    }
    Ok(counts)
}

pub(super) fn cancel(
    db: &Connection,
    account: Option<&AccountId>,
    id: JobId,
    now: Timestamp,
) -> SqlResult<CancelOutcome> {
    let owned = "SELECT status FROM jobs WHERE job_id = ?1 AND (?2 IS NULL OR account = ?2)";
    let Some(from) = first(db, owned, (id.to_string(), account.map(AccountId::as_str)), status)? else {
        return Ok(CancelOutcome::NotFound);
    };
    match from.after(JobEvent::Cancelled) {
        Ok(to) => end(db, id, (from, to), now, None)?,
        Err(_) if from != JobStatus::Cancelled && publication::is_hidden_end(db, id, now)? => {
            cancel_hidden_end(db, id, from, now)?;
        }
        Err(_) => return Ok(CancelOutcome::Already(from)),
    }
    Ok(CancelOutcome::Done)
}

/// Cancels a submission whose end (in the state `from`) is not published: to its owner it seems to be running,
/// so the request succeeds. Neither the response nor later reads reveal that it had ended.
fn cancel_hidden_end(db: &Connection, id: JobId, from: JobStatus, now: Timestamp) -> SqlResult<()> {
    if from == JobStatus::Failed {
        quotas::recount(db, id)?;
    }
    let sql = "UPDATE jobs SET status = 'CANCELLED', completed_at = ?3, verdict = NULL, conclusion = NULL,
                               fingerprint = NULL, failure = NULL, removing = 1
               WHERE job_id = ?1 AND status = ?2";
    expect_one(change(db, sql, (id.to_string(), from.as_str(), micros(now)))?, "an end that is not published")?;
    signed_documents::delete(db, &id.to_string())
}

pub(super) fn fail(db: &Connection, id: JobId, failure: &JobFailure, now: Timestamp) -> SqlResult<bool> {
    let Some(from) = first(db, "SELECT status FROM jobs WHERE job_id = ?1", [id.to_string()], status)? else {
        return Ok(false);
    };
    let Ok(to) = from.after(JobEvent::GaveUp) else { return Ok(false) };
    end(db, id, (from, to), now, Some(failure))?;
    Ok(true)
}

/// Ends a job and its remaining shards without a verdict.
fn end(
    db: &Connection,
    id: JobId,
    (from, to): (JobStatus, JobStatus),
    now: Timestamp,
    failure: Option<&JobFailure>,
) -> SqlResult<()> {
    let sql = "UPDATE jobs SET status = ?3, completed_at = ?4, failure = ?5, judge_worker = NULL,
               judge_lease_until = NULL, removing = 1 WHERE job_id = ?1 AND status = ?2";
    let failure = failure.map(to_json).transpose()?;
    let changed = change(db, sql, (id.to_string(), from.as_str(), to.as_str(), micros(now), failure))?;
    expect_one(changed, "a job that was just read in this state")?;
    let sql = "UPDATE shards SET state = 'ABANDONED', worker = NULL, lease_until = NULL
               WHERE job_id = ?1 AND state IN ('QUEUED', 'LEASED')";
    change(db, sql, [id.to_string()])?;
    renders::forget(db, &id.to_string())
}

pub(super) fn read(row: &Row<'_>) -> SqlResult<JobRecord> {
    let column = Column::nth;
    let state = match status_in(row, column(2, "status"))? {
        JobStatus::Queued => JobState::Queued,
        JobStatus::Running => JobState::Running { started_at: time(row, column(6, "started_at"))? },
        JobStatus::Judging => JobState::Judging { started_at: time(row, column(6, "started_at"))? },
        JobStatus::Completed => JobState::Completed {
            started_at: time(row, column(6, "started_at"))?,
            completed_at: time(row, column(7, "completed_at"))?,
            outcome: Box::new(JobOutcome {
                conclusion: json(row, column(8, "conclusion"))?,
                fingerprint: json(row, column(9, "fingerprint"))?,
            }),
        },
        JobStatus::Failed => JobState::Failed {
            started_at: time_or_null(row, column(6, "started_at"))?,
            completed_at: time(row, column(7, "completed_at"))?,
            failure: json(row, column(10, "failure"))?,
        },
        JobStatus::Cancelled => JobState::Cancelled {
            started_at: time_or_null(row, column(6, "started_at"))?,
            completed_at: time(row, column(7, "completed_at"))?,
        },
    };
    Ok(JobRecord {
        account: parsed(row, column(1, "account"))?,
        header: json(row, column(3, "header"))?,
        policy_path: field(row, column(4, "policy_path"))?,
        state,
        episodes_done: field(row, column(5, "episodes_done"))?,
        review: json_or_null(row, column(14, "review"))?,
        removed: RemovalTimes {
            erased_at: time_or_null(row, column(11, "erased_at"))?,
            evidence_at: time_or_null(row, column(12, "evidence_removed_at"))?,
            policy_at: time_or_null(row, column(13, "policy_removed_at"))?,
        },
        renders: RenderCounts::unpack(field::<Option<i64>>(row, column(15, "renders"))?.unwrap_or_default()),
    })
}
