//! Confidence interval of a score: the range of the score that the same policy would reach over all worlds that the
//! scenario can draw.
//!
//! Nine tenths of a score are a mean over episodes, namely of their contributions, (0.8 composite + 0.1 success) / 0.9,
//! each in [0, 1]. This part gets a finite-sample interval for a bounded mean. The last tenth is the consistency, a
//! measure of spread rather than a mean. At each end of the interval it takes the extreme value: 1 at the upper end; at
//! the lower end, the least that the smallest composite still permits (a variable in [0, 1] with mean `m` has a
//! variance of at most `m (1 - m)`). The resulting interval has a proven coverage of 95 %. It is then truncated at
//! Hoeffding's radius around the score, because the consistency could otherwise make it wider with more than 20
//! episodes. Tests confirm that the truncation preserves the coverage (`score_interval_tests`).

use crate::EpisodeResult;
use crate::bounded_mean::{hoeffding_radius, mean_exceeds, mean_lower_bound};

/// Name of the method for intervals of scores and ranks.
pub const INTERVAL_METHOD: &str = "betting";
/// Probability with which an interval may miss the true value.
pub(crate) const ERROR: f64 = 0.05;
/// Share of a score that is a mean of contributions.
const MEAN_PART: f64 = 0.9;
/// Share of a score that is the consistency.
const CONSISTENCY_PART: f64 = 0.1;

/// Part of a score that one episode determines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpisodeScore {
    /// Composite score of the episode, see [`crate::episode_composite`].
    pub composite: f64,
    /// True if the task was done.
    pub success: bool,
}

impl From<&EpisodeResult> for EpisodeScore {
    fn from(episode: &EpisodeResult) -> Self {
        Self { composite: episode.composite_score, success: episode.success }
    }
}

impl EpisodeScore {
    /// Returns the contribution, in [0, 1].
    pub(crate) fn contribution(self) -> f64 {
        (0.8 * self.composite + 0.1 * f64::from(u8::from(self.success))) / MEAN_PART
    }
}

/// Returns the interval of a score that is the mean over scenarios, from the contributions of each scenario's episodes.
/// All of [0, 1] if a scenario has no episodes.
pub(crate) fn score_interval(score: f64, scenarios: &[&[f64]]) -> (f64, f64) {
    let Some(pool) = PooledSample::of(scenarios.iter().map(|values| values.len())) else { return (0.0, 1.0) };
    let bound = |of: &dyn Fn(f64) -> f64| {
        let values = scenarios.iter().map(|values| values.iter().map(|x| of(*x)).collect());
        pool.largest * mean_lower_bound(&pool.weighted(values), ERROR / 2.0)
    };
    let (mean_low, mean_high) = (bound(&|x| x), 1.0 - bound(&|x| 1.0 - x));
    let low = MEAN_PART * mean_low + CONSISTENCY_PART * least_consistency(mean_low);
    let high = MEAN_PART * mean_high + CONSISTENCY_PART;
    let radius = pool.hoeffding_radius();
    (low.max(score - radius).clamp(0.0, score), high.min(score + radius).min(1.0).max(score))
}

/// Returns the least consistency of a policy whose contributions have this mean.
fn least_consistency(mean: f64) -> f64 {
    // In the least case every episode succeeds, so 0.1 of the mean part comes from success and the rest from the
    // composite.
    let composite = (MEAN_PART * mean - 0.1) / 0.8;
    if composite <= 0.5 { 0.0 } else { 1.0 - 2.0 * (composite * (1.0 - composite)).sqrt() }
}

/// Returns whether the first of two policies would score more over all worlds, from the contributions of both in the
/// same worlds, a pair for each scenario. A wrong result of true has a probability of at most `error`. Always false if
/// the episodes cannot be paired.
pub(crate) fn certainly_leads(pairs: &[(&[f64], &[f64])], error: f64) -> bool {
    if pairs.iter().any(|(a, b)| a.len() != b.len()) {
        return false;
    }
    let Some(pool) = PooledSample::of(pairs.iter().map(|(a, _)| a.len())) else { return false };
    let leads = pairs.iter().map(|(a, b)| a.iter().zip(*b).map(|(a, b)| f64::midpoint(1.0, a - b)).collect());
    // The lead must exceed any compensation by consistencies of 0 and 1.
    let level = f64::midpoint(1.0, CONSISTENCY_PART / MEAN_PART);
    mean_exceeds(&pool.weighted(leads), level / pool.largest, error)
}

/// Episodes of several scenarios pooled into one sample. All scenarios have equal weight, so the episodes of a scenario
/// with fewer of them weigh more.
struct PooledSample {
    weights: Vec<f64>,
    /// The largest weight; the average weight of all episodes is 1.
    largest: f64,
    episodes: f64,
    /// Mean of the squared weights of all episodes.
    mean_square: f64,
}

impl PooledSample {
    /// Pools scenarios with these numbers of episodes; `None` without scenarios, or if one of them has no episodes.
    #[expect(clippy::cast_precision_loss, reason = "episodes are counted in thousands")]
    fn of(counts: impl Iterator<Item = usize>) -> Option<Self> {
        let counts: Vec<f64> = counts.map(|n| n as f64).collect();
        if counts.is_empty() || counts.contains(&0.0) {
            return None;
        }
        let (episodes, scenarios) = (counts.iter().sum::<f64>(), counts.len() as f64);
        let weights: Vec<f64> = counts.iter().map(|n| episodes / (scenarios * n)).collect();
        let largest = weights.iter().copied().fold(1.0, f64::max);
        let mean_square = weights.iter().zip(&counts).map(|(weight, n)| n * weight.powi(2)).sum::<f64>() / episodes;
        Some(Self { weights, largest, episodes, mean_square })
    }

    /// Returns the values multiplied by their weights, scaled such that they stay in [0, 1].
    fn weighted(&self, scenarios: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
        let scaled = |(values, weight): (Vec<f64>, &f64)| {
            let scale = weight / self.largest;
            values.into_iter().map(move |x| scale * x)
        };
        scenarios.zip(&self.weights).flat_map(scaled).collect()
    }

    fn hoeffding_radius(&self) -> f64 {
        hoeffding_radius(self.episodes / self.mean_square, ERROR / 2.0)
    }
}

#[cfg(test)]
#[path = "score_interval_tests.rs"]
mod tests;
