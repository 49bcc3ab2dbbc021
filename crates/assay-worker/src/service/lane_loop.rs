//! The work of a lane's thread: conclusions first, then shards, then waiting for a hint.

use super::intervals::POLL;
use super::quiet::Quiet;
use super::shared::WorkerShared;
use super::warm_lane::WarmLane;

impl WorkerShared {
    pub(super) fn run_lane(&self, core: usize) {
        let (mut spare, mut quiet) = (WarmLane::new(core), Quiet::default());
        while !self.stopping.is_cancelled() {
            let worked = self.conclude_next() || self.shard_next(&mut spare, &mut quiet);
            if !worked && !self.stopping.is_cancelled() {
                spare.start(&*self.host);
                if !quiet.is_over(self.options.clock.now()) {
                    // Leave hints to lanes that may run any work.
                    self.sleep(POLL);
                    continue;
                }
                let _idle = self.renderers.idle();
                // The hint's content does not matter: the records contain the work.
                if self.wait(self.options.queue.next(POLL)).is_some() {
                    self.servers.wake();
                }
            }
        }
    }
}
