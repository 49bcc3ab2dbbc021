//! `/ui/{file}`: the stylesheet and the script; every other name is a page that does not exist.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::assets::{SCRIPT, SCRIPT_NAME, STYLE, STYLE_NAME};
use super::page::failure;
use super::viewer::MaybeViewer;
use crate::http::ApiError;
use crate::state::App;

/// Cached indefinitely, because the name changes with the content.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Returns the file.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(name): Path<String>,
) -> Response {
    let (kind, content) = match name {
        name if name == *STYLE_NAME => ("text/css; charset=utf-8", STYLE.as_str()),
        name if name == *SCRIPT_NAME => ("text/javascript; charset=utf-8", SCRIPT),
        _ => return failure(&app, viewer.as_ref(), &ApiError::not_found("page")),
    };
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, FOREVER)], content).into_response()
}
