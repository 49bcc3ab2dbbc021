//! `POST /submissions/{id}/choose`: selects the submission that counts for its account, instead of the latest.

use assay_model::JobStatus;
use assay_store::ChooseOutcome;
use axum::Extension;
use axum::extract::{Path, Request, State};

use crate::http::{ApiError, Caller, ErrorCode, Json, no_body};
use crate::routes::jobs::{Submission, WriteAccess};
use crate::routes::openapi::body::schema_of;
use crate::routes::submissions::view::{SubmissionDetail, detail};
use crate::state::App;

/// Choose the submission that counts
///
/// Makes this COMPLETED submission count for its account on the leaderboard of its season, instead of the latest one,
/// until another one is chosen. The season must be open.
#[utoipa::path(
    post, path = "/submissions/{id}/choose", operation_id = "choose_submission", tag = "arena",
    params(("id" = uuid::Uuid, Path, description = "The submission's id")),
    responses(
        (status = 200, description = "The submission; it counts on the leaderboard until another one is chosen", body = ref(schema_of::<SubmissionDetail>())),
        (status = 400), (status = 404), (status = 409), (status = 410),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<SubmissionDetail>, ApiError> {
    no_body(request).await?;
    let Submission { published, .. } = Submission::<WriteAccess>::named(&app, &caller, &id).await?;
    let without_result =
        || ApiError::new(ErrorCode::Conflict, "only a COMPLETED submission can count: wait for its result");
    if published.status() != JobStatus::Completed {
        return Err(without_result());
    }
    let (owner, job) = (&published.record().account, published.record().header.job_id);
    caller.record_access(&app, (owner, &job), "chose a submission").await?;
    match app.records.choose_submission(caller.write_scope(), job).await? {
        ChooseOutcome::Done => detail(&app, &published).await.map(Json),
        ChooseOutcome::NotCompleted => Err(without_result()),
        ChooseOutcome::NotOpen => Err(ApiError::new(ErrorCode::Conflict, "its season no longer accepts changes")),
        ChooseOutcome::NotFound => Err(ApiError::not_found("submission")),
    }
}
