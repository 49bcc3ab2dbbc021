//! Wakes the workers of this process for work that other processes have queued in a shared database.

use std::sync::Arc;
use std::time::Duration;

use assay_store::{Queue, Records};

/// Minimum time between two looks at the queue.
const INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of hints at a time; workers that find work look for more.
const HINTS: u32 = 16;

/// Looks at the queue when there are changes, until `stopped`.
pub(super) async fn wake_workers(records: Arc<dyn Records>, queue: Arc<dyn Queue>, stopped: impl Future<Output = ()>) {
    let wake = async {
        let mut changes = records.changes();
        // Ends with the records.
        while changes.changed().await.is_ok() {
            // Outages are logged where they are noticed, and workers look by themselves now and then.
            for work in records.claimable(HINTS).await.unwrap_or_default() {
                queue.publish(work).await;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    };
    tokio::select! {
        () = wake => {}
        () = stopped => {}
    }
}
