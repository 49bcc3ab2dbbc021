//! Wakes the workers of this process for work that other processes have queued in a shared database.

use std::sync::Arc;
use std::time::Duration;

use assay_store::{Queue, Records};

/// Minimum time between two looks at the queue.
const INTERVAL: Duration = Duration::from_millis(100);
/// Number of shards and conclusions that are looked at; workers that find work look for more.
const LOOK: u32 = 64;

/// Looks at the queue when there are changes, until `stopped`.
pub(super) async fn wake_workers(records: Arc<dyn Records>, queue: Arc<dyn Queue>, stopped: impl Future<Output = ()>) {
    let wake = async {
        let (mut changes, mut known) = (records.changes(), Vec::new());
        // Ends with the records.
        while changes.changed().await.is_ok() {
            // Outages are logged where they are noticed, and workers look by themselves now and then.
            let claimable = records.claimable(LOOK).await.unwrap_or_default();
            // Each is announced once, so that a long queue does not pile up hints.
            for work in claimable.iter().filter(|work| !known.contains(*work)) {
                queue.publish(*work).await;
            }
            known = claimable;
            tokio::time::sleep(INTERVAL).await;
        }
    };
    tokio::select! {
        () = wake => {}
        () = stopped => {}
    }
}
