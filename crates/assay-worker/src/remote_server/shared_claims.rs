//! Claims of idle lanes that ask for jobs of policy servers too, so that an idle lane and the thread for such jobs wait
//! in one request.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_model::Assignment;

use crate::shards::intervals::TICK;

/// Time in which an idle lane claims again after a claim that brought nothing.
const GRACE: Duration = Duration::from_millis(100);

/// Time in which a thread that found no job claims again, or one that got a job lets another thread claim.
const HAND_OVER_LIMIT: Duration = Duration::from_millis(1500);

/// Connects lanes, whose claims may bring a job of a policy server, with the thread that waits for one.
#[derive(Debug, Default)]
pub(super) struct SharedClaims {
    state: Mutex<SharedState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SharedState {
    /// Number of lanes' claims under way that ask for both.
    under_way: usize,
    /// True while a thread waits for a job of a policy server.
    is_wanted: bool,
    /// The job that a lane's claim brought.
    shard: Option<Assignment>,
}

/// A lane's claim that asks for both; ends when dropped.
#[derive(Debug)]
pub(super) struct SharedClaim<'a>(&'a SharedClaims);

impl SharedClaims {
    /// Begins a lane's claim that asks for both, if a thread waits for a job of a policy server.
    pub(super) fn join(&self) -> Option<SharedClaim<'_>> {
        let mut state = self.lock();
        state.is_wanted.then(|| {
            state.under_way += 1;
            self.changed.notify_all();
            SharedClaim(self)
        })
    }

    /// Begins the wait for a job of a policy server.
    pub(super) fn want(&self) {
        self.lock().is_wanted = true;
        self.changed.notify_all();
    }

    /// Ends the wait. Returns the job that a lane's claim brought.
    pub(super) fn stop_wanting(&self) -> Option<Assignment> {
        let mut state = self.lock();
        state.is_wanted = false;
        let shard = state.shard.take();
        self.changed.notify_all();
        shard
    }

    /// Returns true if a lane's claim has brought a job.
    pub(super) fn has_shard(&self) -> bool {
        self.lock().shard.is_some()
    }

    /// Waits as long as a lane's claim asks for both and has brought nothing, or until `stops` returns true.
    pub(super) fn wait_for_lanes(&self, stops: &dyn Fn() -> bool) {
        let mut state = self.lock();
        while state.under_way > 0 && state.shard.is_none() && !stops() {
            let waited = self.changed.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.under_way == 0 {
                let none = |state: &mut SharedState| state.under_way == 0 && state.shard.is_none();
                let waited = self.changed.wait_timeout_while(state, GRACE, none);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedClaim<'_> {
    /// Passes a job of a policy server to the thread that waits for it, or soon waits again. Returns the job if none
    /// does.
    pub(super) fn hand_over(&self, shard: Assignment) -> Option<Assignment> {
        let busy = |state: &mut SharedState| !state.is_wanted || state.shard.is_some();
        let waited = self.0.changed.wait_timeout_while(self.0.lock(), HAND_OVER_LIMIT, busy);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if !state.is_wanted || state.shard.is_some() {
            return Some(shard);
        }
        state.shard = Some(shard);
        self.0.changed.notify_all();
        None
    }
}

impl Drop for SharedClaim<'_> {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::thread;
    use std::time::Instant;

    use super::{GRACE, SharedClaims};
    use crate::shards::quiet::tests::shard;

    #[test]
    fn a_lane_asks_for_both_only_while_a_thread_waits_and_each_job_reaches_it_once() {
        let claims = SharedClaims::default();
        assert!(claims.join().is_none());
        claims.want();
        let (one, other) = (claims.join().unwrap(), claims.join().unwrap());
        assert!(!claims.has_shard());
        assert!(one.hand_over(shard(false, vec![0])).is_none());
        assert!(claims.has_shard());
        assert!(other.hand_over(shard(false, vec![1])).is_some(), "one at a time");
        assert_eq!(claims.stop_wanting(), Some(shard(false, vec![0])));
        assert!(other.hand_over(shard(false, vec![1])).is_some(), "nothing waits any more");
        drop((one, other));
        assert!(claims.stop_wanting().is_none() && claims.join().is_none());
    }

    #[test]
    fn the_wait_lasts_as_long_as_lanes_ask_again_and_again() {
        // On a busy machine the second claim may come too late.
        assert!((0..20).any(|_| waits_for_the_second_claim()));
    }

    /// Returns false if a second claim followed later than it has to.
    fn waits_for_the_second_claim() -> bool {
        let claims = SharedClaims::default();
        claims.wait_for_lanes(&|| false);
        claims.want();
        let is_in_time = thread::scope(|scope| {
            let first = claims.join().unwrap();
            let waiting = scope.spawn(|| claims.wait_for_lanes(&|| false));
            let left = Instant::now();
            drop(first);
            let second = claims.join().unwrap();
            if left.elapsed() >= GRACE {
                return false;
            }
            thread::sleep(3 * GRACE);
            assert!(!waiting.is_finished(), "the second claim asks for both");
            assert!(second.hand_over(shard(false, vec![0])).is_none());
            waiting.join().unwrap();
            assert!(claims.stop_wanting().is_some());
            // Without a claim, it ends after the grace.
            claims.want();
            drop(second);
            claims.wait_for_lanes(&|| false);
            true
        });
        claims.stop_wanting();
        is_in_time
    }
}
