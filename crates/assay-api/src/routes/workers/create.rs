//! `POST /workers`: creates a worker. Only this response contains its token.

use assay_model::Sha256Digest;
use assay_store::{NewWorker, StoreError, WorkerName, WorkerRecord};
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::list::WorkerView;
use crate::http::{ApiError, Caller, ErrorCode, Json, RedactedBody, json_body, read_body};
use crate::keys::worker_token;
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// The worker to create.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWorkerRequest {
    /// Name of the worker: 1 to 63 of `a-z`, `0-9` and `-`. A name is given once.
    #[schemars(pattern("^[a-z0-9][a-z0-9-]{0,62}$"))]
    pub(crate) name: String,
    /// True if no participant controls its host: its machine may differ from the server's, and with the same
    /// fingerprint it may run the secret worlds of seasons.
    #[serde(default)]
    pub(crate) trusted: bool,
    /// Time from which its token is refused; never if absent.
    #[serde(default)]
    pub(crate) expires_at: Option<Timestamp>,
}

/// A new worker.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct CreatedWorker {
    /// The token; present only in the first response, `null` in repetitions of it.
    token: Option<String>,
    #[serde(flatten)]
    shown: WorkerView,
}

/// Create a worker
///
/// Creates a worker on another host and returns its token once; the service stores only its hash. Start it with `assay
/// worker --server URL --token-file FILE`. 409 if the name was ever given.
#[utoipa::path(
    post, path = "/workers", operation_id = "create_worker", tag = "workers",
    request_body(content = ref(schema_of::<NewWorkerRequest>())),
    responses((status = 201, body = ref(schema_of::<CreatedWorker>())), (status = 400), (status = 408), (status = 409), (status = 413), (status = 415)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Extension<RedactedBody>, Json<CreatedWorker>), ApiError> {
    let wish: NewWorkerRequest = read_body(&json_body(&app, request).await?, false)?;
    let (token, record) = create_worker(&app, &caller, wish).await?;
    let hidden = CreatedWorker { token: None, shown: WorkerView::new(&app, record) };
    let kept = serde_json::to_vec(&hidden).map_err(|e| ApiError::internal("a new worker", &e))?;
    Ok((
        StatusCode::CREATED,
        Extension(RedactedBody(kept.into())),
        Json(CreatedWorker { token: Some(token), ..hidden }),
    ))
}

/// Creates a worker. Returns its token and its record.
///
/// # Errors
/// INVALID_REQUEST names the field; CONFLICT: the name was ever given.
pub(crate) async fn create_worker(
    app: &App,
    caller: &Caller,
    wish: NewWorkerRequest,
) -> Result<(String, WorkerRecord), ApiError> {
    let now = app.clock.now();
    let name = WorkerName::parse(&wish.name).ok_or_else(|| {
        let message = "name must be 1 to 63 of a-z, 0-9 and -, and begin with a letter or a digit";
        ApiError::invalid("name", Some(&wish.name), message)
    })?;
    if let Some(end) = wish.expires_at.filter(|end| *end <= now) {
        return Err(ApiError::invalid("expires_at", Some(&end.to_string()), "expires_at is in the past"));
    }
    let token = worker_token(&*app.entropy);
    let worker = NewWorker {
        name: name.clone(),
        token_hash: Sha256Digest::of(&token),
        trusted: wish.trusted,
        created_at: now,
        expires_at: wish.expires_at,
    };
    match app.records.create_worker(worker).await {
        Err(StoreError::Exists { .. }) => {
            let message = format!("there is, or was, a worker named {name}; choose another name");
            return Err(ApiError::new(ErrorCode::Conflict, message));
        }
        created => created?,
    }
    tracing::info!(key.id = %caller.key.id, worker = %name, trusted = wish.trusted, "created a worker");
    let record = app.records.worker_named(&name).await?.ok_or_else(|| ApiError::not_found("worker"))?;
    Ok((token, record))
}
