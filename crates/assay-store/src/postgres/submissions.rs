//! Jobs that are submissions to the arena.

use assay_model::{AccountId, JobHeader, JobId, JobStatus, ScenarioId};
use async_trait::async_trait;
use jiff::Timestamp;

use super::failure::PgResult;
use super::job_rows::{self, COLUMNS};
use super::row::{Parameter, all, change, field, first, job_id, json, micros, status, value};
use super::session::PgSession;
use super::{PostgresRecords, jobs, publication, quotas, seasons};
use crate::{ChooseOutcome, JobRecord, NewJob, StoreError, SubmissionRecords, SubmitOutcome};

#[async_trait]
impl SubmissionRecords for PostgresRecords {
    async fn submit(&self, job: NewJob, daily: u32, day: Timestamp) -> Result<SubmitOutcome, StoreError> {
        let job = &job;
        self.engine.write("accepting a submission", |db| async move { submit(&db, job, daily, day).await }).await
    }

    async fn choose_submission(&self, account: Option<&AccountId>, id: JobId) -> Result<ChooseOutcome, StoreError> {
        self.engine.write("choosing a submission", |db| choose(db, account, id)).await
    }

    async fn season_standing(
        &self,
        scenario: &ScenarioId,
        season: u32,
        published_by: Option<Timestamp>,
    ) -> Result<Vec<JobRecord>, StoreError> {
        self.engine.query("reading a season's standing", |db| standing(db, scenario, season, published_by)).await
    }

    async fn reruns(&self, scenario: &ScenarioId, season: u32) -> Result<Vec<(JobId, JobRecord)>, StoreError> {
        self.engine.query("reading a season's reruns", |db| reruns(db, scenario, season)).await
    }
}

pub(super) async fn submit(db: &PgSession, job: &NewJob, daily: u32, day: Timestamp) -> PgResult<SubmitOutcome> {
    let (scenario, account) = (&job.header.scenario, job.account.as_str());
    let Some(entry) = &job.header.arena else {
        return Err(StoreError::Invalid("a submission must name its season".into()).into());
    };
    if !seasons::hold_open(db, scenario, entry.season).await? {
        return Ok(SubmitOutcome::NotOpen);
    }
    quotas::lock_account(db, &job.account).await?;
    let published_at = publication::at("jobs");
    // A FAILED submission counts until its failure is published: otherwise the next one would reveal the time of it.
    let sql = format!(
        "SELECT count(*) FROM jobs
         WHERE account = $1 AND kind = 'submission' AND scenario = $2 AND created_at >= $3
               AND (status <> 'FAILED' OR {published_at} > $4)"
    );
    let now = micros(job.header.created_at);
    let values: [Parameter<'_>; 4] = [&account, &scenario.as_str(), &micros(day), &now];
    if value::<i64>(db, &sql, &values).await? >= i64::from(daily) {
        return Ok(SubmitOutcome::TooMany);
    }
    Ok(SubmitOutcome::Accepted { shards: jobs::create(db, job).await? })
}

async fn choose(db: PgSession, account: Option<&AccountId>, id: JobId) -> PgResult<ChooseOutcome> {
    let sql = "SELECT job_id, account, status, header FROM jobs
               WHERE job_id = $1 AND kind = 'submission' AND ($2::text IS NULL OR account = $2) FOR SHARE";
    let found = first(&db, sql, &[&id.0, &account.map(AccountId::as_str)], |row| {
        Ok((status(row)?, json::<JobHeader>(row, "header")?, field::<String>(row, "account")?))
    })
    .await;
    let Some((status, JobHeader { scenario, arena: Some(entry), .. }, owner)) = found? else {
        return Ok(ChooseOutcome::NotFound);
    };
    if status != JobStatus::Completed {
        return Ok(ChooseOutcome::NotCompleted);
    }
    if !seasons::hold_open(&db, &scenario, entry.season).await? {
        return Ok(ChooseOutcome::NotOpen);
    }
    let sql = "INSERT INTO choices (account, scenario, season, job_id) VALUES ($1, $2, $3, $4)
               ON CONFLICT (account, scenario, season) DO UPDATE SET job_id = excluded.job_id";
    change(&db, sql, &[&owner, &scenario.as_str(), &i64::from(entry.season), &id.0]).await?;
    Ok(ChooseOutcome::Done)
}

async fn standing(
    db: PgSession,
    scenario: &ScenarioId,
    season: u32,
    published_by: Option<Timestamp>,
) -> PgResult<Vec<JobRecord>> {
    let (published_at, later_published) = (publication::at("jobs"), publication::at("later"));
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs
         WHERE scenario = $1 AND season = $2 AND kind = 'submission' AND status = 'COMPLETED'
               AND ($3::bigint IS NULL OR {published_at} <= $3) AND job_id = coalesce(
             (SELECT job_id FROM choices
              WHERE choices.account = jobs.account AND choices.scenario = $1 AND choices.season = $2),
             (SELECT job_id FROM jobs AS later
              WHERE later.scenario = $1 AND later.season = $2 AND later.kind = 'submission'
                    AND later.account = jobs.account AND later.status = 'COMPLETED'
                    AND ($3::bigint IS NULL OR {later_published} <= $3)
              ORDER BY job_id DESC LIMIT 1))
         ORDER BY job_id"
    );
    all(&db, &sql, &[&scenario.as_str(), &i64::from(season), &published_by.map(micros)], job_rows::read).await
}

async fn reruns(db: PgSession, scenario: &ScenarioId, season: u32) -> PgResult<Vec<(JobId, JobRecord)>> {
    let sql = format!(
        "SELECT {COLUMNS}, rerun_of FROM jobs WHERE scenario = $1 AND season = $2 AND kind = 'rerun' ORDER BY job_id"
    );
    let read = |row: &tokio_postgres::Row| Ok((job_id(row, "rerun_of")?, job_rows::read(row)?));
    all(&db, &sql, &[&scenario.as_str(), &i64::from(season)], read).await
}
