//! The right to one claim of a task, as text that only this service can make.

use assay_model::WorkerTask;
use assay_store::{TaskFence, WorkerRecord};
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::super::identity::RegisteredWorker;
use super::super::lease::lost;
use crate::disk::disk_error;
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Beginning of such a right, by which renewals distinguish it from that to a shard.
pub(in super::super) const TASK_LEASE: &str = "task.";

/// A claim that the worker of the request holds now.
#[derive(Debug)]
pub(super) struct HeldTask {
    pub(super) worker: WorkerRecord,
    pub(super) fence: TaskFence,
    pub(super) task: WorkerTask,
}

impl FromRequestParts<App> for HeldTask {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let RegisteredWorker(worker) = RegisteredWorker::from_request_parts(parts, app).await?;
        let Path(values) = Path::<std::collections::HashMap<String, String>>::from_request_parts(parts, app)
            .await
            .map_err(|_| ApiError::not_found("lease"))?;
        let lease = values.get("lease").ok_or_else(|| ApiError::not_found("lease"))?;
        let fence = task_fence(app, &worker, lease)?;
        if !app.tasks.holds(fence) {
            return Err(lost());
        }
        let text = app.tasks.request(fence.id).map_err(|error| disk_error(app, &error))?.ok_or_else(lost)?;
        let task = serde_json::from_slice(&text).map_err(|error| ApiError::internal("a task", &error))?;
        Ok(Self { worker, fence, task })
    }
}

/// Returns the right to a claim.
pub(super) fn task_lease(app: &App, worker: &WorkerRecord, fence: TaskFence) -> String {
    let mac = app.signer.task_mac(worker.name.as_str(), worker.generation, fence);
    format!("{TASK_LEASE}{}.{}.{mac}", fence.id, fence.attempt)
}

/// Returns the claim that a right names.
///
/// # Errors
/// 403: it is not this worker's, not from its last registration, or the worker is not trusted.
pub(in super::super) fn task_fence(app: &App, worker: &WorkerRecord, lease: &str) -> Result<TaskFence, ApiError> {
    let named = parse(lease).filter(|fence| worker.trusted && task_lease(app, worker, *fence) == lease);
    named.ok_or_else(|| ApiError::new(ErrorCode::Forbidden, "this lease is not yours"))
}

fn parse(lease: &str) -> Option<TaskFence> {
    let mut parts = lease.strip_prefix(TASK_LEASE)?.split('.');
    Some(TaskFence { id: parts.next()?.parse().ok()?, attempt: parts.next()?.parse().ok()? })
}
