//! Relays between a lane and a server: observations out, actions back. One answer often serves many control steps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_model::frame::{FrameKind, Init};

use super::chunk::Chunk;
use super::fault::{ServerFault, ServerFaultKind};
use super::lane_side::{LaneGone, LaneSide};
use super::limits::RemoteLimits;
use super::log::ServerLog;
use super::observation::{Episode, RemoteObservation};
use super::redaction::Redaction;
use super::server_session::ServerSession;
use super::session::ProtocolSession;
use super::silence::within_silence;

/// The use that is made of a server's answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChunkExecution {
    /// Actions of an answer that are executed; all of them if absent.
    pub(crate) replan_steps: Option<u32>,
    /// True if they are passed on in one frame: the other side is not a lane, but forwards them to a service.
    pub(crate) forwards_chunks: bool,
    /// The secrets to redact from its messages.
    pub(crate) redaction: Redaction,
}

/// One episode's relay.
pub(crate) struct Relay {
    lane: LaneSide,
    session: ServerSession,
    limits: RemoteLimits,
    execution: ChunkExecution,
    /// Random, for servers that distinguish sessions.
    id: String,
    episode: Option<Episode>,
    chunk: Option<Chunk>,
    asked: bool,
    /// Time spent waiting for the server.
    waited: Duration,
    log: Arc<ServerLog>,
    /// A fault that occurred between two requests.
    fault: Option<ServerFault>,
}

impl Relay {
    pub(crate) fn new(
        lane: LaneSide,
        session: ServerSession,
        limits: RemoteLimits,
        execution: ChunkExecution,
        id: String,
        log: Arc<ServerLog>,
    ) -> Self {
        Self {
            lane,
            session,
            limits,
            execution,
            id,
            episode: None,
            chunk: None,
            asked: false,
            waited: Duration::ZERO,
            log,
            fault: None,
        }
    }

    /// Serves the lane until the end of the episode, then closes the session.
    pub(crate) async fn run(mut self) {
        if let Err(error) = self.serve().await {
            tracing::debug!(%error, "relay ended before its episode");
        }
        let known = u32::from(self.fault.as_ref().is_some_and(|fault| fault.kind == ServerFaultKind::Unasked));
        let Self { session, log, .. } = self;
        log.unasked(known + session.close().await);
    }

    async fn serve(&mut self) -> Result<(), LaneGone> {
        loop {
            let received = tokio::select! {
                // The lane has priority: both sides wait for its observation.
                biased;
                received = self.lane.receive() => received?,
                fault = self.session.idle(), if self.fault.is_none() => {
                    self.fault = Some(fault);
                    continue;
                }
            };
            let (header, payload) = received;
            let answer = match header.kind {
                FrameKind::Close => return Ok(()),
                FrameKind::Init => self.begin(&payload).await.map(|()| None),
                FrameKind::Observation => self.act(header.seq, &payload).await.map(Some),
                FrameKind::Hello
                | FrameKind::Load
                | FrameKind::Loaded
                | FrameKind::Ready
                | FrameKind::Action
                | FrameKind::Last
                | FrameKind::Error => Err(ServerFault::protocol("the lane sent an unexpected frame")),
            };
            match answer {
                Ok(None) => self.lane.send(FrameKind::Ready, header.seq, &[]).await?,
                Ok(Some((actions, payload))) => self.lane.send_action(header.seq, actions, &payload).await?,
                Err(fault) => {
                    let fault = self.execution.redaction.redact_fault(fault);
                    let payload = serde_json::to_vec(&fault.to_wire()).unwrap_or_default();
                    self.lane.send(FrameKind::Error, header.seq, &payload).await?;
                    return self.linger().await;
                }
            }
        }
    }

    /// Waits after a fault until the lane has read it, and sends CLOSE or closes the socket.
    async fn linger(&mut self) -> Result<(), LaneGone> {
        while self.lane.receive().await?.0.kind != FrameKind::Close {}
        Ok(())
    }

    async fn begin(&mut self, payload: &[u8]) -> Result<(), ServerFault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let init: Init = serde_json::from_slice(payload).map_err(|error| ServerFault::protocol(error.to_string()))?;
        let episode = self.episode.insert(Episode::new(self.id.clone(), init));
        let reset = self.session.reset(episode);
        within(self.limits.first, "answer the reset", reset).await
    }

    /// Returns an action, and the number of actions in the answer that it begins.
    async fn act(&mut self, seq: u32, payload: &[u8]) -> Result<(usize, Vec<u8>), ServerFault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if let Some(action) = self.chunk.as_mut().and_then(Chunk::pop) {
            return Ok((0, bytes(action)));
        }
        let observation = self.episode.as_ref().and_then(|episode| RemoteObservation::new(episode, seq, payload));
        let observation =
            observation.ok_or_else(|| ServerFault::protocol("the lane sent an observation that was not announced"))?;
        let one = if self.asked { self.limits.inference } else { self.limits.first };
        let all = self.limits.episode.saturating_sub(self.waited);
        let asked = Instant::now();
        let answer = tokio::time::timeout(all, within_silence(one, self.session.infer(observation))).await;
        self.waited += asked.elapsed();
        let chunk = match answer {
            Ok(Some(answer)) => answer?,
            Ok(None) => return Err(ServerFault::timeout("answer with actions", one)),
            Err(_) => return Err(ServerFault::timeout("answer the whole episode", self.limits.episode)),
        };
        self.asked = true;
        let horizon = chunk.horizon();
        self.log.answered(horizon);
        let chunk = chunk.cut(self.execution.replan_steps);
        if self.execution.forwards_chunks {
            return Ok((horizon, bytes(chunk.all())));
        }
        let chunk = self.chunk.insert(chunk);
        chunk.pop().map(|action| (horizon, bytes(action))).ok_or_else(|| ServerFault::bad_action("no actions"))
    }
}

async fn within<T>(
    limit: Duration,
    doing: &str,
    work: impl Future<Output = Result<T, ServerFault>>,
) -> Result<T, ServerFault> {
    within_silence(limit, work).await.unwrap_or_else(|| Err(ServerFault::timeout(doing, limit)))
}

fn bytes(action: &[f64]) -> Vec<u8> {
    action.iter().flat_map(|x| x.to_le_bytes()).collect()
}
