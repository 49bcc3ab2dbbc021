//! The table of seasons.

use assay_model::{ScenarioId, SeasonSecret};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::failure::SqlResult;
use super::row::{all, change, expect_one, first, json, micros, name, parsed, time, to_json, value};
use super::{SqliteRecords, jobs};
use crate::{NewRerun, NewSeason, OpenSeasonOutcome, Season, SeasonRecords, SeasonSecrets, SeasonState, StoreError};

const COLUMNS: &str = "scenario, number, state, pins, secret, top, opened_at, closing_at, reruns_at IS NOT NULL AS reruns_begun, closed_at";

#[async_trait]
impl SeasonRecords for SqliteRecords {
    async fn open_season(&self, season: NewSeason) -> Result<OpenSeasonOutcome, StoreError> {
        self.write("opening a season", move |db| open(db, &season)).await
    }

    async fn season(&self, scenario: &ScenarioId, number: Option<u32>) -> Result<Option<Season>, StoreError> {
        self.read("reading a season", |db| get(db, scenario, number))
    }

    async fn seasons(&self, scenario: Option<&ScenarioId>) -> Result<Vec<Season>, StoreError> {
        self.read("listing seasons", |db| list(db, scenario))
    }

    async fn season_secrets(&self, scenario: &ScenarioId, number: u32) -> Result<Option<SeasonSecrets>, StoreError> {
        self.read("reading a season's secrets", |db| secrets(db, scenario, number))
    }

    async fn begin_closing_season(
        &self,
        scenario: &ScenarioId,
        top: u32,
        secret: SeasonSecret,
        now: Timestamp,
    ) -> Result<Option<Season>, StoreError> {
        let scenario = scenario.clone();
        self.write("closing a season", move |db| begin_closing(db, &scenario, top, &secret, now)).await
    }

    async fn unfinished_season_jobs(&self, scenario: &ScenarioId, season: u32) -> Result<u64, StoreError> {
        self.read("counting a season's unfinished jobs", |db| unfinished(db, scenario, season))
    }

    async fn begin_reruns(
        &self,
        scenario: &ScenarioId,
        season: u32,
        reruns: Vec<NewRerun>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let scenario = scenario.clone();
        self.write("queueing a season's reruns", move |db| begin_reruns(db, &scenario, season, &reruns, now)).await
    }

    async fn finish_closing_season(
        &self,
        scenario: &ScenarioId,
        season: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let scenario = scenario.clone();
        self.write("finishing the closing of a season", move |db| finish_closing(db, &scenario, season, now)).await
    }
}

pub(super) fn open(db: &Connection, new: &NewSeason) -> SqlResult<OpenSeasonOutcome> {
    let latest = get(db, &new.scenario, None)?;
    let number = match latest {
        Some(season) if !season.is_closed() => return Ok(OpenSeasonOutcome::Already(season)),
        other => other.map_or(1, |season| season.number + 1),
    };
    let sql =
        "INSERT INTO seasons (scenario, number, state, pins, secret, opened_at) VALUES (?1, ?2, 'OPEN', ?3, ?4, ?5)";
    let secret = new.secret.reveal().as_slice();
    let values = (new.scenario.as_str(), number, to_json(&new.pins)?, secret, micros(new.opened_at));
    expect_one(change(db, sql, values)?, "a new season")?;
    let made = get(db, &new.scenario, Some(number))?;
    Ok(OpenSeasonOutcome::New(
        made.ok_or_else(|| StoreError::Invalid("a season that was just opened does not exist".into()))?,
    ))
}

pub(super) fn get(db: &Connection, scenario: &ScenarioId, number: Option<u32>) -> SqlResult<Option<Season>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM seasons WHERE scenario = ?1 AND (?2 IS NULL OR number = ?2) ORDER BY number DESC LIMIT 1"
    );
    first(db, &sql, (scenario.as_str(), number), read)
}

pub(super) fn list(db: &Connection, scenario: Option<&ScenarioId>) -> SqlResult<Vec<Season>> {
    let sql = format!("SELECT {COLUMNS} FROM seasons WHERE ?1 IS NULL OR scenario = ?1 ORDER BY scenario, number DESC");
    all(db, &sql, [scenario.map(ScenarioId::as_str)], read)
}

pub(super) fn secrets(db: &Connection, scenario: &ScenarioId, number: u32) -> SqlResult<Option<SeasonSecrets>> {
    let sql = "SELECT scenario, secret, rerun_secret FROM seasons WHERE scenario = ?1 AND number = ?2";
    first(db, sql, (scenario.as_str(), number), |row| {
        let rerun: Option<[u8; 32]> = row.get("rerun_secret")?;
        Ok(SeasonSecrets { season: SeasonSecret::new(row.get("secret")?), rerun: rerun.map(SeasonSecret::new) })
    })
}

pub(super) fn begin_closing(
    db: &Connection,
    scenario: &ScenarioId,
    top: u32,
    secret: &SeasonSecret,
    now: Timestamp,
) -> SqlResult<Option<Season>> {
    let sql = "UPDATE seasons SET state = 'CLOSING', top = ?2, rerun_secret = ?3, closing_at = ?4
               WHERE scenario = ?1 AND state = 'OPEN'";
    let changed = change(db, sql, (scenario.as_str(), top, secret.reveal().as_slice(), micros(now)))?;
    if changed == 0 { Ok(None) } else { get(db, scenario, None) }
}

pub(super) fn unfinished(db: &Connection, scenario: &ScenarioId, season: u32) -> SqlResult<u64> {
    let sql = "SELECT count(*) FROM jobs
               WHERE scenario = ?1 AND season = ?2 AND status IN ('QUEUED', 'RUNNING', 'JUDGING')";
    Ok(value::<i64>(db, sql, (scenario.as_str(), season))?.unsigned_abs())
}

pub(super) fn begin_reruns(
    db: &Connection,
    scenario: &ScenarioId,
    season: u32,
    reruns: &[NewRerun],
    now: Timestamp,
) -> SqlResult<bool> {
    let sql = "UPDATE seasons SET reruns_at = ?3
               WHERE scenario = ?1 AND number = ?2 AND state = 'CLOSING' AND reruns_at IS NULL";
    if change(db, sql, (scenario.as_str(), season, micros(now)))? == 0 {
        return Ok(false);
    }
    for rerun in reruns {
        jobs::create(db, &rerun.job)?;
        let sql = "UPDATE jobs SET rerun_of = ?2 WHERE job_id = ?1 AND kind = 'rerun'";
        let ids = (rerun.job.header.job_id.to_string(), rerun.of.to_string());
        expect_one(change(db, sql, ids)?, "a job that reruns a submission")?;
    }
    Ok(true)
}

pub(super) fn finish_closing(db: &Connection, scenario: &ScenarioId, season: u32, now: Timestamp) -> SqlResult<bool> {
    if unfinished(db, scenario, season)? > 0 {
        return Ok(false);
    }
    let sql = "UPDATE seasons SET state = 'CLOSED', closed_at = ?3
               WHERE scenario = ?1 AND number = ?2 AND state = 'CLOSING' AND reruns_at IS NOT NULL";
    Ok(change(db, sql, (scenario.as_str(), season, micros(now)))? == 1)
}

fn read(row: &Row<'_>) -> SqlResult<Season> {
    let state: String = row.get("state")?;
    let state = match state.as_str() {
        "OPEN" => SeasonState::Open,
        "CLOSING" => SeasonState::Closing {
            since: time(row, "closing_at")?,
            top: row.get("top")?,
            reruns_begun: row.get("reruns_begun")?,
        },
        "CLOSED" => SeasonState::Closed { at: time(row, "closed_at")? },
        _ => return Err(StoreError::corrupt(name(row), "state", std::io::Error::other(format!("{state:?}"))).into()),
    };
    Ok(Season {
        scenario: parsed(row, "scenario")?,
        number: row.get("number")?,
        pins: json(row, "pins")?,
        commitment: SeasonSecret::new(row.get("secret")?).commitment(),
        state,
        opened_at: time(row, "opened_at")?,
    })
}
