//! The table of jobs: creates, reads and ends them (`job_lists.rs` lists them).

use assay_model::{AccountId, Blame, EpisodeResult, JobEvent, JobId, JobStatus};
use async_trait::async_trait;
use futures_util::future::join;
use jiff::Timestamp;

use super::failure::{PgResult, is_taken};
use super::job_lists::{counts, list};
use super::job_rows::{COLUMNS, read};
use super::row::{Parameter, all, bigint, change, expect_one, first, json, micros, status, storable, to_json};
use super::session::PgSession;
use super::{PostgresRecords, models, publication, quotas, renders, signed_documents, webhooks};
use crate::shard_request::label_texts;
use crate::{CancelOutcome, JobCounts, JobFailure, JobFilter, JobRecord, JobRecords, NewJob, StoreError};

#[async_trait]
impl JobRecords for PostgresRecords {
    async fn create_job(&self, job: NewJob) -> Result<u32, StoreError> {
        self.engine.write("accepting a job", |db| create_in(db, &job)).await
    }

    async fn job(&self, account: Option<&AccountId>, id: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.engine.query("reading a job", |db| get(db, account, id)).await
    }

    async fn jobs(&self, filter: &JobFilter) -> Result<(Vec<JobRecord>, u64), StoreError> {
        self.engine.query("listing jobs", |db| list(db, filter)).await
    }

    async fn episodes(&self, id: JobId, offset: u32, limit: u32) -> Result<Vec<EpisodeResult>, StoreError> {
        self.engine.query("reading results", |db| async move { episodes(&db, id, offset, limit).await }).await
    }

    /// Sends both queries together, so that they take one round trip.
    async fn job_with_episodes(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        limit: u32,
    ) -> Result<Option<(JobRecord, Vec<EpisodeResult>)>, StoreError> {
        let both = |db: PgSession| async move {
            let (job, episodes) = join(get(db.clone(), account, id), episodes_of(&db, account, id, limit)).await;
            let episodes = episodes?;
            Ok(job?.map(|job| (job, episodes)))
        };
        self.engine.query("reading a job with its results", both).await
    }

    async fn counts(&self) -> Result<JobCounts, StoreError> {
        self.engine.query("counting jobs", counts).await
    }

    async fn cancel_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        now: Timestamp,
    ) -> Result<CancelOutcome, StoreError> {
        self.engine.write("cancelling a job", |db| cancel(db, account, id, now)).await
    }

    async fn fail_job(&self, id: JobId, failure: JobFailure, now: Timestamp) -> Result<bool, StoreError> {
        let failure = &failure;
        self.engine.write("failing a job", |db| async move { fail(&db, id, failure, now).await }).await
    }
}

async fn create_in(db: PgSession, job: &NewJob) -> PgResult<u32> {
    create(&db, job).await
}

/// Creates a job in the open transaction, which locks the row of its account.
pub(super) async fn create(db: &PgSession, job: &NewJob) -> PgResult<u32> {
    let episodes = job.header.episodes_to_run();
    if job.header.plan.episodes == 0 {
        return Err(StoreError::Invalid("a job must have at least one episode".into()).into());
    }
    let ask = quotas::admit(db, job).await?;
    let id = job.header.job_id;
    let sql =
        "INSERT INTO jobs (job_id, account, scenario, status, header, policy_path, num_episodes, created_at, kind,
                                 season, sim_s, policy_bytes)
               VALUES ($1, $2, $3, 'QUEUED', $4, $5, $6, $7, $8, $9, $10, $11)";
    let inserted = change(
        db,
        sql,
        &[
            &id.0,
            &job.account.as_str(),
            &job.header.scenario.as_str(),
            &to_json(&job.header)?,
            &job.policy_path,
            &i64::from(episodes),
            &micros(job.header.created_at),
            &job.header.kind().as_str(),
            &job.header.arena.as_ref().map(|entry| i64::from(entry.season)),
            &bigint(ask.sim_s),
            &bigint(ask.stored_bytes),
        ],
    )
    .await;
    match inserted {
        Ok(_) => {}
        Err(failure) if is_taken(&failure) => {
            return Err(StoreError::Exists { what: "job", id: id.to_string() }.into());
        }
        Err(failure) => return Err(failure),
    }
    models::claim(db, job).await?;
    let shards = job.shard_ranges();
    let (starts, ends): (Vec<i64>, Vec<i64>) =
        shards.iter().map(|(start, end)| (i64::from(*start), i64::from(*end))).unzip();
    let sql = "INSERT INTO shards (job_id, shard, account, first_episode, end_episode, state, remote, runtime, cameras,
                                   memory_mib, confined, labels)
               SELECT $1, number - 1, $2, start, till, 'QUEUED', $5, $6, $7, $8, $9, $10
               FROM unnest($3::bigint[], $4::bigint[]) WITH ORDINALITY AS ranges (start, till, number)";
    let runtime = job.header.runtime.as_ref().map(|runtime| runtime.sha256.to_string());
    let (cameras, memory) = (job.header.render_profile.is_some(), i64::from(job.demands.memory_mib));
    let (confined, labels) = (i64::from(job.confinement().level()), label_texts(&job.header.labels));
    let labels = if labels.is_empty() { None } else { Some(to_json(&labels)?) };
    let account = job.account.as_str();
    let values: [Parameter<'_>; 10] =
        [&id.0, &account, &starts, &ends, &job.is_remote(), &runtime, &cameras, &memory, &confined, &labels];
    change(db, sql, &values).await?;
    webhooks::create(db, job).await?;
    Ok(u32::try_from(shards.len()).unwrap_or(u32::MAX))
}

async fn get(db: PgSession, account: Option<&AccountId>, id: JobId) -> PgResult<Option<JobRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM jobs WHERE job_id = $1 AND ($2::text IS NULL OR account = $2)");
    first(&db, &sql, &[&id.0, &account.map(AccountId::as_str)], read).await
}

pub(super) async fn episodes(db: &PgSession, id: JobId, offset: u32, limit: u32) -> PgResult<Vec<EpisodeResult>> {
    let sql = "SELECT job_id, result FROM episodes WHERE job_id = $1 ORDER BY episode LIMIT $2 OFFSET $3";
    all(db, sql, &[&id.0, &i64::from(limit), &i64::from(offset)], |row| json(row, "result")).await
}

/// Returns the first results of a job, if it is one of `account`: others' are not even read, since the time that takes
/// would tell that they exist.
async fn episodes_of(
    db: &PgSession,
    account: Option<&AccountId>,
    id: JobId,
    limit: u32,
) -> PgResult<Vec<EpisodeResult>> {
    let sql = "SELECT job_id, result FROM episodes
               WHERE job_id = (SELECT job_id FROM jobs WHERE job_id = $1 AND ($2::text IS NULL OR account = $2))
               ORDER BY episode LIMIT $3";
    let values: [Parameter<'_>; 3] = [&id.0, &account.map(AccountId::as_str), &i64::from(limit)];
    all(db, sql, &values, |row| json(row, "result")).await
}

/// Locks the row of a job (of `account`) and returns its state. Every transaction that changes a job or its shards
/// locks the job first, then shards, then accounts.
pub(super) async fn lock(db: &PgSession, account: Option<&AccountId>, id: JobId) -> PgResult<Option<JobStatus>> {
    let sql = "SELECT job_id, status FROM jobs WHERE job_id = $1 AND ($2::text IS NULL OR account = $2)
               FOR NO KEY UPDATE";
    first(db, sql, &[&id.0, &account.map(AccountId::as_str)], status).await
}

async fn cancel(db: PgSession, account: Option<&AccountId>, id: JobId, now: Timestamp) -> PgResult<CancelOutcome> {
    let Some(from) = lock(&db, account, id).await? else { return Ok(CancelOutcome::NotFound) };
    match from.after(JobEvent::Cancelled) {
        Ok(to) => end(&db, id, (from, to), now, None).await?,
        Err(_) if from != JobStatus::Cancelled && publication::is_hidden_end(&db, id, now).await? => {
            cancel_hidden_end(&db, id, from, now).await?;
        }
        Err(_) => return Ok(CancelOutcome::Already(from)),
    }
    Ok(CancelOutcome::Done)
}

/// Cancels a submission whose end (in the state `from`) is not published: to its owner it seems to be running,
/// so the request succeeds. Neither the response nor later reads reveal that it had ended.
async fn cancel_hidden_end(db: &PgSession, id: JobId, from: JobStatus, now: Timestamp) -> PgResult<()> {
    if from == JobStatus::Failed {
        quotas::recount(db, id).await?;
    }
    let sql = "UPDATE jobs SET status = 'CANCELLED', completed_at = $3, verdict = NULL, conclusion = NULL,
                               fingerprint = NULL, failure = NULL, failed_by_platform = false, failure_message = NULL,
                               removing = true
               WHERE job_id = $1 AND status = $2";
    expect_one(change(db, sql, &[&id.0, &from.as_str(), &micros(now)]).await?, "an end that is not published")?;
    signed_documents::delete(db, id).await
}

/// Fails a job that has not ended. Returns false otherwise.
pub(super) async fn fail(db: &PgSession, id: JobId, failure: &JobFailure, now: Timestamp) -> PgResult<bool> {
    let Some(from) = lock(db, None, id).await? else { return Ok(false) };
    let Ok(to) = from.after(JobEvent::GaveUp) else { return Ok(false) };
    end(db, id, (from, to), now, Some(failure)).await?;
    Ok(true)
}

/// Ends a job, whose row is locked, and its remaining shards without a verdict.
async fn end(
    db: &PgSession,
    id: JobId,
    (from, to): (JobStatus, JobStatus),
    now: Timestamp,
    failure: Option<&JobFailure>,
) -> PgResult<()> {
    // Shards before the job, whose triggers lock the account.
    let sql = "UPDATE shards SET state = 'ABANDONED', worker = NULL, lease_until = NULL
               WHERE job_id = $1 AND state IN ('QUEUED', 'LEASED')";
    change(db, sql, &[&id.0]).await?;
    renders::forget(db, id).await?;
    let sql =
        "UPDATE jobs SET status = $3, completed_at = $4, failure = $5, failed_by_platform = $6, failure_message = $7,
                               judge_worker = NULL, judge_lease_until = NULL, removing = true
               WHERE job_id = $1 AND status = $2";
    let json = failure.map(to_json).transpose()?;
    let is_ours = failure.is_some_and(|failure| failure.blame == Blame::Platform);
    let message = failure.map(|failure| storable(&failure.message));
    let (from, to) = (from.as_str(), to.as_str());
    let changed = change(db, sql, &[&id.0, &from, &to, &micros(now), &json, &is_ours, &message]).await;
    expect_one(changed?, "a job that was just locked in this state")
}
