//! `POST /worker/v1/leave`: the worker ends. What it holds, or is being handed, goes back to the queue at once.

use axum::extract::State;
use axum::http::StatusCode;

use super::identity::RegisteredWorker;
use crate::http::ApiError;
use crate::state::App;

pub(super) async fn handle(
    State(app): State<App>,
    RegisteredWorker(worker): RegisteredWorker,
) -> Result<StatusCode, ApiError> {
    for work in app.records.leave_worker(&worker.name, worker.generation, app.clock.now()).await? {
        app.queue.publish(work).await;
    }
    app.give_back_tasks(&worker.name);
    tracing::info!(worker = %worker.name, "worker left");
    Ok(StatusCode::NO_CONTENT)
}
