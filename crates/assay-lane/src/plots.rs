//! `plots.json`: data of the report's plots.

use assay_model::EpisodePlots;
use assay_scenario::Scenario;

use crate::Trace;

/// Returns each clause's margin at every physics step, downsampled.
pub(crate) fn plots(scenario: &Scenario, trace: &Trace) -> EpisodePlots {
    if trace.rows() == 0 {
        return EpisodePlots::default();
    }
    let columns = trace.signals();
    let margins: Vec<_> =
        scenario.clauses.iter().map(|clause| (clause.id.clone(), clause.bound.pointwise(&columns))).collect();
    EpisodePlots::new(columns[0], &margins, &trace.latency_ms)
}
