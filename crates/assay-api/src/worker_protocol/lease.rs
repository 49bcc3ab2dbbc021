//! The right to one claim of a shard, as text that only this service can make: it names the claim, and is bound to the
//! worker and its registration.

use assay_model::{Fence, JobId};
use assay_store::{Claim, WorkerRecord};
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use super::identity::RegisteredWorker;
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// A claim that the worker of the request holds now.
#[derive(Debug)]
pub(super) struct HeldShard {
    pub(super) worker: WorkerRecord,
    pub(super) claim: Claim,
}

impl HeldShard {
    /// Returns the claim of `lease`, if the worker holds it now.
    ///
    /// # Errors
    /// 403: it is not the worker's; 409: it is lost.
    pub(super) async fn of(app: &App, worker: WorkerRecord, lease: &str) -> Result<Self, ApiError> {
        let fence = fence(app, &worker, lease)?;
        let claim = app.records.leased_shard(fence).await?.ok_or_else(lost)?;
        Ok(Self { worker, claim })
    }
}

/// Returns the right to a claim.
pub(super) fn lease_text(app: &App, worker: &WorkerRecord, fence: Fence) -> String {
    let Fence { job_id, shard, attempt } = fence;
    format!("{job_id}.{shard}.{attempt}.{}", app.signer.lease_mac(worker.name.as_str(), worker.generation, fence))
}

/// Returns the claim that a right names.
///
/// # Errors
/// 403: it is not this worker's, or not from its last registration.
pub(super) fn fence(app: &App, worker: &WorkerRecord, lease: &str) -> Result<Fence, ApiError> {
    let named = parse(lease).filter(|fence| lease_text(app, worker, *fence) == lease);
    named.ok_or_else(|| ApiError::new(ErrorCode::Forbidden, "this lease is not yours"))
}

/// Returns the error for a claim that its worker no longer holds.
pub(super) fn lost() -> ApiError {
    ApiError::new(ErrorCode::Conflict, "the lease is lost: stop working on this shard")
}

fn parse(lease: &str) -> Option<Fence> {
    let mut parts = lease.split('.');
    let job_id: JobId = parts.next()?.parse().ok()?;
    let (shard, attempt) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(Fence { job_id, shard, attempt })
}

impl FromRequestParts<App> for HeldShard {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let RegisteredWorker(worker) = RegisteredWorker::from_request_parts(parts, app).await?;
        let Path(values) = Path::<std::collections::HashMap<String, String>>::from_request_parts(parts, app)
            .await
            .map_err(|_| ApiError::not_found("lease"))?;
        let lease = values.get("lease").ok_or_else(|| ApiError::not_found("lease"))?;
        Self::of(app, worker, lease).await
    }
}
