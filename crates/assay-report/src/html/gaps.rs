//! Gaps of a job: everything that it did not measure.

use assay_model::{EpisodeStatus, JobReport};

use crate::words::{counted, ranges};
use crate::{ClauseSummary, statistics};

/// Returns one sentence for each gap.
pub(super) fn gaps(report: &JobReport) -> Vec<String> {
    let mut out = Vec::new();
    let episodes = &report.episode_details;
    let missing = usize::try_from(report.num_episodes).unwrap_or(usize::MAX).saturating_sub(episodes.len());
    if missing > 0 && statistics::early_end(report).is_none() {
        out.push(format!("Requested, but missing from this report: {}.", counted(missing, "episode")));
    }
    let cut: Vec<u32> = episodes.iter().filter(|e| e.status != EpisodeStatus::Completed).map(|e| e.episode).collect();
    if !cut.is_empty() {
        out.push(format!("Incomplete episodes, whose remainder is unknown: {}.", ranges(&cut)));
    }
    for summary in ClauseSummary::of(episodes) {
        let id = super::display::clean(&summary.clause.id);
        for (indices, what) in [
            (&summary.undetermined, "could not be decided"),
            (&summary.not_applicable, "was not applicable (its premise never became true)"),
            (&summary.vacuous, "was satisfied only because its premise never became true"),
        ] {
            if !indices.is_empty() {
                out.push(format!("Clause {id} {what} in ep. {}.", ranges(indices)));
            }
        }
    }
    out
}
