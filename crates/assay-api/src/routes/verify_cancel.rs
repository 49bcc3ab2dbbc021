//! `POST /verify/{job_id}/cancel`: stops a job. Asking again is harmless; a job that ended otherwise is a conflict.

use assay_model::{JobId, JobReport, JobStatus};
use assay_store::Cancelled;
use axum::extract::{Path, State};
use axum::{Extension, Json};

use super::verify_get;
use crate::http::{ApiError, Caller, Code};
use crate::state::App;

pub(super) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<JobReport>, ApiError> {
    let missing = || ApiError::not_found("job");
    let job: JobId = id.parse().map_err(|_| missing())?;
    match app.records.cancel_job(caller.rules(), job, app.clock.now()).await? {
        Cancelled::Done | Cancelled::Already(JobStatus::Cancelled) => {
            verify_get::show(&app, &caller, &id).await.map(Json)
        }
        Cancelled::Already(status) => {
            Err(ApiError::new(Code::Conflict, format!("the job is {} already", status.as_str())))
        }
        Cancelled::NotFound => Err(missing()),
    }
}
