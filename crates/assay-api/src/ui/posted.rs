//! The sender of a form: a signed-in person, whose form carries the token of the session.

use axum::extract::Request;
use axum::http::HeaderMap;

use super::form::PageForm;
use super::origin;
use super::viewer::Viewer;
use crate::http::{ApiError, ErrorCode, authenticate_session, count_operation};
use crate::routes::RateClass;
use crate::sessions::SessionSecret;
use crate::state::App;

/// Maximum length of a form without long texts, in bytes.
pub(super) const MAX_FORM_BYTES: usize = 4 << 10;

/// Identifies the sender of a form by the session cookie, and counts the operation like one of the API. The
/// token in the form is to be checked by [`check_token`].
///
/// # Errors
/// UNAUTHORIZED without a session, FORBIDDEN for a page of another site, and over the limit of the key.
pub(super) async fn sender(app: &App, headers: &HeaderMap, class: RateClass) -> Result<Viewer, ApiError> {
    if !origin::is_own(headers) {
        return Err(ApiError::new(ErrorCode::Forbidden, "the form was sent by a page of another site"));
    }
    let secret = SessionSecret::of(headers, &app.settings)?.ok_or_else(|| ApiError::unauthorized("sign in first"))?;
    let (caller, _) = authenticate_session(app, &secret).await?;
    count_operation(app, &caller, class).await?;
    Ok(Viewer { caller, secret })
}

/// Returns an error unless `token` is that of the sender's session.
pub(super) fn check_token(viewer: &Viewer, token: &str) -> Result<(), ApiError> {
    if viewer.secret.is_token(token.as_bytes()) {
        return Ok(());
    }
    let message = "the form lacks the token of this session; load the page again, and repeat";
    Err(ApiError::new(ErrorCode::Forbidden, message))
}

/// Receives a small form, and checks its sender and its token.
pub(super) async fn receive(app: &App, request: Request, class: RateClass) -> Result<(Viewer, PageForm), ApiError> {
    receive_up_to(app, request, class, MAX_FORM_BYTES).await
}

/// Receives a form of at most `max_bytes`, and checks its sender and its token.
pub(super) async fn receive_up_to(
    app: &App,
    request: Request,
    class: RateClass,
    max_bytes: usize,
) -> Result<(Viewer, PageForm), ApiError> {
    let viewer = sender(app, request.headers(), class).await?;
    let form = PageForm::receive(app, request, max_bytes).await?;
    check_token(&viewer, form.text("csrf"))?;
    Ok((viewer, form))
}
