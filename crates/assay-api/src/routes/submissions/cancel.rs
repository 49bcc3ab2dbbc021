//! `POST /submissions/{id}/cancel`: cancels a submission. Idempotent; a conflict if the published state says that it
//! ended otherwise. A submission whose end is not published yet is cancelled like a running one.

use assay_model::JobStatus;
use assay_store::CancelOutcome;
use axum::Extension;
use axum::extract::{Path, Request, State};

use crate::http::{ApiError, Caller, ErrorCode, Json, no_body};
use crate::routes::jobs::{Submission, WriteAccess};
use crate::routes::openapi::body::schema_of;
use crate::routes::submissions::view::{SubmissionDetail, detail};
use crate::state::App;

/// Cancel a submission
///
/// Cancels a submission that has not ended. The operation is idempotent; a submission that is known to have ended
/// otherwise is a conflict. A cancelled submission still counts against the daily quota.
#[utoipa::path(
    post, path = "/submissions/{id}/cancel", operation_id = "cancel_submission", tag = "arena",
    params(("id" = uuid::Uuid, Path, description = "The submission's id")),
    responses((status = 200, description = "The cancelled submission; it still counts against the daily limit", body = ref(schema_of::<SubmissionDetail>())), (status = 400), (status = 404), (status = 410), (status = 409)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<SubmissionDetail>, ApiError> {
    no_body(request).await?;
    let Submission { published, .. } = Submission::<WriteAccess>::named(&app, &caller, &id).await?;
    let job = published.record().header.job_id;
    caller.record_access(&app, (&published.record().account, &job), "cancelled a submission").await?;
    match app.records.cancel_job(caller.write_scope(), job, app.clock.now()).await? {
        CancelOutcome::Done | CancelOutcome::Already(JobStatus::Cancelled) => {
            let Submission { published, .. } = Submission::<WriteAccess>::load(&app, &caller, job).await?;
            detail(&app, &published).await.map(Json)
        }
        CancelOutcome::Already(status) => {
            Err(ApiError::new(ErrorCode::Conflict, format!("the submission is already {}", status.as_str())))
        }
        CancelOutcome::NotFound => Err(ApiError::not_found("submission")),
    }
}
