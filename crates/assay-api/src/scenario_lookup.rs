//! Lookup of scenarios by id and, optionally, by version; the highest version by default.

use std::sync::Arc;

use assay_model::{ScenarioCard, ScenarioId, Sha256Digest};
use assay_scenario::closest;
use assay_store::{CommunityFilter, CommunityScenario, CommunityVersion};

use crate::http::{ApiError, ErrorCode};
use crate::state::AppState;

/// Maximum number of scenarios of an account that are searched for a similar name.
const MAX_ALIKE: u32 = 100;

/// A published scenario in the requested version, and all its versions.
#[derive(Debug)]
pub(crate) struct PublishedScenario {
    pub(crate) scenario: CommunityScenario,
    pub(crate) versions: Vec<CommunityVersion>,
}

/// Returns the scenario with this id, curated or published, in this version or in the one that policies are evaluated
/// on.
///
/// # Errors
/// NOT_FOUND: no such scenario or version; GONE: deleted; CONFLICT: the version can no longer be used here.
pub(crate) async fn scenario(app: &AppState, id: &str, version: Option<&str>) -> Result<Arc<ScenarioCard>, ApiError> {
    let installed = id.parse().ok().and_then(|id| app.catalog.get(&id));
    let Some(card) = installed else {
        let found = find(app, "scenario", id, version).await?;
        return Ok(Arc::new(found.scenario.card));
    };
    match version {
        Some(version) if *version != card.version => Err(no_version(id, version, &[card.version.as_str()])),
        _ => Ok(card),
    }
}

/// Returns the published scenario with this id.
///
/// # Errors
/// Like [`scenario`].
pub(crate) async fn published(app: &AppState, id: &str, version: Option<&str>) -> Result<PublishedScenario, ApiError> {
    find(app, "published scenario", id, version).await
}

async fn find(app: &AppState, what: &str, id: &str, version: Option<&str>) -> Result<PublishedScenario, ApiError> {
    let found = match id.parse() {
        Ok(id) => app.records.community_scenario(&id).await?,
        Err(_) => None,
    };
    let Some(mut scenario) = found else {
        return Err(ApiError::not_found(&format!("{what}{}", suggestion(app, id).await?)));
    };
    if scenario.deleted_at.is_some() {
        return Err(ApiError::new(
            ErrorCode::Gone,
            "its author deleted this scenario; reports that refer to it remain",
        ));
    }
    let versions = app.records.community_versions(&scenario.card.id).await?;
    if let Some(version) = version.filter(|version| *version != scenario.card.version) {
        let Some(wanted) = versions.iter().find(|known| known.version == version) else {
            let known: Vec<&str> = versions.iter().map(|known| known.version.as_str()).collect();
            return Err(no_version(id, version, &known));
        };
        scenario.card = kept_card(app, &scenario.card.id, wanted.digest).await?;
        scenario.published_at = wanted.published_at;
    }
    Ok(PublishedScenario { scenario, versions })
}

/// Returns the card with what the scenario draws, which cards that earlier releases stored do not say. It stays unknown
/// if the files of the version are gone.
pub(crate) async fn with_drawn_ranges(app: &AppState, card: Arc<ScenarioCard>) -> Arc<ScenarioCard> {
    if card.drawn_ranges.is_some() {
        return card;
    }
    match kept_card(app, &card.id, card.digest).await {
        Ok(ScenarioCard { drawn_ranges, .. }) => Arc::new(ScenarioCard { drawn_ranges, ..(*card).clone() }),
        Err(_) => card,
    }
}

/// Reads the card of an older version from its stored files.
async fn kept_card(app: &AppState, id: &ScenarioId, digest: Sha256Digest) -> Result<ScenarioCard, ApiError> {
    let (publisher, id) = (Arc::clone(&app.publisher), id.clone());
    let read = tokio::task::spawn_blocking(move || publisher.card(&id, digest)).await;
    let card = read.map_err(|e| ApiError::internal("reading a scenario panicked", &e))?;
    card.map_err(|why| ApiError::new(ErrorCode::Conflict, why))
}

fn no_version(id: &str, version: &str, known: &[&str]) -> ApiError {
    let version = assay_model::sanitise(version, 100);
    ApiError::new(ErrorCode::NotFound, format!("{id} has no version {version}; it has {}", known.join(", ")))
}

/// Suggests a known scenario for an unknown id, as the end of an error message: `; did you mean X?`, or empty when
/// none is similar.
pub(crate) async fn suggestion(app: &AppState, id: &str) -> Result<String, ApiError> {
    let mut known: Vec<String> = app.catalog.list().iter().map(|card| card.id.to_string()).collect();
    if let Some((account, _)) = id.split_once('.') {
        let author = Some(account.to_owned());
        let filter = CommunityFilter { author, limit: MAX_ALIKE, ..CommunityFilter::default() };
        let (found, _) = app.records.community_scenarios(&filter).await?;
        known.extend(found.into_iter().map(|scenario| scenario.card.id.to_string()));
    }
    let meant = closest(id, known.iter().map(String::as_str));
    Ok(meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?")))
}
