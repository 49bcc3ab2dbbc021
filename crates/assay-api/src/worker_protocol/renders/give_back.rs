//! `POST /worker/v1/renders/{lease}/return`: gives a rendering back.

use assay_model::{RenderReturn, sanitise};
use assay_store::RenderReturnOutcome;
use axum::extract::{Request, State};
use axum::http::StatusCode;

use super::super::receive;
use super::lease::HeldRender;
use crate::http::ApiError;
use crate::state::App;

/// Note for people about a part that no worker could render: the workers' own words stay in the log.
const FAILED: &str = "it could not be rendered by the workers that tried";
/// Maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 2048;

pub(super) async fn handle(State(app): State<App>, held: HeldRender, request: Request) -> Result<StatusCode, ApiError> {
    let RenderReturn { failure } = receive::json(&app, &held.worker.name, request).await?;
    let (fence, part) = (held.claim.fence, held.claim.part);
    if let Some(reason) = &failure {
        let reason = sanitise(reason, MAX_MESSAGE_BYTES);
        let worker = &held.worker.name;
        tracing::warn!(job.id = %fence.job_id, episode = fence.episode, %worker, reason, "rendering failed on a worker");
    }
    let note = failure.map(|_| format!("the {} is missing: {FAILED}", part.as_str()));
    if app.records.return_render(fence, note.as_deref()).await? == RenderReturnOutcome::GivenUp {
        tracing::error!(job.id = %fence.job_id, part = part.as_str(), "rendering abandoned");
    }
    Ok(StatusCode::NO_CONTENT)
}
