//! `GET /verify`: the account's jobs, newest first, without episode details.

use assay_model::{JobId, JobReport, JobStatus, ScenarioId};
use assay_store::JobFilter;
use axum::extract::{RawQuery, State};
use axum::{Extension, Json};
use serde::Serialize;

use super::present;
use super::query::Query;
use crate::http::{ApiError, Caller};
use crate::state::App;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

#[derive(Serialize)]
pub(super) struct Page {
    jobs: Vec<JobReport>,
    total: u64,
    limit: u32,
    offset: u32,
}

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
    let scenario = match query.text("scenario")?.map(str::parse::<ScenarioId>) {
        Some(Err(_)) => return Ok(nothing()),
        other => other.and_then(Result::ok),
    };
    let status = match query.text("status")?.map(JobStatus::parse) {
        Some(None) => return Ok(nothing()),
        other => other.flatten(),
    };
    let filter = JobFilter { account: Some(caller.account.clone()), scenario, status, before, limit, offset };
    let (records, total) = app.records.jobs(&filter).await?;
    let jobs = records.iter().map(|record| present::job(record, &[])).collect();
    Ok(Json(Page { jobs, total, limit, offset }))
}
