//! Latency percentiles of an episode.

use std::time::Duration;

use assay_model::LatencyMs;

/// Collects one number per control step.
#[derive(Debug, Default)]
pub(crate) struct Latencies(Vec<f64>);

impl Latencies {
    pub(crate) fn add(&mut self, latency: Duration) {
        self.0.push(latency.as_secs_f64() * 1e3);
    }

    /// Returns nearest-rank percentiles in ms; `None` if there are no values.
    pub(crate) fn summary(mut self) -> Option<LatencyMs> {
        self.0.sort_by(f64::total_cmp);
        let last = self.0.len().checked_sub(1)?;
        let rank = |per_cent: usize| self.0[(last * per_cent).div_ceil(100).min(last)];
        Some(LatencyMs { p50: rank(50), p95: rank(95), p99: rank(99), max: self.0[last] })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::Latencies;
    use std::time::Duration;

    #[test]
    fn percentiles() {
        let mut latencies = Latencies::default();
        (0..=100).rev().for_each(|ms| latencies.add(Duration::from_millis(ms)));
        let summary = latencies.summary().unwrap();
        assert_eq!((summary.p50, summary.p95, summary.p99, summary.max), (50.0, 95.0, 99.0, 100.0));
        assert!(Latencies::default().summary().is_none());
    }
}
