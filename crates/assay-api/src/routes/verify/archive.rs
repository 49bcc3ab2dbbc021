//! `GET /verify/{job_id}/archive`: everything about a job in one zip file, as `assay verify --out` writes it.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use crate::archive::{ArchiveParts, send};
use crate::http::{ApiError, Caller};
use crate::routes::jobs::{ReadAccess, Verification};
use crate::routes::query::Query;
use crate::routes::verify::report::with_result;
use crate::state::App;

/// Download the archive of a verification
///
/// Returns one zip file with the report, its statement, its page, the scenario, the policy (for its owner) and every
/// file of evidence, in the layout of `assay verify --out`. It is sent as it is read, without compression; ranges are
/// not supported (`assay fetch` downloads file by file and can be repeated). An account has one download at a time, and
/// one below 64 KiB/s is interrupted. Until the job is COMPLETED, the response is 409.
#[utoipa::path(
    get, path = "/verify/{job_id}/archive", operation_id = "verification_archive", tag = "verify",
    params(
        ("job_id" = uuid::Uuid, Path, description = "The job's id"),
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
    Verification { record, .. }: Verification<ReadAccess>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let evidence = with_evidence(query.as_deref())?;
    let job = with_result(record, "there is an archive")?;
    caller.record_access(&app, (&job.account, &job.header.job_id), "downloaded an archive").await?;
    send(&app, &caller, &job, ArchiveParts::of(&caller, &job, evidence)).await
}

/// Parses from the query whether the archive has the files of the episodes; true if absent.
pub(in crate::routes) fn with_evidence(query: Option<&str>) -> Result<bool, ApiError> {
    match Query::parse(query).text("evidence")? {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        other => Err(ApiError::invalid("evidence", other, "evidence must be true or false")),
    }
}
