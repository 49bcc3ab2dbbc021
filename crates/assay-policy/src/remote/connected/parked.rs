//! A connection between two episodes: pinged, so that a dead one is noticed, and handed out when an episode begins.

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

use super::frame_socket::{FrameSocket, Received};
use super::limits::{MAX_PARKED_CONTROL_FRAMES, PING_INTERVAL, PONG_LIMIT, SILENCE_LIMIT};
use crate::remote::fault::ServerFault;

/// Content of the ping before an episode, which distinguishes its answer from those to earlier pings.
const EPISODE: &[u8] = b"episode";

/// Asks for the connection: the sender of the answer.
pub(super) type Request = oneshot::Sender<FrameSocket>;

/// Keeps `socket` alive until it is requested. Returns early if the connection fails, or nothing can request it any
/// more.
pub(super) async fn park(mut socket: FrameSocket, mut requested: oneshot::Receiver<Request>) {
    let fault = tokio::select! {
        request = &mut requested => {
            match request {
                // A requester that is gone drops the socket.
                Ok(request) => drop(request.send(socket)),
                Err(_) => socket.close(None).await,
            }
            return;
        }
        fault = keep_alive(&mut socket) => fault,
    };
    tracing::debug!(reason = %fault.message, "the connection of a policy ended between two episodes");
    // The slot is free for another connection before the farewell.
    drop(requested);
    socket.close(Some(&fault)).await;
}

/// Checks that the other side of a connection is there, before an episode depends on it.
pub(super) async fn check(socket: &mut FrameSocket) -> Result<(), ServerFault> {
    socket.begin_phase(MAX_PARKED_CONTROL_FRAMES);
    let answered = async {
        socket.ping(EPISODE).await?;
        loop {
            match socket.next().await? {
                Received::Pong(content) if content == EPISODE => return Ok(()),
                Received::Pong(_) | Received::Control => {}
                Received::Frame(..) => return Err(ServerFault::unasked()),
            }
        }
    };
    timeout(PONG_LIMIT, answered).await.unwrap_or_else(|_| Err(ServerFault::timeout("answer a ping", PONG_LIMIT)))
}

/// Pings until something goes wrong. The future may be dropped at any point.
async fn keep_alive(socket: &mut FrameSocket) -> ServerFault {
    let mut alive = Instant::now();
    let mut next_ping = alive + PING_INTERVAL;
    socket.begin_phase(MAX_PARKED_CONTROL_FRAMES);
    loop {
        tokio::select! {
            received = socket.next() => match received {
                Ok(Received::Control | Received::Pong(_)) => alive = Instant::now(),
                Ok(Received::Frame(..)) => return ServerFault::unasked(),
                Err(fault) => return fault,
            },
            () = sleep_until(next_ping) => {
                if alive.elapsed() > SILENCE_LIMIT {
                    return ServerFault::timeout("answer a ping", SILENCE_LIMIT);
                }
                socket.begin_phase(MAX_PARKED_CONTROL_FRAMES);
                if let Err(fault) = socket.ping(b"").await {
                    return fault;
                }
                next_ping = Instant::now() + PING_INTERVAL;
            }
        }
    }
}
