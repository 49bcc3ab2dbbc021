//! Requests whose body is a small JSON document.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::header;
use serde_json::Value;

use super::{ApiError, Code, OnceOnly};
use crate::state::App;

/// Longest body, in bytes.
const MAX_BODY_BYTES: usize = 16 << 10;

/// The body, which must be a JSON object and say so.
pub(crate) async fn json_body(app: &App, request: Request) -> Result<Value, ApiError> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|k| k.trim().eq_ignore_ascii_case("application/json")) {
        return Err(ApiError::new(Code::UnsupportedMediaType, "send the request as application/json"));
    }
    let once = OnceOnly::of(&request);
    let value = parse(&read(app, request.into_body()).await?)?;
    if let Some(once) = once {
        once.begin(|content| content.add_json(&value)).await?;
    }
    Ok(value)
}

/// The same of a request that may have no body at all.
pub(crate) async fn optional_json_body(app: &App, request: Request) -> Result<Option<Value>, ApiError> {
    if request.headers().contains_key(header::CONTENT_TYPE) {
        return json_body(app, request).await.map(Some);
    }
    let once = OnceOnly::of(&request);
    if read(app, request.into_body()).await?.is_empty() {
        if let Some(once) = once {
            once.begin(|_| ()).await?;
        }
        return Ok(None);
    }
    Err(ApiError::new(Code::UnsupportedMediaType, "send the request as application/json"))
}

/// A request that needs no body: whatever comes is left unread.
pub(crate) async fn no_body(request: Request) -> Result<(), ApiError> {
    match OnceOnly::of(&request) {
        Some(once) => once.begin(|_| ()).await,
        None => Ok(()),
    }
}

async fn read(app: &App, body: Body) -> Result<Bytes, ApiError> {
    let body = tokio::time::timeout(app.settings.uploads.idle_s.get(), to_bytes(body, MAX_BODY_BYTES)).await;
    let body = body.map_err(|_| ApiError::new(Code::Timeout, "the body did not come in time"))?;
    body.map_err(|_| {
        ApiError::new(Code::PayloadTooLarge, format!("the body is broken, or has more than {MAX_BODY_BYTES} bytes"))
    })
}

fn parse(body: &Bytes) -> Result<Value, ApiError> {
    let value: Value =
        serde_json::from_slice(body).map_err(|e| ApiError::invalid("body", None, format!("not JSON: {e}")))?;
    // Serde would take a list for a struct.
    if value.is_object() { Ok(value) } else { Err(ApiError::invalid("body", None, "not a JSON object")) }
}

/// The field that serde complains about as missing or unknown, if that is the complaint.
pub(crate) fn named_field(complaint: &str) -> Option<&str> {
    let named = ["missing field `", "unknown field `"].into_iter().find_map(|start| complaint.strip_prefix(start));
    named.and_then(|rest| rest.split_once('`')).map(|(name, _)| name)
}
