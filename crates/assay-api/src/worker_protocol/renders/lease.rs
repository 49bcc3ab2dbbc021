//! The right to one claim of a rendering, as text that only this service can make.

use assay_model::JobId;
use assay_store::{RenderClaim, RenderFence, WorkerRecord};
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::super::identity::RegisteredWorker;
use super::super::lease::lost;
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Beginning of such a right, by which renewals distinguish it from that to a shard.
pub(in super::super) const RENDER_LEASE: &str = "render.";

/// A claim that the worker of the request holds now.
#[derive(Debug)]
pub(super) struct HeldRender {
    pub(super) worker: WorkerRecord,
    pub(super) claim: RenderClaim,
}

impl FromRequestParts<App> for HeldRender {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let RegisteredWorker(worker) = RegisteredWorker::from_request_parts(parts, app).await?;
        let Path(values) = Path::<std::collections::HashMap<String, String>>::from_request_parts(parts, app)
            .await
            .map_err(|_| ApiError::not_found("lease"))?;
        let lease = values.get("lease").ok_or_else(|| ApiError::not_found("lease"))?;
        let fence = render_fence(app, &worker, lease)?;
        let claim = app.records.leased_render(fence).await?.ok_or_else(lost)?;
        Ok(Self { worker, claim })
    }
}

/// Returns the right to a claim.
pub(super) fn render_lease(app: &App, worker: &WorkerRecord, fence: RenderFence) -> String {
    let RenderFence { job_id, episode, attempt } = fence;
    let mac = app.signer.render_mac(worker.name.as_str(), worker.generation, fence);
    format!("{RENDER_LEASE}{job_id}.{episode}.{attempt}.{mac}")
}

/// Returns the claim that a right names.
///
/// # Errors
/// 403: it is not this worker's, or not from its last registration.
pub(in super::super) fn render_fence(app: &App, worker: &WorkerRecord, lease: &str) -> Result<RenderFence, ApiError> {
    let named = parse(lease).filter(|fence| render_lease(app, worker, *fence) == lease);
    named.ok_or_else(|| ApiError::new(ErrorCode::Forbidden, "this lease is not yours"))
}

fn parse(lease: &str) -> Option<RenderFence> {
    let mut parts = lease.strip_prefix(RENDER_LEASE)?.split('.');
    let job_id: JobId = parts.next()?.parse().ok()?;
    Some(RenderFence { job_id, episode: parts.next()?.parse().ok()?, attempt: parts.next()?.parse().ok()? })
}
