//! Entry points for fuzzing: a policy server's answers, and a whole conversation between a lane and a server.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::UnixStream;

use super::allowance::{Metered, ReceiveAllowance};
use super::endpoint::ServerEndpoint;
use super::fault::ServerFault;
use super::guard::AddressGuard;
use super::lane_side::LaneSide;
use super::limits::RemoteLimits;
use super::log::ServerLog;
use super::relay::{ChunkExecution, Relay};
use super::server_session::ServerSession;
use super::transport::Transport;
use super::{http, openpi};

/// The nonce of the lane's frames.
pub(crate) const NONCE: u64 = 7;
/// Capacity of a pipe in memory, in bytes.
pub(crate) const PIPE_BYTES: usize = 64 * 1024;
/// Maximum wait for an answer: both ends are in one process, so an answer arrives in time.
pub(crate) const PATIENCE: Duration = Duration::from_millis(5);
/// Numbers in an action.
const ACTION_DIM: usize = 2;

/// Reads a message of an openpi server as an introduction, as an answer to a reset, and as actions. Returns how many
/// actions there are.
#[must_use]
pub(crate) fn openpi_answer(message: &[u8]) -> Option<usize> {
    openpi::read_everywhere(message, ACTION_DIM).ok().map(|chunk| chunk.horizon())
}

/// Reads the body of an answer of a server over HTTP. Returns how many actions there are.
#[must_use]
pub(crate) fn http_answer(status: u16, body: &[u8]) -> Option<usize> {
    http::read(status, body, ACTION_DIM).ok().map(|chunk| chunk.horizon())
}

/// Relays between a lane that sends `lane` and a server that answers each request with the next of `answers`, over HTTP
/// or over a WebSocket whose handshake is done.
///
/// # Errors
/// A socket cannot be created.
pub(crate) async fn relay(web_socket: bool, lane: &[u8], answers: Vec<Vec<u8>>) -> std::io::Result<()> {
    let (relay_end, lane_end) = UnixStream::pair()?;
    let (client, server) = duplex(PIPE_BYTES);
    let serving = tokio::spawn(serve(server, web_socket, answers));
    let sending = tokio::spawn(send(lane_end, lane.to_vec()));
    let allowance = ReceiveAllowance::default();
    let stream: Box<dyn Transport> = Box::new(Metered::new(client, &allowance));
    if let Ok(Ok(session)) = tokio::time::timeout(PATIENCE, open(web_socket, stream, allowance)).await {
        let limits = RemoteLimits { connect: PATIENCE, first: PATIENCE, inference: PATIENCE, episode: PATIENCE };
        let lane = LaneSide::new(relay_end, NONCE);
        let execution = ChunkExecution { replan_steps: Some(1), ..ChunkExecution::default() };
        Relay::new(lane, session, limits, execution, "0".to_owned(), Arc::new(ServerLog::default())).run().await;
    }
    serving.abort();
    sending.abort();
    Ok(())
}

async fn open(
    web_socket: bool,
    stream: Box<dyn Transport>,
    allowance: ReceiveAllowance,
) -> Result<ServerSession, ServerFault> {
    if web_socket {
        return openpi::OpenPiSession::over(openpi::Socket::over(stream, allowance).await)
            .await
            .map(ServerSession::OpenPi);
    }
    let endpoint =
        ServerEndpoint::parse("http://127.0.0.1:9/").map_err(|error| ServerFault::mismatch(error.to_string()))?;
    let client = http::HttpClient::over(stream, allowance, &AddressGuard::new(Vec::new()), &endpoint).await?;
    http::HttpSession::over(client).await.map(ServerSession::Http)
}

/// Writes an answer for each message, and the first one unsolicited if the protocol begins with the server.
async fn serve(mut stream: DuplexStream, introduces_itself: bool, answers: Vec<Vec<u8>>) {
    let (mut wait, mut request) = (!introduces_itself, vec![0; PIPE_BYTES]);
    for answer in answers {
        if wait && !matches!(stream.read(&mut request).await, Ok(1..)) || stream.write_all(&answer).await.is_err() {
            return;
        }
        wait = true;
    }
}

/// Sends the lane's bytes, and reads the relay's until it ends.
pub(crate) async fn send(mut lane: UnixStream, bytes: Vec<u8>) {
    let (mut from, mut to) = lane.split();
    let sent = async {
        let _ = to.write_all(&bytes).await;
        let _ = to.shutdown().await;
    };
    let received = async {
        let mut rest = vec![0; 4096];
        while matches!(from.read(&mut rest).await, Ok(1..)) {}
    };
    tokio::join!(sent, received);
}
