//! Small forms without files.

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::header;

use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// A received form.
pub(super) struct PageForm(Vec<(String, String)>);

impl PageForm {
    /// Receives a form of at most `max_bytes`.
    pub(super) async fn receive(app: &App, request: Request, max_bytes: usize) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if kind.is_none_or(|kind| !kind.starts_with("application/x-www-form-urlencoded")) {
            return Err(ApiError::new(ErrorCode::UnsupportedMediaType, "send the form of the page"));
        }
        let body = to_bytes(request.into_body(), max_bytes);
        let body = tokio::time::timeout(app.settings.uploads.idle_s.get(), body).await;
        let body = body.map_err(|_| ApiError::new(ErrorCode::Timeout, "the form was not received in time"))?;
        let body =
            body.map_err(|_| ApiError::new(ErrorCode::PayloadTooLarge, "the form is too long, or incomplete"))?;
        Ok(Self(form_urlencoded::parse(&body).into_owned().collect()))
    }

    /// Returns the first field of this name; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}
