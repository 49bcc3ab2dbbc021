//! The Prometheus recorder for the metrics of all crates.

use std::time::Duration;

use anyhow::Context;
use assay_api::Metrics;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Buckets of the histograms of requests and commits, in seconds.
const SHORT: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];
/// Buckets of the histogram of episodes, in seconds.
const LONG: [f64; 10] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0];

/// Interval of the recorder's upkeep.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The recorder of this process.
#[derive(Debug)]
pub(crate) struct PrometheusMetrics(PrometheusHandle);

impl Metrics for PrometheusMetrics {
    fn render(&self) -> String {
        self.0.render()
    }
}

/// Installs the recorder. Must be called once per process, inside its runtime.
pub(crate) fn install() -> anyhow::Result<PrometheusMetrics> {
    let builder = PrometheusBuilder::new()
        .set_buckets(&SHORT)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Full("assay_episode_duration_seconds".to_owned()), &LONG)
        })
        .context("can't set up the metrics")?;
    let handle = builder.install_recorder().context("can't set up the metrics")?;
    describe();
    // Samples are buffered until the upkeep or a scrape, and there may be no scrapes.
    let upkeep = handle.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP_INTERVAL).await;
            upkeep.run_upkeep();
        }
    });
    Ok(PrometheusMetrics(handle))
}

fn describe() {
    use metrics::{describe_counter as counter, describe_gauge as gauge, describe_histogram as histogram};
    gauge!("assay_jobs", "Jobs by state.");
    gauge!(
        "assay_oldest_queued_job_age_seconds",
        "Age of the oldest job that waits to be started; 0 if there is none."
    );
    gauge!("assay_lanes", "Maximum number of simulators that run at the same time.");
    gauge!("assay_lanes_wanted", "Simulators, here and on other hosts, that would have work: shards that wait or run.");
    gauge!("assay_lanes_busy", "Simulators that are running jobs, including those of policy servers.");
    gauge!("assay_evidence_bytes", "Size of the evidence on the disk.");
    gauge!("assay_db_queue_length", "Changes waiting for the database writer when the last one arrived.");
    histogram!("assay_db_commit_seconds", "Duration of database commits.");
    counter!("assay_db_retries_total", "Transactions of the database repeated after a conflict or a lost connection.");
    histogram!("assay_episode_duration_seconds", "Wall-clock duration of episodes.");
    histogram!("assay_http_request_duration_seconds", "Time from a request to the start of its response.");
    counter!("assay_http_requests_total", "Requests answered.");
    counter!("assay_refusals_total", "Requests answered with an error, by its code.");
}
