//! Conditional requests for responses that seldom change: an entity tag over the body, and 304 for clients that have
//! it. The tag is weak, because the same response may be sent compressed or not.

use assay_model::Sha256Digest;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::error::ApiError;

/// Cached by the client only, and revalidated before each use.
const REVALIDATE: HeaderValue = HeaderValue::from_static("private, no-cache");

/// Adds the entity tag to a response, or returns 304 if the client sent the same tag.
pub(super) async fn with_etag(response: Response, known: &[HeaderValue]) -> Response {
    if response.status() != StatusCode::OK {
        return response;
    }
    let (parts, body) = response.into_parts();
    // The size of the response is bounded where it is created.
    let body = match axum::body::to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        Err(error) => return ApiError::internal("reading a response body failed", &error).into_response(),
    };
    let tag = tag(&body);
    let mut response = Response::from_parts(parts, Body::from(body));
    set_etag(response.headers_mut(), &tag);
    if etag_matches(known, &tag) { not_modified(&tag) } else { response }
}

/// Returns the entity tag of a response's content.
pub(crate) fn tag(content: &[u8]) -> String {
    format!("W/\"{:.32}\"", Sha256Digest::of(content))
}

/// Returns whether `If-None-Match` contains this tag (RFC 9110, 13.1.2).
pub(crate) fn etag_matches<'a>(known: impl IntoIterator<Item = &'a HeaderValue>, tag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let texts = known.into_iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|one| one.trim() == "*" || bare(one) == bare(tag))
}

/// Adds the entity tag and the cache directives.
pub(crate) fn set_etag(headers: &mut HeaderMap, tag: &str) {
    if let Ok(value) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, value);
    }
    headers.insert(header::CACHE_CONTROL, REVALIDATE);
}

/// Creates a 304 response.
pub(crate) fn not_modified(tag: &str) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    set_etag(response.headers_mut(), tag);
    response
}
