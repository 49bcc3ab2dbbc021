//! `?envelope=true`: successes as `{"data": ..., "error": null}`, for clients that expect the shape of errors there too.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use crate::routes::Query;

pub(super) async fn envelope(request: Request, next: Next) -> Response {
    let wanted = match Query::parse(request.uri().query()).text("envelope") {
        Ok(None | Some("false")) => false,
        Ok(Some("true")) => true,
        Ok(Some(other)) => {
            return ApiError::invalid("envelope", Some(other), "envelope must be true or false").into_response();
        }
        Err(error) => return error.into_response(),
    };
    let response = next.run(request).await;
    let json = response.headers().get(header::CONTENT_TYPE) == Some(&HeaderValue::from_static("application/json"));
    if wanted && json && response.status().is_success() { wrap(response).await } else { response }
}

async fn wrap(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // Our own answer: its size is bounded where it is made.
    let inner = match axum::body::to_bytes(body, usize::MAX).await {
        Ok(bytes) => bytes,
        Err(error) => return ApiError::internal("an answer broke off", &error).into_response(),
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    let whole = [b"{\"data\":", &*inner, b",\"error\":null}"].concat();
    Response::from_parts(parts, Body::from(whole))
}
