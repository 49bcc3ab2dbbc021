//! `GET /verify/{job_id}/report` (a page) and `/report.json` (a document), with the content that `assay verify --out`
//! writes.

use assay_model::JobStatus;
use assay_store::{JobRecord, SignedDocument};
use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::http::{ApiError, Caller, ErrorCode};
use crate::report_assets::{MAX_EPISODES, report_page};
use crate::routes::jobs::{ReadAccess, Verification};
use crate::routes::openapi::body::schema_of;
use crate::state::App;
use crate::views::{EvidenceUrls, JobView, add_renderings};

/// The page has no script and loads nothing from outside of this service.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Get the report of a verification as a page
///
/// Returns a self-contained HTML page with the verdict, the scores, the violations and their times, and every episode.
/// Until the job is COMPLETED, the response is 409.
#[utoipa::path(
    get, path = "/verify/{job_id}/report", operation_id = "verification_report_page", tag = "verify",
    params(("job_id" = uuid::Uuid, Path, description = "The job's id")),
    responses((status = 200, description = "One self-contained page", content_type = "text/html"), (status = 400), (status = 404), (status = 409), (status = 410)),
)]
pub(in crate::routes) async fn page(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Verification { record, .. }: Verification<ReadAccess>,
) -> Result<Response, ApiError> {
    let job = with_result(record, "there is a report")?;
    caller.record_access(&app, (&job.account, &job.header.job_id), "read a report").await?;
    page_of(&app, job).await
}

/// Returns the report page of a job.
pub(in crate::routes) async fn page_of(app: &App, record: JobRecord) -> Result<Response, ApiError> {
    let mut episodes = app.records.episodes(record.header.job_id, 0, MAX_EPISODES).await?;
    add_renderings(app, &record, &mut episodes).await?;
    let report = record.report(&episodes);
    let addresses = EvidenceUrls::of(app, &record).linked(&episodes);
    let page = report_page(app, report, Some(addresses)).await?;
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    Ok((headers, page).into_response())
}

/// Get the report of a verification
///
/// Returns the report as it was signed: exactly the bytes that the statement's hash covers, with relative paths and
/// hashes, and without URLs. Every request returns the same bytes. Until the job is COMPLETED, the response is 409.
#[utoipa::path(
    get, path = "/verify/{job_id}/report.json", operation_id = "verification_report", tag = "verify",
    params(("job_id" = uuid::Uuid, Path, description = "The job's id")),
    responses((status = 200, description = "The job as it was signed, with relative paths", body = ref(schema_of::<JobView>())), (status = 400), (status = 404), (status = 409), (status = 410)),
)]
pub(in crate::routes) async fn document(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Verification { record, .. }: Verification<ReadAccess>,
) -> Result<Response, ApiError> {
    let job = with_result(record, "there is a report")?;
    caller.record_access(&app, (&job.account, &job.header.job_id), "read a report").await?;
    signed(&app, &job, SignedDocument::Report).await
}

/// Returns the job if it has a result, otherwise an error.
pub(in crate::routes) fn with_result(record: JobRecord, what: &str) -> Result<JobRecord, ApiError> {
    match record.state.status() {
        JobStatus::Completed => Ok(record),
        other => Err(ApiError::new(
            ErrorCode::Conflict,
            format!("{what} once the job is COMPLETED; it is {}", other.as_str()),
        )),
    }
}

/// Returns a signed document as a response, always with the same bytes.
pub(in crate::routes) async fn signed(
    app: &App,
    job: &JobRecord,
    document: SignedDocument,
) -> Result<Response, ApiError> {
    let text = signed_text(app, job, document).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// Returns the bytes of a signed document.
pub(in crate::routes) async fn signed_text(
    app: &App,
    job: &JobRecord,
    document: SignedDocument,
) -> Result<Vec<u8>, ApiError> {
    // Missing only if the job was erased a moment ago.
    app.records.signed_document(job.header.job_id, document).await?.ok_or_else(|| ApiError::not_found("job"))
}
