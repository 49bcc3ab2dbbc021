//! `POST /workers/{name}/drain`: lets a worker finish what it runs and end, or claim again.

use assay_store::WorkerRecord;
use axum::Extension;
use axum::extract::{Path, Request, State};
use serde::Deserialize;

use super::existing;
use super::list::WorkerView;
use crate::http::{ApiError, Caller, ErrorCode, Json, json_body, read_body};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Request to drain a worker, or to let it claim again.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct DrainRequest {
    /// True to let it end, false to let it claim again.
    drain: bool,
}

/// Drain a worker
///
/// A draining worker finishes the episodes that it runs, gets nothing new, and ends. With `drain` false it may claim
/// again once it is started. 409 if its token is refused.
#[utoipa::path(
    post, path = "/workers/{name}/drain", operation_id = "drain_worker", tag = "workers",
    params(("name" = String, Path, description = "Name of the worker", pattern = "^[a-z0-9][a-z0-9-]{0,62}$")),
    request_body(content = ref(schema_of::<DrainRequest>())),
    responses((status = 200, body = ref(schema_of::<WorkerView>())), (status = 400), (status = 404), (status = 408), (status = 409), (status = 413), (status = 415)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json<WorkerView>, ApiError> {
    existing(&name)?;
    let wish: DrainRequest = read_body(&json_body(&app, request).await?, false)?;
    Ok(Json(WorkerView::new(&app, drain_worker(&app, &caller, &name, wish.drain).await?)))
}

/// Lets a worker end, or claim again. Returns its record.
///
/// # Errors
/// NOT_FOUND; CONFLICT: its token is refused.
pub(crate) async fn drain_worker(
    app: &App,
    caller: &Caller,
    name: &str,
    drain: bool,
) -> Result<WorkerRecord, ApiError> {
    let name = existing(name)?;
    let changed = app.records.drain_worker(&name, drain, app.clock.now()).await?;
    let worker = app.records.worker_named(&name).await?.ok_or_else(|| ApiError::not_found("worker"))?;
    if !changed {
        let message = format!("the token of worker {name} is refused; create another worker");
        return Err(ApiError::new(ErrorCode::Conflict, message));
    }
    app.worker_fleet.wake_all();
    tracing::info!(key.id = %caller.key.id, worker = %name, drain, "changed a worker");
    Ok(worker)
}
