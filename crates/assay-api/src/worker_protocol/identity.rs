//! The worker that a request comes from, by its token.

use assay_model::{GENERATION_HEADER, Sha256Digest};
use assay_store::{WorkerRecord, WorkerState};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use jiff::SignedDuration;

use crate::http::{ApiError, ErrorCode};
use crate::keys::worker_token_hash;
use crate::state::App;

/// Minimum interval between two updates of a worker's last call.
const SEEN_INTERVAL: SignedDuration = SignedDuration::from_secs(30);

/// A worker whose token is valid.
#[derive(Debug, Clone)]
pub(super) struct AdmittedWorker(pub(super) WorkerRecord);

/// A worker whose token is valid, in the process that registered last.
#[derive(Debug, Clone)]
pub(super) struct RegisteredWorker(pub(super) WorkerRecord);

impl FromRequestParts<App> for AdmittedWorker {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        admitted(app, bearer(&parts.headers)?).await.map(Self)
    }
}

impl FromRequestParts<App> for RegisteredWorker {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let worker = admitted(app, bearer(&parts.headers)?).await?;
        let header = parts.headers.get(GENERATION_HEADER).and_then(|value| value.to_str().ok());
        let generation: Option<u32> = header.and_then(|text| text.parse().ok());
        match (generation, &worker.registration) {
            (Some(generation), Some(_)) if generation == worker.generation => Ok(Self(worker)),
            (Some(_), Some(_)) => Err(ApiError::new(
                ErrorCode::Conflict,
                format!(
                    "another process registered as worker {} after this one: each worker needs a token of its own",
                    worker.name
                ),
            )),
            _ => Err(ApiError::new(ErrorCode::Conflict, "register first, and send the generation that you get")),
        }
    }
}

impl RegisteredWorker {
    /// Reads the worker's record again, which may have changed while the request waited.
    pub(super) async fn again(&self, app: &App) -> Result<WorkerRecord, ApiError> {
        let workers = app.records.worker_named(&self.0.name).await?;
        let worker = workers.ok_or_else(|| ApiError::unauthorized("the worker's token is not known"))?;
        check(app, &worker)?;
        if worker.generation != self.0.generation {
            return Err(ApiError::new(ErrorCode::Conflict, "another process registered with this worker's token"));
        }
        Ok(worker)
    }
}

async fn admitted(app: &App, token_hash: Sha256Digest) -> Result<WorkerRecord, ApiError> {
    let found = app.records.worker_with_token(token_hash).await?;
    let worker = found.ok_or_else(|| ApiError::unauthorized("the worker's token is not known"))?;
    check(app, &worker)?;
    let now = app.clock.now();
    if worker.seen_at.is_none_or(|seen| now.duration_since(seen) >= SEEN_INTERVAL) {
        app.records.touch_worker(&worker.name, now).await?;
    }
    Ok(worker)
}

fn check(app: &App, worker: &WorkerRecord) -> Result<(), ApiError> {
    let refused = |why: &str| Err(ApiError::unauthorized(&format!("worker {}: {why}", worker.name)));
    match &worker.state {
        WorkerState::Revoked => refused("its token was revoked; create another worker (assay workers create)"),
        WorkerState::Quarantined { .. } => {
            refused("it is quarantined, since it reported what is not true; ask the server's operator")
        }
        _ if !worker.is_admitted(app.clock.now()) => {
            refused("its token has expired; create another worker (assay workers create)")
        }
        _ => Ok(()),
    }
}

fn bearer(headers: &HeaderMap) -> Result<Sha256Digest, ApiError> {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = value.and_then(|text| text.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    token.and_then(|(_, token)| worker_token_hash(token.trim())).ok_or_else(|| {
        ApiError::unauthorized("a worker's token is needed: Authorization: Bearer assay_worker_<64 hexadecimal digits>")
    })
}
