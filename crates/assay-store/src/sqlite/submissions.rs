//! Jobs that are submissions to the arena.

use assay_model::{AccountId, JobHeader, JobId, JobStatus, ScenarioId};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::Connection;

use super::failure::SqlResult;
use super::jobs::COLUMNS;
use super::row::{all, change, first, json, micros, parsed, status, value};
use super::{SqliteRecords, jobs, publication, seasons};
use crate::{ChooseOutcome, JobRecord, NewJob, SeasonState, StoreError, SubmissionRecords, SubmitOutcome};

#[async_trait]
impl SubmissionRecords for SqliteRecords {
    async fn submit(&self, job: NewJob, daily: u32, day: Timestamp) -> Result<SubmitOutcome, StoreError> {
        self.write("accepting a submission", move |db| submit(db, &job, daily, day)).await
    }

    async fn choose_submission(&self, account: Option<&AccountId>, id: JobId) -> Result<ChooseOutcome, StoreError> {
        let account = account.cloned();
        self.write("choosing a submission", move |db| choose(db, account.as_ref(), id)).await
    }

    async fn season_standing(
        &self,
        scenario: &ScenarioId,
        season: u32,
        published_by: Option<Timestamp>,
    ) -> Result<Vec<JobRecord>, StoreError> {
        self.read("reading a season's standing", |db| standing(db, scenario, season, published_by))
    }

    async fn reruns(&self, scenario: &ScenarioId, season: u32) -> Result<Vec<(JobId, JobRecord)>, StoreError> {
        self.read("reading a season's reruns", |db| reruns(db, scenario, season))
    }
}

pub(super) fn submit(db: &Connection, job: &NewJob, daily: u32, day: Timestamp) -> SqlResult<SubmitOutcome> {
    let (scenario, account) = (&job.header.scenario, job.account.as_str());
    let Some(entry) = &job.header.arena else {
        return Err(StoreError::Invalid("a submission must name its season".into()).into());
    };
    let season = seasons::get(db, scenario, Some(entry.season))?;
    if season.is_none_or(|season| season.state != SeasonState::Open) {
        return Ok(SubmitOutcome::NotOpen);
    }
    let published_at = publication::at("jobs");
    // A FAILED submission counts until its failure is published: otherwise the next one would reveal the time of it.
    let sql = format!(
        "SELECT count(*) FROM jobs
         WHERE account = ?1 AND kind = 'submission' AND scenario = ?2 AND created_at >= ?3
               AND (status <> 'FAILED' OR {published_at} > ?4)"
    );
    let now = micros(job.header.created_at);
    if value::<u32>(db, &sql, (account, scenario.as_str(), micros(day), now))? >= daily {
        return Ok(SubmitOutcome::TooMany);
    }
    Ok(SubmitOutcome::Accepted { shards: jobs::create(db, job)? })
}

pub(super) fn choose(db: &Connection, account: Option<&AccountId>, id: JobId) -> SqlResult<ChooseOutcome> {
    let sql = "SELECT job_id, account, status, header FROM jobs
               WHERE job_id = ?1 AND kind = 'submission' AND (?2 IS NULL OR account = ?2)";
    let id = id.to_string();
    let found = first(db, sql, (&id, account.map(AccountId::as_str)), |row| {
        Ok((status(row)?, json::<JobHeader>(row, "header")?, row.get::<_, String>("account")?))
    })?;
    let Some((status, JobHeader { scenario, arena: Some(entry), .. }, owner)) = found else {
        return Ok(ChooseOutcome::NotFound);
    };
    if status != JobStatus::Completed {
        return Ok(ChooseOutcome::NotCompleted);
    }
    let season = seasons::get(db, &scenario, Some(entry.season))?;
    if season.is_none_or(|season| season.state != SeasonState::Open) {
        return Ok(ChooseOutcome::NotOpen);
    }
    let sql = "INSERT INTO choices (account, scenario, season, job_id) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT DO UPDATE SET job_id = excluded.job_id";
    change(db, sql, (owner, scenario.as_str(), entry.season, id))?;
    Ok(ChooseOutcome::Done)
}

pub(super) fn standing(
    db: &Connection,
    scenario: &ScenarioId,
    season: u32,
    published_by: Option<Timestamp>,
) -> SqlResult<Vec<JobRecord>> {
    let (published_at, later_published) = (publication::at("jobs"), publication::at("later"));
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs
         WHERE scenario = ?1 AND season = ?2 AND kind = 'submission' AND status = 'COMPLETED'
               AND (?3 IS NULL OR {published_at} <= ?3) AND job_id = coalesce(
             (SELECT job_id FROM choices
              WHERE choices.account = jobs.account AND choices.scenario = ?1 AND choices.season = ?2),
             (SELECT max(job_id) FROM jobs AS later
              WHERE later.scenario = ?1 AND later.season = ?2 AND later.kind = 'submission'
                    AND later.account = jobs.account AND later.status = 'COMPLETED'
                    AND (?3 IS NULL OR {later_published} <= ?3)))
         ORDER BY job_id"
    );
    all(db, &sql, (scenario.as_str(), season, published_by.map(micros)), jobs::read)
}

pub(super) fn reruns(db: &Connection, scenario: &ScenarioId, season: u32) -> SqlResult<Vec<(JobId, JobRecord)>> {
    let sql = format!(
        "SELECT {COLUMNS}, rerun_of FROM jobs WHERE scenario = ?1 AND season = ?2 AND kind = 'rerun' ORDER BY job_id"
    );
    all(db, &sql, (scenario.as_str(), season), |row| Ok((parsed(row, "rerun_of")?, jobs::read(row)?)))
}
