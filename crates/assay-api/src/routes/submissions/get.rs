//! `GET /submissions/{id}`: the state and result of a submission.

use axum::Extension;
use axum::extract::State;

use crate::http::{ApiError, Caller, Json};
use crate::routes::jobs::{ReadAccess, Submission};
use crate::routes::openapi::body::schema_of;
use crate::routes::submissions::view::{SubmissionDetail, detail};
use crate::state::App;

/// Get a submission
///
/// Returns the state, progress and result. While its season is open, only aggregates are shown, updated every 15 s.
#[utoipa::path(
    get, path = "/submissions/{id}", operation_id = "submission", tag = "arena",
    params(("id" = uuid::Uuid, Path, description = "The submission's id")),
    responses((status = 200, description = "The submission; no episodes before its season is closed", body = ref(schema_of::<SubmissionDetail>())), (status = 400), (status = 404), (status = 410)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Submission { published, .. }: Submission<ReadAccess>,
) -> Result<Json<SubmissionDetail>, ApiError> {
    let job = published.record();
    caller.record_access(&app, (&job.account, &job.header.job_id), "read a submission").await?;
    detail(&app, &published).await.map(Json)
}
