//! `GET /submissions`: the account's submissions, newest first.

use assay_model::JobKind;
use axum::Extension;
use axum::extract::{RawQuery, State};
use serde::Serialize;

use crate::http::{ApiError, Caller, Json};
use crate::published::PublishedSubmission;
use crate::routes::job_filter::{self, WantedJobs};
use crate::routes::openapi::body::schema_of;
use crate::routes::submissions::view::{self, SubmissionEntry};
use crate::state::App;

/// A page of submissions, newest first.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct SubmissionPage {
    submissions: Vec<SubmissionEntry>,
    total: u64,
    limit: u32,
    offset: u32,
}

/// List my submissions
///
/// Returns a page of the account's submissions, newest first. Erased submissions are included, with `erased_at`. If
/// several filters are given, all must match.
#[utoipa::path(
    get, path = "/submissions", operation_id = "submissions", tag = "arena",
    params(
        ("scenario" = Option<String>, Query, description = "Only submissions to this scenario", min_length = 1),
        ("status" = Option<String>, Query, description = "Only submissions in this published state; an unknown state matches nothing", min_length = 1),
        ("verdict" = Option<String>, Query, description = "Only submissions with this published verdict; an unknown verdict matches nothing", min_length = 1),
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of submissions on the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Number of submissions to skip", minimum = 0, maximum = 2_147_483_647),
        ("before" = Option<uuid::Uuid>, Query, description = "Only submissions older than this one"),
    ),
    responses((status = 200, body = ref(schema_of::<SubmissionPage>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Json<SubmissionPage>, ApiError> {
    // A single time for the filter and the entries, so that every entry matches the filter.
    let now = app.clock.now();
    let WantedJobs { limit, offset, filter } = job_filter::parse(query.as_deref(), JobKind::Submission, &caller, now)?;
    let (mut submissions, mut total) = (Vec::new(), 0);
    if let Some(filter) = filter {
        let (records, matching) = app.records.jobs(&filter).await?;
        total = matching;
        for record in records {
            submissions.push(view::entry(&PublishedSubmission::read(&*app.records, record, now).await?));
        }
    }
    Ok(Json(SubmissionPage { submissions, total, limit, offset }))
}
