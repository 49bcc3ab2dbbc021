//! The parts common to all pages: the frame around their content, and the headers of their responses.

use askama::Template;
use assay_model::Scope;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::assets::{SCRIPT_NAME, STYLE_NAME};
use super::viewer::Viewer;
use crate::ApiSettings;
use crate::http::{ApiError, OwnBody};
use crate::state::App;

/// Nothing but this service's own files and forms; no inline code or style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Other sites learn nothing of an address; forms still send their origin, which `origin.rs` needs.
const REFERRERS: &str = "same-origin";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The frame around a page: navigation, account, stylesheet.
pub(super) struct PageFrame {
    /// Path below which the service is reached; empty, or without a final slash.
    pub(super) base: String,
    pub(super) style: &'static str,
    pub(super) script: &'static str,
    /// Account of the signed-in person.
    pub(super) account: Option<String>,
    /// True if the signed-in person may use the pages of operators.
    pub(super) is_operator: bool,
    /// True if the signed-in person may review verdicts.
    pub(super) is_reviewer: bool,
    /// Token that each form of the page sends; empty for visitors who are not signed in.
    pub(super) csrf: String,
    /// Name of the entry in the navigation that is the page itself.
    pub(super) here: &'static str,
}

impl PageFrame {
    pub(super) fn new(settings: &ApiSettings, viewer: Option<&Viewer>, here: &'static str) -> Self {
        Self {
            base: settings.base_path().to_owned(),
            style: STYLE_NAME.as_str(),
            script: SCRIPT_NAME.as_str(),
            account: viewer.map(|viewer| viewer.caller.key.account.to_string()),
            is_operator: viewer.is_some_and(|viewer| viewer.caller.has(Scope::Admin)),
            is_reviewer: viewer.is_some_and(|viewer| viewer.caller.has(Scope::Review)),
            csrf: viewer.map(|viewer| viewer.secret.token()).unwrap_or_default(),
            here,
        }
    }
}

impl PageFrame {
    /// Returns whether the page is one of the operator's.
    pub(super) fn is_operator_page(&self) -> bool {
        matches!(self.here, "operator" | "keys" | "workers" | "accounts" | "servers" | "storage")
    }
}

/// A page that only says why there is nothing else on it.
#[derive(Template)]
#[template(path = "ui/failure.html")]
struct FailurePage<'a> {
    frame: PageFrame,
    title: &'a str,
    message: &'a str,
}

/// Renders a page.
pub(super) fn page(status: StatusCode, template: &impl Template) -> Response {
    let html = match template.render() {
        Ok(html) => html,
        Err(error) => return ApiError::internal("a page could not be rendered", &error).into_response(),
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, REFERRERS),
        (OPENER_POLICY, "same-origin"),
    ];
    let mut response = (status, headers, html).into_response();
    response.extensions_mut().insert(OwnBody);
    response
}

/// Renders the page for an error; without a valid session, redirects to the form for signing in.
pub(super) fn failure(app: &App, viewer: Option<&Viewer>, error: &ApiError) -> Response {
    let status = error.status();
    if status == StatusCode::UNAUTHORIZED {
        return to_sign_in(app);
    }
    let title = match status {
        StatusCode::NOT_FOUND => "There is no such page",
        StatusCode::FORBIDDEN => "Not allowed",
        status if status.is_server_error() => "Something is wrong here",
        _ => "That did not work",
    };
    let frame = PageFrame::new(&app.settings, viewer, "");
    page(status, &FailurePage { frame, title, message: error.message() })
}

/// Redirects a visitor who is not signed in to the form for signing in.
pub(super) fn to_sign_in(app: &App) -> Response {
    go_to(app, "/ui/sign-in").into_response()
}

/// Redirects to another page.
pub(super) fn go_to(app: &App, path: &str) -> Redirect {
    Redirect::to(&format!("{}{path}", app.settings.base_path()))
}
