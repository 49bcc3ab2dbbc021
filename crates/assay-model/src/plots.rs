//! Data of an episode's plots: each clause's margin over time, reduced such that no violation of a limit is lost.

use serde::{Deserialize, Serialize};

/// Maximum number of time bins of an episode.
const MAX_BINS: usize = 240;
/// Upper edges of the latency histogram's bins, in milliseconds; one more bin holds longer latencies.
pub const LATENCY_EDGES_MS: [f64; 14] =
    [0.03, 0.06, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 1000.0];

/// Data of an episode's plots.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodePlots {
    /// Start of each time bin, in simulated seconds, ascending.
    pub time_s: Vec<f64>,
    /// End of the last time bin, in simulated seconds.
    pub end_s: f64,
    /// Margins of the clauses, in the scenario's order.
    pub clauses: Vec<ClausePlot>,
    /// Number of control steps per bin of the policy's latency: [`LATENCY_EDGES_MS`] are the bins' upper edges; the
    /// last bin is unbounded.
    pub latency_counts: Vec<u32>,
}

/// Margin of a clause over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClausePlot {
    /// Id of the clause.
    pub clause: String,
    /// Smallest margin in each time bin, in the clause's unit; `null` if it is not finite.
    pub low: Vec<Option<f64>>,
    /// Greatest margin in each time bin, in the clause's unit; `null` if it is not finite.
    pub high: Vec<Option<f64>>,
}

impl EpisodePlots {
    /// Reduces an episode: `time_s` of all its rows, the margins of each clause (by id) at these times, and the
    /// latencies.
    #[must_use]
    pub fn new(time_s: &[f64], margins: &[(String, Vec<f64>)], latencies_ms: &[f64]) -> Self {
        let size = time_s.len().div_ceil(MAX_BINS).max(1);
        Self {
            time_s: time_s.iter().step_by(size).copied().collect(),
            end_s: time_s.last().copied().unwrap_or_default(),
            clauses: margins.iter().map(|(clause, margins)| ClausePlot::new(clause, margins, size)).collect(),
            latency_counts: histogram(latencies_ms),
        }
    }
}

impl ClausePlot {
    fn new(clause: &str, margins: &[f64], size: usize) -> Self {
        let fold = |pick: fn(f64, f64) -> f64, start: f64| {
            let least = |bin: &[f64]| Some(bin.iter().copied().fold(start, pick)).filter(|margin| margin.is_finite());
            margins.chunks(size).map(least).collect()
        };
        Self { clause: clause.to_owned(), low: fold(f64::min, f64::INFINITY), high: fold(f64::max, f64::NEG_INFINITY) }
    }
}

fn histogram(latencies_ms: &[f64]) -> Vec<u32> {
    let mut counts = vec![0; LATENCY_EDGES_MS.len() + 1];
    for latency in latencies_ms {
        let bin = LATENCY_EDGES_MS.iter().position(|edge| latency <= edge).unwrap_or(LATENCY_EDGES_MS.len());
        counts[bin] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_violation_is_lost(margins in prop::collection::vec(-1e3..1e3, 0..3000)) {
            let time: Vec<f64> = (0_u32..).zip(&margins).map(|(i, _)| f64::from(i) * 0.002).collect();
            let plots = EpisodePlots::new(&time, &[("force".into(), margins.clone())], &[]);
            let clause = &plots.clauses[0];
            prop_assert!(plots.time_s.len() <= MAX_BINS && clause.low.len() == plots.time_s.len());
            let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
            let low: Vec<f64> = clause.low.iter().flatten().copied().collect();
            prop_assert_eq!(least(&low), least(&margins));
            let size = margins.len().div_ceil(MAX_BINS).max(1);
            for (bin, chunk) in margins.chunks(size).enumerate() {
                prop_assert!(chunk.iter().all(|m| clause.low[bin] <= Some(*m) && Some(*m) <= clause.high[bin]));
            }
        }
    }

    #[test]
    fn latencies_fall_into_their_bins() {
        let counts = EpisodePlots::new(&[], &[], &[0.03, 0.04, 1.0, 5000.0]).latency_counts;
        assert_eq!((counts[0], counts[1], counts[5], counts[14], counts.iter().sum::<u32>()), (1, 1, 1, 1, 4));
    }

    #[test]
    fn values_that_are_not_finite_have_no_point() {
        let plots = EpisodePlots::new(&[0.0], &[("f".into(), vec![f64::INFINITY])], &[]);
        assert_eq!((plots.clauses[0].low[0], plots.clauses[0].high[0]), (None, None));
    }
}
