//! `GET /submissions`: the account's submissions, newest first.

use assay_model::{JobId, JobKind, ScenarioId};
use assay_store::JobFilter;
use axum::Extension;
use axum::extract::{RawQuery, State};
use serde::Serialize;

use super::query::Query;
use super::submission::{self, Entry};
use crate::http::{ApiError, Caller, Json};
use crate::published::Published;
use crate::state::App;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// A page of submissions, newest first.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = SubmissionPage)]
pub(super) struct Page {
    submissions: Vec<Entry>,
    total: u64,
    limit: u32,
    offset: u32,
}

/// List my submissions
///
/// Returns a page of the account's submissions, newest first.
#[utoipa::path(
    get, path = "/submissions", operation_id = "submissions", tag = "arena",
    params(
        ("scenario" = Option<String>, Query, description = "Only to this scenario", min_length = 1),
        ("limit" = inline(Option<u32>), Query, description = "Submissions of the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Submissions to skip", minimum = 0, maximum = 2_147_483_647),
        ("before" = Option<uuid::Uuid>, Query, description = "Only submissions older than this one"),
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
        let message = "before must be the id of a submission";
        text.parse::<JobId>().map_err(|_| ApiError::invalid("before", Some(text), message))
    });
    let before = before.transpose()?;
    // An unknown value of a filter matches nothing; it is no mistake.
    let scenario = match query.text("scenario")?.map(str::parse::<ScenarioId>) {
        Some(Err(_)) => return Ok(Json(Page { submissions: Vec::new(), total: 0, limit, offset })),
        other => other.and_then(Result::ok),
    };
    let account = Some(caller.key.account.clone());
    let filter = JobFilter { kind: JobKind::Submission, account, scenario, status: None, before, limit, offset };
    let (records, total) = app.records.jobs(&filter).await?;
    let mut submissions = Vec::with_capacity(records.len());
    for record in records {
        submissions.push(submission::entry(&Published::of(&app, record).await?));
    }
    Ok(Json(Page { submissions, total, limit, offset }))
}
