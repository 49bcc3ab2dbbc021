//! `GET /community/scenarios`: the scenarios that accounts have published, newest first.

use assay_model::ScenarioId;
use assay_store::{CommunityFilter, CommunityScenario, CommunitySort};
use axum::extract::{RawQuery, State};
use serde::Serialize;

use crate::http::{ApiError, Json};
use crate::routes::community::view::{CommunityScenarioView, entry};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;
/// Maximum number of search words.
const MAX_WORDS: usize = 8;

/// A page of published scenarios.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct CommunityPage {
    scenarios: Vec<CommunityScenarioView>,
    total: u64,
    limit: u32,
    offset: u32,
}

/// The order of the list.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used; `filter` reads the query")]
enum Sort {
    Newest,
    Evaluations,
    Name,
}

/// List the published scenarios
///
/// Returns a page of the scenarios that accounts have published. If several filters are given, all must match; an
/// unknown value matches nothing.
#[utoipa::path(
    get, path = "/community/scenarios", operation_id = "community_scenarios", tag = "scenarios",
    params(
        ("q" = Option<String>, Query, description = "Search words, at most 8; all of them must occur in id, name, description or tags", min_length = 1),
        ("tag" = Option<String>, Query, description = "Only scenarios with this tag", min_length = 1),
        ("author" = Option<String>, Query, description = "Only scenarios of this account", min_length = 1),
        ("sort" = inline(Option<Sort>), Query, description = "Order of the list; newest if absent"),
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of scenarios on the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Number of scenarios to skip", minimum = 0, maximum = 2_147_483_647),
        ("before" = Option<String>, Query, description = "Only scenarios after this one in the list; requires sort=newest", min_length = 1),
    ),
    responses((status = 200, body = ref(schema_of::<CommunityPage>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Json<CommunityPage>, ApiError> {
    let (filter, found, total) = published_scenarios(&app, &Query::parse(query.as_deref())).await?;
    let scenarios = found.iter().map(|scenario| entry(&app, scenario)).collect();
    Ok(Json(CommunityPage { scenarios, total, limit: filter.limit, offset: filter.offset }))
}

/// Returns the page of published scenarios that the query asks for, and the number of all that match.
pub(crate) async fn published_scenarios(
    app: &App,
    query: &Query,
) -> Result<(CommunityFilter, Vec<CommunityScenario>, u64), ApiError> {
    let filter = filter(query)?;
    if let Some(before) = &filter.before
        && app.records.community_scenario(before).await?.is_none()
    {
        return Err(not_listed(before.as_str()));
    }
    let (found, total) = app.records.community_scenarios(&filter).await?;
    Ok((filter, found, total))
}

fn filter(query: &Query) -> Result<CommunityFilter, ApiError> {
    let words = query.text("q")?.unwrap_or_default();
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    if words.len() > MAX_WORDS {
        return Err(ApiError::invalid(
            "q",
            None,
            format!("q has {} words, but at most {MAX_WORDS} are allowed", words.len()),
        ));
    }
    let sort = match query.text("sort")? {
        None | Some("newest") => CommunitySort::Newest,
        Some("evaluations") => CommunitySort::Evaluations,
        Some("name") => CommunitySort::Name,
        other => return Err(ApiError::invalid("sort", other, "sort must be newest, evaluations or name")),
    };
    let before = match query.text("before")? {
        Some(text) if sort != CommunitySort::Newest => {
            return Err(ApiError::invalid("before", Some(text), "before requires sort=newest; use offset instead"));
        }
        Some(text) => Some(text.parse::<ScenarioId>().map_err(|_| not_listed(text))?),
        None => None,
    };
    Ok(CommunityFilter {
        words,
        sort,
        before,
        tag: query.text("tag")?.map(str::to_owned),
        author: query.text("author")?.map(str::to_owned),
        limit: query.number("limit", DEFAULT_LIMIT, 1, MAX_LIMIT)?,
        offset: query.number("offset", 0, 0, i32::MAX.unsigned_abs())?,
    })
}

fn not_listed(text: &str) -> ApiError {
    ApiError::invalid("before", Some(text), "before must be the id of a published scenario")
}
