//! Opens a connection to a service, from the policy's side.

use std::time::Duration;

use assay_model::Secret;
use assay_model::frame::{FrameKind, Hello, PROTOCOL};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;

use super::frame_socket::{FrameSocket, config};
use super::limits::MAX_SERVICE_BYTES;
use super::link_error::ServiceLinkError;
use crate::remote::allowance::ReceiveAllowance;
use crate::remote::endpoint::ServerEndpoint;
use crate::remote::guard::AddressGuard;
use crate::remote::transport;

/// Maximum time to connect, with all handshakes.
const OPEN_LIMIT: Duration = Duration::from_secs(15);

/// Connects to the service at `endpoint` with a token for one connection, and sends HELLO.
pub(super) async fn dial(
    guard: &AddressGuard,
    endpoint: &ServerEndpoint,
    token: &Secret,
) -> Result<FrameSocket, ServiceLinkError> {
    let late = || {
        let seconds = OPEN_LIMIT.as_secs();
        Err(ServiceLinkError::Unreachable(format!("the service did not answer within {seconds} s")))
    };
    timeout(OPEN_LIMIT, open(guard, endpoint, token)).await.unwrap_or_else(|_| late())
}

async fn open(
    guard: &AddressGuard,
    endpoint: &ServerEndpoint,
    token: &Secret,
) -> Result<FrameSocket, ServiceLinkError> {
    let unreachable = |why: String| ServiceLinkError::Unreachable(why);
    let mut request = endpoint.in_full().into_client_request().map_err(|error| unreachable(error.to_string()))?;
    let value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
    let mut value = value.map_err(|error| unreachable(error.to_string()))?;
    value.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, value);
    let allowance = ReceiveAllowance::unlimited();
    let stream =
        transport::open(guard, endpoint, &allowance).await.map_err(|fault| unreachable(service(&fault.message)))?;
    let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(config(MAX_SERVICE_BYTES))).await;
    let (stream, _) = opened.map_err(|error| match error {
        Error::Http(response) => ServiceLinkError::Refused(response.status().as_u16()),
        other => ServiceLinkError::Unreachable(other.to_string()),
    })?;
    let mut socket = FrameSocket::new(stream, allowance, MAX_SERVICE_BYTES);
    socket.accept_any_number();
    let hello = Hello { protocol: PROTOCOL, python: String::new(), numpy: String::new(), sealed: false };
    let hello = serde_json::to_vec(&hello).unwrap_or_default();
    let sent = socket.send(FrameKind::Hello, 0, 0, &hello).await;
    sent.map_err(|fault| unreachable(service(&fault.message)))?;
    Ok(socket)
}

/// Returns a text about the other side of a connection in words for the policy's side, where that is a service.
pub(super) fn service(message: &str) -> String {
    message.replace("policy server", "service")
}
