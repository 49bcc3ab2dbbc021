//! An episode over the connection of a policy: the service's side of the frames.

use std::time::Duration;

use assay_model::frame::{FrameKind, Header, Init, PolicyFault};
use assay_model::{JobId, PolicyErrorCode};
use tokio_tungstenite::tungstenite::Bytes;

use super::frame_socket::FrameSocket;
use super::registry::{ConnectedPolicies, ConnectionReservation, NotTaken};
use crate::remote::array::NumberArray;
use crate::remote::chunk::Chunk;
use crate::remote::fault::ServerFault;
use crate::remote::limits::{CLOSE_LIMIT, MAX_CONTROL_FRAMES};
use crate::remote::observation::{Episode, RemoteObservation};

/// A policy's connection, used by an episode. Dropping it without [`Self::close`] closes the connection.
pub(crate) struct ConnectedSession {
    socket: FrameSocket,
    reservation: ConnectionReservation,
    /// Distinguishes the frames of this episode from those of others.
    nonce: u64,
    /// Number of the last observation.
    seq: u32,
    state: Exchange,
}

/// The state of the conversation.
enum Exchange {
    /// Every request is answered.
    Idle,
    /// A request waits for its answer.
    Outstanding,
    /// The policy's side broke the rules, or the connection failed.
    Broken(ServerFault),
}

impl ConnectedSession {
    /// Waits for the job's policy to be connected.
    pub(crate) async fn open(policies: &ConnectedPolicies, job: JobId, nonce: u64) -> Result<Self, NotTaken> {
        let (mut socket, reservation) = policies.take(job).await?;
        socket.begin_phase(MAX_CONTROL_FRAMES);
        Ok(Self { socket, reservation, nonce, seq: 0, state: Exchange::Idle })
    }

    #[expect(clippy::unused_self, reason = "called like the methods of the other protocols")]
    pub(crate) fn describe(&self) -> String {
        "frames over WebSocket, connected by the policy".to_owned()
    }

    /// Begins the episode.
    pub(crate) async fn reset(&mut self, episode: &Episode) -> Result<(), ServerFault> {
        let init = Init {
            seed: episode.seed,
            scenario: episode.scenario.clone(),
            instruction: Some(episode.instruction.clone()).filter(|text| !text.is_empty()),
            observation: episode.specs.clone(),
            action_dim: u32::try_from(episode.action_dim).unwrap_or(u32::MAX),
        };
        let init = serde_json::to_vec(&init).map_err(|error| ServerFault::protocol(error.to_string()))?;
        self.request(FrameKind::Init, 0, &init, FrameKind::Ready).await.map(drop)
    }

    /// Requests actions.
    pub(crate) async fn infer(&mut self, observation: RemoteObservation<'_>) -> Result<Chunk, ServerFault> {
        if let Some(early) = self.socket.pending() {
            return Err(self.broken(unasked(early)));
        }
        self.seq = observation.step;
        let answer = self.request(FrameKind::Observation, self.seq, observation.payload(), FrameKind::Action).await?;
        actions(&answer, observation.episode.action_dim)
    }

    /// Answers pings; returns only when something goes wrong. The future may be dropped at any point.
    pub(crate) async fn idle(&mut self) -> ServerFault {
        let fault = unasked(self.socket.receive().await);
        self.broken(fault)
    }

    /// Ends the episode, and gives the connection back if it can serve another one. Returns the number of unsolicited
    /// frames.
    pub(crate) async fn close(mut self) -> u32 {
        let mut unsolicited = 0;
        if let (Exchange::Idle, Some(early)) = (&self.state, self.socket.pending()) {
            unsolicited = u32::from(early.is_ok());
            self.state = Exchange::Broken(unasked(early));
        }
        let fault = match self.state {
            Exchange::Idle => {
                let sent = self.socket.send(FrameKind::Close, self.seq, self.nonce, &[]);
                match within(CLOSE_LIMIT, sent).await {
                    Ok(()) => {
                        self.reservation.park(self.socket);
                        return unsolicited;
                    }
                    Err(fault) => fault,
                }
            }
            Exchange::Outstanding => ServerFault::connect("the policy did not answer in time"),
            Exchange::Broken(fault) => fault,
        };
        // The policy's side may connect again before this connection is closed completely.
        drop(self.reservation);
        self.socket.close(Some(&fault)).await;
        unsolicited
    }

    async fn request(
        &mut self,
        kind: FrameKind,
        seq: u32,
        payload: &[u8],
        expected: FrameKind,
    ) -> Result<Bytes, ServerFault> {
        self.state = Exchange::Outstanding;
        let exchange = async {
            self.socket.send(kind, seq, self.nonce, payload).await?;
            self.socket.receive().await
        };
        let (header, payload) = exchange.await.map_err(|fault| self.broken(fault))?;
        if let Err(fault) = check(&header, (seq, self.nonce), expected) {
            return Err(self.broken(fault));
        }
        self.state = Exchange::Idle;
        if header.kind == FrameKind::Error { Err(reported(&payload)) } else { Ok(payload) }
    }

    fn broken(&mut self, fault: ServerFault) -> ServerFault {
        self.state = Exchange::Broken(fault.clone());
        fault
    }
}

/// Checks that a frame answers the request with this number, of the episode with this nonce.
fn check(header: &Header, (seq, nonce): (u32, u64), expected: FrameKind) -> Result<(), ServerFault> {
    if header.nonce != nonce {
        return Err(ServerFault::protocol("a frame of another episode"));
    }
    if header.seq != seq {
        return Err(ServerFault::protocol(format!("an answer to observation {} instead of {seq}", header.seq)));
    }
    if header.kind != expected && header.kind != FrameKind::Error {
        return Err(ServerFault::protocol(format!("{:?} instead of {expected:?}", header.kind)));
    }
    Ok(())
}

/// Returns the actions of an ACTION: one, or several that are executed in turn.
fn actions(payload: &[u8], width: usize) -> Result<Chunk, ServerFault> {
    let row = width.max(1) * 8;
    if payload.is_empty() || !payload.len().is_multiple_of(row) {
        let bytes = payload.len();
        return Err(ServerFault::bad_action(format!(
            "{bytes} bytes of actions; this scenario expects {row} for each action of {width} numbers"
        )));
    }
    let numbers = payload.chunks_exact(8).map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]));
    let array = NumberArray { shape: vec![payload.len() / row, width], values: numbers.collect() };
    Chunk::new(array, width)
}

/// Returns the fault that the policy's side reports. Only faults of policies can be reported: anything else is an error
/// of the server.
fn reported(payload: &[u8]) -> ServerFault {
    let Ok(fault) = serde_json::from_slice::<PolicyFault>(payload) else {
        return ServerFault::protocol("an error that is not readable");
    };
    let known = match fault.code {
        PolicyErrorCode::ImportTimeout
        | PolicyErrorCode::Timeout
        | PolicyErrorCode::Exited
        | PolicyErrorCode::LogFlood
        | PolicyErrorCode::Protocol
        | PolicyErrorCode::Connect
        | PolicyErrorCode::ServerError
        | PolicyErrorCode::Mismatch
        | PolicyErrorCode::Closed => true,
        ref code => code.is_reported_by_runner(),
    };
    let code = if known { fault.code } else { PolicyErrorCode::ServerError };
    ServerFault::reported(code, &fault.message, &fault.traceback)
}

fn unasked(received: Result<(Header, Bytes), ServerFault>) -> ServerFault {
    received.map_or_else(|fault| fault, |_| ServerFault::unasked())
}

async fn within(limit: Duration, work: impl Future<Output = Result<(), ServerFault>>) -> Result<(), ServerFault> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(ServerFault::timeout("read its frames", limit)))
}
