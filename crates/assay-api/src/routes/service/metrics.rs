//! `GET /metrics`: metrics for Prometheus. Counters and timings are updated where events occur; values from the
//! database are read on request.

use std::net::SocketAddr;
use std::sync::Once;
use std::time::Duration;

use assay_model::Scope;
use assay_store::JobCounts;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use crate::MetricsAccess;
use crate::http::{ApiError, ErrorCode, count_operation, identify};
use crate::lane_demand::lane_demand;
use crate::routes::RateClass;
use crate::state::App;

/// Content type of the Prometheus text format.
const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Headers added by proxies: a request with one of them does not come from this machine.
const BY_PROXY: [&str; 3] = ["forwarded", "x-forwarded-for", "x-real-ip"];
/// Time limit for the values of the records on the metrics' own listener, which must answer within a second.
const MEASURING: Duration = Duration::from_millis(800);
/// Tells the operator once that the old rule was used.
static WARNED: Once = Once::new();

/// Get the metrics
///
/// Returns the metrics of queues, lanes, requests and episodes in the Prometheus text format. Needs a key with the
/// scope `admin`, unless the setting `server.metrics` allows all clients. The listener of the setting
/// `server.metrics_listen` serves the same path without a key.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "service",
    responses(
        (status = 200, description = "Metrics in the Prometheus text format", content_type = "text/plain"),
        (status = 401), (status = 403), (status = 404), (status = 429),
    ),
)]
pub(in crate::routes) async fn handle(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let is_admitted = admit(app.settings.metrics, peer, request.headers())?;
    let (parts, body) = request.into_parts();
    drop(body);
    if !is_admitted {
        let caller = identify(&app, &parts.method, &parts.headers).await?;
        caller.require(Scope::Admin)?;
        count_operation(&app, &caller, RateClass::Get).await?;
    }
    measure(&app).await?;
    text(&app)
}

/// The handler of the metrics' own listener. A database that does not answer delays it for a moment only; the values
/// from it are then those of the last time.
pub(crate) async fn on_own_listener(State(app): State<App>) -> Result<Response, ApiError> {
    match tokio::time::timeout(MEASURING, measure(&app)).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) | Err(_) => tracing::debug!("the records did not answer in time: metrics of them are old"),
    }
    text(&app)
}

fn text(app: &App) -> Result<Response, ApiError> {
    let Some(metrics) = &app.metrics else { return Err(ApiError::not_found("metrics")) };
    Ok(([(header::CONTENT_TYPE, KIND)], metrics.render()).into_response())
}

/// Returns true if the client may read the metrics without a key, and false if its key decides.
fn admit(access: MetricsAccess, peer: Option<SocketAddr>, headers: &HeaderMap) -> Result<bool, ApiError> {
    let local = peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback());
    let has_key = headers.contains_key(header::AUTHORIZATION);
    let by_proxy = BY_PROXY.iter().any(|name| headers.contains_key(*name));
    match access {
        MetricsAccess::Any => Ok(true),
        MetricsAccess::Loopback if local && !by_proxy && has_key => Ok(true),
        MetricsAccess::Admin | MetricsAccess::Loopback if has_key => Ok(false),
        MetricsAccess::Loopback if local && !by_proxy => {
            WARNED.call_once(|| {
                tracing::warn!(
                    "/metrics was read without a key at the address of the API, which a later release refuses: read it \
                     at server.metrics_listen, or set server.metrics to admin or any"
                );
            });
            Ok(true)
        }
        MetricsAccess::Admin | MetricsAccess::Loopback => {
            let message = "metrics are for keys with the scope admin, and for clients of the listener \
                           server.metrics_listen, unless the setting server.metrics is any";
            Err(ApiError::new(ErrorCode::Forbidden, message))
        }
        MetricsAccess::Off => Err(ApiError::new(ErrorCode::NotFound, "there is nothing at this path")),
    }
}

/// Updates the gauges that no event updates.
async fn measure(app: &App) -> Result<(), ApiError> {
    let counts = app.records.counts().await?;
    let JobCounts { queued, running, judging, completed, failed, cancelled, oldest_queued, .. } = counts;
    let states = [
        ("QUEUED", queued),
        ("RUNNING", running),
        ("JUDGING", judging),
        ("COMPLETED", completed),
        ("FAILED", failed),
        ("CANCELLED", cancelled),
    ];
    for (status, count) in states {
        metrics::gauge!("assay_jobs", "status" => status).set(as_float(count));
    }
    let age = oldest_queued.map_or(0.0, |oldest| app.clock.now().duration_since(oldest).as_secs_f64().max(0.0));
    metrics::gauge!("assay_oldest_queued_job_age_seconds").set(age);
    metrics::gauge!("assay_lanes").set(f64::from(app.settings.local_lanes));
    let demand = lane_demand(app).await?;
    metrics::gauge!("assay_lanes_wanted").set(as_float(demand.waiting + demand.running));
    let usage = app
        .evidence_usage
        .measure(&app.blobs, &*app.records, app.clock.now())
        .await
        .map_err(|e| ApiError::internal("the size of the evidence", &e))?;
    metrics::gauge!("assay_evidence_bytes").set(as_float(usage.values().sum()));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "the text format knows floats only")]
fn as_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn metrics_access_depends_on_setting_and_peer() {
        use MetricsAccess::{Admin, Any, Loopback, Off};
        let local = [(header::ACCEPT, "*/*".parse().unwrap())].into_iter().collect::<HeaderMap>();
        let (mut proxied, mut with_key) = (local.clone(), local.clone());
        proxied.insert("x-forwarded-for", "203.0.113.9".parse().unwrap());
        with_key.insert(header::AUTHORIZATION, "Bearer x".parse().unwrap());
        // `None`: the key decides.
        for (access, peer, headers, expected) in [
            (Loopback, Some("127.0.0.1:1"), &local, Ok(Some(true))),
            (Loopback, Some("[::1]:1"), &local, Ok(Some(true))),
            (Loopback, Some("[::ffff:127.0.0.1]:1"), &local, Ok(Some(true))),
            (Loopback, Some("10.0.0.1:1"), &local, Err(403)),
            (Loopback, Some("127.0.0.1:1"), &proxied, Err(403)),
            (Loopback, None, &local, Err(403)),
            (Loopback, Some("127.0.0.1:1"), &with_key, Ok(Some(true))),
            (Loopback, Some("10.0.0.1:1"), &with_key, Ok(None)),
            (Admin, Some("127.0.0.1:1"), &local, Err(403)),
            (Admin, Some("127.0.0.1:1"), &with_key, Ok(None)),
            (Admin, None, &with_key, Ok(None)),
            (Any, Some("10.0.0.1:1"), &proxied, Ok(Some(true))),
            (Off, Some("127.0.0.1:1"), &local, Err(404)),
            (Off, Some("127.0.0.1:1"), &with_key, Err(404)),
        ] {
            let peer = peer.map(|peer| peer.parse().unwrap());
            let found = admit(access, peer, headers).map(|may| may.then_some(true));
            assert_eq!(found.map_err(|error| error.status().as_u16()), expected, "{access:?} {peer:?}");
        }
    }
}
