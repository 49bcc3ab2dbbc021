//! Histogram of the policy's latency.

use assay_model::EpisodePlots;

use crate::words;

/// Histogram of the policy's latency over all control steps of the episodes drawn.
pub(super) struct LatencyView {
    pub(super) bars: Vec<LatencyBar>,
}

/// Bar of one bin.
pub(super) struct LatencyBar {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) height: f64,
    pub(super) label: String,
    pub(super) title: String,
}

impl LatencyView {
    /// Sums the bins of all episodes; `None` without latencies.
    pub(super) fn of<'a>(plots: impl Iterator<Item = &'a EpisodePlots>) -> Option<Self> {
        let edges = assay_model::LATENCY_EDGES_MS;
        let mut counts = vec![0_u64; edges.len() + 1];
        for episode in plots {
            counts.iter_mut().zip(&episode.latency_counts).for_each(|(sum, n)| *sum += u64::from(*n));
        }
        let total: u64 = counts.iter().sum();
        let most = counts.iter().copied().max().filter(|most| *most > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "a count of steps")]
        let share = |n: u64, of: u64| n as f64 / of as f64;
        let bar = |(bin, n): (usize, u64)| {
            let label = edges.get(bin).map_or_else(|| "more".to_owned(), |edge| words::number(*edge));
            let height = 90.0 * share(n, most);
            let x = (0..bin).fold(30.0, |x, _| x + 32.0);
            let title = format!("{} of the steps", words::percent(share(n, total)));
            LatencyBar { x, y: 104.0 - height, height, label, title }
        };
        Some(Self { bars: (0..).zip(counts).map(bar).collect() })
    }
}
