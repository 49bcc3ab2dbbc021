//! [`Arena`] over the statements of the other files.

use assay_model::{AccountId, JobId, ScenarioId, SeasonSecret};
use async_trait::async_trait;
use jiff::Timestamp;

use super::{SqliteRecords, seasons, submissions};
use crate::{
    ChooseOutcome, JobRecord, NewJob, NewRerun, NewSeason, OpenSeasonOutcome, Season, SeasonRecords, SeasonSecrets,
    StoreError, SubmitOutcome,
};

#[async_trait]
impl SeasonRecords for SqliteRecords {
    async fn open_season(&self, season: NewSeason) -> Result<OpenSeasonOutcome, StoreError> {
        self.write("opening a season", move |db| seasons::open(db, &season)).await
    }

    async fn season(&self, scenario: &ScenarioId, number: Option<u32>) -> Result<Option<Season>, StoreError> {
        self.read("reading a season", |db| seasons::get(db, scenario, number))
    }

    async fn seasons(&self, scenario: Option<&ScenarioId>) -> Result<Vec<Season>, StoreError> {
        self.read("listing seasons", |db| seasons::list(db, scenario))
    }

    async fn season_secrets(&self, scenario: &ScenarioId, number: u32) -> Result<Option<SeasonSecrets>, StoreError> {
        self.read("reading a season's secrets", |db| seasons::secrets(db, scenario, number))
    }

    async fn submit(&self, job: NewJob, daily: u32, day: Timestamp) -> Result<SubmitOutcome, StoreError> {
        self.write("accepting a submission", move |db| submissions::submit(db, &job, daily, day)).await
    }

    async fn choose_submission(&self, account: Option<&AccountId>, id: JobId) -> Result<ChooseOutcome, StoreError> {
        let account = account.cloned();
        self.write("choosing a submission", move |db| submissions::choose(db, account.as_ref(), id)).await
    }

    async fn season_standing(
        &self,
        scenario: &ScenarioId,
        season: u32,
        published_by: Option<Timestamp>,
    ) -> Result<Vec<JobRecord>, StoreError> {
        self.read("reading what counts in a season", |db| submissions::standing(db, scenario, season, published_by))
    }

    async fn begin_closing_season(
        &self,
        scenario: &ScenarioId,
        top: u32,
        secret: SeasonSecret,
        now: Timestamp,
    ) -> Result<Option<Season>, StoreError> {
        let scenario = scenario.clone();
        self.write("closing a season", move |db| seasons::begin_closing(db, &scenario, top, &secret, now)).await
    }

    async fn unfinished_season_jobs(&self, scenario: &ScenarioId, season: u32) -> Result<u64, StoreError> {
        self.read("counting what a season waits for", |db| seasons::unfinished(db, scenario, season))
    }

    async fn begin_reruns(
        &self,
        scenario: &ScenarioId,
        season: u32,
        reruns: Vec<NewRerun>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let scenario = scenario.clone();
        self.write("queueing a season's last runs", move |db| {
            seasons::begin_reruns(db, &scenario, season, &reruns, now)
        })
        .await
    }

    async fn reruns(&self, scenario: &ScenarioId, season: u32) -> Result<Vec<(JobId, JobRecord)>, StoreError> {
        self.read("reading a season's last runs", |db| submissions::reruns(db, scenario, season))
    }

    async fn finish_closing_season(
        &self,
        scenario: &ScenarioId,
        season: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let scenario = scenario.clone();
        self.write("closing a season for good", move |db| seasons::finish_closing(db, &scenario, season, now)).await
    }
}
