//! The HTTP server on a socket.

use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower_http::add_extension::AddExtension;

use crate::linger::Lingering;
use crate::links::ConnectionAddresses;
use crate::rejected_heads::RejectedHeads;
use crate::{AppState, router};

/// Timeout for unacknowledged data: the connection of a client that receives nothing for this long is closed.
const SEND_LIMIT_MS: u32 = 60_000;
/// Pause after an error of accepting that is not specific to one connection (such as too many open files).
const PAUSE: Duration = Duration::from_millis(500);

/// An error of the listener.
#[derive(Debug, thiserror::Error)]
#[error("serving failed")]
pub struct ServeError(#[from] std::io::Error);

/// Serves until `shutdown` is ready. Then no new connections are accepted, `/readyz` reports 503, running requests may
/// finish within the setting `drain`, and the remaining ones are dropped.
///
/// # Errors
/// [`ServeError`] when the listener fails.
pub async fn serve(
    listener: TcpListener,
    state: AppState,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let (readiness, events, drain) = (state.readiness.clone(), state.events.clone(), state.settings.drain_s.get());
    let worker_fleet = state.worker_fleet.clone();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(state.settings.header_s.get());
    let connections = Arc::new(Semaphore::new(state.settings.max_connections));
    let app = Arc::new(state.clone());
    let router = router(state).with_state::<()>(());
    let listening = listener.local_addr()?;
    let (stop, stopping) = watch::channel(false);
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &connections) => accepted?,
            () = &mut shutdown => break,
        };
        let (socket, peer, permit) = accepted;
        let addresses = socket.local_addr().ok().map(|own| ConnectionAddresses { own, listening });
        let service = AddExtension::new(AddExtension::new(router.clone(), ConnectInfo(peer)), addresses);
        let service = TowerToHyperService::new(service);
        // With upgrades, for the WebSockets of policies. Their bytes are no longer this connection's.
        let connection = http
            .serve_connection(TokioIo::new(RejectedHeads::new(Lingering::new(socket), Arc::clone(&app))), service)
            .with_upgrades();
        // The task keeps its receiver until the connection ends: the server's end waits for that.
        let mut stopping = stopping.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stopped(&mut stopping) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection was interrupted, or its client was too slow");
            }
        });
    }
    drop(listener);
    readiness.set(Err("stopping"));
    worker_fleet.wake_all();
    events.stop();
    stop.send_replace(true);
    drop(stopping);
    tokio::select! {
        // Each connection has a receiver.
        () = stop.closed() => {}
        () = tokio::time::sleep(drain) => {
            tracing::warn!(drain_s = drain.as_secs(), "some requests did not finish in time and were dropped");
        }
    }
    Ok(())
}

/// Accepts the next connection, once the limit of connections allows it.
pub(crate) async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Result<(TcpStream, SocketAddr, OwnedSemaphorePermit), ServeError> {
    let permit = Arc::clone(connections).acquire_owned().await.map_err(std::io::Error::other)?;
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => {
                // An event is small and must not wait for the next one.
                let quick = socket.set_nodelay(true);
                let bounded = rustix::net::sockopt::set_tcp_user_timeout(&socket, SEND_LIMIT_MS);
                if let Err(error) = quick.and(bounded.map_err(Into::into)) {
                    tracing::debug!(%error, "could not set the options of a connection");
                }
                return Ok((socket, peer, permit));
            }
            Err(error) if is_connection_error(error.kind()) => {}
            Err(error) => {
                tracing::error!(%error, "could not accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn is_connection_error(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}

/// Waits until the server stops.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone, and then this task soon is.
    drop(stopping.wait_for(|stopping| *stopping).await);
}
