//! `GET /reviews`: the verifications that await a manual review.

use assay_model::{JobId, JobKind, JobStatus};
use assay_store::{JobFilter, JobRecord};
use axum::Extension;
use axum::extract::{RawQuery, State};
use serde::Serialize;

use crate::http::{ApiError, Caller, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;
use crate::views::JobView;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;
/// Number of jobs that are read at a time.
const BATCH: u32 = 100;
/// Maximum number of jobs that a request reads.
const MAX_READ: u32 = 1000;

/// Verifications that await a review.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct ReviewPage {
    /// The verifications, newest first, without their episodes.
    jobs: Vec<JobView>,
    /// Value of `before` with which the list continues; `null` at its end.
    next: Option<JobId>,
}

/// The records of a page.
pub(crate) struct AwaitedReviews {
    pub(crate) records: Vec<JobRecord>,
    pub(crate) next: Option<JobId>,
}

/// List the verifications that await a review
///
/// Returns the verifications of all accounts whose `needs_review` is true and which have no review, newest first. A
/// request reads at most the 1000 newest completed verifications before `before`; if there may be more, `next` is the
/// value of `before` that continues the list, even if the page is empty.
#[utoipa::path(
    get, path = "/reviews", operation_id = "awaited_reviews", tag = "verify",
    params(
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of jobs on the page; 20 if absent", minimum = 1, maximum = 100),
        ("before" = Option<uuid::Uuid>, Query, description = "Only jobs older than this one"),
    ),
    responses((status = 200, body = ref(schema_of::<ReviewPage>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Json<ReviewPage>, ApiError> {
    let found = awaited_reviews(&app, &caller, &Query::parse(query.as_deref())).await?;
    let mut jobs = Vec::new();
    for record in &found.records {
        jobs.push(JobView::listed(&app, record).await?);
    }
    Ok(Json(ReviewPage { jobs, next: found.next }))
}

/// Returns the verifications that await a review, for a reviewer.
pub(crate) async fn awaited_reviews(app: &App, caller: &Caller, query: &Query) -> Result<AwaitedReviews, ApiError> {
    let found = find(app, caller, query).await?;
    let seen = found.records.iter().filter_map(|record| {
        caller.foreign(app, (&record.account, &record.header.job_id), "saw a job that awaits a review")
    });
    app.records.record_accesses(seen.collect()).await?;
    Ok(found)
}

async fn find(app: &App, caller: &Caller, query: &Query) -> Result<AwaitedReviews, ApiError> {
    let limit = query.number("limit", DEFAULT_LIMIT, 1, MAX_LIMIT)?;
    let before = query.text("before")?.map(|text| {
        let message = "before must be the id of a job";
        text.parse::<JobId>().map_err(|_| ApiError::invalid("before", Some(text), message))
    });
    let mut filter = JobFilter {
        kind: JobKind::Verify,
        account: caller.read_scope().cloned(),
        status: Some(JobStatus::Completed),
        before: before.transpose()?,
        limit: BATCH,
        ..JobFilter::default()
    };
    let mut records = Vec::new();
    for _ in 0..MAX_READ / BATCH {
        let (found, _) = app.records.jobs(&filter).await?;
        let is_last = found.len() < BATCH as usize;
        for record in found {
            filter.before = Some(record.header.job_id);
            if !awaits_review(&record) {
                continue;
            }
            records.push(record);
            if records.len() == limit as usize {
                return Ok(AwaitedReviews { records, next: filter.before });
            }
        }
        if is_last {
            return Ok(AwaitedReviews { records, next: None });
        }
    }
    Ok(AwaitedReviews { records, next: filter.before })
}

fn awaits_review(record: &JobRecord) -> bool {
    let report = record.report(&[]);
    report.needs_review && report.review.is_none() && report.erased_at.is_none()
}
