//! `GET /connections/{job_id}`: opens the WebSocket over which a policy serves the episodes of a job, one after the
//! other. Its credential is a token for one connection. Each message is a frame of the frame protocol, which OpenAPI
//! cannot describe; `docs/frame-protocol.md` does.

use assay_model::JobId;
use assay_store::PolicyServerAccess;
use axum::extract::{Path, Request, State};
use axum::response::Response;

use crate::connections::{Handshake, TokenHash, carry, switching_protocols, unfit};
use crate::disk::disk_error;
use crate::events::JobWatch;
use crate::http::{ApiError, Caller, ErrorCode};
use crate::state::App;

/// Retry delay in seconds of such a server: the load balancer chooses another one.
const RETRY_S: u64 = 1;

pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Path(id): Path<String>,
    mut request: Request,
) -> Result<Response, ApiError> {
    let (job, presented): (JobId, _) =
        id.parse().ok().zip(TokenHash::of_headers(request.headers())).ok_or_else(invalid_token)?;
    let token = app.connection_tokens.find(job, presented, app.clock.now()).await?.ok_or_else(invalid_token)?;
    if let Some(why) = unfit(&app, job).await? {
        return Err(ApiError::try_again(ErrorCode::Unavailable, why, RETRY_S));
    }
    let Handshake { accept, upgrade } = Handshake::of(&mut request)?;
    let connected = || ApiError::new(ErrorCode::Conflict, "the job's policy is already connected");
    let reservation = app.policy_connections.reserve(job).ok_or_else(connected)?;
    // After the reservation, which the end of the job removes once this file is gone.
    if !connects(&app, job)? {
        app.policy_connections.end(job);
        return Err(ended());
    }
    if !app.connection_tokens.redeem(job, &token).await? {
        return Err(invalid_token());
    }
    let caller = Caller::load(&app, &token.key, token.session).await?;
    let record = app.records.job(None, job).await?.ok_or_else(ended)?;
    let watch = JobWatch::begin(&app, &caller, &record).await?;
    tracing::info!(job.id = %job, key.id = %caller.key.id, account = %caller.key.account, "a policy connected");
    tokio::spawn(carry(upgrade, reservation, watch));
    Ok(switching_protocols(&accept))
}

/// Returns whether the job still needs its policy, which connects.
pub(in crate::routes) fn connects(app: &App, job: JobId) -> Result<bool, ApiError> {
    let access = app.servers.get(job).map_err(|error| disk_error(app, &error))?;
    Ok(matches!(access, Some(PolicyServerAccess::Connects)))
}

/// Returns the error for a job that needs no connection.
pub(in crate::routes) fn ended() -> ApiError {
    let message = "this job needs no connection of a policy: it has ended, or it was created without connect=true";
    ApiError::new(ErrorCode::Conflict, message)
}

/// Returns the error for every invalid token, so that it does not reveal which jobs exist.
fn invalid_token() -> ApiError {
    ApiError::unauthorized(
        "the token is not valid for a connection of this job: it was used, has expired, or was replaced by a newer one; \
         POST /verify/{job_id}/connection returns a new one",
    )
}
