//! State shared by a pool, its thread and its members.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_jail::{Child, ForkError, ForkServer, Jail, MemoryCopy, MemoryError, SpawnError, stage_in_memory};
use assay_model::Isolation;

use super::config::PoolConfig;
use super::error::{PoolError, TakeError};
use super::models::{PolicyModel, read_ahead};
use super::slot::{ServerFolder, Slot, make_root};
use crate::stream::PolicyStream;

const NOT_WANTED: &str = "it is switched off";
const NO_NAMESPACES: &str = "it needs namespaces, and this tier has none";

/// State shared by the pool, its thread and its members.
#[derive(Debug)]
pub(crate) struct PoolShared {
    pub(super) config: PoolConfig,
    pub(super) jail: Jail,
    /// Number of members that exist, idle or taken.
    pub(super) leases: AtomicUsize,
    runtime: Result<MemoryCopy, MemoryError>,
    root: tempfile::TempDir,
    state: Mutex<PoolState>,
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct PoolState {
    pub(super) idle: VecDeque<Warm>,
    /// True while the pool's thread is starting a process that it may have to end again.
    pub(super) is_starting: bool,
    /// Callers in [`PoolShared::next`]: each gets a member even from a pool of size 0.
    pub(super) waiting: usize,
    /// Processes with models, to be started for callers in [`PoolShared::next`].
    pub(super) orders: VecDeque<StartOrder>,
    pub(super) error: Option<SpawnError>,
    /// The number of members that callers got.
    pub(super) taken: usize,
    pub(super) is_closing: bool,
    /// The reason why processes are not forked.
    pub(super) cannot_fork: Option<String>,
}

impl PoolState {
    /// Starts interpreters instead of fork servers from now on.
    pub(super) fn stop_forking(&mut self, why: &str) {
        if self.cannot_fork.is_none() {
            tracing::warn!(why, "policies are started as interpreters of their own, which takes longer than forking");
            self.cannot_fork = Some(why.to_owned());
        }
    }
}

impl PoolShared {
    pub(super) fn new(config: PoolConfig, jail: Jail) -> Result<Self, PoolError> {
        let root = make_root(&config.work_dir).map_err(PoolError::Folder)?;
        assay_jail::check_reachable(root.path()).map_err(SpawnError::from)?;
        let runtime = stage_in_memory(&config.runtime.root);
        let cannot_fork = match (config.forks, config.isolation) {
            (false, _) => Some(NOT_WANTED.to_owned()),
            (true, Isolation::Namespaces) => None,
            (true, Isolation::Landlock | Isolation::None) => Some(NO_NAMESPACES.to_owned()),
        };
        let state = Mutex::new(PoolState { cannot_fork, ..PoolState::default() });
        let changed = Condvar::new();
        Ok(Self { config, runtime, jail, leases: AtomicUsize::new(0), root, state, changed })
    }

    /// Returns the folder that is the root of every jail: in memory if possible.
    pub(super) fn runtime_root(&self) -> &Path {
        self.runtime.as_ref().map_or(&self.config.runtime.root, |runtime| &runtime.path)
    }

    /// Returns the reason why the runtime is not in memory.
    pub(super) fn on_disk(&self) -> Option<&MemoryError> {
        self.runtime.as_ref().err()
    }

    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns the number of warm processes to keep.
    pub(super) fn wanted(&self, state: &PoolState) -> usize {
        let expected = self.config.policies.map_or(usize::MAX, |policies| policies.saturating_sub(state.taken));
        let most = if state.cannot_fork.is_none() { expected.min(self.config.servers) } else { usize::MAX };
        self.config.size.min(most).max(state.waiting)
    }

    pub(super) fn cannot_fork(&self) -> Option<String> {
        self.lock().cannot_fork.clone()
    }

    /// Starts interpreters from now on, and ends the idle fork servers.
    pub(super) fn stop_forking(&self, why: &str) {
        let mut state = self.lock();
        state.stop_forking(why);
        let (servers, others) = std::mem::take(&mut state.idle).into_iter().partition(Warm::is_server);
        state.idle = others;
        self.changed.notify_all();
        drop(state);
        drop::<VecDeque<Warm>>(servers);
    }

    pub(super) fn idle(&self) -> usize {
        self.lock().idle.len()
    }

    pub(super) fn wake(&self) {
        // The lock orders this after a waiter's check, so that no notification is lost.
        let _state = self.lock();
        self.changed.notify_all();
    }

    /// Takes the oldest fork server or interpreter, or waits for the next that is started. One with models is started
    /// for the caller, since mounts cannot be added later.
    pub(super) fn next(&self, models: &[PolicyModel]) -> Result<Warm, TakeError> {
        if !models.is_empty() {
            return self.start_with(models);
        }
        let mut state = self.lock();
        state.waiting += 1;
        self.changed.notify_all();
        loop {
            if let Some(idle) = state.idle.pop_front() {
                state.waiting -= 1;
                state.taken += 1;
                self.changed.notify_all();
                return Ok(idle);
            }
            if let Some(error) = state.error.take() {
                state.waiting -= 1;
                return Err(error.into());
            }
            if state.is_closing {
                return Err(TakeError::Closed);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn start_with(&self, models: &[PolicyModel]) -> Result<Warm, TakeError> {
        read_ahead(models).map_err(TakeError::Files)?;
        let (answer, started) = sync_channel(1);
        {
            let mut state = self.lock();
            if state.is_closing {
                return Err(TakeError::Closed);
            }
            state.orders.push_back(StartOrder { models: models.to_vec(), answer });
            self.changed.notify_all();
        }
        // The pool drops an order when it closes.
        Ok(started.recv().map_err(|_| TakeError::Closed)??)
    }

    /// Ends the idle members and stops filling. Returns true if no member is in use any more.
    pub(super) fn close(&self) -> bool {
        let idle = {
            let mut state = self.lock();
            state.is_closing = true;
            state.orders.clear();
            self.changed.notify_all();
            std::mem::take(&mut state.idle)
        };
        drop(idle);
        let mut state = self.lock();
        while state.is_starting {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.leases.load(Ordering::SeqCst) == 0
    }

    /// Returns true if a caller waits for a member, or the pool is closing.
    pub(super) fn is_needed(&self) -> bool {
        let state = self.lock();
        state.waiting > 0 || !state.orders.is_empty() || state.is_closing
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A process with models that a caller waits for.
#[derive(Debug)]
pub(super) struct StartOrder {
    pub(super) models: Vec<PolicyModel>,
    pub(super) answer: SyncSender<Result<Warm, SpawnError>>,
}

/// One interpreter. Fields drop in this order: first the process ends, then its folder is removed, then the pool's
/// thread (whose end would kill the process) may end.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) child: Child,
    pub(super) slot: Slot,
    _lease: PoolLease,
}

impl Member {
    pub(super) fn new(shared: &Arc<PoolShared>, child: Child, slot: Slot) -> Self {
        Self { child, slot, _lease: PoolLease::new(shared) }
    }
}

/// Keeps the pool's thread alive.
#[derive(Debug)]
pub(super) struct PoolLease(Arc<PoolShared>);

impl PoolLease {
    pub(super) fn new(shared: &Arc<PoolShared>) -> Self {
        shared.leases.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for PoolLease {
    fn drop(&mut self) {
        self.0.leases.fetch_sub(1, Ordering::SeqCst);
        self.0.wake();
    }
}

/// A member not yet taken: it may still be importing numpy.
#[derive(Debug)]
pub(super) struct IdleMember {
    pub(super) stream: PolicyStream,
    pub(super) member: Member,
    /// True if a fork server started it.
    pub(super) is_forked: bool,
}

/// A fork server, and its folder. Fields drop in this order: first the processes end, then its folder is removed, then
/// the pool's thread may end.
#[derive(Debug)]
pub(crate) struct PolicyServerProcess {
    pub(super) process: ForkServer,
    /// A child that was forked before it is needed, for the first load.
    pub(super) spare: Option<Box<IdleMember>>,
    pub(super) folder: Arc<ServerFolder>,
    /// Models that its children see.
    pub(super) models: Vec<PolicyModel>,
    pub(super) children: u64,
    pub(super) shared: Arc<PoolShared>,
    pub(super) _lease: PoolLease,
}

impl PolicyServerProcess {
    pub(super) fn pid(&mut self) -> i32 {
        self.process.process().pid()
    }

    /// Lowers its priority while it imports its libraries.
    pub(super) fn lower_priority(&mut self) {
        self.process.process().lower_priority();
    }

    /// Returns true if it can fork, or has ended. Waits at most `limit`.
    pub(super) fn is_ready(&self, limit: Duration) -> bool {
        self.process.is_ready(limit)
    }

    /// Forks a child before it is needed, if it can: the first load must not wait for it.
    pub(super) fn fork_spare(&mut self) {
        if !self.is_ready(Duration::ZERO) {
            return;
        }
        match self.fork(&|| false) {
            Ok(child) => self.spare = Some(Box::new(child)),
            Err(ForkError::Impossible { why }) => self.shared.stop_forking(&why),
            // It occurs again when the child is needed, and is handled there.
            Err(ForkError::Ended { .. } | ForkError::Spawn(_)) => {}
        }
    }

    /// Returns true if it is a server of this pool.
    pub(super) fn is_of(&self, shared: &Arc<PoolShared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }
}

/// A process that is started before it is needed.
#[derive(Debug)]
pub(super) enum Warm {
    Interpreter(IdleMember),
    Server(PolicyServerProcess),
}

impl Warm {
    fn is_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }

    /// Prepares what it can before it is taken.
    pub(super) fn prepare(&mut self) {
        if let Self::Server(server) = self {
            server.fork_spare();
        }
    }

    /// Lowers its priority until it is taken.
    pub(super) fn lower_priority(&mut self) {
        match self {
            Self::Interpreter(idle) => drop(idle.member.child.lower_priority()),
            Self::Server(server) => server.lower_priority(),
        }
    }

    /// Returns true if it has imported its libraries, or has ended. Waits at most `limit`.
    pub(super) fn is_ready(&self, limit: Duration) -> bool {
        match self {
            Self::Interpreter(idle) => idle.stream.is_readable(limit),
            Self::Server(server) => server.is_ready(limit),
        }
    }
}
