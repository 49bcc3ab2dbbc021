//! A WebSocket whose messages are frames: of bounded size, pings answered, floods refused. Both sides use it.

use assay_model::frame::{FrameKind, HEADER_BYTES, Header, frame};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use crate::remote::allowance::{Metered, ReceiveAllowance};
use crate::remote::fault::ServerFault;
use crate::remote::limits::{CLOSE_LIMIT, MAX_CONTROL_FRAMES, MAX_REPLY_BYTES};
use crate::remote::transport::Transport;
use crate::remote::websocket::{broken, reason};

/// Maximum length of the reason of a closed connection, in bytes, which WebSocket limits to 123.
const MAX_REASON_BYTES: usize = 120;

/// A connection that carries frames.
pub(super) struct FrameSocket {
    stream: WebSocketStream<Box<dyn Transport>>,
    allowance: ReceiveAllowance,
    control_frames: u32,
    max_control_frames: u32,
    max_payload: u32,
}

/// A message of the other side: a frame, the answer to a ping, or another sign of life.
pub(super) enum Received {
    Frame(Header, Bytes),
    Pong(Bytes),
    Control,
}

impl FrameSocket {
    /// Creates the service's side of a connection after its handshake.
    pub(super) async fn of_service(stream: impl Transport + 'static) -> Self {
        let allowance = ReceiveAllowance::default();
        let stream: Box<dyn Transport> = Box::new(Metered::new(stream, &allowance));
        let stream = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config(MAX_REPLY_BYTES))).await;
        Self::new(stream, allowance, MAX_REPLY_BYTES)
    }

    /// Wraps an open WebSocket whose messages have at most `max_bytes`.
    pub(super) fn new(
        stream: WebSocketStream<Box<dyn Transport>>,
        allowance: ReceiveAllowance,
        max_bytes: usize,
    ) -> Self {
        let max_payload = u32::try_from(max_bytes.saturating_sub(HEADER_BYTES)).unwrap_or(u32::MAX);
        Self { stream, allowance, control_frames: 0, max_control_frames: MAX_CONTROL_FRAMES, max_payload }
    }

    /// Begins a phase in which the other side may send this number of control frames.
    pub(super) fn begin_phase(&mut self, max_control_frames: u32) {
        self.allowance.renew();
        (self.control_frames, self.max_control_frames) = (0, max_control_frames);
    }

    /// Lifts the limit of control frames, for a peer that is trusted.
    pub(super) fn accept_any_number(&mut self) {
        self.max_control_frames = u32::MAX;
    }

    /// Sends a frame, and renews the number of bytes that may be received.
    pub(super) async fn send(
        &mut self,
        kind: FrameKind,
        seq: u32,
        nonce: u64,
        payload: &[u8],
    ) -> Result<(), ServerFault> {
        self.allowance.renew();
        let sent = self.stream.send(Message::Binary(frame(kind, seq, nonce, payload).into())).await;
        sent.map_err(|error| self.allowance.explain(broken(&error)))
    }

    pub(super) async fn ping(&mut self, content: &'static [u8]) -> Result<(), ServerFault> {
        let sent = self.stream.send(Message::Ping(Bytes::from_static(content))).await;
        sent.map_err(|error| self.allowance.explain(broken(&error)))
    }

    /// Receives the next message. The future may be dropped at any point.
    pub(super) async fn next(&mut self) -> Result<Received, ServerFault> {
        match self.stream.next().await {
            Some(Ok(Message::Binary(bytes))) => self.decode(bytes),
            Some(Ok(Message::Text(_))) => Err(ServerFault::protocol("text instead of a frame")),
            Some(Ok(Message::Close(frame))) => Err(ServerFault::closed(reason(frame.as_ref()))),
            Some(Ok(message @ (Message::Ping(_) | Message::Pong(_) | Message::Frame(_)))) => {
                self.control_frames += 1;
                if self.control_frames > self.max_control_frames {
                    let most = self.max_control_frames;
                    return Err(ServerFault::protocol(format!("more than {most} pings")));
                }
                Ok(match message {
                    Message::Pong(content) => Received::Pong(content),
                    _ => Received::Control,
                })
            }
            Some(Err(error)) => Err(self.allowance.explain(broken(&error))),
            None => Err(ServerFault::closed("")),
        }
    }

    /// Receives the next frame. The future may be dropped at any point.
    pub(super) async fn receive(&mut self) -> Result<(Header, Bytes), ServerFault> {
        loop {
            if let Received::Frame(header, payload) = self.next().await? {
                return Ok((header, payload));
            }
        }
    }

    /// Returns a frame or fault that has already arrived, without waiting.
    pub(super) fn pending(&mut self) -> Option<Result<(Header, Bytes), ServerFault>> {
        self.receive().now_or_never()
    }

    /// Closes the connection; the wait for the other side is limited.
    pub(super) async fn close(mut self, fault: Option<&ServerFault>) {
        let code = if fault.is_some() { CloseCode::Policy } else { CloseCode::Normal };
        let text = fault.map_or_else(String::new, |fault| assay_model::sanitise(&fault.message, MAX_REASON_BYTES));
        // A sanitised text may end with a mark of three bytes.
        let text: String = text.char_indices().take_while(|(at, _)| *at < MAX_REASON_BYTES).map(|(_, c)| c).collect();
        let farewell = self.stream.close(Some(CloseFrame { code, reason: text.into() }));
        // Errors are ignored: the connection ends when this value is dropped.
        drop(timeout(CLOSE_LIMIT, farewell).await);
    }

    fn decode(&self, bytes: Bytes) -> Result<Received, ServerFault> {
        let head = bytes.first_chunk::<HEADER_BYTES>().ok_or_else(|| ServerFault::protocol("half a frame"))?;
        let header =
            Header::decode(head, self.max_payload).map_err(|error| ServerFault::protocol(error.to_string()))?;
        let payload = bytes.slice(HEADER_BYTES..);
        if payload.len() != header.length as usize {
            return Err(ServerFault::protocol("a message that is not one frame"));
        }
        Ok(Received::Frame(header, payload))
    }
}

/// Returns the configuration for messages of at most `max_bytes`.
pub(super) fn config(max_bytes: usize) -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(max_bytes)).max_frame_size(Some(max_bytes))
}
