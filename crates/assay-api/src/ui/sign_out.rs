//! `POST /ui/sign-out`: ends the session.

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{AppendHeaders, IntoResponse, Response};

use super::form::PageForm;
use super::page::{failure, go_to};
use super::posted::MAX_FORM_BYTES;
use crate::http::{ApiError, ErrorCode};
use crate::sessions::{SessionSecret, expired_cookie};
use crate::sign_in::sign_out;
use crate::state::App;

/// Signs out. Without a session it has no effect, and the response is the same.
pub(crate) async fn submit(State(app): State<App>, request: Request) -> Response {
    end(&app, request).await.unwrap_or_else(|error| failure(&app, None, &error))
}

async fn end(app: &App, request: Request) -> Result<Response, ApiError> {
    if let Some(secret) = SessionSecret::of(request.headers(), &app.settings)? {
        let form = PageForm::receive(app, request, MAX_FORM_BYTES).await?;
        if !secret.is_token(form.text("csrf").as_bytes()) {
            let message = "the form lacks the token of this session; load the page again, and repeat";
            return Err(ApiError::new(ErrorCode::Forbidden, message));
        }
        sign_out(app, &secret).await?;
    }
    let cookie = expired_cookie(&app.settings).map(|cookie| (header::SET_COOKIE, cookie));
    Ok((AppendHeaders(cookie), go_to(app, "/ui")).into_response())
}
