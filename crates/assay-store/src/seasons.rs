//! Seasons of the arena.

use assay_model::{Fingerprint, JobHeader, JobId, ScenarioCard, ScenarioId, SeasonSecret, SeedSource, Sha256Digest};
use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{NewJob, StoreError};

/// The parameters fixed for a whole season.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeasonPins {
    /// The scenario's version.
    pub scenario_version: String,
    /// SHA-256 over the scenario's files.
    pub scenario_digest: Sha256Digest,
    /// The other dependencies of results: engine, libraries, version of the scorer.
    pub fingerprint: Fingerprint,
    /// Number of counted episodes of a submission.
    pub episodes: u32,
    /// Score of a perfect submission.
    pub max_score: u32,
    /// Mean progress of the idle policy.
    pub idle_progress: f64,
    /// The violation probability to which a submission's confidence refers.
    pub max_violation_probability: f64,
}

impl SeasonPins {
    /// Creates the parameters for this version of a scenario, on a machine with this fingerprint.
    #[must_use]
    pub fn of(scenario: &ScenarioCard, fingerprint: Fingerprint) -> Self {
        Self {
            scenario_version: scenario.version.clone(),
            scenario_digest: scenario.digest,
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
    /// Its scenario.
    pub scenario: ScenarioId,
    /// Its fixed parameters.
    pub pins: SeasonPins,
    /// The secret from which its worlds are drawn.
    pub secret: SeasonSecret,
    /// Time of opening.
    pub opened_at: Timestamp,
}

/// The state of a season, with the data of that state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeasonState {
    /// Accepts submissions.
    Open,
    /// Accepts no more submissions; its top entries are rerun on fresh seeds.
    Closing {
        /// Start of this state.
        since: Timestamp,
        /// Number of entries that are rerun.
        top: u32,
        /// True if the reruns have been queued.
        reruns_begun: bool,
    },
    /// Closed: seeds and evidence are public.
    Closed {
        /// Time of closing.
        at: Timestamp,
    },
}

impl SeasonState {
    /// Returns its name on the wire and in the database.
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
    /// Its scenario.
    pub scenario: ScenarioId,
    /// Its number within the scenario, from 1.
    pub number: u32,
    /// Its fixed parameters.
    pub pins: SeasonPins,
    /// SHA-256 of its secret.
    pub commitment: Sha256Digest,
    /// Its state.
    pub state: SeasonState,
    /// Time of opening.
    pub opened_at: Timestamp,
}

impl Season {
    /// Returns true if it is closed, so that its seeds and evidence are public.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.state, SeasonState::Closed { .. })
    }
}

/// The secrets of a season, which only lanes may know before it is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeasonSecrets {
    /// Source of the worlds of its submissions.
    pub season: SeasonSecret,
    /// Source of the worlds of the reruns; created when it begins to close.
    pub rerun: Option<SeasonSecret>,
}

/// Returns the source of a job's seeds; `None` if its season was removed, or has no rerun yet. Only the season knows
/// the seeds of an arena entry.
///
/// # Errors
/// As [`crate::Records`].
pub async fn seeds_of_job(
    records: &(impl SeasonRecords + ?Sized),
    header: &JobHeader,
) -> Result<Option<SeedSource>, StoreError> {
    let Some(entry) = &header.arena else { return Ok(Some(header.job_seeds())) };
    let secrets = records.season_secrets(&header.scenario, entry.season).await?;
    let secret = secrets.and_then(|secrets| if entry.rerun { secrets.rerun } else { Some(secrets.season) });
    let (episodes, policy_key) = (header.plan.episodes, header.policy_key.clone());
    Ok(secret.map(|secret| SeedSource::Season { secret, episodes, policy_key }))
}

/// Result of opening a season.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenSeasonOutcome {
    /// The new season accepts submissions.
    New(Season),
    /// The scenario already has a season that is not closed.
    Already(Season),
}

/// A rerun to be queued.
#[derive(Debug, Clone)]
pub struct NewRerun {
    /// The submission.
    pub of: JobId,
    /// The job that reruns it.
    pub job: NewJob,
}

/// Repository of seasons.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait SeasonRecords {
    /// Opens the scenario's next season, unless one of them is not closed.
    async fn open_season(&self, season: NewSeason) -> Result<OpenSeasonOutcome, StoreError>;

    /// Returns a season of a scenario; the newest without a `number`.
    async fn season(&self, scenario: &ScenarioId, number: Option<u32>) -> Result<Option<Season>, StoreError>;

    /// Lists all seasons (of a scenario), by scenario, newest first.
    async fn seasons(&self, scenario: Option<&ScenarioId>) -> Result<Vec<Season>, StoreError>;

    /// Returns the secrets from which a season's worlds are drawn. Never to be published before it is closed, and never
    /// to be logged.
    async fn season_secrets(&self, scenario: &ScenarioId, number: u32) -> Result<Option<SeasonSecrets>, StoreError>;

    /// Stops the open season from accepting submissions; `top` of its entries will be rerun on worlds drawn from
    /// `secret`. Returns `None` if the scenario has no open season.
    async fn begin_closing_season(
        &self,
        scenario: &ScenarioId,
        top: u32,
        secret: SeasonSecret,
        now: Timestamp,
    ) -> Result<Option<Season>, StoreError>;

    /// Counts the jobs of a season (submissions and reruns) that have not ended.
    async fn unfinished_season_jobs(&self, scenario: &ScenarioId, season: u32) -> Result<u64, StoreError>;

    /// Queues the reruns of a closing season, once. Returns false if that was done before.
    async fn begin_reruns(
        &self,
        scenario: &ScenarioId,
        season: u32,
        reruns: Vec<NewRerun>,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Closes a season whose reruns have ended. Returns false if any job has not ended, or no reruns were queued.
    async fn finish_closing_season(
        &self,
        scenario: &ScenarioId,
        season: u32,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
}
