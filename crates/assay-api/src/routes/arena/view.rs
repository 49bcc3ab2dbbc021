//! A season as clients see it.

use assay_model::{ScenarioId, Sha256Digest};
use assay_store::{Season, SeasonState};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::ApiError;
use crate::state::App;

/// A season of the arena on one scenario.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Season")]
pub(in crate::routes) struct SeasonView {
    scenario: ScenarioId,
    /// Number of the season, counted from 1 for each scenario.
    number: u32,
    /// `OPEN`, `CLOSING` or `CLOSED`.
    #[schemars(pattern("^(OPEN|CLOSING|CLOSED)$"))]
    state: String,
    scenario_version: String,
    /// SHA-256 over the scenario's files, hexadecimal.
    scenario_digest: Sha256Digest,
    /// Number of scored episodes in a submission.
    episodes: u32,
    max_score: u32,
    opened_at: Timestamp,
    closed_at: Option<Timestamp>,
    /// SHA-256 of the season's secret, hexadecimal; published when the season opens.
    commitment: Sha256Digest,
    /// Secret from which all worlds are drawn, hexadecimal; `null` until the season is closed.
    #[schemars(pattern("^[0-9a-f]{64}$"))]
    secret: Option<String>,
    /// Secret of the reruns at the end of the season, hexadecimal; `null` until the season is closed.
    #[schemars(pattern("^[0-9a-f]{64}$"))]
    rerun_secret: Option<String>,
}

impl SeasonView {
    /// Returns a season, with its secrets once it is closed.
    pub(in crate::routes) async fn load(app: &App, season: Season) -> Result<Self, ApiError> {
        let closed_at = match season.state {
            SeasonState::Closed { at } => Some(at),
            SeasonState::Open | SeasonState::Closing { .. } => None,
        };
        let secrets = match closed_at {
            Some(_) => app.records.season_secrets(&season.scenario, season.number).await?,
            None => None,
        };
        Ok(Self {
            scenario: season.scenario,
            number: season.number,
            state: season.state.as_str().to_owned(),
            scenario_version: season.pins.scenario_version,
            scenario_digest: season.pins.scenario_digest,
            episodes: season.pins.episodes,
            max_score: season.pins.max_score,
            opened_at: season.opened_at,
            closed_at,
            commitment: season.commitment,
            secret: secrets.as_ref().map(|secrets| secrets.season.to_hex()),
            rerun_secret: secrets.and_then(|secrets| secrets.rerun).map(|secret| secret.to_hex()),
        })
    }
}
