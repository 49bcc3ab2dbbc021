//! `GET /verify`: the account's jobs, newest first, without episode details.

use assay_model::{JobId, JobKind, JobReport, JobStatus, ScenarioId};
use assay_store::JobFilter;
use axum::Extension;
use axum::extract::{RawQuery, State};
use serde::Serialize;

use super::present;
use super::query::Query;
use crate::http::{ApiError, Caller, Json};
use crate::state::App;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// A page of jobs, newest first, without episode details.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = JobPage)]
pub(super) struct Page {
    jobs: Vec<JobReport>,
    total: u64,
    limit: u32,
    offset: u32,
}

/// List my verifications
///
/// Returns a page of the account's jobs, newest first, without their episodes.
#[utoipa::path(
    get, path = "/verify", operation_id = "verifications", tag = "verify",
    params(
        ("limit" = inline(Option<u32>), Query, description = "Jobs of the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Jobs to skip", minimum = 0, maximum = 2_147_483_647),
        ("before" = Option<uuid::Uuid>, Query, description = "Only jobs older than this one"),
        ("scenario" = Option<String>, Query, description = "Only on this scenario", min_length = 1),
        ("status" = Option<String>, Query, description = "Only in this state", min_length = 1),
    ),
    responses((status = 200, body = Page), (status = 400)),
)]
pub(super) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Json<Page>, ApiError> {
    let query = Query::parse(query.as_deref());
    let limit = query.number("limit", DEFAULT_LIMIT, 1, MAX_LIMIT)?;
    let offset = query.number("offset", 0, 0, i32::MAX.unsigned_abs())?;
    let before = query.text("before")?.map(|text| {
        text.parse::<JobId>().map_err(|_| ApiError::invalid("before", Some(text), "before must be the id of a job"))
    });
    let before = before.transpose()?;
    // An unknown value of a filter matches nothing; it is no mistake.
    let nothing = || Json(Page { jobs: Vec::new(), total: 0, limit, offset });
    let (scenario, status) = (query.text("scenario")?, query.text("status")?);
    let scenario = match scenario.map(str::parse::<ScenarioId>) {
        Some(Err(_)) => return Ok(nothing()),
        other => other.and_then(Result::ok),
    };
    let status = match status.map(JobStatus::parse) {
        Some(None) => return Ok(nothing()),
        other => other.flatten(),
    };
    let filter = JobFilter {
        kind: JobKind::Verify,
        account: Some(caller.key.account.clone()),
        scenario,
        status,
        before,
        limit,
        offset,
    };
    let (records, total) = app.records.jobs(&filter).await?;
    let mut jobs = Vec::with_capacity(records.len());
    for record in &records {
        jobs.push(present::job(&app, record, &[]).await?);
    }
    Ok(Json(Page { jobs, total, limit, offset }))
}
