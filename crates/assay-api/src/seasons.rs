//! The open season of a scenario, which submissions belong to.

use std::sync::Arc;

use assay_model::{Fingerprint, RuntimeCard, RuntimeVersion, ScenarioCard, SeasonSecret};
use assay_store::{NewSeason, OpenSeasonOutcome, Season, SeasonPins, SeasonState};

use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Returns the open season of a scenario, and the scenario in the version that the season was opened with. Opens the
/// first season of a scenario that never had one, so that a new server accepts submissions at once.
pub(crate) async fn open_season(
    app: &App,
    scenario: &Arc<ScenarioCard>,
) -> Result<(Season, Arc<ScenarioCard>), ApiError> {
    let season = match app.records.season(&scenario.id, None).await? {
        Some(season) => season,
        None => open_first_season(app, scenario).await?,
    };
    if season.state != SeasonState::Open {
        return Err(season_not_open(&season));
    }
    let pinned = match season.pins.scenario_digest == scenario.digest {
        true => PinnedVersion::Usable(Arc::clone(scenario)),
        false => pinned_version(app, &season).await?,
    };
    let pinned_fingerprint = &season.pins.fingerprint;
    let differences = pinned_fingerprint.differences(&fingerprint_in(app, pinned_fingerprint.runtime.as_ref()).await?);
    let changed = match (differences.first(), pinned) {
        (None, PinnedVersion::Usable(pinned)) => return Ok((season, pinned)),
        (_, PinnedVersion::Unusable(why)) => format!("the scenario ({why})"),
        (Some(difference), PinnedVersion::Usable(_)) => difference.name.clone(),
    };
    let message = format!(
        "{changed} has changed since season {} of {} was opened, so results would not be comparable; the operator must \
         close it and open a new one (assay season)",
        season.number, scenario.id
    );
    Err(ApiError::new(ErrorCode::Conflict, message))
}

/// Returns the fingerprint of this server for policies in this version of a runtime, if it is installed.
async fn fingerprint_in(app: &App, runtime: Option<&RuntimeVersion>) -> Result<Fingerprint, ApiError> {
    let Some(version) = runtime else { return Ok(app.fingerprint.clone()) };
    let intake = Arc::clone(&app.intake);
    let read = tokio::task::spawn_blocking(move || intake.runtimes()).await;
    let installed = read.map_err(|e| ApiError::internal("reading the runtimes panicked", &e))?;
    let found = installed.iter().find(|card| card.name == version.name && card.sha256 == version.sha256);
    let numpy = |card: &RuntimeCard| card.packages.get("numpy").cloned().unwrap_or_default();
    Ok(found.map_or_else(|| app.fingerprint.clone(), |card| app.fingerprint.in_runtime(version.clone(), &numpy(card))))
}

/// The scenario version that a season was opened with.
enum PinnedVersion {
    /// It can be run here.
    Usable(Arc<ScenarioCard>),
    /// It can no longer be run here, for this reason.
    Unusable(String),
}

/// Reads the scenario in the version that the season was opened with, which is not the newest.
async fn pinned_version(app: &App, season: &Season) -> Result<PinnedVersion, ApiError> {
    let (publisher, id, digest) = (Arc::clone(&app.publisher), season.scenario.clone(), season.pins.scenario_digest);
    let read = tokio::task::spawn_blocking(move || publisher.card(&id, digest)).await;
    Ok(match read.map_err(|e| ApiError::internal("reading a scenario panicked", &e))? {
        Ok(card) => PinnedVersion::Usable(Arc::new(card)),
        Err(why) => PinnedVersion::Unusable(why),
    })
}

/// Returns the error for a season that does not accept submissions.
pub(crate) fn season_not_open(season: &Season) -> ApiError {
    let (number, scenario) = (season.number, &season.scenario);
    let state = if season.is_closed() { "is closed" } else { "is closing" };
    let message = format!("season {number} of {scenario} {state}: wait until the operator opens the next one");
    ApiError::new(ErrorCode::Conflict, message)
}

async fn open_first_season(app: &App, scenario: &ScenarioCard) -> Result<Season, ApiError> {
    match app.records.open_season(new_season(app, scenario)).await? {
        OpenSeasonOutcome::New(season) => {
            tracing::info!(scenario.id = %scenario.id, season = season.number, "opened the first season");
            Ok(season)
        }
        OpenSeasonOutcome::Already(season) => Ok(season),
    }
}

/// Returns a season of the scenario that is to be opened now, on this server's machine.
pub(crate) fn new_season(app: &App, scenario: &ScenarioCard) -> NewSeason {
    NewSeason {
        scenario: scenario.id.clone(),
        pins: SeasonPins::of(scenario, app.fingerprint.clone()),
        secret: random_secret(app),
        opened_at: app.clock.now(),
    }
}

/// Returns a fresh secret of a season.
pub(crate) fn random_secret(app: &App) -> SeasonSecret {
    let mut secret = [0; 32];
    app.entropy.fill(&mut secret);
    SeasonSecret::new(secret)
}
