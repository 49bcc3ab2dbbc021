//! The thread that requeues the work of dead workers and cleans up.

use std::time::{Duration, SystemTime};

use assay_store::WorkerRecord;
use jiff::SignedDuration;

use super::shared::WorkerShared;

/// Interval of the reconciler.
const RECONCILE: Duration = Duration::from_secs(3);
/// Time since a worker's last call after which its machine counts as gone: its jobs run again elsewhere.
const ABSENCE: SignedDuration = SignedDuration::from_hours(1);
/// Maximum number of hints published at the start for work left from before.
const MAX_PRIMED: u32 = 4096;

impl WorkerShared {
    pub(super) fn run_reconciler(&self) {
        let start = SystemTime::from(self.options.clock.now());
        match self.wait(self.options.records.claimable(MAX_PRIMED)) {
            Ok(work) => self.publish(work),
            Err(error) => error.log("could not read records"),
        }
        while !self.is_stopping() {
            // Of several servers, one does the upkeep of the records.
            if self.options.site.leads() {
                self.reconcile();
                self.unpin_jobs();
                self.forget_servers(start);
                self.close_seasons();
            }
            // A full disk, and its recovery, must appear in the log even if no request uses the disk.
            if let Err(error) = self.options.health.free_bytes() {
                tracing::debug!(%error, "could not determine free disk space");
            }
            self.sleep(RECONCILE);
        }
    }

    /// Requeues the work of workers whose leases have expired.
    fn reconcile(&self) {
        match self.wait(self.options.records.reconcile(self.options.clock.now())) {
            Ok(done) => {
                for job in &done.failed {
                    tracing::error!(job.id = %job, "job failed: its leases expired too often");
                }
                self.publish(done.requeued);
            }
            Err(error) => error.log("could not reconcile records"),
        }
    }

    /// Requeues the episodes of jobs whose machine is neither a server's nor that of a worker on another host.
    fn unpin_jobs(&self) {
        let (records, now) = (&self.options.records, self.options.clock.now());
        let unpinned = self.wait(async {
            let workers = records.workers().await?;
            let is_present = |worker: &&WorkerRecord| {
                let seen = worker.seen_at.is_some_and(|seen| now.duration_since(seen) < ABSENCE);
                worker.is_admitted(now) && seen
            };
            let admitted = workers.iter().filter(is_present);
            let machines = admitted.filter_map(|worker| Some(worker.registration.as_ref()?.machine.digest()));
            let here = self.options.engine.fingerprint().digest();
            let others = self.options.site.others();
            let servers = others.iter().filter(|server| server.lanes > 0).filter_map(|server| server.machine);
            records.unpin_jobs(&machines.chain([here]).chain(servers).collect::<Vec<_>>(), now).await
        });
        match unpinned {
            Ok(work) => self.publish(work),
            Err(error) => error.log("could not look for jobs of absent machines"),
        }
    }
}
