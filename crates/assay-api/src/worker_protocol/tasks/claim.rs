//! `POST /worker/v1/tasks/claim`: hands out a task, or waits for one.

use std::time::Duration;

use assay_model::{LeasedTask, MAX_CLAIM_WAIT_S, TaskClaimAnswer, TaskClaimRequest, WorkerTask};
use assay_store::{WorkerRecord, WorkerState};
use axum::extract::{Request, State};
use tokio::time::Instant;

use super::super::identity::RegisteredWorker;
use super::super::receive;
use super::lease::task_lease;
use crate::disk::disk_error;
use crate::http::{ApiError, Json};
use crate::state::App;
use crate::worker_fleet::TaskWorker;

/// Interval at which a waiting worker looks for tasks: a client waits for them.
const LOOK: Duration = Duration::from_millis(300);

pub(super) async fn handle(
    State(app): State<App>,
    worker: RegisteredWorker,
    request: Request,
) -> Result<Json<TaskClaimAnswer>, ApiError> {
    let request: TaskClaimRequest = receive::json(&app, &worker.0.name, request).await?;
    let until = Instant::now() + Duration::from_secs(request.wait_s.min(MAX_CLAIM_WAIT_S).into());
    let mut record = worker.0.clone();
    loop {
        let drain = record.state == WorkerState::Draining;
        let sees = !drain && record.trusted && app.worker_fleet.sees_tasks(&app.tasks).await;
        if sees {
            // The worker's next request meets a change of its state otherwise.
            record = worker.again(&app).await?;
            if let Some(task) = next(&app, &record)? {
                return Ok(Json(TaskClaimAnswer { task: Some(task), drain }));
            }
        }
        let left = until.saturating_duration_since(Instant::now());
        if drain || left.is_zero() || app.readiness.get().is_err() {
            return Ok(Json(TaskClaimAnswer { task: None, drain }));
        }
        tokio::time::sleep(left.min(LOOK)).await;
    }
}

fn next(app: &App, worker: &WorkerRecord) -> Result<Option<LeasedTask>, ApiError> {
    let Some(able) = TaskWorker::of(worker, &app.worker_fleet) else { return Ok(None) };
    let failed = |error| disk_error(app, &error);
    for id in app.tasks.queued().map_err(failed)? {
        let Some(text) = app.tasks.request(id).map_err(failed)? else { continue };
        let task: WorkerTask = serde_json::from_slice(&text).map_err(|error| ApiError::internal("a task", &error))?;
        if !able.can_do(&task) {
            continue;
        }
        if let Some(fence) = app.tasks.claim(id, &worker.name).map_err(failed)? {
            tracing::info!(task.id = %id, worker = %worker.name, "task claimed");
            return Ok(Some(LeasedTask { lease: task_lease(app, worker, fence), task }));
        }
    }
    Ok(None)
}
