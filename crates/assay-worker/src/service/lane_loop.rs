//! The work of a lane's thread: conclusions first, then shards, then waiting for a hint.

use std::time::Duration;

use super::shared::WorkerShared;
use crate::shards::intervals::POLL;
use crate::shards::quiet::Quiet;
use crate::shards::warm_lane::WarmLane;

impl WorkerShared {
    pub(super) fn run_lane(&self, core: usize) {
        let (mut spare, mut quiet) = (WarmLane::new(core), Quiet::default());
        while !self.is_stopping() {
            let worked = self.conclude_next() || self.shard_next(&mut spare, &mut quiet);
            if !worked && !self.is_stopping() {
                spare.start(&*self.runner.host);
                if !quiet.is_over(self.options.clock.now()) {
                    // Leave hints to lanes that may run any work.
                    self.sleep(POLL);
                    continue;
                }
                let _idle = self.renderers.idle();
                if self.runner.dispatch.wait_for_work(POLL) {
                    self.runner.servers.wake();
                }
            }
        }
    }

    /// Concludes jobs, and lets one renderer run, in a service without lanes.
    pub(super) fn run_without_lanes(&self) {
        let _idle = self.renderers.idle();
        while !self.is_stopping() {
            if !self.conclude_next() && !self.is_stopping() {
                self.runner.dispatch.wait_for_work(POLL);
            }
        }
    }

    /// Concludes the next job, if one waits.
    pub(super) fn conclude_waiting(&self) {
        self.conclude_next();
    }

    /// Runs the next shard that the lane may run now. Returns true if there was one.
    pub(super) fn shard_next(&self, spare: &mut WarmLane, quiet: &mut Quiet) -> bool {
        let is_over = quiet.is_over(self.options.clock.now());
        self.runner.shard_next(spare, (quiet, is_over), (Duration::ZERO, None), &|| self.conclude_waiting())
    }
}
