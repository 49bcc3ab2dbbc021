//! `/ui/{file}`: the stylesheet; every other name is a page that does not exist.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::page::failure;
use super::style::{STYLE, STYLE_NAME};
use super::viewer::MaybeViewer;
use crate::http::ApiError;
use crate::state::App;

/// Kept for good, because the name changes with the content.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Returns the file.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(name): Path<String>,
) -> Response {
    if name == *STYLE_NAME {
        return ([(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, FOREVER)], STYLE)
            .into_response();
    }
    failure(&app, viewer.as_ref(), &ApiError::not_found("page"))
}
