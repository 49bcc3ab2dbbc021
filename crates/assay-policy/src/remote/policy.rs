//! Uses a policy server as a policy: connects in the background, and drives it over a socket pair like a jailed one.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use assay_jail::Activity;
use assay_model::JobId;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::connected::{ConnectedPolicies, ConnectedSession, ConnectionWaits, NotTaken};
use super::fault::ServerFault;
use super::guard::AddressGuard;
use super::lane_side::LaneSide;
use super::limits::{CLOSE_LIMIT, RemoteLimits};
use super::log::ServerLog;
use super::redaction::Redaction;
use super::relay::{ChunkExecution, Relay};
use super::server::PolicyServer;
use super::server_session::ServerSession;
use super::session::ProtocolSession;
use crate::connection::{PolicyConnection, PolicyEnd};
use crate::stream::PolicyStream;
use crate::{PolicyFailure, random_number};

/// Number of threads of the relays, which encode and decode messages, and mostly wait.
const THREADS: usize = 2;

/// Connects to policy servers. Dropping it ends its remaining relays.
#[derive(Debug)]
pub struct ServerConnector {
    runtime: Option<Runtime>,
    handle: Handle,
    shared: Arc<RemoteShared>,
}

#[derive(Debug)]
struct RemoteShared {
    guard: AddressGuard,
    connected: ConnectedPolicies,
    limits: RemoteLimits,
    forwards_chunks: bool,
}

/// The outcome of connecting to a server.
#[derive(Debug)]
pub enum ConnectOutcome {
    /// The server is ready for its episode.
    Ready(Box<RemotePolicy>),
    /// The server is at fault.
    Failed(Box<PolicyFailure>),
    /// The policy is connected to another server of the site, which is to run its episodes.
    Elsewhere,
}

/// A connection in progress. Dropping it cancels it.
#[derive(Debug)]
pub struct PendingConnection {
    outcome: Receiver<Result<String, NotTaken>>,
    received: Option<Result<String, NotTaken>>,
    policy: RemotePolicy,
}

/// A connected server, for one episode.
#[derive(Debug)]
pub struct RemotePolicy {
    stream: Option<PolicyStream>,
    nonce: u64,
    speaks: String,
    log: Arc<ServerLog>,
    handle: Handle,
    task: Option<JoinHandle<()>>,
}

impl ServerConnector {
    /// Starts the threads of the relays.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub fn new(guard: AddressGuard, limits: RemoteLimits) -> io::Result<Self> {
        Self::with(guard, limits, false)
    }

    /// Like [`Self::new`]; the policies answer with all actions of a server's answer in one frame, for [`ServiceLink`].
    ///
    /// [`ServiceLink`]: crate::remote::ServiceLink
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub fn forwarding_chunks(guard: AddressGuard, limits: RemoteLimits) -> io::Result<Self> {
        Self::with(guard, limits, true)
    }

    fn with(guard: AddressGuard, limits: RemoteLimits, forwards_chunks: bool) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("policy-relay")
            .enable_io()
            .enable_time()
            .build()?;
        let handle = runtime.handle().clone();
        let connected = ConnectedPolicies::new(handle.clone(), ConnectionWaits::default());
        let shared = RemoteShared { guard, connected, limits, forwards_chunks };
        Ok(Self { runtime: Some(runtime), handle, shared: Arc::new(shared) })
    }

    /// Replaces the default times that a policy which connects has to introduce itself and to connect again. Has no
    /// effect once a connector is in use.
    #[must_use]
    pub fn with_connection_waits(mut self, hello: Duration, again: Duration) -> Self {
        let handle = self.handle.clone();
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.connected = ConnectedPolicies::new(handle, ConnectionWaits::with(hello, again));
        }
        self
    }

    /// Returns the guard that decides which addresses may be connected to.
    #[must_use]
    pub fn guard(&self) -> &AddressGuard {
        &self.shared.guard
    }

    /// Returns the connections of policies that connect to this process.
    #[must_use]
    pub fn connected(&self) -> &ConnectedPolicies {
        &self.shared.connected
    }

    /// Starts to connect for one episode.
    ///
    /// # Errors
    /// A socket or a random number is not available.
    pub fn connect(&self, server: &PolicyServer) -> io::Result<PendingConnection> {
        self.begin(ServerRoute::Call(server.clone()))
    }

    /// Starts to wait for the policy of a job that connects itself, for one episode. Of its answers, `replan_steps`
    /// actions are executed.
    ///
    /// # Errors
    /// A socket or a random number is not available.
    pub fn expect(&self, job: JobId, replan_steps: Option<u32>) -> io::Result<PendingConnection> {
        self.begin(ServerRoute::Expect { job, replan_steps })
    }

    fn begin(&self, route: ServerRoute) -> io::Result<PendingConnection> {
        let (relay_end, lane_end) = UnixStream::pair()?;
        relay_end.set_nonblocking(true)?;
        let (nonce, id) = (random_number()?, random_number()?);
        let (sender, outcome) = sync_channel(1);
        let log = Arc::new(ServerLog::default());
        let link =
            ServerLink { stream: relay_end, nonce, id: format!("{id:016x}"), log: Arc::clone(&log), outcome: sender };
        let work = episode(Arc::clone(&self.shared), route, link);
        let task = Some(self.handle.spawn(work));
        let handle = self.handle.clone();
        let stream = Some(PolicyStream::socket(lane_end)?);
        let policy = RemotePolicy { stream, nonce, speaks: String::new(), log, handle, task };
        Ok(PendingConnection { outcome, received: None, policy })
    }
}

impl Drop for ServerConnector {
    fn drop(&mut self) {
        // May run on a thread that must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The way to the server of an episode.
enum ServerRoute {
    Call(PolicyServer),
    Expect { job: JobId, replan_steps: Option<u32> },
}

impl ServerRoute {
    fn replan_steps(&self) -> Option<u32> {
        match self {
            Self::Call(server) => server.replan_steps,
            Self::Expect { replan_steps, .. } => *replan_steps,
        }
    }

    fn redaction(&self) -> Redaction {
        match self {
            Self::Call(server) => Redaction::of(server),
            Self::Expect { .. } => Redaction::default(),
        }
    }

    async fn open(&self, shared: &RemoteShared, nonce: u64) -> Result<ServerSession, NotTaken> {
        match self {
            Self::Call(server) => {
                let open = ServerSession::open(&shared.guard, &server.endpoint, server.api_key.as_ref());
                let limit = shared.limits.connect;
                let late = || ServerFault::timeout("introduce itself", limit);
                Ok(timeout(limit, open).await.unwrap_or_else(|_| Err(late()))?)
            }
            // The wait for a connection has limits of its own.
            Self::Expect { job, .. } => {
                let session = ConnectedSession::open(&shared.connected, *job, nonce).await?;
                Ok(ServerSession::Connected(Box::new(session)))
            }
        }
    }
}

/// The input of an episode's relay.
struct ServerLink {
    stream: UnixStream,
    nonce: u64,
    /// Random, for servers that distinguish sessions.
    id: String,
    log: Arc<ServerLog>,
    /// Receives the description of the server's protocol, or the fault.
    outcome: SyncSender<Result<String, NotTaken>>,
}

async fn episode(shared: Arc<RemoteShared>, route: ServerRoute, link: ServerLink) {
    let redaction = route.redaction();
    let opened = async {
        let stream = tokio::net::UnixStream::from_std(link.stream).map_err(|e| ServerFault::connect(e.to_string()))?;
        Ok((LaneSide::new(stream, link.nonce), route.open(&shared, link.nonce).await?))
    };
    match opened.await {
        Ok((lane, session)) => {
            // A caller that has dropped the receiver has dropped the other end of the socket too.
            drop(link.outcome.send(Ok(redaction.redact(&session.describe()))));
            let (replan_steps, forwards_chunks) = (route.replan_steps(), shared.forwards_chunks);
            let execution = ChunkExecution { replan_steps, forwards_chunks, redaction };
            Relay::new(lane, session, shared.limits, execution, link.id, link.log).run().await;
        }
        Err(NotTaken::Fault(fault)) => drop(link.outcome.send(Err(redaction.redact_fault(fault).into()))),
        Err(NotTaken::Elsewhere) => drop(link.outcome.send(Err(NotTaken::Elsewhere))),
    }
}

impl PendingConnection {
    /// Returns true if [`Self::wait`] would return at once.
    pub fn is_done(&mut self) -> bool {
        if self.received.is_none() {
            self.received = self.outcome.try_recv().ok();
        }
        self.received.is_some()
    }

    /// Waits until the server has introduced itself, or failed to.
    #[must_use]
    pub fn wait(mut self) -> ConnectOutcome {
        let gone = || Err(ServerFault::closed("").into());
        let received = self.received.take().unwrap_or_else(|| self.outcome.recv().unwrap_or_else(|_| gone()));
        match received {
            Ok(speaks) => {
                self.policy.speaks = speaks;
                ConnectOutcome::Ready(Box::new(self.policy))
            }
            Err(NotTaken::Fault(fault)) => {
                ConnectOutcome::Failed(Box::new(PolicyFailure::from_fault(&fault.to_wire())))
            }
            Err(NotTaken::Elsewhere) => ConnectOutcome::Elsewhere,
        }
    }
}

impl RemotePolicy {
    fn end(&mut self, grace: Duration) -> PolicyEnd {
        // The relay ends by itself once the lane's end of the socket is closed.
        self.stream = None;
        if let Some(mut task) = self.task.take()
            && (grace.is_zero() || self.handle.block_on(async { timeout(grace, &mut task).await }).is_err())
        {
            task.abort();
        }
        PolicyEnd { exit: None, log_tail: String::new(), cpu_limit: None, answers: Some(self.log.read()) }
    }
}

impl Drop for RemotePolicy {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl PolicyConnection for RemotePolicy {
    fn take_stream(&mut self) -> Option<PolicyStream> {
        self.stream.take()
    }

    fn nonce(&self) -> u64 {
        self.nonce
    }

    fn speaks(&self) -> Option<&str> {
        Some(&self.speaks)
    }

    fn pid(&self) -> Option<i32> {
        None
    }

    fn cpu_time(&self) -> Option<Duration> {
        None
    }

    fn activity(&self) -> Option<Activity> {
        None
    }

    fn kill(&mut self) {}

    fn finish(mut self: Box<Self>) -> PolicyEnd {
        self.end(CLOSE_LIMIT)
    }

    fn abort(mut self: Box<Self>) -> PolicyEnd {
        self.end(Duration::ZERO)
    }
}
