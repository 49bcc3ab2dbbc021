//! Serving on a socket.

use std::future::Future;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use crate::{AppState, router};

/// A client that takes nothing of what was sent to it for so long is gone: its connection is closed.
const SEND_LIMIT_MS: u32 = 60_000;

/// The service could not be served.
#[derive(Debug, thiserror::Error)]
#[error("serving failed")]
pub struct ServeError(#[from] std::io::Error);

/// Serves until `shutdown` is ready. Then nothing new is accepted, `/readyz` says no, requests under way may end within
/// the setting `drain`, and what is left after it is dropped.
///
/// # Errors
/// [`ServeError`] when the listener fails.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let (readiness, events, drain) = (state.readiness.clone(), state.events.clone(), state.settings.drain);
    let (stopping, stopped) = tokio::sync::watch::channel(false);
    let graceful = async move {
        shutdown.await;
        readiness.set(Err("stopping"));
        events.stop();
        stopping.send_replace(true);
    };
    let listener = listener.tap_io(|socket| {
        // An event is small and should not wait for another one.
        let quick = socket.set_nodelay(true);
        let bounded = rustix::net::sockopt::set_tcp_user_timeout(&*socket, SEND_LIMIT_MS);
        if let Err(error) = quick.and(bounded.map_err(Into::into)) {
            tracing::debug!(%error, "a connection is as the system makes it");
        }
    });
    // A bare router would be copied for each connection, table and all: some 70 KiB.
    let service = router(state).into_make_service();
    let server = axum::serve(listener, service).with_graceful_shutdown(graceful);
    tokio::select! {
        ended = server => Ok(ended?),
        () = too_late(stopped, drain) => {
            tracing::warn!(drain_s = drain.as_secs(), "some requests did not end in time and were cut");
            Ok(())
        }
    }
}

async fn too_late(mut stopped: tokio::sync::watch::Receiver<bool>, drain: Duration) {
    if stopped.wait_for(|stopped| *stopped).await.is_ok() {
        tokio::time::sleep(drain).await;
    } else {
        std::future::pending().await
    }
}
