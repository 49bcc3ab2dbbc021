//! State shared by a pool, its thread and its members.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use assay_jail::{Child, Jail, MemoryCopy, MemoryError, SpawnError, stage_in_memory};

use super::config::PoolConfig;
use super::error::{PoolError, TakeError};
use super::slot::{Slot, make_root};
use crate::stream::PolicyStream;

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
    pub(super) idle: VecDeque<IdleMember>,
    /// True while the pool's thread is starting a member.
    pub(super) is_starting: bool,
    /// Callers in [`PoolShared::next`]: each gets a member even from a pool of size 0.
    pub(super) waiting: usize,
    pub(super) error: Option<SpawnError>,
    pub(super) is_closing: bool,
}

impl PoolShared {
    pub(super) fn new(config: PoolConfig, jail: Jail) -> Result<Self, PoolError> {
        let root = make_root(&config.work_dir).map_err(PoolError::Folder)?;
        assay_jail::check_reachable(root.path()).map_err(SpawnError::from)?;
        let runtime = stage_in_memory(&config.runtime.root);
        let (state, changed) = (Mutex::default(), Condvar::new());
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

    pub(super) fn idle(&self) -> usize {
        self.lock().idle.len()
    }

    pub(super) fn wake(&self) {
        // The lock orders this after a waiter's check, so that no notification is lost.
        let _state = self.lock();
        self.changed.notify_all();
    }

    /// Takes the oldest idle member, or waits for the next that is started.
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

    /// Ends the idle members and stops filling. Returns true if no member is in use any more.
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

    /// Returns true if a caller waits for a member, or the pool is closing.
    pub(super) fn is_needed(&self) -> bool {
        let state = self.lock();
        state.waiting > 0 || state.is_closing
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
struct PoolLease(Arc<PoolShared>);

impl PoolLease {
    fn new(shared: &Arc<PoolShared>) -> Self {
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
}
