//! `/ui/sign-in`: the form that exchanges a key for a session.

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};

use super::form::PageForm;
use super::origin;
use super::page::{PageFrame, failure, go_to, page};
use super::posted::MAX_FORM_BYTES;
use super::viewer::MaybeViewer;
use crate::http::{ApiError, ErrorCode};
use crate::sessions::{SessionSecret, expired_cookie};
use crate::sign_in::{sign_in, sign_out};
use crate::state::App;

#[derive(Template)]
#[template(path = "ui/sign_in.html")]
struct SignInPage<'a> {
    frame: PageFrame,
    /// Reason why the last try failed.
    complaint: Option<&'a str>,
}

/// Shows the form, or redirects a signed-in person to the start page.
pub(crate) async fn form(State(app): State<App>, MaybeViewer(viewer): MaybeViewer, headers: HeaderMap) -> Response {
    match (viewer, SessionSecret::of(&headers, &app.settings)) {
        (Some(_), _) => go_to(&app, "/ui").into_response(),
        (None, Ok(_)) => show(&app, StatusCode::OK, None),
        (None, Err(several)) => {
            let cookie = expired_cookie(&app.settings).map(|cookie| (header::SET_COOKIE, cookie));
            (AppendHeaders(cookie), show(&app, StatusCode::OK, Some(several.message()))).into_response()
        }
    }
}

/// Signs in.
pub(crate) async fn submit(State(app): State<App>, request: Request) -> Response {
    match begin(&app, request).await {
        Ok(response) => response,
        Err(error) if error.status() == StatusCode::UNAUTHORIZED => {
            show(&app, StatusCode::UNAUTHORIZED, Some(error.message()))
        }
        Err(error) => failure(&app, None, &error),
    }
}

fn show(app: &App, status: StatusCode, complaint: Option<&str>) -> Response {
    page(status, &SignInPage { frame: PageFrame::new(&app.settings, None, "sign-in"), complaint })
}

async fn begin(app: &App, request: Request) -> Result<Response, ApiError> {
    if !origin::is_own(request.headers()) {
        return Err(ApiError::new(ErrorCode::Forbidden, "the form was sent by a page of another site"));
    }
    // Of several, none shows which is the browser's own.
    let earlier = SessionSecret::of(request.headers(), &app.settings).ok().flatten();
    let form = PageForm::receive(app, request, MAX_FORM_BYTES).await?;
    let signed_in = sign_in(app, form.text("key")).await?;
    if let Some(earlier) = earlier {
        // The browser forgets its cookie now, so that session could not be ended any more.
        sign_out(app, &earlier).await?;
    }
    let cookie = signed_in.cookie.map(|cookie| (header::SET_COOKIE, cookie));
    Ok((AppendHeaders(cookie), go_to(app, "/ui")).into_response())
}
