//! `DELETE /workers/{name}`: refuses a worker's token from now on.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::existing;
use crate::http::{ApiError, Caller};
use crate::state::App;

/// Revoke a worker
///
/// Refuses the worker's token immediately and queues the shards again that it holds; whatever it still sends has no
/// effect. Results that it wrote stay. The operation is idempotent.
#[utoipa::path(
    delete, path = "/workers/{name}", operation_id = "revoke_worker", tag = "workers",
    params(("name" = String, Path, description = "Name of the worker", pattern = "^[a-z0-9][a-z0-9-]{0,62}$")),
    responses((status = 204, description = "Revoked"), (status = 400), (status = 404)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    revoke_worker(&app, &caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revokes a worker.
///
/// # Errors
/// NOT_FOUND.
pub(crate) async fn revoke_worker(app: &App, caller: &Caller, name: &str) -> Result<(), ApiError> {
    let name = existing(name)?;
    let removal = app.records.revoke_worker(&name, app.clock.now()).await?;
    let removal = removal.ok_or_else(|| ApiError::not_found("worker"))?;
    tracing::info!(key.id = %caller.key.id, worker = %name, requeued = removal.requeued.len(), "revoked a worker");
    app.give_back_tasks(&name);
    app.worker_fleet.wake_all();
    for work in removal.requeued {
        app.queue.publish(work).await;
    }
    Ok(())
}
