//! `POST /verify/{job_id}/review`: records a human decision beside the verdict. The measurements stay unchanged.

use assay_model::{JobId, MAX_REVIEW_REASON_CHARS, Review, ReviewDecision, sanitise};
use assay_store::{MAX_REVIEWS, ReviewOutcome};
use axum::Extension;
use axum::extract::{Path, Request, State};
use serde::Deserialize;

use crate::http::{ApiError, Caller, ErrorCode, Json, json_body, read_body};
use crate::routes::jobs::{ReadAccess, Verification};
use crate::routes::openapi::body::schema_of;
use crate::routes::verify::get::show;
use crate::state::App;
use crate::views::JobView;

/// A decision by a human reviewer.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewReview {
    /// The decision.
    pub(crate) decision: ReviewDecision,
    /// Reason for the decision: 1 to 4096 characters, at least one of them visible.
    #[schemars(pattern("[^\\s\\x00-\\x1f\\x7f-\\x9f]"), length(min = 1, max = 4096))]
    pub(crate) reason: String,
}

/// Review a verification
///
/// Records a human decision on a COMPLETED job, beside the measurements, which never change. A job's `needs_review`
/// indicates whether it requires a review.
#[utoipa::path(
    post, path = "/verify/{job_id}/review", operation_id = "review_verification", tag = "verify",
    params(("job_id" = uuid::Uuid, Path, description = "The job's id")),
    request_body(content = ref(schema_of::<NewReview>()), example = json!({
        "decision": "accepted",
        "reason": "The near miss in episode 2 is the camera's shadow; see the video at 4.1 s.",
    })),
    responses(
        (status = 200, description = "The job with its review. A further review replaces the decision; the earlier \
            one stays on record", body = ref(schema_of::<JobView>())),
        (status = 400), (status = 404), (status = 408), (status = 409), (status = 410), (status = 413), (status = 415),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<JobView>, ApiError> {
    let review: NewReview = read_body(&json_body(&app, request).await?, false)?;
    let job = review_verification(&app, &caller, &id, review).await?;
    show(&app, &caller, job).await.map(Json)
}

/// Records a decision; returns the id of the job.
pub(crate) async fn review_verification(
    app: &App,
    caller: &Caller,
    id: &str,
    review: NewReview,
) -> Result<JobId, ApiError> {
    let reason = checked(&review.reason)?;
    let Verification { record, .. } = Verification::<ReadAccess>::named(app, caller, id).await?;
    let (job, decision) = (record.header.job_id, review.decision.as_str());
    caller.record_access(app, (&record.account, &job), "reviewed a job").await?;
    let review =
        Review { decision: review.decision, reason, reviewer: caller.key.account.to_string(), at: app.clock.now() };
    match app.records.review_job(caller.read_scope(), job, &caller.key.id, review).await? {
        ReviewOutcome::Done => {}
        ReviewOutcome::Not(status) => {
            let message = format!("there is nothing to review: the job is {}", status.as_str());
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        ReviewOutcome::TooMany => {
            let message = format!("the job already has {MAX_REVIEWS} reviews, the maximum");
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        ReviewOutcome::NotFound => return Err(ApiError::not_found("job")),
    }
    tracing::info!(key.id = %caller.key.id, account = %caller.key.account, job.id = %job, decision, "reviewed a job");
    Ok(job)
}

/// Returns the reason without control characters.
fn checked(reason: &str) -> Result<String, ApiError> {
    let reason = sanitise(reason.trim(), usize::MAX);
    if reason.is_empty() || reason.chars().count() > MAX_REVIEW_REASON_CHARS {
        let message = format!("reason must have 1 to {MAX_REVIEW_REASON_CHARS} characters, at least one visible");
        return Err(ApiError::invalid("reason", Some(&reason), message));
    }
    Ok(reason)
}
