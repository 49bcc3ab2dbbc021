//! Draining of unread request bodies. A client that is still sending does not read the response; if the connection
//! were closed at once, it would see a reset instead. So the rest of the body is read for a short while after an early
//! response before the connection is closed, which then lingers while more bytes arrive (`linger.rs`).

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use http_body::Body as _;

use super::body::SharedBody;

const MAX_BYTES: usize = 8 << 20;
const MAX_TIME: Duration = Duration::from_secs(2);

pub(super) async fn drain(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let expects_continue = request.headers().get(header::EXPECT).is_some_and(|v| v.as_bytes() == b"100-continue");
    let (parts, body) = request.into_parts();
    let mut shared = SharedBody::new(body);
    let mut response = next.run(Request::from_parts(parts, Body::new(shared.clone()))).await;
    // A client that waits for `100 Continue` has not sent anything yet; reading would make it begin.
    if !shared.is_ended() && (!expects_continue || shared.is_touched()) {
        // A timeout is treated like the byte limit.
        let _ = tokio::time::timeout(MAX_TIME, shared.discard(MAX_BYTES)).await;
    }
    if !shared.is_ended() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
