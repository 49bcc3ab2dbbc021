//! The table of seasons.

use assay_model::{ScenarioId, SeasonSecret};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;

use super::failure::PgResult;
use super::row::{
    Parameter, all, bytes32, change, count, expect_one, field, first, json, micros, number, parsed, text, time,
    to_json, unknown,
};
use super::session::PgSession;
use super::{PostgresRecords, jobs};
use crate::{NewRerun, NewSeason, OpenSeasonOutcome, Season, SeasonRecords, SeasonSecrets, SeasonState, StoreError};

const COLUMNS: &str = "scenario, number, state, pins, secret, rerun_secret, top, opened_at, closing_at,
                       reruns_at IS NOT NULL AS reruns_begun, closed_at";

#[async_trait]
impl SeasonRecords for PostgresRecords {
    async fn open_season(&self, season: NewSeason) -> Result<OpenSeasonOutcome, StoreError> {
        self.engine.write("opening a season", |db| open(db, &season)).await
    }

    async fn season(&self, scenario: &ScenarioId, number: Option<u32>) -> Result<Option<Season>, StoreError> {
        self.engine.query("reading a season", |db| async move { get(&db, scenario, number).await }).await
    }

    async fn seasons(&self, scenario: Option<&ScenarioId>) -> Result<Vec<Season>, StoreError> {
        self.engine.query("listing seasons", |db| list(db, scenario)).await
    }

    async fn season_secrets(&self, scenario: &ScenarioId, number: u32) -> Result<Option<SeasonSecrets>, StoreError> {
        self.engine.query("reading a season's secrets", |db| secrets(db, scenario, number)).await
    }

    async fn begin_closing_season(
        &self,
        scenario: &ScenarioId,
        top: u32,
        secret: SeasonSecret,
        now: Timestamp,
    ) -> Result<Option<Season>, StoreError> {
        self.engine.write("closing a season", |db| begin_closing(db, (scenario, top), &secret, now)).await
    }

    async fn unfinished_season_jobs(&self, scenario: &ScenarioId, season: u32) -> Result<u64, StoreError> {
        let counting = "counting a season's unfinished jobs";
        self.engine.query(counting, |db| async move { unfinished(&db, scenario, season).await }).await
    }

    async fn begin_reruns(
        &self,
        scenario: &ScenarioId,
        season: u32,
        mut reruns: Vec<NewRerun>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        // Accounts are locked in the same order by all transactions.
        reruns.sort_by(|a, b| a.job.account.cmp(&b.job.account));
        self.engine.write("queueing a season's reruns", |db| begin_reruns(db, (scenario, season), &reruns, now)).await
    }

    async fn finish_closing_season(
        &self,
        scenario: &ScenarioId,
        season: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.engine.write("finishing the closing of a season", |db| finish_closing(db, scenario, season, now)).await
    }
}

async fn open(db: PgSession, new: &NewSeason) -> PgResult<OpenSeasonOutcome> {
    // Readers and submissions continue; another process that opens a season waits.
    db.batch("LOCK TABLE seasons IN SHARE UPDATE EXCLUSIVE MODE").await?;
    let number = match get(&db, &new.scenario, None).await? {
        Some(season) if !season.is_closed() => return Ok(OpenSeasonOutcome::Already(season)),
        other => other.map_or(1, |season| season.number + 1),
    };
    let sql =
        "INSERT INTO seasons (scenario, number, state, pins, secret, opened_at) VALUES ($1, $2, 'OPEN', $3, $4, $5)";
    let (scenario, secret) = (new.scenario.as_str(), new.secret.reveal().as_slice());
    let values: [Parameter<'_>; 5] =
        [&scenario, &i64::from(number), &to_json(&new.pins)?, &secret, &micros(new.opened_at)];
    expect_one(change(&db, sql, &values).await?, "a new season")?;
    let made = get(&db, &new.scenario, Some(number)).await?;
    Ok(OpenSeasonOutcome::New(
        made.ok_or_else(|| StoreError::Invalid("a season that was just opened does not exist".into()))?,
    ))
}

async fn get(db: &PgSession, scenario: &ScenarioId, number: Option<u32>) -> PgResult<Option<Season>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM seasons WHERE scenario = $1 AND ($2::bigint IS NULL OR number = $2)
         ORDER BY number DESC LIMIT 1"
    );
    first(db, &sql, &[&scenario.as_str(), &number.map(i64::from)], read).await
}

/// Returns true if a season accepts submissions, and keeps it from closing until the end of the transaction.
pub(super) async fn hold_open(db: &PgSession, scenario: &ScenarioId, number: u32) -> PgResult<bool> {
    let sql = "SELECT scenario FROM seasons WHERE scenario = $1 AND number = $2 AND state = 'OPEN' FOR SHARE";
    Ok(first(db, sql, &[&scenario.as_str(), &i64::from(number)], |_| Ok(())).await?.is_some())
}

async fn list(db: PgSession, scenario: Option<&ScenarioId>) -> PgResult<Vec<Season>> {
    let sql =
        format!("SELECT {COLUMNS} FROM seasons WHERE $1::text IS NULL OR scenario = $1 ORDER BY scenario, number DESC");
    all(&db, &sql, &[&scenario.map(ScenarioId::as_str)], read).await
}

async fn secrets(db: PgSession, scenario: &ScenarioId, number: u32) -> PgResult<Option<SeasonSecrets>> {
    let sql = format!("SELECT {COLUMNS} FROM seasons WHERE scenario = $1 AND number = $2");
    first(&db, &sql, &[&scenario.as_str(), &i64::from(number)], |row| {
        let rerun = match field::<Option<&[u8]>>(row, "rerun_secret")? {
            Some(_) => Some(SeasonSecret::new(bytes32(row, "rerun_secret")?)),
            None => None,
        };
        Ok(SeasonSecrets { season: SeasonSecret::new(bytes32(row, "secret")?), rerun })
    })
    .await
}

async fn begin_closing(
    db: PgSession,
    (scenario, top): (&ScenarioId, u32),
    secret: &SeasonSecret,
    now: Timestamp,
) -> PgResult<Option<Season>> {
    let sql = "UPDATE seasons SET state = 'CLOSING', top = $2, rerun_secret = $3, closing_at = $4
               WHERE scenario = $1 AND state = 'OPEN'";
    let values: [Parameter<'_>; 4] = [&scenario.as_str(), &i64::from(top), &secret.reveal().as_slice(), &micros(now)];
    if change(&db, sql, &values).await? == 0 { Ok(None) } else { get(&db, scenario, None).await }
}

async fn unfinished(db: &PgSession, scenario: &ScenarioId, season: u32) -> PgResult<u64> {
    let sql = "SELECT count(*) FROM jobs
               WHERE scenario = $1 AND season = $2 AND status IN ('QUEUED', 'RUNNING', 'JUDGING')";
    count(db, sql, &[&scenario.as_str(), &i64::from(season)]).await
}

async fn begin_reruns(
    db: PgSession,
    (scenario, season): (&ScenarioId, u32),
    reruns: &[NewRerun],
    now: Timestamp,
) -> PgResult<bool> {
    let sql = "UPDATE seasons SET reruns_at = $3
               WHERE scenario = $1 AND number = $2 AND state = 'CLOSING' AND reruns_at IS NULL";
    if change(&db, sql, &[&scenario.as_str(), &i64::from(season), &micros(now)]).await? == 0 {
        return Ok(false);
    }
    for rerun in reruns {
        jobs::create(&db, &rerun.job).await?;
        let sql = "UPDATE jobs SET rerun_of = $2 WHERE job_id = $1 AND kind = 'rerun'";
        let changed = change(&db, sql, &[&rerun.job.header.job_id.0, &rerun.of.0]).await?;
        expect_one(changed, "a job that reruns a submission")?;
    }
    Ok(true)
}

async fn finish_closing(db: PgSession, scenario: &ScenarioId, season: u32, now: Timestamp) -> PgResult<bool> {
    let sql = "SELECT scenario FROM seasons
               WHERE scenario = $1 AND number = $2 AND state = 'CLOSING' AND reruns_at IS NOT NULL
               FOR NO KEY UPDATE";
    let (name, number) = (scenario.as_str(), i64::from(season));
    if first(&db, sql, &[&name, &number], |_| Ok(())).await?.is_none() || unfinished(&db, scenario, season).await? > 0 {
        return Ok(false);
    }
    let sql = "UPDATE seasons SET state = 'CLOSED', closed_at = $3 WHERE scenario = $1 AND number = $2";
    expect_one(change(&db, sql, &[&name, &number, &micros(now)]).await?, "a closing season")?;
    Ok(true)
}

fn read(row: &Row) -> PgResult<Season> {
    let state = match text(row, "state")? {
        "OPEN" => SeasonState::Open,
        "CLOSING" => SeasonState::Closing {
            since: time(row, "closing_at")?,
            top: number(row, "top")?,
            reruns_begun: field(row, "reruns_begun")?,
        },
        "CLOSED" => SeasonState::Closed { at: time(row, "closed_at")? },
        other => return Err(unknown(row, "state", other).into()),
    };
    Ok(Season {
        scenario: parsed(row, "scenario")?,
        number: number(row, "number")?,
        pins: json(row, "pins")?,
        commitment: SeasonSecret::new(bytes32(row, "secret")?).commitment(),
        state,
        opened_at: time(row, "opened_at")?,
    })
}
