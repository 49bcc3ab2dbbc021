//! Relief of lanes whose policies sleep: such a lane needs no processor, so another account's shard runs in its place.
//!
//! A policy may sleep for as long as its wall-clock budget lasts. Its lane stays reserved, and is charged to its
//! account in the fair shares; for each such lane one more may work for accounts none of whose policies sleep.

use assay_store::ShardKind;

use super::busy::Busy;
use super::intervals::{LEASE, POLL};
use super::shared::WorkerShared;
use super::warm_lane::WarmLane;

/// Number of relief threads per lane.
pub(super) const MAX_RELIEFS_PER_LANE: usize = 2;

impl WorkerShared {
    /// Runs shards on processor `core` while lanes sleep, until the service stops.
    pub(super) fn run_relief_lane(&self, core: usize) {
        while !self.stopping.is_cancelled() {
            let Some(relief) = self.sleepers.relief() else { continue };
            let now = self.options.clock.now();
            let request = self.request(ShardKind::Policy).excluding(&relief.excluded);
            match self.wait(self.options.records.claim_shard(&request, now, LEASE)) {
                Ok(Some(claim)) => {
                    let _busy = Busy::lanes(1);
                    let mut spare = WarmLane::new(core);
                    self.process_shard(&claim, |workspace, cancel| {
                        self.run_shard(&claim, &mut spare, workspace, cancel)
                    });
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
