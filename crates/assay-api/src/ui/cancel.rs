//! `POST /ui/verifications/{id}/cancel`: cancels a verification.

use assay_model::Scope;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};

use super::page::{failure, go_to};
use super::posted;
use crate::http::ApiError;
use crate::routes::{RateClass, cancel_verification};
use crate::state::App;

/// Cancels the job, and redirects back to its page.
pub(crate) async fn submit(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    cancel(&app, &id, request).await.unwrap_or_else(|error| failure(&app, None, &error))
}

async fn cancel(app: &App, id: &str, request: Request) -> Result<Response, ApiError> {
    let (viewer, _) = posted::receive(app, request, RateClass::Write).await?;
    viewer.require(Scope::Verify)?;
    let job = cancel_verification(app, &viewer.caller, id).await?;
    Ok(go_to(app, &format!("/ui/verifications/{job}")).into_response())
}
