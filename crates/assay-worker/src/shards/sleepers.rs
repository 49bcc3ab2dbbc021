//! The policies that sleep, and the lanes that work in their place.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use assay_model::{AccountId, JobId};

use super::intervals::POLL;

/// Episodes whose policies sleep, and the lanes that work in their place.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    state: Mutex<SleeperState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SleeperState {
    asleep: HashMap<(JobId, u32), AccountId>,
    reliefs: usize,
}

/// The right to run a shard in place of a sleeping policy; released when dropped.
pub(crate) struct Relief<'a> {
    sleepers: &'a Sleepers,
    /// Accounts whose policies sleep; their shards are excluded.
    pub(crate) excluded: Vec<AccountId>,
}

impl Sleepers {
    /// Records the start or end of sleep of the policy of an episode of `account`.
    pub(crate) fn set(&self, episode: (JobId, u32), account: &AccountId, asleep: bool) {
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
    pub(crate) fn relief(&self) -> Option<Relief<'_>> {
        let none = |state: &mut SleeperState| state.asleep.len() <= state.reliefs;
        let waited = self.changed.wait_timeout_while(self.lock(), POLL, none);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if none(&mut state) {
            return None;
        }
        state.reliefs += 1;
        let excluded: BTreeSet<_> = state.asleep.values().cloned().collect();
        Some(Relief { sleepers: self, excluded: excluded.into_iter().collect() })
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
        assert_eq!(relief.excluded, std::slice::from_ref(&account));
        assert!(sleepers.relief().is_none(), "one each");
        drop(relief);
        assert!(sleepers.relief().is_some());
        sleepers.set((job(), 0), &account, false);
        assert!(sleepers.relief().is_none());
    }
}
