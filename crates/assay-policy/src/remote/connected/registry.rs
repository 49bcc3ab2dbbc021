//! [`ConnectedPolicies`]: the connections of jobs whose policies connect to the service, at most one per job.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_model::JobId;
use assay_model::frame::{FrameKind, Hello, PROTOCOL};
use tokio::io::DuplexStream;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout};

use super::frame_socket::FrameSocket;
use super::limits::{ConnectionWaits, MAX_DEAD};
use super::parked::{Request, check, park};
use crate::remote::fault::ServerFault;

/// The connections of all jobs; shared by all its clones.
#[derive(Clone)]
pub struct ConnectedPolicies {
    jobs: Arc<Mutex<HashMap<JobId, JobConnection>>>,
    /// Jobs whose policies are connected to other servers of the site.
    elsewhere: Arc<Mutex<BTreeSet<JobId>>>,
    /// Runs the tasks that keep connections alive between episodes.
    handle: Handle,
    waits: ConnectionWaits,
}

/// The connection of a job.
#[derive(Default)]
struct JobConnection {
    state: ConnectionState,
    changed: Arc<Notify>,
    /// Time that episodes have waited for a connection, or for the answer of one that gave none.
    waited: Duration,
    /// True once the policy has connected, to this server or to another.
    has_connected: bool,
    /// Number of connections in a row that answered no ping.
    dead: u32,
    /// True while an episode waits for a connection.
    is_awaited: bool,
}

#[derive(Default)]
enum ConnectionState {
    #[default]
    Absent,
    /// A handshake is in progress, or an episode uses the connection.
    InUse,
    /// In use, and closed after that.
    Leaving,
    Parked(oneshot::Sender<Request>),
}

/// The reason why a job's connection was not taken.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// The policy did not connect, or its connections have failed.
    Fault(ServerFault),
    /// The policy is connected to another server of the site.
    Elsewhere,
}

impl From<ServerFault> for NotTaken {
    fn from(fault: ServerFault) -> Self {
        Self::Fault(fault)
    }
}

impl ConnectionState {
    /// Returns true if a connection is open, or about to be.
    fn is_open(&self) -> bool {
        match self {
            Self::InUse | Self::Leaving => true,
            // The other end is dropped when the connection has failed.
            Self::Parked(parked) => !parked.is_closed(),
            Self::Absent => false,
        }
    }
}

/// The right to be a job's only connection; released when dropped.
pub struct ConnectionReservation {
    policies: ConnectedPolicies,
    job: JobId,
    /// False once the connection is parked, and the next episode may already hold it.
    is_held: bool,
}

impl ConnectedPolicies {
    /// Creates a registry whose tasks run on `handle`.
    pub(crate) fn new(handle: Handle, waits: ConnectionWaits) -> Self {
        Self { jobs: Arc::default(), elsewhere: Arc::default(), handle, waits }
    }

    /// Reserves a job's connection; `None` while another one is open.
    #[must_use]
    pub fn reserve(&self, job: JobId) -> Option<ConnectionReservation> {
        let mut jobs = self.lock();
        let connection = jobs.entry(job).or_default();
        if connection.state.is_open() {
            return None;
        }
        connection.state = ConnectionState::InUse;
        Some(ConnectionReservation { policies: self.clone(), job, is_held: true })
    }

    /// Returns true if an episode of the job waits for a connection.
    #[must_use]
    pub fn is_awaited(&self, job: JobId) -> bool {
        self.lock().get(&job).is_some_and(|connection| connection.is_awaited)
    }

    /// Returns the jobs whose policies are connected to this process.
    #[must_use]
    pub fn connected(&self) -> BTreeSet<JobId> {
        self.jobs_where(|connection| connection.state.is_open())
    }

    /// Returns the jobs of which an episode waits for a connection.
    #[must_use]
    pub fn awaited(&self) -> BTreeSet<JobId> {
        self.jobs_where(|connection| connection.is_awaited)
    }

    /// Returns the jobs whose policies were connected or waited for and that have not ended here.
    #[must_use]
    pub fn known(&self) -> BTreeSet<JobId> {
        self.jobs_where(|_| true)
    }

    /// Replaces the jobs whose policies are connected to other servers. Their episodes that wait here stop waiting.
    pub fn set_elsewhere(&self, jobs: &BTreeSet<JobId>) {
        self.elsewhere().clone_from(jobs);
        let mut known = self.lock();
        for job in jobs {
            if let Some(connection) = known.get_mut(job) {
                connection.has_connected = true;
                connection.changed.notify_one();
            }
        }
    }

    /// Returns the jobs whose policies are connected to other servers and not to this one, which cannot run them.
    #[must_use]
    pub fn out_of_reach(&self) -> BTreeSet<JobId> {
        let elsewhere = self.elsewhere().clone();
        if elsewhere.is_empty() { elsewhere } else { &elsewhere - &self.connected() }
    }

    /// Closes the parked connection of a job that has ended, and forgets the job.
    pub fn end(&self, job: JobId) {
        // Dropping the sender ends the task that keeps the connection alive.
        self.lock().remove(&job);
    }

    /// Closes the connection of a job that this server can no longer run, at once or after the running episode.
    /// Episodes that wait go on waiting for the next one.
    pub fn leave(&self, job: JobId) {
        let mut jobs = self.lock();
        let Some(connection) = jobs.get_mut(&job) else { return };
        connection.state = match std::mem::take(&mut connection.state) {
            ConnectionState::InUse | ConnectionState::Leaving => ConnectionState::Leaving,
            // Dropping the sender ends the task that keeps the connection alive.
            ConnectionState::Parked(_) | ConnectionState::Absent => ConnectionState::Absent,
        };
    }

    /// Waits for a job's connection and takes it for an episode.
    pub(super) async fn take(&self, job: JobId) -> Result<(FrameSocket, ConnectionReservation), NotTaken> {
        loop {
            match self.try_take(job) {
                Ok((parked, reservation)) => {
                    let Some(mut socket) = hand_out(parked).await else { continue };
                    let began = Instant::now();
                    let checked = check(&mut socket).await;
                    let dead = self.checked(job, checked.is_ok(), began.elapsed());
                    let Err(fault) = checked else { return Ok((socket, reservation)) };
                    tracing::debug!(job.id = %job, reason = %fault.message, "a policy was no longer connected");
                    // The place is free for another connection before the farewell.
                    drop(reservation);
                    socket.close(Some(&fault)).await;
                    if dead >= MAX_DEAD {
                        let why = format!("{dead} connections of the policy answered no ping");
                        return Err(ServerFault::connect(why).into());
                    }
                }
                Err((limit, _)) if limit.is_zero() => return Err(self.missing(job).into()),
                Err(_) if self.out_of_reach().contains(&job) => return Err(NotTaken::Elsewhere),
                Err((limit, changed)) => {
                    let waiting = Waiting::begin(self, job);
                    let in_time = timeout(limit, changed.notified()).await.is_ok();
                    drop(waiting);
                    if !in_time {
                        return Err(self.missing(job).into());
                    }
                }
            }
        }
    }

    /// Counts a check of a job's connection, whose time counts as waiting if it failed. Returns how many have failed
    /// in a row; a policy that moves from server to server between them does not begin anew.
    fn checked(&self, job: JobId, is_alive: bool, took: Duration) -> u32 {
        let mut jobs = self.lock();
        let Some(connection) = jobs.get_mut(&job) else { return 0 };
        if is_alive {
            connection.dead = 0;
        } else {
            connection.dead += 1;
            connection.waited += took;
        }
        connection.dead
    }

    /// Takes the parked connection of a job; otherwise returns how long to wait for which notification.
    fn try_take(
        &self,
        job: JobId,
    ) -> Result<(oneshot::Sender<Request>, ConnectionReservation), (Duration, Arc<Notify>)> {
        let mut jobs = self.lock();
        let connection = jobs.entry(job).or_default();
        match std::mem::replace(&mut connection.state, ConnectionState::InUse) {
            ConnectionState::Parked(parked) => {
                Ok((parked, ConnectionReservation { policies: self.clone(), job, is_held: true }))
            }
            other => {
                connection.state = other;
                let ConnectionWaits { first, again, total, .. } = self.waits;
                let limit = match connection.has_connected {
                    false => first.saturating_sub(connection.waited),
                    true => again.min(total.saturating_sub(connection.waited)),
                };
                Err((limit, Arc::clone(&connection.changed)))
            }
        }
    }

    /// Returns the fault of a policy that did not connect in time.
    fn missing(&self, job: JobId) -> ServerFault {
        let has_connected = self.lock().get(&job).is_some_and(|connection| connection.has_connected);
        let ConnectionWaits { first, again, total, .. } = self.waits;
        ServerFault::connect(match has_connected {
            false => format!("the policy did not connect within {} s of the job's start", first.as_secs()),
            true => format!(
                "the policy's connection was lost, and it did not connect again within {} s ({} s for all episodes)",
                again.as_secs(),
                total.as_secs()
            ),
        })
    }

    fn jobs_where(&self, is_meant: impl Fn(&JobConnection) -> bool) -> BTreeSet<JobId> {
        self.lock().iter().filter(|(_, connection)| is_meant(connection)).map(|(job, _)| *job).collect()
    }

    fn elsewhere(&self) -> MutexGuard<'_, BTreeSet<JobId>> {
        self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, JobConnection>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionReservation {
    /// Adopts the stream of a WebSocket after its handshake: waits for HELLO, then holds the connection until an
    /// episode begins. Returns at once.
    pub fn attach(self, stream: DuplexStream) {
        let (handle, limit) = (self.policies.handle.clone(), self.policies.waits.hello);
        handle.spawn(async move {
            let mut socket = FrameSocket::of_service(stream).await;
            let greeted = timeout(limit, greet(&mut socket)).await;
            match greeted.unwrap_or_else(|_| Err(ServerFault::timeout("send HELLO", limit))) {
                Ok(()) => self.park(socket),
                Err(fault) => {
                    tracing::info!(job.id = %self.job, reason = %fault.message, "a policy's connection was refused");
                    drop(self);
                    socket.close(Some(&fault)).await;
                }
            }
        });
    }

    /// Gives the connection back after an episode, or closes it if the job has ended or the policy must leave.
    pub(super) fn park(mut self, socket: FrameSocket) {
        let (sender, receiver) = oneshot::channel();
        self.is_held = false;
        let mut jobs = self.policies.lock();
        if let Some(connection) = jobs.get_mut(&self.job) {
            connection.state = match connection.state {
                ConnectionState::Leaving => ConnectionState::Absent,
                _ => ConnectionState::Parked(sender),
            };
            connection.has_connected = true;
            connection.changed.notify_one();
        }
        drop(jobs);
        // If it is not parked, the sender is dropped, and the task closes the connection at once.
        self.policies.handle.spawn(park(socket, receiver));
    }
}

impl Drop for ConnectionReservation {
    fn drop(&mut self) {
        if self.is_held
            && let Some(connection) = self.policies.lock().get_mut(&self.job)
            && matches!(connection.state, ConnectionState::InUse | ConnectionState::Leaving)
        {
            connection.state = ConnectionState::Absent;
        }
    }
}

/// An episode's wait for a connection; ends when dropped.
struct Waiting<'a> {
    policies: &'a ConnectedPolicies,
    job: JobId,
    began: Instant,
}

impl<'a> Waiting<'a> {
    fn begin(policies: &'a ConnectedPolicies, job: JobId) -> Self {
        if let Some(connection) = policies.lock().get_mut(&job) {
            connection.is_awaited = true;
        }
        Self { policies, job, began: Instant::now() }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.policies.lock().get_mut(&self.job) {
            connection.is_awaited = false;
            connection.waited += self.began.elapsed();
        }
    }
}

/// Requests a parked connection; `None` if it has failed meanwhile.
async fn hand_out(parked: oneshot::Sender<Request>) -> Option<FrameSocket> {
    let (request, socket) = oneshot::channel();
    parked.send(request).ok()?;
    socket.await.ok()
}

async fn greet(socket: &mut FrameSocket) -> Result<(), ServerFault> {
    let (header, payload) = socket.receive().await?;
    if header.kind != FrameKind::Hello {
        return Err(ServerFault::protocol("its first frame is not HELLO"));
    }
    let hello: Hello = serde_json::from_slice(&payload).map_err(|error| ServerFault::protocol(error.to_string()))?;
    if hello.protocol != PROTOCOL {
        let (theirs, ours) = (hello.protocol, PROTOCOL);
        return Err(ServerFault::mismatch(format!("it speaks version {theirs} of the frame protocol, not {ours}")));
    }
    Ok(())
}

impl fmt::Debug for ConnectedPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectedPolicies").field("jobs", &self.lock().len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ConnectionReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionReservation({})", self.job)
    }
}

#[cfg(test)]
mod tests;
