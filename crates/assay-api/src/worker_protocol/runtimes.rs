//! The runtime of a policy, for workers on which it is not installed.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use assay_model::{PackedRuntime, Sha256Digest};
use axum::extract::{Path, State};
use axum::response::Response;

use super::inputs::{digest, send};
use super::lease::HeldShard;
use crate::disk::{available_bytes, disk_error};
use crate::http::{ApiError, ErrorCode, Json};
use crate::state::App;
use crate::upload_space::full;

/// Time for which a request waits until the runtime is packed, and retry delay after it, in seconds.
const WAIT: Duration = Duration::from_secs(10);
const PACKING_RETRY_S: u64 = 5;

/// `GET .../runtime`: the policy's runtime, as a file that can be fetched.
pub(super) async fn listing(State(app): State<App>, held: HeldShard) -> Result<Json<PackedRuntime>, ApiError> {
    packed_runtime(&app, runtime_of(&held)).await.map(|(packed, _)| Json(packed))
}

/// `GET .../runtime/{sha256}`: that file.
pub(super) async fn file(
    State(app): State<App>,
    held: HeldShard,
    Path(values): Path<BTreeMap<String, String>>,
) -> Result<Response, ApiError> {
    send_runtime(&app, runtime_of(&held), digest(&values)?).await
}

fn runtime_of(held: &HeldShard) -> Option<Sha256Digest> {
    held.claim.header.runtime.as_ref().map(|runtime| runtime.sha256)
}

/// Returns the archive of a runtime, and its path.
pub(super) async fn packed_runtime(
    app: &App,
    runtime: Option<Sha256Digest>,
) -> Result<(PackedRuntime, PathBuf), ApiError> {
    let sha256 = runtime.ok_or_else(|| ApiError::not_found("runtime: the policy needs none"))?;
    let intake = app.intake.clone();
    // A large one is packed on, and found the next time.
    let room_bytes = available_bytes(app).unwrap_or(0);
    let packing = tokio::task::spawn_blocking(move || intake.packed_runtime(sha256, room_bytes));
    let busy = || ApiError::try_again(ErrorCode::Unavailable, "the runtime is being packed", PACKING_RETRY_S);
    let packed = tokio::time::timeout(WAIT, packing).await.map_err(|_| busy())?;
    match packed.map_err(|e| ApiError::internal("packing a runtime panicked", &e))? {
        Ok(Some(packed)) => Ok(packed),
        Ok(None) => Err(ApiError::not_found("runtime on this server")),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(busy()),
        Err(error) if error.kind() == ErrorKind::StorageFull => Err(full()),
        Err(error) => Err(disk_error(app, &error)),
    }
}

/// Sends the archive of a runtime, if it still has this SHA-256.
pub(super) async fn send_runtime(
    app: &App,
    runtime: Option<Sha256Digest>,
    wanted: Sha256Digest,
) -> Result<Response, ApiError> {
    match packed_runtime(app, runtime).await? {
        (packed, path) if packed.sha256 == wanted => send(app, &path).await,
        _ => Err(ApiError::not_found("file of this runtime")),
    }
}
