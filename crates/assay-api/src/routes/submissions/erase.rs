//! `DELETE /submissions/{id}`: erases the policy and evidence of a submission, once it is cancelled or its season is
//! closed: until then, the policy may be needed for the rerun at the end of the season. The record stays, and so does
//! the leaderboard.

use assay_model::JobStatus;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use crate::http::{ApiError, Caller, ErrorCode};
use crate::routes::jobs::{Submission, WriteAccess};
use crate::routes::verify::erase::erase;
use crate::state::App;

/// Erase a submission
///
/// Removes the policy and evidence of a submission that is CANCELLED, or whose season is closed; until then, the policy
/// may be needed for the rerun at the end of the season. The record stays, and with it the place on the leaderboard.
#[utoipa::path(
    delete, path = "/submissions/{id}", operation_id = "erase_submission", tag = "arena",
    params(("id" = uuid::Uuid, Path, description = "The submission's id")),
    responses(
        (status = 204, description = "Policy and evidence are erased, including those of its rerun. The record \
            stays: the submission is listed with `erased_at`, and all other requests about it are GONE"),
        (status = 400), (status = 404), (status = 409), (status = 410),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Submission { published, .. }: Submission<WriteAccess>,
) -> Result<StatusCode, ApiError> {
    // A cancelled one is never run again.
    if published.is_open() && published.status() != JobStatus::Cancelled {
        let message = "the season is not closed yet, and the policy may have to be rerun; erase it after that";
        return Err(ApiError::new(ErrorCode::Conflict, message));
    }
    erase(&app, &caller, published.record().header.job_id).await
}
