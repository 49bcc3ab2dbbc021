//! `GET /docs`: the OpenAPI document as a page. Swagger UI is part of the program; nothing comes from another host.

use std::sync::{Arc, LazyLock};

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use utoipa_swagger_ui::Config;

use crate::http::ApiError;

/// Scripts are the bundled files only; the renderer writes style attributes.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The document's address as seen from `/docs/` (and from `/v1/docs/`); no checks by a service elsewhere.
static CONFIG: LazyLock<Arc<Config<'static>>> =
    LazyLock::new(|| Arc::new(Config::from("../openapi.json").validator_url("none")));

/// Relative, so that it also holds under `/v1` and behind a proxy's prefix.
pub(super) async fn index() -> Redirect {
    Redirect::to("docs/index.html")
}

/// The same for `/docs/`, where the page is beside.
pub(super) async fn folder() -> Redirect {
    Redirect::to("index.html")
}

pub(super) async fn file(Path(name): Path<String>) -> Result<Response, ApiError> {
    let found = utoipa_swagger_ui::serve(&name, Arc::clone(&CONFIG));
    let file = found.map_err(|e| ApiError::internal("a page of the documents could not be made", &*e))?;
    let file = file.ok_or_else(|| ApiError::not_found("page"))?;
    let headers = [(header::CONTENT_TYPE, file.content_type), (header::CONTENT_SECURITY_POLICY, POLICY.to_owned())];
    Ok((headers, file.bytes.into_owned()).into_response())
}
