//! Keeps the number of lanes of workers on other hosts current, and wakes those that wait for work.

use std::future::Future;
use std::time::Duration;

use crate::AppState;
use crate::worker_fleet::LOOK;

/// Interval at which the lanes are counted.
const COUNT: Duration = Duration::from_secs(5);

/// Keeps the number of lanes of workers on other hosts current, and wakes those that wait for work, until `stopped` is
/// ready.
pub async fn attend_workers(state: AppState, stopped: impl Future<Output = ()>) {
    let attending = async { tokio::join!(count(&state), wake(&state)) };
    tokio::select! {
        _ = attending => {}
        () = stopped => {}
    }
}

async fn count(state: &AppState) {
    loop {
        let (offered, now) = (state.offered_runtimes().await, state.clock.now());
        if let Err(error) = state.worker_fleet.count(&*state.records, offered, now).await {
            error.log("could not count workers");
        }
        tokio::time::sleep(COUNT).await;
    }
}

async fn wake(state: &AppState) {
    loop {
        if let Err(error) = state.worker_fleet.wake_for_work(&*state.records).await {
            error.log("could not look for work on behalf of waiting workers");
        }
        tokio::time::sleep(LOOK).await;
    }
}
