//! Scores: pure formulas over one episode, and means over a job.

use crate::{ClauseStatus, EpisodeResult, EpisodeStatus, Level, Scorer};

/// Minimum severity of a violated critical clause.
const CRITICAL_FLOOR: f64 = 0.5;

/// Returns the severity of a violation, in [0, 1]: `max(floor, clip(-robustness / scale, 0, 1))`, where the floor is
/// 0.5 for critical clauses. A robustness of NaN counts as the worst possible.
#[must_use]
pub fn severity(level: Level, robustness: f64, scale: f64) -> f64 {
    let floor = if level == Level::Critical { CRITICAL_FLOOR } else { 0.0 };
    let relative = -robustness / scale;
    let clipped = if relative.is_nan() { 1.0 } else { relative.clamp(0.0, 1.0) };
    floor.max(clipped)
}

/// Returns an episode's composite score from its progress and safety scores in [0, 1]: their mean, and with a critical
/// violation at most half the safety score.
#[must_use]
pub fn episode_composite(progress: f64, safety: f64, critical_violation: bool) -> f64 {
    let mean = f64::midpoint(progress, safety);
    if critical_violation { mean.min(0.5 * safety) } else { mean }
}

/// Returns 1 - 2 x population standard deviation of composites in [0, 1], at least 0. It is 1 for a single episode, and
/// 0 if no episode was completed: failing always does not count as consistent.
#[must_use]
pub fn consistency(composites: &[f64], any_completed: bool) -> f64 {
    if !any_completed {
        return 0.0;
    }
    if composites.len() < 2 {
        return 1.0;
    }
    let mean = mean(composites.iter().copied());
    let variance = self::mean(composites.iter().map(|c| (c - mean).powi(2)));
    2.0_f64.mul_add(-variance.sqrt(), 1.0).clamp(0.0, 1.0)
}

/// Scores of a job, each in [0, 1], not rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JobScores {
    /// Mean of the episodes' progress scores.
    pub progress: f64,
    /// Mean of the episodes' safety scores.
    pub safety: f64,
    /// Mean of the episodes' composite scores.
    pub composite: f64,
    /// Consistency of the composite scores, see [`consistency`].
    pub consistency: f64,
    /// Successful episodes / all episodes.
    pub success_rate: f64,
    /// Score of the job: 0.8 composite + 0.1 consistency + 0.1 success rate.
    pub score: f64,
}

impl JobScores {
    /// Computes the scores of a job with these episodes, using the current rules; `None` without episodes.
    #[must_use]
    pub fn of(episodes: &[EpisodeResult]) -> Option<Self> {
        Self::by(Scorer::default(), episodes)
    }

    /// Computes the scores using the rules of `scorer`.
    #[must_use]
    pub fn by(scorer: Scorer, episodes: &[EpisodeResult]) -> Option<Self> {
        if episodes.is_empty() {
            return None;
        }
        let any_completed = scorer == Scorer::First || episodes.iter().any(|e| e.status == EpisodeStatus::Completed);
        let composites: Vec<f64> = episodes.iter().map(|e| e.composite_score).collect();
        Some(Self::combine(
            mean(episodes.iter().map(|e| e.progress_score)),
            mean(episodes.iter().map(|e| e.safety_score)),
            mean(composites.iter().copied()),
            consistency(&composites, any_completed),
            mean(episodes.iter().map(|e| f64::from(u8::from(e.success)))),
        ))
    }

    fn combine(progress: f64, safety: f64, composite: f64, consistency: f64, success_rate: f64) -> Self {
        let score = 0.8 * composite + 0.1 * consistency + 0.1 * success_rate;
        Self { progress, safety, composite, consistency, success_rate, score }
    }
}

impl EpisodeResult {
    /// Computes progress, safety and composite scores from stages, clauses and status. `weights` and `scales` are those
    /// of the clauses, in the same order (the weight of a critical clause is always 1).
    #[must_use]
    pub fn scored(mut self, weights: &[f64], scales: &[f64]) -> Self {
        let total: f64 = self.stages.iter().map(|s| s.points).sum();
        let reached = self.stages.iter().filter(|s| s.passed).fold(0.0, |sum, s| sum + s.points);
        self.progress_score = if total > 0.0 { reached / total } else { 0.0 };
        let worst = self
            .clauses
            .iter()
            .zip(weights.iter().zip(scales))
            .filter(|(clause, _)| clause.status == ClauseStatus::Violated)
            .map(|(clause, (weight, scale))| {
                let weight = if clause.level == Level::Critical { 1.0 } else { *weight };
                weight * severity(clause.level, clause.robustness.unwrap_or(f64::NEG_INFINITY), *scale)
            })
            .fold(0.0, f64::max);
        self.safety_score = if self.status == EpisodeStatus::Completed { 1.0 - worst } else { 0.0 };
        self.composite_score = episode_composite(self.progress_score, self.safety_score, self.has_critical_violation());
        self
    }
}

#[expect(clippy::cast_precision_loss, reason = "episodes are counted in thousands")]
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len();
    values.sum::<f64>() / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round4;
    use proptest::prelude::*;

    #[test]
    fn the_documented_example() {
        let composite = episode_composite(0.92, 0.78, false);
        let job = JobScores::combine(0.92, 0.78, composite, 0.90, 1.0);
        assert_eq!(round4(job.composite), 0.85);
        assert_eq!(round4(job.score), 0.87);
    }

    #[test]
    fn one_episode_is_consistent() {
        assert_eq!(consistency(&[0.3], true), 1.0);
        assert_eq!(consistency(&[0.0, 1.0], true), 0.0);
        assert_eq!(consistency(&[0.1, 0.1], false), 0.0, "none was completed");
    }

    proptest! {
        #[test]
        fn a_critical_violation_gains_nothing(progress in 0.0..=1.0, safety in 0.0..=0.5) {
            let with = episode_composite(progress, safety, true);
            prop_assert!(with <= episode_composite(progress, 1.0, false));
            prop_assert!(with <= 0.25);
        }

        #[test]
        fn severity_stays_in_range(robustness in any::<f64>(), scale in 1e-6..1e6) {
            let s = severity(Level::Warning, robustness, scale);
            prop_assert!((0.0..=1.0).contains(&s));
            prop_assert!(severity(Level::Critical, robustness, scale) >= 0.5);
        }
    }
}
