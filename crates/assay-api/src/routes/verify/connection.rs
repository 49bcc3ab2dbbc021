//! `POST /verify/{job_id}/connection`: returns a token for one connection of the job's policy. Only this response
//! contains it.

use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::Serialize;

use crate::http::{ApiError, Caller, Json, RedactedBody, no_body};
use crate::links;
use crate::routes::connections::open::{connects, ended};
use crate::routes::jobs::{Verification, WriteAccess};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// A connection that a policy may open.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct NewConnection {
    /// URL of the WebSocket; absolute if the service knows its public URL. `http` stands for `ws`, `https` for `wss`.
    connection_url: String,
    /// Token for one connection; present only in the first response, `null` in repetitions of it.
    token: Option<String>,
    /// Time at which the token expires. An open connection continues.
    expires_at: Timestamp,
}

/// Create a token for a policy's connection
///
/// For a job that was created with `connect=true`: returns the URL of its WebSocket, and a token that is valid for one
/// connection and 120 s. A new token revokes the previous one. Call this again whenever the connection was lost.
#[utoipa::path(
    post, path = "/verify/{job_id}/connection", operation_id = "create_connection", tag = "verify",
    params(("job_id" = uuid::Uuid, Path, description = "The job's id")),
    responses(
        (status = 201, description = "The token, shown once", body = ref(schema_of::<NewConnection>())),
        (status = 400), (status = 404), (status = 409), (status = 410),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<(StatusCode, Extension<RedactedBody>, Json<NewConnection>), ApiError> {
    no_body(request).await?;
    let Verification { record, .. } = Verification::<WriteAccess>::named(&app, &caller, &id).await?;
    let job = record.header.job_id;
    caller.record_access(&app, (&record.account, &record.header.job_id), "created a connection").await?;
    if !connects(&app, job)? {
        return Err(ended());
    }
    let (token, expires_at) = app.connection_tokens.issue(job, &caller, app.clock.now(), &*app.entropy).await?;
    let connection_url = links::address(&app.settings, &format!("/connections/{job}"));
    let hidden = NewConnection { connection_url, token: None, expires_at };
    let stored = serde_json::to_vec(&hidden).map_err(|e| ApiError::internal("a new connection", &e))?;
    let shown = NewConnection { token: Some(token.reveal().to_owned()), ..hidden };
    Ok((StatusCode::CREATED, Extension(RedactedBody(stored.into())), Json(shown)))
}
