//! A client that is still sending does not read our answer; if we just closed, it would see a reset instead of the
//! reason. So what an early answer left unread is read on for a little while, and then the connection ends; it lingers
//! while more comes (`linger.rs`).

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
    let waits_for_go = request.headers().get(header::EXPECT).is_some_and(|v| v.as_bytes() == b"100-continue");
    let (parts, body) = request.into_parts();
    let mut shared = SharedBody::new(body);
    let mut response = next.run(Request::from_parts(parts, Body::new(shared.clone()))).await;
    // A client that waits for `100 Continue` has not sent anything yet; reading would tell it to.
    if !shared.is_ended() && (!waits_for_go || shared.is_touched()) {
        // Out of time is as good as out of bytes.
        let _ = tokio::time::timeout(MAX_TIME, shared.discard(MAX_BYTES)).await;
    }
    if !shared.is_ended() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
