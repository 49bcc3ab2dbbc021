//! Relief of lanes whose policies sleep: such a lane needs no processor, so another account's shard runs in its place.
//!
//! A policy may sleep for as long as its wall-clock budget lasts. Its lane stays reserved, and is charged to its
//! account in the fair shares; for each such lane one more may work for accounts none of whose policies sleep.

use std::time::Duration;

use assay_store::ShardKind;

use super::busy::Busy;
use super::intervals::POLL;
use super::runner::ShardRunner;
use super::warm_lane::WarmLane;

/// Number of relief threads per lane.
pub(crate) const MAX_RELIEFS_PER_LANE: usize = 2;

impl ShardRunner {
    /// Runs shards on processor `core` while lanes sleep, until the service stops. Calls `after` after each.
    pub(crate) fn run_relief_lane(&self, core: usize, after: &dyn Fn()) {
        while !self.stopping.is_cancelled() {
            let Some(relief) = self.sleepers.relief() else { continue };
            match self.dispatch.claim(ShardKind::Policy, &relief.excluded, Duration::ZERO) {
                Ok(Some(shard)) => {
                    let _busy = Busy::lanes(1);
                    let mut spare = WarmLane::new(core);
                    let run = |workspace: &_, cancel: &_| self.run_shard(&shard, &mut spare, workspace, cancel);
                    self.process(&shard, run, after);
                }
                Ok(None) => self.sleep(POLL),
                Err(error) => {
                    error.log("could not claim shard");
                    self.sleep(POLL);
                }
            }
        }
    }
}
