//! The lanes that jobs of policy servers may run, and the hints that there is work for them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::intervals::POLL;

/// Maximum number of lanes of policy server jobs in total, in addition to the first of each.
const MAX_LANES: usize = 32;

/// State shared by the threads for policy servers.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// Held by the one thread that looks for work.
    pub(crate) turn: Mutex<()>,
    /// True if there may be work.
    hint: Mutex<bool>,
    hinted: Condvar,
    /// Number of running lanes, in addition to the first of each job.
    lanes: Mutex<usize>,
}

/// Lanes that a job may run; released when dropped.
pub(crate) struct Lanes<'a> {
    servers: &'a Servers,
    pub(crate) more: usize,
}

impl Servers {
    /// Signals that there may be work.
    pub(crate) fn wake(&self) {
        *lock(&self.hint) = true;
        self.hinted.notify_one();
    }

    pub(crate) fn wait_for_hint(&self) {
        let waited = self.hinted.wait_timeout_while(lock(&self.hint), POLL, |hint| !*hint);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }

    /// Returns one lane, plus as many of `wanted` as are free.
    pub(crate) fn lanes(&self, wanted: usize) -> Lanes<'_> {
        let mut running = lock(&self.lanes);
        let more = wanted.saturating_sub(1).min(MAX_LANES.saturating_sub(*running));
        *running += more;
        Lanes { servers: self, more }
    }
}

impl Drop for Lanes<'_> {
    fn drop(&mut self) {
        *lock(&self.servers.lanes) -= self.more;
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{MAX_LANES, Servers};

    #[test]
    fn lanes_are_shared_and_given_back() {
        let servers = Servers::default();
        let first = servers.lanes(16);
        assert_eq!(first.more, 15);
        let second = servers.lanes(MAX_LANES);
        assert_eq!(second.more, MAX_LANES - 15);
        assert_eq!(servers.lanes(16).more, 0, "one lane per job, even if all others are taken");
        drop(second);
        assert_eq!(servers.lanes(3).more, 2);
    }
}
