//! Durations that several threads of the worker share.

use std::time::Duration;

/// Maximum interval at which an idle lane checks the records.
pub(crate) const POLL: Duration = Duration::from_secs(1);
/// Time for which an idle worker on another host waits for a shard. Proxies end idle connections after a minute.
pub(crate) const CLAIM_WAIT: Duration = Duration::from_secs(45);
/// Interval at which waiting threads check the stop flag.
pub(crate) const TICK: Duration = Duration::from_millis(50);
