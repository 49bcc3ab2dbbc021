//! `GET /verify/{job_id}/episodes`: a page of the job's results so far, by index.

use assay_store::JobRecord;
use axum::Extension;
use axum::extract::{RawQuery, State};
use serde::Serialize;

use crate::http::{ApiError, Caller, Json};
use crate::routes::jobs::{ReadAccess, Verification};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;
use crate::views::EpisodeView;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// A page of episodes, ordered by index.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct EpisodePage {
    episodes: Vec<EpisodeView>,
    /// Episodes recorded so far.
    total: u32,
    limit: u32,
    offset: u32,
}

/// List the episodes of a verification
///
/// Returns a page of the episodes recorded so far, in order of their numbers, with clauses, violations and evidence.
/// Also available while the job is running.
#[utoipa::path(
    get, path = "/verify/{job_id}/episodes", operation_id = "episodes", tag = "verify",
    params(
        ("job_id" = uuid::Uuid, Path, description = "The job's id"),
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of episodes on the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Number of episodes to skip", minimum = 0, maximum = 2_147_483_647),
    ),
    responses((status = 200, body = ref(schema_of::<EpisodePage>())), (status = 400), (status = 404), (status = 410)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Verification { record, .. }: Verification<ReadAccess>,
    RawQuery(query): RawQuery,
) -> Result<Json<EpisodePage>, ApiError> {
    caller.record_access(&app, (&record.account, &record.header.job_id), "read a job's episodes").await?;
    page(&app, &record, query.as_deref()).await
}

/// Returns a page of a job's episodes.
pub(in crate::routes) async fn page(
    app: &App,
    record: &JobRecord,
    query: Option<&str>,
) -> Result<Json<EpisodePage>, ApiError> {
    let query = Query::parse(query);
    let limit = query.number("limit", DEFAULT_LIMIT, 1, MAX_LIMIT)?;
    let offset = query.number("offset", 0, 0, i32::MAX.unsigned_abs())?;
    let episodes = app.records.episodes(record.header.job_id, offset, limit).await?;
    let episodes = EpisodeView::load(app, record, episodes).await?;
    Ok(Json(EpisodePage { episodes, total: record.episodes_done, limit, offset }))
}
