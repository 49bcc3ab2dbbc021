//! `PUT /worker/v1/leases/{lease}/evidence/{sha256}`: stores a file of evidence, before a result refers to it.

use std::collections::BTreeMap;

use assay_model::{MAX_EPISODE_EVIDENCE_BYTES, PACKED_EVIDENCE, Sha256Digest, episode_share};
use assay_store::PackedFormError;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use http_body::Body as _;

use super::lease::{HeldShard, lost};
use super::receive;
use crate::blob_error::blob_error;
use crate::disk::disk_error;
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Name of a file that is being received.
const RECEIVED: &str = "received";

pub(super) async fn handle(
    State(app): State<App>,
    held: HeldShard,
    Path(values): Path<BTreeMap<String, String>>,
    request: Request,
) -> Result<StatusCode, ApiError> {
    let named = values.get("sha256").and_then(|text| text.parse::<Sha256Digest>().ok());
    let sha256 = named.ok_or_else(|| ApiError::not_found("SHA-256"))?;
    let share = episode_share(app.settings.max_evidence_bytes, held.claim.header.episodes_to_run());
    let length = request.body().size_hint().exact();
    let episodes = u64::from(held.claim.header.episodes_to_run());
    let most = share.saturating_mul(episodes.saturating_mul(2)).max(share);
    let payer = (&held.worker.name, held.claim.fence.job_id);
    let (evidence, bytes) = (app.worker_fleet.evidence(), length.unwrap_or(0));
    if !evidence.take(&*app.records, payer, bytes, most).await? {
        if app.records.leased_shard(held.claim.fence).await?.is_none() {
            return Err(lost());
        }
        let message = format!("the worker's evidence of this job exceeds {most} bytes");
        return Err(ApiError::new(ErrorCode::PayloadTooLarge, message));
    }
    let stored = store(&app, &held, sha256, request).await;
    if stored.is_err() {
        evidence.give_back(payer, bytes);
    }
    stored.map(|()| StatusCode::NO_CONTENT)
}

async fn store(app: &App, held: &HeldShard, sha256: Sha256Digest, request: Request) -> Result<(), ApiError> {
    // The share bounds all files together, not each of them: that of an episode may be too small for its recording.
    let limit = MAX_EPISODE_EVIDENCE_BYTES;
    let folder = app.blobs.incoming().map_err(|error| disk_error(app, &error))?;
    let path = folder.path().join(RECEIVED);
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_packed = kind.eq_ignore_ascii_case(PACKED_EVIDENCE);
    let received = receive::file(app, (&held.worker.name, limit), request.into_body(), &path).await?;
    if !is_packed && received != sha256 {
        let message = format!("the file's SHA-256 is {received}, not {sha256}");
        return Err(ApiError::new(ErrorCode::Unprocessable, message));
    }
    // The lease may have been lost while the file was received: nothing may appear that no record will know.
    let fence = held.claim.fence;
    if app.records.leased_shard(fence).await?.is_none() {
        return Err(lost());
    }
    if !is_packed {
        return app.blobs.put(fence.job_id, sha256, &path).await.map_err(|error| blob_error(app, error));
    }
    app.blobs.put_packed(fence.job_id, sha256, &path, limit).await.map_err(|error| match error {
        PackedFormError::Storage(error) => blob_error(app, error),
        refused => ApiError::new(ErrorCode::Unprocessable, refused.to_string()),
    })
}
