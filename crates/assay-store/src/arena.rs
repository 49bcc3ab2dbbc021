//! Seasons and submissions. A submission is a job of another kind: shards, leases, results and conclusions are the same.

use assay_model::{AccountId, Fingerprint, JobId, ScenarioCard, ScenarioId, SeasonSecret};
use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{JobRecord, NewJob, StoreError};

/// What holds for a season from its first to its last submission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeasonPins {
    /// The scenario's version.
    pub scenario_version: String,
    /// SHA-256 over the scenario's files, hexadecimal.
    pub scenario_digest: String,
    /// What results depend on beside that: engine, libraries, the version of the scorer.
    pub fingerprint: Fingerprint,
    /// Episodes of a submission that count.
    pub episodes: u32,
    /// What a perfect submission scores.
    pub max_score: u32,
    /// Mean progress of a policy that does nothing.
    pub idle_progress: f64,
    /// The violation probability that a submission's confidence speaks of.
    pub max_violation_probability: f64,
}

impl SeasonPins {
    /// A season of this version of a scenario, on a machine with this fingerprint.
    #[must_use]
    pub fn of(scenario: &ScenarioCard, fingerprint: Fingerprint) -> Self {
        Self {
            scenario_version: scenario.version.clone(),
            scenario_digest: scenario.digest.clone(),
            fingerprint,
            episodes: scenario.arena_episodes,
            max_score: scenario.max_score,
            idle_progress: scenario.idle_progress,
            max_violation_probability: scenario.max_violation_probability,
        }
    }
}

/// A season to be opened.
#[derive(Debug, Clone)]
pub struct NewSeason {
    /// Of which scenario.
    pub scenario: ScenarioId,
    /// What holds in it.
    pub pins: SeasonPins,
    /// What its worlds are drawn from.
    pub secret: SeasonSecret,
    /// When.
    pub opened_at: Timestamp,
}

/// Where a season stands, with what belongs to that state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeasonState {
    /// Takes submissions.
    Open,
    /// Takes none any more; its first entries run again on fresh seeds.
    Closing {
        /// Since when.
        since: Timestamp,
        /// How many entries run again.
        top: u32,
        /// These runs have been queued.
        reruns_begun: bool,
    },
    /// Over: seeds and evidence are public.
    Closed {
        /// Since when.
        at: Timestamp,
    },
}

impl SeasonState {
    /// The name on the wire and in the database.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Closing { .. } => "CLOSING",
            Self::Closed { .. } => "CLOSED",
        }
    }
}

/// A season, without its secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct Season {
    /// Of which scenario.
    pub scenario: ScenarioId,
    /// From 1 for each scenario.
    pub number: u32,
    /// What holds in it.
    pub pins: SeasonPins,
    /// SHA-256 of its secret, hexadecimal.
    pub commitment: String,
    /// Where it stands.
    pub state: SeasonState,
    /// When it was opened.
    pub opened_at: Timestamp,
}

impl Season {
    /// Seeds and evidence are public.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.state, SeasonState::Closed { .. })
    }
}

/// What only lanes may know before a season is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeasonSecrets {
    /// Draws the worlds of its submissions.
    pub season: SeasonSecret,
    /// Draws the worlds in which its first entries run again; made when it begins to close.
    pub rerun: Option<SeasonSecret>,
}

/// What became of a wish to open a season.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenSeasonOutcome {
    /// It takes submissions.
    New(Season),
    /// The scenario has one that is not closed.
    Already(Season),
}

/// What became of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmitOutcome {
    /// It is queued, in so many shards.
    Accepted {
        /// Number of its shards.
        shards: u32,
    },
    /// The account has as many of that day already.
    TooMany,
    /// Its season takes none (any more).
    NotOpen,
}

/// What became of a wish that a submission counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChooseOutcome {
    /// It counts until another one is chosen.
    Done,
    /// It has no result.
    NotCompleted,
    /// Its season takes no changes any more.
    NotOpen,
    /// There is no such submission (of this account).
    NotFound,
}

/// A submission that runs again.
#[derive(Debug, Clone)]
pub struct NewRerun {
    /// The submission.
    pub of: JobId,
    /// The job that does it.
    pub job: NewJob,
}

/// Seasons and what is submitted to them; part of [`crate::Records`].
///
/// # Errors
/// Every method fails with [`StoreError`] when the engine does.
#[async_trait]
pub trait SeasonRecords {
    /// Opens the scenario's next season, unless one of them is not closed.
    async fn open_season(&self, season: NewSeason) -> Result<OpenSeasonOutcome, StoreError>;

    /// A season of a scenario; the newest without a `number`.
    async fn season(&self, scenario: &ScenarioId, number: Option<u32>) -> Result<Option<Season>, StoreError>;

    /// All seasons (of a scenario), by scenario, newest first.
    async fn seasons(&self, scenario: Option<&ScenarioId>) -> Result<Vec<Season>, StoreError>;

    /// What a season's worlds are drawn from. Never to be answered before it is closed, and never to be logged.
    async fn season_secrets(&self, scenario: &ScenarioId, number: u32) -> Result<Option<SeasonSecrets>, StoreError>;

    /// Accepts a submission to the open season that its header names, unless its account has `daily` of that scenario
    /// since `day` already. Those that FAILED do not count once that is published; those that were cancelled do.
    async fn submit(&self, job: NewJob, daily: u32, day: Timestamp) -> Result<SubmitOutcome, StoreError>;

    /// Lets a COMPLETED submission count for its account from now on, in the place of the latest.
    async fn choose_submission(&self, account: Option<&AccountId>, id: JobId) -> Result<ChooseOutcome, StoreError>;

    /// The COMPLETED submissions that count in a season: of each account the one it chose, or the latest. With
    /// `published_by`, only those whose results are published by then ([`assay_model::Grid`]).
    async fn season_standing(
        &self,
        scenario: &ScenarioId,
        season: u32,
        published_by: Option<Timestamp>,
    ) -> Result<Vec<JobRecord>, StoreError>;

    /// The season takes no more submissions; `top` of its entries will run again on worlds drawn from `secret`. `None` if
    /// the scenario has no open season.
    async fn begin_closing_season(
        &self,
        scenario: &ScenarioId,
        top: u32,
        secret: SeasonSecret,
        now: Timestamp,
    ) -> Result<Option<Season>, StoreError>;

    /// Jobs of a season (submissions and runs at its end) that have not ended.
    async fn unfinished_season_jobs(&self, scenario: &ScenarioId, season: u32) -> Result<u64, StoreError>;

    /// Queues the runs at a closing season's end, once; false if that was done before.
    async fn begin_reruns(
        &self,
        scenario: &ScenarioId,
        season: u32,
        reruns: Vec<NewRerun>,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// The runs at a season's end, with the submissions they repeat.
    async fn reruns(&self, scenario: &ScenarioId, season: u32) -> Result<Vec<(JobId, JobRecord)>, StoreError>;

    /// Closes a season whose runs at the end have ended; false if there is anything left to do.
    async fn finish_closing_season(
        &self,
        scenario: &ScenarioId,
        season: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
}
