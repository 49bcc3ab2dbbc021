//! The result of a row.

use std::collections::BTreeSet;

use assay_model::{
    ClauseResult, ClauseStatus, EpisodeResult, Fingerprint, JobReport, Level, Plan, PolicyIdentity, Verdict, conclude,
};
use assay_scenario::Scenario;

/// The result of a row: what its job would report.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) progress: f64,
    pub(super) success: f64,
    pub(super) reason: Option<String>,
    pub(super) error: Option<String>,
    pub(super) episodes: Vec<EpisodeResult>,
    pub(super) fingerprint: Fingerprint,
}

impl Outcome {
    /// Concludes a job with these episodes.
    pub(super) fn of_episodes(scenario: &Scenario, episodes: Vec<EpisodeResult>, fingerprint: Fingerprint) -> Self {
        let plan = plan(scenario, u32::try_from(episodes.len()).unwrap());
        let concluded = conclude(&plan, PolicyIdentity::Measured, &episodes).unwrap();
        Self {
            verdict: concluded.verdict,
            progress: concluded.progress_score,
            success: concluded.success_rate,
            reason: concluded.reason,
            error: concluded.error_message,
            episodes,
            fingerprint,
        }
    }

    /// Reads a report of `assay verify`.
    pub(super) fn of_report(report: JobReport) -> Self {
        Self {
            verdict: report.verdict.unwrap(),
            progress: report.progress_score.unwrap(),
            success: report.success_rate.unwrap(),
            reason: report.reason,
            error: report.error_message,
            episodes: report.episode_details,
            fingerprint: report.fingerprint.unwrap(),
        }
    }

    /// Returns the clauses of these levels that at least one episode violates.
    pub(super) fn violated(&self, levels: &[Level]) -> BTreeSet<&str> {
        let clauses = self.episodes.iter().flat_map(|episode| &episode.clauses);
        let is_violated =
            |clause: &&ClauseResult| clause.status == ClauseStatus::Violated && levels.contains(&clause.level);
        clauses.filter(is_violated).map(|clause| clause.id.as_str()).collect()
    }

    /// Describes it in a message.
    pub(super) fn summary(&self) -> String {
        let Self { verdict, progress, success, reason, error, episodes, .. } = self;
        let [critical, warned] = [Level::Critical, Level::Warning].map(|level| self.violated(&[level]));
        format!(
            "{verdict:?} after {} episodes, progress {progress}, success {success}, violated {critical:?}, warned \
             {warned:?}, reason {reason:?}, error {error:?}",
            episodes.len()
        )
    }
}

/// Returns the plan of a job without a target.
pub(super) fn plan(scenario: &Scenario, episodes: u32) -> Plan {
    Plan {
        episodes,
        target: None,
        confidence_level: Plan::DEFAULT_CONFIDENCE_LEVEL,
        max_violation_probability: scenario.arena.max_violation_probability,
        draws_worlds: !scenario.drawn_ranges().is_empty(),
    }
}
