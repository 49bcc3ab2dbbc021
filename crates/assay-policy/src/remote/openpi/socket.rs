//! The WebSocket: messages of bounded size, pings answered, floods refused.

use assay_model::Secret;
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};

use crate::remote::allowance::ReceiveAllowance;
use crate::remote::endpoint::ServerEndpoint;
use crate::remote::fault::ServerFault;
use crate::remote::guard::AddressGuard;
use crate::remote::limits::{CLOSE_LIMIT, MAX_CONTROL_FRAMES, MAX_REPLY_BYTES};
use crate::remote::transport::{self, Transport};
use crate::remote::websocket::{broken, reason};

/// A connected WebSocket.
pub(crate) struct Socket {
    stream: WebSocketStream<Box<dyn Transport>>,
    allowance: ReceiveAllowance,
    control_frames: u32,
}

/// A message with content.
pub(super) enum MessageContent {
    Binary(Bytes),
    Text(String),
}

impl Socket {
    pub(super) async fn open(
        guard: &AddressGuard,
        endpoint: &ServerEndpoint,
        key: Option<&Secret>,
    ) -> Result<Self, ServerFault> {
        let url = endpoint.in_full();
        let mut request = url.into_client_request().map_err(|error| ServerFault::mismatch(error.to_string()))?;
        if let Some(key) = key {
            let mut value = HeaderValue::from_str(&format!("Api-Key {}", key.reveal())).map_err(|_| {
                ServerFault::mismatch("policy_api_key has characters that are not allowed in an HTTP header")
            })?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let allowance = ReceiveAllowance::default();
        let stream = transport::open(guard, endpoint, &allowance).await?;
        let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(config())).await;
        let (stream, _) = opened.map_err(|error| allowance.explain(refused(&error)))?;
        Ok(Self { stream, allowance, control_frames: 0 })
    }

    /// Creates a socket over a stream after its handshake.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) async fn over(stream: Box<dyn Transport>, allowance: ReceiveAllowance) -> Self {
        let role = tokio_tungstenite::tungstenite::protocol::Role::Client;
        let stream = WebSocketStream::from_raw_socket(stream, role, Some(config())).await;
        Self { stream, allowance, control_frames: 0 }
    }

    pub(super) async fn send(&mut self, bytes: Vec<u8>) -> Result<(), ServerFault> {
        self.allowance.renew();
        let sent = self.stream.send(Message::Binary(bytes.into())).await;
        sent.map_err(|error| self.allowance.explain(broken(&error)))
    }

    /// Receives the next message with content, and answers pings. The future may be dropped at any point.
    pub(super) async fn receive(&mut self) -> Result<MessageContent, ServerFault> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Binary(bytes))) => return Ok(MessageContent::Binary(bytes)),
                Some(Ok(Message::Text(text))) => return Ok(MessageContent::Text(text.as_str().to_owned())),
                Some(Ok(Message::Close(frame))) => return Err(ServerFault::closed(reason(frame.as_ref()))),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                    self.control_frames += 1;
                    if self.control_frames > MAX_CONTROL_FRAMES {
                        return Err(ServerFault::protocol(format!(
                            "more than {MAX_CONTROL_FRAMES} pings in an episode"
                        )));
                    }
                }
                Some(Err(error)) => return Err(self.allowance.explain(broken(&error))),
                None => return Err(ServerFault::closed("")),
            }
        }
    }

    /// Returns a message that has already arrived, without waiting.
    pub(super) fn pending(&mut self) -> Option<Result<MessageContent, ServerFault>> {
        self.receive().now_or_never()
    }

    /// Closes the connection, and returns the number of unsolicited messages with content: all that the server sent
    /// before it answers a last ping. The wait for a server that does not answer is limited.
    pub(super) async fn close(&mut self) -> u32 {
        let mut unasked = 0;
        let farewell = async {
            self.stream.send(Message::Ping(Bytes::new())).await?;
            while let Some(message) = self.stream.next().await {
                match message? {
                    Message::Binary(_) | Message::Text(_) => unasked += 1,
                    Message::Pong(_) => break,
                    _ => {}
                }
            }
            self.stream.close(None).await
        };
        // Errors are ignored: the connection ends when this value is dropped.
        drop(tokio::time::timeout(CLOSE_LIMIT, farewell).await);
        unasked
    }
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(MAX_REPLY_BYTES)).max_frame_size(Some(MAX_REPLY_BYTES))
}

/// Returns the fault of a failed handshake.
fn refused(error: &Error) -> ServerFault {
    let why = match error {
        Error::Http(response) => match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "it refused the key or requires one (policy_api_key)".to_owned()
            }
            status if status.is_redirection() => "it redirects to another address; use that one".to_owned(),
            status => format!("it answered {status} instead of opening a WebSocket"),
        },
        other => other.to_string(),
    };
    ServerFault::connect(format!("could not open a WebSocket to the policy server: {why}"))
}
