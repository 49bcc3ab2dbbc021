//! The thread that renews leases.

use std::time::Duration;

use super::shared::WorkerShared;
use crate::shards::claims::Held;

/// Interval for renewing leases. A renewal also detects cancelled jobs, so it determines how long their owners wait.
const HEARTBEAT: Duration = Duration::from_secs(1);

impl WorkerShared {
    pub(super) fn run_heartbeat(&self) {
        // Leases are renewed until the last claim is released, also while the service drains.
        while !(self.is_stopping() && self.runner.claims.is_empty()) {
            self.sleep(HEARTBEAT);
            self.renew_leases();
        }
    }

    /// Renews the leases of all claims, and stops work on those whose lease is lost.
    pub(super) fn renew_leases(&self) {
        if let Err(error) = self.runner.renew_shards() {
            error.log("could not renew leases");
        }
        for (held, cancel) in self.runner.claims.all() {
            let (records, now) = (&self.options.records, self.options.clock.now());
            let lease = match held {
                Held::Shard(_) => continue,
                Held::Conclusion(fence) => self.wait(records.heartbeat_conclusion(fence, now, self.options.lease)),
                Held::Render(fence) => self.wait(records.heartbeat_render(fence, now, self.options.lease)),
            };
            match lease {
                Ok(assay_store::Lease::Held) => {}
                Ok(assay_store::Lease::Lost) => cancel.cancel(),
                Err(error) => error.log("could not renew lease"),
            }
        }
    }
}
