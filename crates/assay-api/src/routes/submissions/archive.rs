//! `GET /submissions/{id}/archive`: everything about an entry of a closed season in one zip file.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use crate::archive::{ArchiveParts, send};
use crate::http::{ApiError, Caller, ErrorCode};
use crate::routes::jobs::{ReleasedAccess, Submission};
use crate::routes::submissions::view::{SubmissionRun, released};
use crate::routes::verify::archive::with_evidence;
use crate::state::App;

/// Download the archive of a submission
///
/// Returns one zip file like that of a verification, for every key once the season is closed; only the owner gets the
/// policy. Until then, the response is 409.
#[utoipa::path(
    get, path = "/submissions/{id}/archive", operation_id = "submission_archive", tag = "arena",
    params(
        ("id" = uuid::Uuid, Path, description = "The submission's id"),
        ("run" = inline(Option<SubmissionRun>), Query, description = "`closing` selects the rerun of a top entry on fresh worlds at the season's end; `season` if absent"),
        ("evidence" = inline(Option<bool>), Query, description = "`false` leaves out the files of the episodes"),
    ),
    responses(
        (status = 200, description = "The zip file", content_type = "application/zip"),
        (status = 400), (status = 404), (status = 409), (status = 410), (status = 429),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Submission { published, .. }: Submission<ReleasedAccess>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let (run, evidence) = (SubmissionRun::of(query.as_deref())?, with_evidence(query.as_deref())?);
    if published.is_open() {
        let message = "the season is open: there is an archive once it is closed";
        return Err(ApiError::new(ErrorCode::Conflict, message));
    }
    let job = released(&app, published, run, "there is an archive").await?;
    send(&app, &caller, &job, ArchiveParts::of(&caller, &job, evidence)).await
}
