//! Keeps the number of lanes of workers on other hosts current.

use std::future::Future;
use std::time::Duration;

use crate::AppState;

/// Interval at which the lanes are counted.
const COUNT: Duration = Duration::from_secs(5);

/// Keeps the number of lanes of workers on other hosts current until `stopped` is ready.
pub async fn count_workers(state: AppState, stopped: impl Future<Output = ()>) {
    let counting = async {
        loop {
            let (offered, now) = (state.offered_runtimes().await, state.clock.now());
            if let Err(error) = state.worker_fleet.count(&*state.records, offered, now).await {
                error.log("could not count workers");
            }
            tokio::time::sleep(COUNT).await;
        }
    };
    tokio::select! {
        () = counting => {}
        () = stopped => {}
    }
}
