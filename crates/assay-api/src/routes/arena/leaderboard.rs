//! `GET /leaderboard`: the ranking on a scenario, on a collection, or overall.

use assay_model::{INTERVAL_METHOD, ScenarioId};
use axum::extract::{RawQuery, State};
use jiff::Timestamp;
use serde::Serialize;

use crate::boards::{LeaderboardEntry, combined_board, scenario_board};
use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;
/// Id of the collection behind the overall board. Its scenarios are fixed, so that a new scenario changes no existing
/// score.
const OVERALL: &str = "overall";

/// A page of a board, best first.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct Leaderboard {
    scenario: Option<String>,
    /// The collection whose scenarios are ranked together; `overall` if the request names neither a scenario nor a
    /// collection. `null` if the board covers a single scenario, or if this server has no collection `overall`: the
    /// board then covers all its curated scenarios.
    collection: Option<String>,
    /// Number of the season; `null` if there is none, and for a board that combines scenarios.
    season: Option<u32>,
    /// Method behind the intervals of scores and ranks, which have 95 % coverage: `betting`, a finite-sample method for
    /// means of bounded values (Waudby-Smith and Ramdas 2024).
    interval_method: &'static str,
    entries: Vec<LeaderboardEntry>,
    total: usize,
    limit: u32,
    offset: u32,
    /// Time at which the most recent entry was completed; `null` if there are no entries.
    updated_at: Option<Timestamp>,
}

/// Get a leaderboard
///
/// Returns the ranking for one scenario, for one collection, or, if neither is given, for the collection `overall`. The
/// intervals of scores and ranks have 95 % coverage. `scenario` and `collection` are mutually exclusive, and `season`
/// requires `scenario`. For an unknown scenario or collection, the board is empty.
#[utoipa::path(
    get, path = "/leaderboard", operation_id = "leaderboard", tag = "arena",
    params(
        ("scenario" = Option<String>, Query, description = "Scenario of the board; not together with `collection`", min_length = 1),
        ("collection" = Option<String>, Query, description = "Collection whose scenarios are ranked together; `overall` if neither is given", min_length = 1),
        ("season" = inline(Option<u32>), Query, description = "Season of the `scenario`; the newest if absent", minimum = 1, maximum = 2_147_483_647),
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of entries on the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Number of entries to skip", minimum = 0, maximum = 2_147_483_647),
    ),
    responses((status = 200, body = ref(schema_of::<Leaderboard>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Json<Leaderboard>, ApiError> {
    let query = Query::parse(query.as_deref());
    let limit = query.number("limit", DEFAULT_LIMIT, 1, MAX_LIMIT)?;
    let offset = query.number("offset", 0, 0, i32::MAX.unsigned_abs())?;
    let number = query.text("season")?.map(|_| query.number("season", 1, 1, i32::MAX.unsigned_abs())).transpose()?;
    let (scenario, collection) = (query.text("scenario")?, query.text("collection")?);
    if let (Some(_), Some(collection)) = (scenario, collection) {
        let message = "scenario and collection are mutually exclusive: send one of them";
        return Err(ApiError::invalid("collection", Some(collection), message));
    }
    if let (None, Some(_)) = (scenario, number) {
        return Err(ApiError::invalid("season", query.text("season")?, "season requires scenario"));
    }
    let has_overall = app.catalog.collections().iter().any(|known| known.id == OVERALL);
    let collection = collection.or((scenario.is_none() && has_overall).then_some(OVERALL));
    let (season, lines) = match (scenario, collection) {
        (Some(id), _) => match id.parse::<ScenarioId>() {
            Ok(id) => scenario_board(&app, &id, number).await?,
            Err(_) => (None, Default::default()),
        },
        (None, Some(id)) => {
            let found = app.catalog.collections().iter().find(|collection| collection.id == id);
            let ids = found.map(|found| found.scenarios.iter().filter_map(|id| id.parse().ok()).collect());
            (None, combined_board(&app, &format!("collection {id}"), ids.unwrap_or_default()).await?)
        }
        (None, None) => {
            let ids = app.catalog.list().iter().map(|card| card.id.clone()).collect();
            (None, combined_board(&app, "all", ids).await?)
        }
    };
    let entries = lines.iter().skip(offset as usize).take(limit as usize).cloned().collect();
    Ok(Json(Leaderboard {
        scenario: scenario.map(str::to_owned),
        collection: collection.map(str::to_owned),
        season,
        interval_method: INTERVAL_METHOD,
        entries,
        total: lines.len(),
        limit,
        offset,
        updated_at: lines.iter().map(LeaderboardEntry::completed_at).max(),
    }))
}
