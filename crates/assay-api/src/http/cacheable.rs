//! Answers that seldom change: a tag over the body, and 304 for who has it. The tag is weak, because the same answer may
//! travel compressed or not.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::error::ApiError;

/// Kept by the client alone, and asked for again before it is used.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("private, no-cache");

/// The answer with its tag, or 304 if the tag is among those that the client named.
pub(super) async fn with_etag(response: Response, known: &[HeaderValue]) -> Response {
    if response.status() != StatusCode::OK {
        return response;
    }
    let (parts, body) = response.into_parts();
    // Our own answer: its size is bounded where it is made.
    let body = match axum::body::to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        Err(error) => return ApiError::internal("an answer broke off", &error).into_response(),
    };
    let tag = tag(&body);
    let mut response = Response::from_parts(parts, Body::from(body));
    mark(response.headers_mut(), &tag);
    if is_known(known, &tag) { not_modified(&tag) } else { response }
}

/// The tag of an answer's content.
pub(crate) fn tag(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{digits}\"")
}

/// Whether the client has the answer with this tag, as `If-None-Match` says (RFC 9110, 13.1.2).
pub(crate) fn is_known<'a>(known: impl IntoIterator<Item = &'a HeaderValue>, tag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let texts = known.into_iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|one| one.trim() == "*" || bare(one) == bare(tag))
}

/// Adds the tag, and how long the answer may be kept.
pub(crate) fn mark(headers: &mut HeaderMap, tag: &str) {
    if let Ok(value) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, value);
    }
    headers.insert(header::CACHE_CONTROL, ASK_AGAIN);
}

/// The client has it already.
pub(crate) fn not_modified(tag: &str) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    mark(response.headers_mut(), tag);
    response
}
