//! The leases that the worker holds, and how long it may rely on each.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_model::Fence;

/// A lease.
#[derive(Debug, Clone)]
struct HeldLease {
    /// The right, as the server wrote it.
    text: String,
    /// Time at which the last request was sent that the server answered with this lease held.
    confirmed: Instant,
}

/// The leases held.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<HashMap<Fence, HeldLease>>);

impl Leases {
    /// Adds a lease that was claimed by a request sent at `sent`.
    pub(super) fn add(&self, fence: Fence, text: String, sent: Instant) {
        self.lock().insert(fence, HeldLease { text, confirmed: sent });
    }

    /// Returns the right of a claim.
    pub(super) fn text(&self, fence: Fence) -> Option<String> {
        self.lock().get(&fence).map(|lease| lease.text.clone())
    }

    /// Returns the rights of these claims, each with its claim.
    pub(super) fn texts(&self, fences: &[Fence]) -> Vec<(Fence, String)> {
        let held = self.lock();
        fences.iter().filter_map(|fence| Some((*fence, held.get(fence)?.text.clone()))).collect()
    }

    /// Records that the server confirmed these claims, to a request sent at `sent`.
    pub(super) fn confirm(&self, fences: &[Fence], sent: Instant) {
        let mut held = self.lock();
        for fence in fences {
            if let Some(lease) = held.get_mut(fence) {
                lease.confirmed = lease.confirmed.max(sent);
            }
        }
    }

    /// Returns the claims that were last confirmed longer than `limit` ago.
    pub(super) fn older_than(&self, limit: Duration) -> Vec<Fence> {
        self.lock().iter().filter(|(_, lease)| lease.confirmed.elapsed() > limit).map(|(fence, _)| *fence).collect()
    }

    /// Forgets a claim.
    pub(super) fn remove(&self, fence: Fence) {
        self.lock().remove(&fence);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Fence, HeldLease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
