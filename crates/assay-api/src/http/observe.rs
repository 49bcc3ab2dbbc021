//! The outermost layer: the request id, one log line, draining of unread bodies, the bodies of errors, and the headers
//! of every response.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;
use uuid::Uuid;

use super::caller::Caller;
use super::drain::drain;
use super::error::{ApiError, OwnBody};
use super::request_metrics::RequestMetrics;
use crate::state::App;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(super) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let id = client_request_id(request.headers()).unwrap_or_else(|| app.new_id());
    let mut text = Uuid::encode_buffer();
    let text = &*id.hyphenated().encode_lower(&mut text);
    let metrics = RequestMetrics::of(&request);
    let span = tracing::info_span!(
        "request",
        request.id = text,
        http.method = request.method().as_str(),
        http.path = request.uri().path()
    );
    let start = Instant::now();
    let response = drain(request, next).instrument(span.clone()).await;
    let mut response = with_error_body(response, id);
    metrics.record(&response, start);
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(X_REQUEST_ID, value);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let _guard = span.enter();
    let caller = response.extensions().get::<Caller>();
    tracing::info!(
        http.status = response.status().as_u16(),
        key.id = caller.map(|c| c.key.id.as_str()),
        account = caller.map(|c| c.key.account.as_str()),
        elapsed_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
        "answered"
    );
    response
}

/// Returns the client's request id if it is a UUID: any other text could forge log lines.
fn client_request_id(headers: &HeaderMap) -> Option<Uuid> {
    headers.get(X_REQUEST_ID)?.to_str().ok()?.parse().ok()
}

/// Writes the body of an error response, including one created by a library.
fn with_error_body(response: Response, id: Uuid) -> Response {
    let status = response.status();
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || response.extensions().get::<OwnBody>().is_some() {
        return response;
    }
    let own = response.extensions().get::<Arc<ApiError>>().cloned();
    let error = own.unwrap_or_else(|| Arc::new(ApiError::from_status(status)));
    let (mut parts, _) = response.into_parts();
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(error.body(id)))
}
