//! `?envelope=true` wraps successful responses as `{"data": ..., "error": null}`, for clients that expect the same
//! shape as for errors.

use axum::body::Body;
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use crate::routes::Query;

/// Returns whether the client requests the envelope.
pub(super) fn is_wanted(uri: &Uri) -> Result<bool, ApiError> {
    match Query::parse(uri.query()).text("envelope")? {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(ApiError::invalid("envelope", Some(other), "envelope must be true or false")),
    }
}

/// Wraps a successful JSON response; returns any other response unchanged.
pub(super) async fn wrap(response: Response) -> Response {
    let json = response.headers().get(header::CONTENT_TYPE) == Some(&HeaderValue::from_static("application/json"));
    if !json || !response.status().is_success() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // The size of the response is bounded where it is created.
    let inner = match axum::body::to_bytes(body, usize::MAX).await {
        Ok(bytes) => bytes,
        Err(error) => return ApiError::internal("reading a response body failed", &error).into_response(),
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    let whole = [b"{\"data\":", &*inner, b",\"error\":null}"].concat();
    Response::from_parts(parts, Body::from(whole))
}
