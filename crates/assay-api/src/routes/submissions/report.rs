//! `GET /submissions/{id}/report` (a page) and `/report.json` (a document), once the season is closed.

use assay_store::SignedDocument;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use crate::http::ApiError;
use crate::routes::jobs::{ReleasedAccess, Submission};
use crate::routes::openapi::body::schema_of;
use crate::routes::submissions::view::{SubmissionRun, released};
use crate::routes::verify::report::{page_of, signed};
use crate::state::App;
use crate::views::JobView;

/// Get the report of a submission as a page
///
/// Returns a self-contained HTML page. Until the season is closed, the response is 403.
#[utoipa::path(
    get, path = "/submissions/{id}/report", operation_id = "submission_report_page", tag = "arena",
    params(
        ("id" = uuid::Uuid, Path, description = "The submission's id"),
        ("run" = inline(Option<SubmissionRun>), Query, description = "`closing` selects the rerun of a top entry on fresh worlds at the season's end; `season` if absent"),
    ),
    responses((status = 200, description = "One self-contained page", content_type = "text/html"), (status = 400), (status = 403), (status = 404), (status = 409), (status = 410)),
)]
pub(in crate::routes) async fn page(
    State(app): State<App>,
    Submission { published, .. }: Submission<ReleasedAccess>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    page_of(&app, released(&app, published, SubmissionRun::of(query.as_deref())?, "there is a report").await?).await
}

/// Get the report of a submission
///
/// Returns exactly the bytes that the statement's hash covers. Until the season is closed, the response is 403.
#[utoipa::path(
    get, path = "/submissions/{id}/report.json", operation_id = "submission_report", tag = "arena",
    params(
        ("id" = uuid::Uuid, Path, description = "The submission's id"),
        ("run" = inline(Option<SubmissionRun>), Query, description = "`closing` selects the rerun of a top entry on fresh worlds at the season's end; `season` if absent"),
    ),
    responses((status = 200, description = "The job as it was signed, with relative paths", body = ref(schema_of::<JobView>())), (status = 400), (status = 403), (status = 404), (status = 409), (status = 410)),
)]
pub(in crate::routes) async fn document(
    State(app): State<App>,
    Submission { published, .. }: Submission<ReleasedAccess>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let job = released(&app, published, SubmissionRun::of(query.as_deref())?, "there is a report").await?;
    signed(&app, &job, SignedDocument::Report).await
}
