//! `GET /thumbnails/{digest}`: the picture of a published scenario, at a signed URL. The service renders it from an
//! untrusted world, so a browser may only display it.

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;

use crate::http::{ApiError, ErrorCode};
use crate::routes::evidence::artifact::{Signature, unsigned};
use crate::signed_urls::LIFETIME;
use crate::state::App;

/// Get the picture of a published scenario
///
/// The signed URLs are given in the lists of published scenarios; they need no key.
#[utoipa::path(
    get, path = "/thumbnails/{digest}", operation_id = "thumbnail", tag = "scenarios",
    params(
        ("digest" = String, Path, description = "Digest of a published version", pattern = "^[0-9a-f]{64}$"),
        ("expires" = i64, Query, description = "Expiry of the URL, in Unix seconds", minimum = 0),
        ("signature" = String, Query, description = "Signature of the service; the lists of published scenarios contain the signed URLs", pattern = "^[0-9a-f]{64}$"),
    ),
    responses((status = 200, description = "The picture", content_type = "image/png"), (status = 403), (status = 404)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Path(digest): Path<String>,
    query: Result<Query<Signature>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Ok(Query(Signature { expires, signature })) = query else { return Err(unsigned()) };
    if !app.signer.is_valid(&format!("/thumbnails/{digest}"), expires, &signature) {
        return Err(unsigned());
    }
    if expires <= app.clock.now().as_second() {
        let message = "this URL has expired; request the scenario again to get a new one";
        return Err(ApiError::new(ErrorCode::Forbidden, message));
    }
    let path = digest.parse().ok().and_then(|digest| app.scenario_files.picture(digest));
    let path = path.ok_or_else(|| ApiError::not_found("picture"))?;
    let picture = tokio::fs::read(path).await.map_err(|e| ApiError::internal("a picture could not be read", &e))?;
    let mut response = Response::new(Body::from(picture));
    let headers = response.headers_mut();
    let age = format!("private, max-age={}", LIFETIME.as_secs());
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("image/png"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_str(&age).unwrap_or(HeaderValue::from_static("no-store")));
    Ok(response)
}
