//! `POST /verify/{job_id}/cancel`: cancels a job. Idempotent; a conflict if the job ended otherwise.

use assay_model::{JobId, JobStatus};
use assay_store::CancelOutcome;
use axum::Extension;
use axum::extract::{Path, Request, State};

use crate::http::{ApiError, Caller, ErrorCode, Json, no_body};
use crate::routes::jobs::{Verification, WriteAccess};
use crate::routes::openapi::body::schema_of;
use crate::routes::verify::get::show;
use crate::state::App;
use crate::views::JobView;

/// Cancel a verification
///
/// Cancels a job that has not ended. The operation is idempotent; a job that ended otherwise is a conflict.
#[utoipa::path(
    post, path = "/verify/{job_id}/cancel", operation_id = "cancel_verification", tag = "verify",
    params(("job_id" = uuid::Uuid, Path, description = "The job's id")),
    responses((status = 200, description = "The cancelled job", body = ref(schema_of::<JobView>())), (status = 400), (status = 404), (status = 409), (status = 410)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<JobView>, ApiError> {
    no_body(request).await?;
    let job = cancel(&app, &caller, &id).await?;
    show(&app, &caller, job).await.map(Json)
}

/// Cancels the verification with this id.
pub(crate) async fn cancel(app: &App, caller: &Caller, id: &str) -> Result<JobId, ApiError> {
    let Verification { record, .. } = Verification::<WriteAccess>::named(app, caller, id).await?;
    let job = record.header.job_id;
    caller.record_access(app, (&record.account, &job), "cancelled a job").await?;
    match app.records.cancel_job(caller.write_scope(), job, app.clock.now()).await? {
        CancelOutcome::Done | CancelOutcome::Already(JobStatus::Cancelled) => {
            if let Err(error) = app.servers.remove(job) {
                // The worker's maintenance retries.
                tracing::warn!(job.id = %job, %error, "could not remove the credentials of its policy server");
            }
            app.policy_connections.end(job);
            Ok(job)
        }
        CancelOutcome::Already(status) => {
            Err(ApiError::new(ErrorCode::Conflict, format!("the job is already {}", status.as_str())))
        }
        CancelOutcome::NotFound => Err(ApiError::not_found("job")),
    }
}
