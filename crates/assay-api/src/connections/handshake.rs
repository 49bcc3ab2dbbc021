//! The server's side of the WebSocket handshake (RFC 6455, 4.2).

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::http::ApiError;

/// The version of the protocol.
const VERSION: &str = "13";
/// Maximum length of a client's key, in bytes: 16 bytes in base64 have 24.
const MAX_KEY_BYTES: usize = 64;

/// A request to open a WebSocket.
pub(crate) struct Handshake {
    /// The value of `Sec-WebSocket-Accept`.
    pub(crate) accept: String,
    /// Becomes the connection once the response is sent.
    pub(crate) upgrade: OnUpgrade,
}

impl Handshake {
    /// Reads the handshake of a request.
    ///
    /// # Errors
    /// 400 if the request does not open a WebSocket.
    pub(crate) fn of(request: &mut Request) -> Result<Self, ApiError> {
        let headers = request.headers();
        let has = |name, token: &str| {
            let mut values = headers.get_all(name).iter().filter_map(|value: &HeaderValue| value.to_str().ok());
            values.any(|value| value.split(',').any(|item| item.trim().eq_ignore_ascii_case(token)))
        };
        if !has(header::CONNECTION, "upgrade") || !has(header::UPGRADE, "websocket") {
            let message = "this path opens a WebSocket: send Connection: Upgrade and Upgrade: websocket";
            return Err(ApiError::invalid("Upgrade", None, message));
        }
        if !has(header::SEC_WEBSOCKET_VERSION, VERSION) {
            let message = format!("Sec-WebSocket-Version must be {VERSION}");
            return Err(ApiError::invalid("Sec-WebSocket-Version", None, message));
        }
        let accept = derive_accept_key(key(headers)?.as_bytes());
        let upgrade = request.extensions_mut().remove::<OnUpgrade>().ok_or_else(|| {
            ApiError::invalid("Upgrade", None, "this connection cannot become a WebSocket: use HTTP/1.1")
        })?;
        Ok(Self { accept, upgrade })
    }
}

fn key(headers: &HeaderMap) -> Result<&str, ApiError> {
    let key = headers.get(header::SEC_WEBSOCKET_KEY).and_then(|value| value.to_str().ok());
    let key = key.filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len()));
    key.ok_or_else(|| ApiError::invalid("Sec-WebSocket-Key", None, "Sec-WebSocket-Key is missing or too long"))
}

/// Creates the response that completes the handshake.
pub(crate) fn switching_protocols(accept: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(value) = HeaderValue::from_str(accept) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, value);
    }
    response
}
