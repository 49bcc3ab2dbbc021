//! `GET /verify`: the account's jobs, newest first, without episode details.

use assay_model::JobKind;
use axum::Extension;
use axum::extract::{RawQuery, State};
use serde::Serialize;

use crate::http::{ApiError, Caller, Json};
use crate::routes::job_filter::{self, WantedJobs};
use crate::routes::openapi::body::schema_of;
use crate::state::App;
use crate::views::JobView;

/// A page of jobs, newest first, without episode details.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct JobPage {
    jobs: Vec<JobView>,
    total: u64,
    limit: u32,
    offset: u32,
}

/// List my verifications
///
/// Returns a page of the account's jobs, newest first, without their episodes. Erased jobs are included, with
/// `erased_at`. If several filters are given, all must match.
#[utoipa::path(
    get, path = "/verify", operation_id = "verifications", tag = "verify",
    params(
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of jobs on the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Number of jobs to skip", minimum = 0, maximum = 2_147_483_647),
        ("before" = Option<uuid::Uuid>, Query, description = "Only jobs older than this one"),
        ("scenario" = Option<String>, Query, description = "Only jobs on this scenario", min_length = 1),
        ("status" = Option<String>, Query, description = "Only jobs in this state, such as `COMPLETED`; an unknown state matches nothing", min_length = 1),
        ("verdict" = Option<String>, Query, description = "Only jobs with this verdict, such as `SAFE`; an unknown verdict matches nothing", min_length = 1),
    ),
    responses((status = 200, body = ref(schema_of::<JobPage>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Json<JobPage>, ApiError> {
    let now = app.clock.now();
    let WantedJobs { limit, offset, filter } = job_filter::parse(query.as_deref(), JobKind::Verify, &caller, now)?;
    let (mut jobs, mut total) = (Vec::new(), 0);
    if let Some(filter) = filter {
        let (records, matching) = app.records.jobs(&filter).await?;
        total = matching;
        for record in &records {
            jobs.push(JobView::listed(&app, record).await?);
        }
    }
    Ok(Json(JobPage { jobs, total, limit, offset }))
}
