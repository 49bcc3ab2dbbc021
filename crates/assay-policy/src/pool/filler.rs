//! The pool's state, and the thread that keeps it filled.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_jail::{InMemory, Jail, MemoryError, SpawnError, stage_in_memory};

use super::member::{IdleMember, start};
use super::slot::make_root;
use super::{PoolConfig, PoolError, TakeError};

/// Pause after a start that failed, so that a machine in trouble is not hammered.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Whoever needs a member that is still starting waits at most this much longer for it.
const TICK: Duration = Duration::from_millis(2);

/// What the pool, its thread and its members share.
#[derive(Debug)]
pub(crate) struct PoolShared {
    pub(super) config: PoolConfig,
    pub(super) jail: Jail,
    /// Members that exist, idle or taken.
    pub(super) leases: AtomicUsize,
    runtime: Result<InMemory, MemoryError>,
    root: tempfile::TempDir,
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PoolState {
    idle: VecDeque<IdleMember>,
    /// The pool's thread is starting one.
    is_starting: bool,
    /// Callers in [`PoolShared::next`]: each gets a member even from a pool of size 0.
    waiting: usize,
    error: Option<SpawnError>,
    is_closing: bool,
}

impl PoolShared {
    pub(super) fn new(config: PoolConfig, jail: Jail) -> Result<Self, PoolError> {
        let root = make_root(&config.work_dir).map_err(PoolError::Folder)?;
        assay_jail::check_reachable(root.path()).map_err(SpawnError::from)?;
        let runtime = stage_in_memory(&config.runtime.root);
        let (state, changed) = (Mutex::default(), Condvar::new());
        Ok(Self { config, runtime, jail, leases: AtomicUsize::new(0), root, state, changed })
    }

    /// The folder that is the root of every jail: in memory if possible.
    pub(super) fn runtime_root(&self) -> &Path {
        self.runtime.as_ref().map_or(&self.config.runtime.root, |runtime| &runtime.path)
    }

    /// Why the runtime is not in memory.
    pub(super) fn on_disk(&self) -> Option<&MemoryError> {
        self.runtime.as_ref().err()
    }

    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(super) fn idle(&self) -> usize {
        self.lock().idle.len()
    }

    pub(super) fn wake(&self) {
        // The lock orders this after a waiter's check, so that no wake is lost.
        let _state = self.lock();
        self.changed.notify_all();
    }

    /// The oldest idle member, or the next to be started.
    pub(super) fn next(&self) -> Result<IdleMember, TakeError> {
        let mut state = self.lock();
        state.waiting += 1;
        self.changed.notify_all();
        loop {
            if let Some(idle) = state.idle.pop_front() {
                state.waiting -= 1;
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

    /// Ends the idle members and the filling. Whether no policy is out any more.
    pub(super) fn close(&self) -> bool {
        let (idle, starting) = {
            let mut state = self.lock();
            state.is_closing = true;
            (std::mem::take(&mut state.idle), usize::from(state.is_starting))
        };
        let is_last = self.leases.load(Ordering::SeqCst) <= idle.len() + starting;
        drop(idle);
        self.wake();
        is_last
    }

    /// Waits until a member has imported its libraries, or somebody waits for one: so at most one processor is kept busy
    /// by what nobody needs yet.
    fn warm_up(&self, mut idle: IdleMember) -> IdleMember {
        let end = Instant::now() + self.config.load.start_wall;
        if !self.is_wanted() {
            idle.member.child.give_way();
        }
        while !self.is_wanted() && Instant::now() < end && !idle.stream.is_readable(TICK) {}
        idle
    }

    fn is_wanted(&self) -> bool {
        let state = self.lock();
        state.waiting > 0 || state.is_closing
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pool's thread: fills, then waits until the last member is gone.
pub(super) fn run(shared: &Arc<PoolShared>) {
    let mut number = 0;
    loop {
        let mut state = shared.lock();
        while !state.is_closing && state.idle.len() >= shared.config.size.max(state.waiting) {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closing {
            while shared.leases.load(Ordering::SeqCst) > 0 {
                state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            return;
        }
        state.is_starting = true;
        drop(state);
        number += 1;
        let started = start(shared, number).map(|idle| shared.warm_up(idle));
        let mut state = shared.lock();
        state.is_starting = false;
        let late = match started {
            Ok(idle) if state.is_closing => Some(idle),
            Ok(idle) => {
                state.idle.push_back(idle);
                state.error = None;
                None
            }
            Err(error) => {
                state.error = Some(error);
                shared.changed.notify_all();
                state = shared.changed.wait_timeout(state, RETRY_PAUSE).unwrap_or_else(PoisonError::into_inner).0;
                None
            }
        };
        shared.changed.notify_all();
        drop(state);
        drop(late);
    }
}
