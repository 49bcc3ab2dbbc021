//! Cross-origin requests, if the operator allows any.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::CorsLayer;

use crate::ApiSettings;
use crate::models::UPLOAD_OFFSET;
use crate::sessions::CSRF_HEADER;

/// Time for which a browser may cache the result of a preflight request.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Headers that pages may send.
const ALLOWED_HEADERS: [HeaderName; 10] = [
    header::ACCEPT,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::RANGE,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    UPLOAD_OFFSET,
    HeaderName::from_static(CSRF_HEADER),
];
/// Headers that pages may read.
const EXPOSED_HEADERS: [HeaderName; 10] = [
    header::CONTENT_DISPOSITION,
    header::CONTENT_RANGE,
    header::ETAG,
    header::LOCATION,
    header::RETRY_AFTER,
    UPLOAD_OFFSET,
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// Returns the CORS layer, or `None` if the operator allows no origins: then a preflight request needs a key like every
/// other request, and fails.
pub(super) fn cors(settings: &ApiSettings) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> = settings.browsers.origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_credentials(true)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers(ALLOWED_HEADERS)
        .expose_headers(EXPOSED_HEADERS)
        .max_age(MAX_AGE);
    Some(layer)
}
