//! `GET /metrics`: metrics for Prometheus. Counters and timings are updated where events occur; values from the
//! database are read on request.

use std::net::SocketAddr;

use assay_store::JobCounts;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use crate::MetricsAccess;
use crate::http::{ApiError, ErrorCode};
use crate::lane_demand::lane_demand;
use crate::state::App;

/// Content type of the Prometheus text format.
const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Headers added by proxies: a request with one of them does not come from this machine.
const BY_PROXY: [&str; 3] = ["forwarded", "x-forwarded-for", "x-real-ip"];

/// Get the metrics
///
/// Returns the metrics of queues, lanes, requests and episodes in the Prometheus text format. Needs no key; the setting
/// `server.metrics` restricts access to clients on the same machine, or allows all or no clients.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "service",
    responses(
        (status = 200, description = "Metrics in the Prometheus text format; by default only for clients on the same \
            machine", content_type = "text/plain"),
        (status = 403), (status = 404),
    ),
)]
pub(in crate::routes) async fn handle(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    admit(app.settings.metrics, peer, request.headers())?;
    drop(request);
    let Some(metrics) = &app.metrics else { return Err(ApiError::not_found("metrics")) };
    measure(&app).await?;
    Ok(([(header::CONTENT_TYPE, KIND)], metrics.render()).into_response())
}

fn admit(access: MetricsAccess, peer: Option<SocketAddr>, headers: &HeaderMap) -> Result<(), ApiError> {
    let local = peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback());
    let by_proxy = BY_PROXY.iter().any(|name| headers.contains_key(*name));
    match access {
        MetricsAccess::Any => Ok(()),
        MetricsAccess::Loopback if local && !by_proxy => Ok(()),
        MetricsAccess::Loopback => {
            let message = "metrics are only for clients on the same machine, unless the setting server.metrics is any";
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
        use MetricsAccess::{Any, Loopback, Off};
        let local = [(header::ACCEPT, "*/*".parse().unwrap())].into_iter().collect::<HeaderMap>();
        let mut proxied = local.clone();
        proxied.insert("x-forwarded-for", "203.0.113.9".parse().unwrap());
        for (access, peer, headers, may) in [
            (Loopback, Some("127.0.0.1:1"), &local, true),
            (Loopback, Some("[::1]:1"), &local, true),
            (Loopback, Some("[::ffff:127.0.0.1]:1"), &local, true),
            (Loopback, Some("10.0.0.1:1"), &local, false),
            (Loopback, Some("127.0.0.1:1"), &proxied, false),
            (Loopback, None, &local, false),
            (Any, Some("10.0.0.1:1"), &proxied, true),
            (Off, Some("127.0.0.1:1"), &local, false),
        ] {
            let peer = peer.map(|peer| peer.parse().unwrap());
            assert_eq!(admit(access, peer, headers).is_ok(), may, "{access:?} {peer:?}");
        }
    }
}
