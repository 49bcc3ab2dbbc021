//! The listener of the metrics: only `GET /metrics`, without a key, for the operator's own programs.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::routes::metrics_on_own_listener;
use crate::server::accept;
use crate::state::App;
use crate::{AppState, ServeError};

/// Maximum number of concurrent connections; others wait to be accepted.
const MAX_CONNECTIONS: usize = 64;

/// Serves the metrics until `shutdown` is ready. Connections end after each response.
///
/// # Errors
/// [`ServeError`] when the listener fails.
pub async fn serve_metrics(
    listener: TcpListener,
    state: AppState,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(state.settings.header_s.get()).keep_alive(false);
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let app: App = Arc::new(state);
    let router = Router::new().route("/metrics", get(metrics_on_own_listener)).with_state(app);
    let mut shutdown = pin!(shutdown);
    loop {
        let (socket, _, permit) = tokio::select! {
            accepted = accept(&listener, &connections) => accepted?,
            () = &mut shutdown => return Ok(()),
        };
        let connection = http.serve_connection(TokioIo::new(socket), TowerToHyperService::new(router.clone()));
        tokio::spawn(async move {
            let _permit = permit;
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the metrics was interrupted");
            }
        });
    }
}
