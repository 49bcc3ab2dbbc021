//! The one place where numbers of all crates come together.

use std::time::Duration;

use anyhow::Context;
use assay_api::Metrics;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Bounds of the histograms, in s: requests and commits, and episodes.
const SHORT: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];
const LONG: [f64; 10] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0];

/// Interval of the histograms' upkeep.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// The recorder of this process.
#[derive(Debug)]
pub(crate) struct PrometheusMetrics(PrometheusHandle);

impl Metrics for PrometheusMetrics {
    fn render(&self) -> String {
        self.0.render()
    }
}

/// Begins to count. Once a process, in its runtime.
pub(crate) fn install() -> anyhow::Result<PrometheusMetrics> {
    let builder = PrometheusBuilder::new()
        .set_buckets(&SHORT)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Full("assay_episode_duration_seconds".to_owned()), &LONG)
        })
        .context("the metrics")?;
    let handle = builder.install_recorder().context("the metrics")?;
    describe();
    // Samples wait in buffers until they are counted, and perhaps nobody ever asks for the metrics.
    let counting = handle.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(COUNT_EVERY).await;
            counting.run_upkeep();
        }
    });
    Ok(PrometheusMetrics(handle))
}

fn describe() {
    use metrics::{describe_counter as counter, describe_gauge as gauge, describe_histogram as histogram};
    gauge!("assay_jobs", "Jobs by state.");
    gauge!(
        "assay_oldest_queued_job_age_seconds",
        "How long the oldest job that nobody has begun with waits; 0 if none does."
    );
    gauge!("assay_lanes", "Simulators that may run at the same time.");
    gauge!("assay_lanes_busy", "Simulators that run jobs, those of policy servers too.");
    gauge!("assay_evidence_bytes", "Evidence on the disk.");
    gauge!("assay_db_queue_length", "Changes that waited for the database's writer when the last one came.");
    histogram!("assay_db_commit_seconds", "How long commits of the database took.");
    histogram!("assay_episode_duration_seconds", "Wall-clock duration of episodes.");
    histogram!("assay_http_request_duration_seconds", "How long requests took until their answer began.");
    counter!("assay_http_requests_total", "Requests answered.");
    counter!("assay_refusals_total", "Requests answered with an error, by its code.");
}
