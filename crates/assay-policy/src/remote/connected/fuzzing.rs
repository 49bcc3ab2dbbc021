//! Entry point for fuzzing: an episode of a policy that connects.

use std::sync::Arc;
use std::time::Duration;

use assay_model::JobId;
use assay_model::frame::{FrameKind, Hello, PROTOCOL, frame};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{DuplexStream, duplex};
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::limits::ConnectionWaits;
use super::registry::ConnectedPolicies;
use super::session::ConnectedSession;
use crate::remote::fuzzing::{NONCE, PATIENCE, PIPE_BYTES, send};
use crate::remote::lane_side::LaneSide;
use crate::remote::limits::RemoteLimits;
use crate::remote::log::ServerLog;
use crate::remote::relay::{ChunkExecution, Relay};
use crate::remote::server_session::ServerSession;

/// The job whose policy connects.
const JOB: &str = "01936f3c-8d2e-7c41-9f0a-5b6c7d8e9f01";
/// Maximum wait for the connection: both ends are in one process.
const CONNECTION_PATIENCE: Duration = Duration::from_millis(50);

/// Relays between a lane that sends `lane` and a policy that connects and answers each message with the next of
/// `answers`, which are messages of its WebSocket.
///
/// # Errors
/// A socket cannot be created.
pub(crate) async fn connected(lane: &[u8], answers: Vec<Vec<u8>>) -> std::io::Result<()> {
    let job: JobId = JOB.parse().map_err(std::io::Error::other)?;
    let (relay_end, lane_end) = UnixStream::pair()?;
    let waits = ConnectionWaits {
        first: CONNECTION_PATIENCE,
        again: CONNECTION_PATIENCE,
        total: CONNECTION_PATIENCE,
        ..ConnectionWaits::default()
    };
    let policies = ConnectedPolicies::new(Handle::current(), waits);
    let (near, far) = duplex(PIPE_BYTES);
    if let Some(reservation) = policies.reserve(job) {
        reservation.attach(far);
    }
    let answering = tokio::spawn(answer(near, answers));
    let sending = tokio::spawn(send(lane_end, lane.to_vec()));
    if let Ok(session) = ConnectedSession::open(&policies, job, NONCE).await {
        let limits = RemoteLimits { connect: PATIENCE, first: PATIENCE, inference: PATIENCE, episode: PATIENCE };
        let execution = ChunkExecution { replan_steps: Some(1), ..ChunkExecution::default() };
        let (lane, log) = (LaneSide::new(relay_end, NONCE), Arc::new(ServerLog::default()));
        let session = ServerSession::Connected(Box::new(session));
        Relay::new(lane, session, limits, execution, "0".to_owned(), log).run().await;
    }
    policies.end(job);
    answering.abort();
    sending.abort();
    Ok(())
}

/// Sends HELLO, and an answer to each message.
async fn answer(stream: DuplexStream, answers: Vec<Vec<u8>>) {
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
    let hello = Hello { protocol: PROTOCOL, python: String::new(), numpy: String::new(), sealed: false };
    let hello = serde_json::to_vec(&hello).unwrap_or_default();
    if socket.send(Message::Binary(frame(FrameKind::Hello, 0, 0, &hello).into())).await.is_err() {
        return;
    }
    for answer in answers {
        if socket.next().await.is_none() || socket.send(Message::Binary(answer.into())).await.is_err() {
            return;
        }
    }
    while let Some(Ok(_)) = socket.next().await {}
}
