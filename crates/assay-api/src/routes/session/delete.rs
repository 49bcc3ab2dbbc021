//! `DELETE /session`: signs out. Idempotent.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};

use crate::http::{ApiError, csrf_rejection};
use crate::sessions::{SessionSecret, expired_cookie};
use crate::sign_in::sign_out;
use crate::state::App;

/// Sign out
///
/// Ends the session in the cookie and removes the cookie. Without a session, the operation has no effect and the
/// response is the same.
#[utoipa::path(
    delete, path = "/session", operation_id = "sign_out", tag = "keys",
    params(("X-CSRF-Token" = Option<String>, Header, description = "CSRF token of the session; required if there is a session")),
    responses((status = 204, description = "The session has ended, and so have its event streams"), (status = 401), (status = 403)),
)]
pub(in crate::routes) async fn handle(State(app): State<App>, headers: HeaderMap) -> Result<Response, ApiError> {
    if let Some(secret) = SessionSecret::of(&headers, &app.settings)? {
        if !secret.has_token(&headers) {
            return Err(csrf_rejection());
        }
        sign_out(&app, &secret).await?;
    }
    let cookie = expired_cookie(&app.settings).map(|cookie| (header::SET_COOKIE, cookie));
    Ok((StatusCode::NO_CONTENT, AppendHeaders(cookie)).into_response())
}
