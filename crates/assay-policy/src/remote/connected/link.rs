//! The policy's side of a connection to a service: forwards frames between the service and a policy that runs here, in
//! a jail or as a server.

use std::io::Write;
use std::time::{Duration, Instant};

use assay_model::frame::{FrameKind, Init, PolicyFault, frame};
use assay_model::{PolicyErrorCode, Secret};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::call_budget::{CallBudget, CallClock};
use super::dial::{dial, service};
use super::frame_socket::{FrameSocket, Received};
use super::limits::SERVICE_SILENCE_LIMIT;
use super::link_error::ServiceLinkError;
use crate::frames::{ReceiveError, receive_up_to};
use crate::remote::endpoint::ServerEndpoint;
use crate::remote::guard::AddressGuard;
use crate::remote::limits::MAX_REPLY_BYTES;
use crate::{PolicyConnection, PolicyFailure, PolicyStream};

/// Maximum time between two checks for cancellation.
const TICK: Duration = Duration::from_millis(100);
/// Time spent looking for a message of the service while the policy computes.
const GLANCE: Duration = Duration::from_millis(1);

/// Provides the policy of each episode, and observes the connection.
pub trait LinkHost {
    /// Starts the policy for an episode with this seed.
    ///
    /// # Errors
    /// [`StartFailure`]: the policy is at fault, or this machine is.
    fn start(&mut self, seed: u64) -> Result<Box<dyn PolicyConnection>, StartFailure>;
    /// Returns the limits of the policy's CPU time; `None` for a policy server, whose process is unknown.
    fn budget(&self) -> Option<CallBudget>;
    /// Called when an episode has ended.
    fn ended(&mut self);
    /// Returns true if the connection is to be given up.
    fn is_cancelled(&self) -> bool;
}

/// The reason why no policy was started.
#[derive(Debug)]
pub enum StartFailure {
    /// The policy is at fault, which is reported to the service.
    Policy(Box<PolicyFailure>),
    /// This machine cannot start it; the host knows why.
    Machine,
}

/// The reason why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEnd {
    /// The service closed it, or it failed, for this reason.
    Closed(String),
    /// The host cancelled it, or could not start the policy.
    GivenUp,
}

/// A connection to a service.
pub struct ServiceLink {
    runtime: Runtime,
    socket: FrameSocket,
}

/// A policy that runs here, in an episode.
struct LocalEpisode<'p> {
    policy: &'p dyn PolicyConnection,
    stream: &'p mut PolicyStream,
    clock: CallClock,
}

/// The reason for not waiting for the policy any longer.
enum Interruption {
    End(LinkEnd),
    Policy(PolicyFailure),
}

/// A frame without its nonce, which the policy's stream and the service's connection do not share.
struct LinkFrame {
    kind: FrameKind,
    seq: u32,
    payload: Vec<u8>,
}

impl ServiceLink {
    /// Connects to the service at `endpoint` with a token for one connection.
    ///
    /// # Errors
    /// [`ServiceLinkError`]
    pub fn open(guard: &AddressGuard, endpoint: &ServerEndpoint, token: &Secret) -> Result<Self, ServiceLinkError> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let socket = runtime.block_on(dial(guard, endpoint, token))?;
        Ok(Self { runtime, socket })
    }

    /// Serves episodes until the connection ends.
    pub fn serve(mut self, host: &mut dyn LinkHost) -> LinkEnd {
        let end = loop {
            if let Err(end) = self.episode(host) {
                break end;
            }
            host.ended();
        };
        let Self { runtime, socket } = self;
        runtime.block_on(socket.close(None));
        end
    }

    /// Waits for an episode and serves it.
    fn episode(&mut self, host: &mut dyn LinkHost) -> Result<(), LinkEnd> {
        let (init, nonce) = loop {
            let (frame, nonce) = self.receive(host)?;
            match frame.kind {
                FrameKind::Init => break (frame, nonce),
                // Of an episode that has ended here.
                FrameKind::Close => {}
                kind => return Err(LinkEnd::Closed(format!("the service sent {kind:?} before an episode"))),
            }
        };
        let seed = serde_json::from_slice::<Init>(&init.payload).map(|init| init.seed);
        let seed = seed.map_err(|error| LinkEnd::Closed(format!("the service sent an unreadable INIT: {error}")))?;
        let mut policy = match host.start(seed) {
            Ok(policy) => policy,
            Err(StartFailure::Machine) => return Err(LinkEnd::GivenUp),
            Err(StartFailure::Policy(failure)) => return self.fail((0, nonce), &failure, host),
        };
        let Some(mut stream) = policy.take_stream() else { return Err(LinkEnd::GivenUp) };
        let clock = CallClock::new(host.budget(), policy.as_ref());
        let local = LocalEpisode { policy: policy.as_ref(), stream: &mut stream, clock };
        match self.relay(init, local, nonce, host) {
            Ok(Relayed::Done) => {
                drop(stream);
                policy.finish();
                Ok(())
            }
            Ok(Relayed::Failed(seq, failure)) => {
                drop(stream);
                // The end of a process that ended by itself explains more.
                let end = policy.finish();
                let failure = match failure {
                    Some(failure) => failure,
                    None => end.failure().unwrap_or_else(closed),
                };
                self.fail((seq, nonce), &failure, host)
            }
            Err(end) => {
                drop(stream);
                policy.abort();
                Err(end)
            }
        }
    }

    /// Forwards frames until the episode ends.
    fn relay(
        &mut self,
        init: LinkFrame,
        local: LocalEpisode<'_>,
        nonce: u64,
        host: &mut dyn LinkHost,
    ) -> Result<Relayed, LinkEnd> {
        let LocalEpisode { policy, stream, mut clock } = local;
        let mut next = init;
        loop {
            clock.begin(next.kind, next.seq);
            let sent = stream.write_all(&frame(next.kind, next.seq, policy.nonce(), &next.payload));
            if next.kind == FrameKind::Close {
                return Ok(Relayed::Done);
            }
            if sent.is_err() {
                return Ok(Relayed::Failed(next.seq, None));
            }
            let limit = u32::try_from(MAX_REPLY_BYTES).unwrap_or(u32::MAX);
            let answer = receive_up_to(limit, stream, || {
                let late = || clock.check(policy).map(Interruption::Policy);
                self.interruption(host).map(Interruption::End).or_else(late)
            });
            let (header, payload) = match answer {
                Ok(answer) => answer,
                Err(ReceiveError::Closed) => return Ok(Relayed::Failed(next.seq, None)),
                Err(ReceiveError::Frame(error)) => {
                    return Ok(Relayed::Failed(next.seq, Some(protocol(&error.to_string()))));
                }
                Err(ReceiveError::Watch(Interruption::End(end))) => return Err(end),
                Err(ReceiveError::Watch(Interruption::Policy(failure))) => {
                    return Ok(Relayed::Failed(next.seq, Some(failure)));
                }
            };
            if header.nonce != policy.nonce() {
                return Ok(Relayed::Failed(next.seq, Some(protocol("a frame that is not the runner's"))));
            }
            let has_failed = header.kind == FrameKind::Error;
            if let Some(failure) = clock.answered(policy).filter(|_| !has_failed) {
                return Ok(Relayed::Failed(next.seq, Some(failure)));
            }
            self.send(LinkFrame { kind: header.kind, seq: header.seq, payload }, nonce)?;
            if has_failed {
                return self.closing(host).map(|()| Relayed::Done);
            }
            next = self.receive(host)?.0;
        }
    }

    /// Reports the policy's failure to the service.
    fn fail(
        &mut self,
        (seq, nonce): (u32, u64),
        failure: &PolicyFailure,
        host: &mut dyn LinkHost,
    ) -> Result<(), LinkEnd> {
        let detail = [failure.traceback.as_str(), failure.log_tail.as_str()];
        let traceback = detail.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned();
        let fault = PolicyFault { code: failure.code.clone(), message: failure.message.clone(), traceback };
        let payload = serde_json::to_vec(&fault).unwrap_or_default();
        self.send(LinkFrame { kind: FrameKind::Error, seq, payload }, nonce)?;
        self.closing(host)
    }

    /// Waits for the end of an episode in which the policy failed.
    fn closing(&mut self, host: &mut dyn LinkHost) -> Result<(), LinkEnd> {
        let (frame, _) = self.receive(host)?;
        match frame.kind {
            FrameKind::Close => Ok(()),
            kind => Err(LinkEnd::Closed(format!("the service sent {kind:?} instead of CLOSE"))),
        }
    }

    fn send(&mut self, frame: LinkFrame, nonce: u64) -> Result<(), LinkEnd> {
        let LinkFrame { kind, seq, payload } = frame;
        let sent = self
            .runtime
            .block_on(async { timeout(SERVICE_SILENCE_LIMIT, self.socket.send(kind, seq, nonce, &payload)).await });
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(fault)) => Err(LinkEnd::Closed(service(&fault.message))),
            Err(_) => Err(LinkEnd::Closed("the service does not read".to_owned())),
        }
    }

    /// Waits for the service's next frame. Returns it with its nonce.
    fn receive(&mut self, host: &dyn LinkHost) -> Result<(LinkFrame, u64), LinkEnd> {
        let mut heard = Instant::now();
        loop {
            if host.is_cancelled() {
                return Err(LinkEnd::GivenUp);
            }
            if heard.elapsed() > SERVICE_SILENCE_LIMIT {
                return Err(LinkEnd::Closed("the service is silent".to_owned()));
            }
            let received = self.runtime.block_on(async { timeout(TICK, self.socket.next()).await });
            match received {
                Ok(Ok(Received::Frame(header, payload))) => {
                    let frame = LinkFrame { kind: header.kind, seq: header.seq, payload: payload.to_vec() };
                    return Ok((frame, header.nonce));
                }
                Ok(Ok(Received::Control | Received::Pong(_))) => heard = Instant::now(),
                Ok(Err(fault)) => return Err(LinkEnd::Closed(service(&fault.message))),
                Err(_) => {}
            }
        }
    }

    /// Returns the reason for not waiting for the policy any longer.
    fn interruption(&mut self, host: &dyn LinkHost) -> Option<LinkEnd> {
        if host.is_cancelled() {
            return Some(LinkEnd::GivenUp);
        }
        let received = self.runtime.block_on(async { timeout(GLANCE, self.socket.receive()).await });
        match received {
            Ok(Ok(_)) => Some(LinkEnd::Closed("the service did not wait for the policy's answer".to_owned())),
            Ok(Err(fault)) => Some(LinkEnd::Closed(service(&fault.message))),
            Err(_) => None,
        }
    }
}

/// The end of an episode's frames.
enum Relayed {
    Done,
    /// The policy failed at this observation; without a failure, its process ended.
    Failed(u32, Option<PolicyFailure>),
}

fn protocol(what: &str) -> PolicyFailure {
    let message = format!("the policy wrote to the stream that only its runner may use: {what}");
    PolicyFailure::observed(PolicyErrorCode::Protocol, message)
}

fn closed() -> PolicyFailure {
    PolicyFailure::observed(PolicyErrorCode::Closed, "the policy closed its stream")
}

impl std::fmt::Debug for ServiceLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServiceLink")
    }
}
