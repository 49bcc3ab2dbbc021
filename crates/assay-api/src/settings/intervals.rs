//! `[intervals]`: how soon work goes on elsewhere.

use std::time::Duration;

use assay_model::WORKER_LEASE_S;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InvalidSetting, Seconds};

/// Renewals of a lease within its duration: a worker loses it only if it misses several in a row.
const BEATS_PER_LEASE: u32 = 6;

/// The section `[intervals]`. The defaults suit every installation.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IntervalSettings {
    /// Seconds after which the work of a lane runs elsewhere if its server does not renew its lease, because it has
    /// died.
    pub lane_lease_s: Seconds,
    /// Seconds after which the work of a worker on another host runs elsewhere if it does not renew its lease. It does
    /// so six times in this time.
    pub worker_lease_s: u32,
    /// Seconds that a policy has after it connected to introduce itself.
    pub policy_hello_s: Seconds,
    /// Seconds that an episode waits for its policy to connect again after a connection was lost.
    pub policy_return_s: Seconds,
    /// Seconds from the first failed attempt at a webhook to the second; later pauses grow in proportion.
    pub webhook_retry_s: Seconds,
}

impl Default for IntervalSettings {
    fn default() -> Self {
        Self {
            lane_lease_s: Seconds::new(15),
            worker_lease_s: WORKER_LEASE_S,
            policy_hello_s: Seconds::new(5),
            policy_return_s: Seconds::new(30),
            webhook_retry_s: Seconds::new(5),
        }
    }
}

impl IntervalSettings {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        let tenth = Seconds::from(Duration::from_millis(100));
        // A server renews the leases of its lanes every second.
        InvalidSetting::unless_in("lane_lease_s", self.lane_lease_s, &(Seconds::new(3)..=Seconds::new(120)))?;
        // After a restart of the server, workers have 30 s to renew their leases.
        InvalidSetting::unless_in("worker_lease_s", self.worker_lease_s, &(BEATS_PER_LEASE..=120))?;
        InvalidSetting::unless_in("policy_hello_s", self.policy_hello_s, &(tenth..=Seconds::new(60)))?;
        InvalidSetting::unless_in("policy_return_s", self.policy_return_s, &(tenth..=Seconds::new(600)))?;
        InvalidSetting::unless_in("webhook_retry_s", self.webhook_retry_s, &(tenth..=Seconds::new(600)))
    }

    /// Returns the interval at which a worker on another host renews its leases, in seconds.
    #[must_use]
    pub(crate) fn worker_beat_s(&self) -> u32 {
        (self.worker_lease_s / BEATS_PER_LEASE).max(1)
    }
}

#[cfg(test)]
mod tests {
    use assay_model::WORKER_HEARTBEAT_S;

    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_protocol() {
        let intervals = IntervalSettings::default();
        assert!(intervals.validate().is_ok());
        assert_eq!(intervals.worker_beat_s(), WORKER_HEARTBEAT_S);
    }
}
