//! `DELETE /verify/{job_id}`: erases a job's policy and evidence. Its record stays in lists and statistics; every other
//! request about it is GONE. A job that has not ended must be cancelled first.

use assay_model::JobId;
use assay_store::{EraseOutcome, EvidenceRemoval, Removal};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use crate::http::{ApiError, Caller, ErrorCode};
use crate::maintenance;
use crate::routes::erased;
use crate::routes::jobs::{Verification, WriteAccess};
use crate::state::App;

/// Erase a verification
///
/// Removes the policy and evidence; the record is kept without them. A job that has not ended cannot be erased (409):
/// cancel it first.
#[utoipa::path(
    delete, path = "/verify/{job_id}", operation_id = "erase_verification", tag = "verify",
    params(("job_id" = uuid::Uuid, Path, description = "The job's id")),
    responses(
        (status = 204, description = "Policy archive (unless another job has the same), evidence, report and statement \
            are erased. The record stays: the job is listed with `erased_at`, and all other requests about it are \
            GONE"),
        (status = 400), (status = 404), (status = 409), (status = 410),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Verification { record, .. }: Verification<WriteAccess>,
) -> Result<StatusCode, ApiError> {
    erase(&app, &caller, record.header.job_id).await
}

/// Erases a verification or submission that has ended.
pub(in crate::routes) async fn erase(app: &App, caller: &Caller, job: JobId) -> Result<StatusCode, ApiError> {
    let missing = || ApiError::not_found("job");
    let record = app.records.job(caller.write_scope(), job).await?.ok_or_else(missing)?;
    caller.record_access(app, (&record.account, &job), "erased a job").await?;
    match app.records.erase_job(caller.write_scope(), job, app.clock.now()).await? {
        EraseOutcome::Done => {}
        EraseOutcome::Already(at) => return Err(erased::erased(at)),
        EraseOutcome::Open(status) => {
            let message = format!("the job is {}: cancel it first, or wait for its end", status.as_str());
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        EraseOutcome::NotFound => return Err(missing()),
    }
    tracing::info!(key.id = %caller.key.id, account = %caller.key.account, job.id = %job, "erased a job");
    let evidence = EvidenceRemoval::All;
    let removal = Removal { job_id: job, erased: true, evidence, policy_path: record.policy_path };
    if let Err(error) = maintenance::remove(app, &removal).await {
        // The erasure is recorded; maintenance retries until the files are gone.
        tracing::warn!(job.id = %job, %error, "files of an erased job could not be removed yet");
    }
    Ok(StatusCode::NO_CONTENT)
}
