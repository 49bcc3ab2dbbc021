//! The season that a submission goes to.

use assay_model::{ScenarioCard, SeasonSecret};
use assay_store::{NewSeason, Season, SeasonOpened, SeasonPins, SeasonState};

use crate::http::{ApiError, Code};
use crate::state::App;

/// The open season of a scenario. A scenario that never had one gets its first: a new server takes submissions at once.
pub(crate) async fn open_season(app: &App, scenario: &ScenarioCard) -> Result<Season, ApiError> {
    let season = match app.records.season(&scenario.id, None).await? {
        Some(season) => season,
        None => first(app, scenario).await?,
    };
    if season.state != SeasonState::Open {
        return Err(not_open(&season));
    }
    let differences = season.pins.fingerprint.differences(&app.fingerprint);
    let changed = match differences.first() {
        _ if season.pins.scenario_digest != scenario.digest => "the scenario",
        Some(difference) => difference.name.as_str(),
        None => return Ok(season),
    };
    let message = format!(
        "{changed} has changed since season {} of {} was opened, so results would not compare; the host closes it and \
         opens a new one (assay season)",
        season.number, scenario.id
    );
    Err(ApiError::new(Code::Conflict, message))
}

/// Why a season takes no submission.
pub(crate) fn not_open(season: &Season) -> ApiError {
    let (number, scenario) = (season.number, &season.scenario);
    let state = if season.is_closed() { "is closed" } else { "is closing" };
    let message = format!("season {number} of {scenario} {state}: wait until the host opens the next one");
    ApiError::new(Code::Conflict, message)
}

async fn first(app: &App, scenario: &ScenarioCard) -> Result<Season, ApiError> {
    let mut secret = [0; 32];
    app.entropy.fill(&mut secret);
    let season = NewSeason {
        scenario: scenario.id.clone(),
        pins: SeasonPins::of(scenario, app.fingerprint.clone()),
        secret: SeasonSecret::new(secret),
        opened_at: app.clock.now(),
    };
    match app.records.open_season(season).await? {
        SeasonOpened::New(season) => {
            tracing::info!(scenario.id = %scenario.id, season = season.number, "opened the first season");
            Ok(season)
        }
        SeasonOpened::Already(season) => Ok(season),
    }
}
