//! Relief of lanes whose policies sleep: such a lane needs no processor, so another account's shard runs in its place.
//!
//! A policy may sleep for as long as its wall-clock budget lasts. Its lane stays reserved, and is charged to its
//! account in the fair shares; for each such lane one more may work for accounts none of whose policies sleep.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use assay_model::{AccountId, JobId};

use super::busy::Busy;
use super::warm_lane::WarmLane;
use super::{LEASE, POLL, WorkerShared};

/// Number of relief threads per lane.
pub(super) const MAX_RELIEFS_PER_LANE: usize = 2;

/// Episodes whose policies sleep, and the lanes that work in their place.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    state: Mutex<SleeperState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SleeperState {
    asleep: HashMap<(JobId, u32), AccountId>,
    reliefs: usize,
}

/// The right to run a shard in place of a sleeping policy; released when dropped.
pub(super) struct Relief<'a> {
    sleepers: &'a Sleepers,
    /// Accounts whose policies sleep; their shards are excluded.
    pub(super) but: Vec<AccountId>,
}

impl Sleepers {
    /// Records the start or end of sleep of the policy of an episode of `account`.
    pub(super) fn set(&self, episode: (JobId, u32), account: &AccountId, asleep: bool) {
        let mut state = self.lock();
        let changed = match asleep {
            true => state.asleep.insert(episode, account.clone()).is_none(),
            false => state.asleep.remove(&episode).is_some(),
        };
        if changed && asleep {
            self.changed.notify_all();
        }
    }

    /// Waits briefly for a sleeping policy whose lane has no relief.
    fn relief(&self) -> Option<Relief<'_>> {
        let none = |state: &mut SleeperState| state.asleep.len() <= state.reliefs;
        let waited = self.changed.wait_timeout_while(self.lock(), POLL, none);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if none(&mut state) {
            return None;
        }
        state.reliefs += 1;
        let but: BTreeSet<_> = state.asleep.values().cloned().collect();
        Some(Relief { sleepers: self, but: but.into_iter().collect() })
    }

    fn lock(&self) -> MutexGuard<'_, SleeperState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Relief<'_> {
    fn drop(&mut self) {
        self.sleepers.lock().reliefs -= 1;
    }
}

impl WorkerShared {
    /// Runs shards on processor `core` while lanes sleep, until the service stops.
    pub(super) fn relieve(&self, core: usize) {
        while !self.stopping.is_cancelled() {
            let Some(relief) = self.sleepers.relief() else { continue };
            let now = self.options.clock.now();
            let claim = self.options.records.claim_shard_of_others(&self.name, &relief.but, now, LEASE);
            match self.wait(claim) {
                Ok(Some(claim)) => {
                    let _busy = Busy::lanes(1);
                    let mut spare = WarmLane::new(core);
                    self.shard(&claim, |desk, cancel| self.run(&claim, &mut spare, desk, cancel));
                }
                Ok(None) => self.sleep(POLL),
                Err(error) => {
                    error.log("shards could not be claimed");
                    self.sleep(POLL);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn job() -> JobId {
        "0197a2b4-0000-7000-8000-000000000000".parse().unwrap()
    }

    #[test]
    fn each_sleeping_lane_has_one_relief_for_other_accounts() {
        let sleepers = Sleepers::default();
        let account: AccountId = "asleep".parse().unwrap();
        assert!(sleepers.relief().is_none());
        sleepers.set((job(), 0), &account, true);
        sleepers.set((job(), 0), &account, true);
        let relief = sleepers.relief().unwrap();
        assert_eq!(relief.but, std::slice::from_ref(&account));
        assert!(sleepers.relief().is_none(), "one each");
        drop(relief);
        assert!(sleepers.relief().is_some());
        sleepers.set((job(), 0), &account, false);
        assert!(sleepers.relief().is_none());
    }
}
