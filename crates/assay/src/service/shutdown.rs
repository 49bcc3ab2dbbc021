//! Shutdown of the service: the signals that request it, and the draining of the worker.

use std::time::Duration;

use assay_worker::{Cancel, WorkerService};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinError;

use crate::printing::complain;

/// Time after SIGTERM in which running episodes may finish, before they are handed back. The whole shutdown takes less
/// than 10 s.
const DRAIN: Duration = Duration::from_secs(6);

/// Waits until the service stops.
pub(super) async fn stopped(mut stopping: watch::Receiver<bool>) {
    // An error means that the sender was dropped, which is a stop too.
    drop(stopping.wait_for(|stop| *stop).await);
}

/// Sets `stop`, with a message, once `signal` arrives.
pub(super) async fn announce_stop(signal: impl Future<Output = ()>, stop: watch::Sender<bool>) {
    signal.await;
    complain!("assay: stopping; running episodes have {} s to finish", DRAIN.as_secs());
    stop.send_replace(true);
}

/// Drains the worker once the service stops.
pub(super) async fn drain(
    worker: WorkerService,
    preflights: Cancel,
    stopping: watch::Receiver<bool>,
) -> Result<(), JoinError> {
    stopped(stopping).await;
    preflights.cancel();
    tokio::task::spawn_blocking(move || worker.drain(DRAIN)).await
}

/// Returns a future that completes at SIGTERM or SIGINT.
pub(crate) fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
