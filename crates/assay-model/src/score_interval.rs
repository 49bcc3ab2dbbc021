//! Confidence interval of a score: the range of what the same policy would reach over all worlds that the scenario can
//! draw.
//!
//! Nine tenths of a score are a mean over episodes: of their contributions, (0.8 composite + 0.1 success) / 0.9, each
//! in [0, 1]. They get a finite-sample interval for a bounded mean. The last tenth is the consistency, a spread and no
//! mean. It takes the worst value that goes with each end: at the upper 1, at the lower what the least composite still
//! allows (a variable in [0, 1] with mean `m` has a variance of at most `m (1 - m)`). Up to here the interval holds by
//! proof, with 95 %. Then it is cut at Hoeffding's radius around the score, so that it is never wider than that, which
//! the consistency could make it with more than 20 episodes. That the cut costs nothing is measured
//! (`score_interval_tests`).

use crate::EpisodeResult;
use crate::bounded_mean::{hoeffding_radius, mean_exceeds, mean_lower_bound};

/// The name of the method that makes intervals of scores and ranks.
pub const INTERVAL_METHOD: &str = "betting";
/// Share of cases in which an interval may miss.
pub(crate) const ERROR: f64 = 0.05;
/// Part of a score that is a mean of contributions.
const MEAN_PART: f64 = 0.9;
/// Part of a score that is the consistency.
const CONSISTENCY_PART: f64 = 0.1;

/// The part of the score that one episode decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpisodeScore {
    /// See [`crate::episode_composite`].
    pub composite: f64,
    /// The task was done.
    pub success: bool,
}

impl From<&EpisodeResult> for EpisodeScore {
    fn from(episode: &EpisodeResult) -> Self {
        Self { composite: episode.composite_score, success: episode.success }
    }
}

impl EpisodeScore {
    /// In [0, 1].
    pub(crate) fn contribution(self) -> f64 {
        (0.8 * self.composite + 0.1 * f64::from(u8::from(self.success))) / MEAN_PART
    }
}

/// The interval of a score that is the mean over scenarios, from the contributions of each one's episodes. All of [0,
/// 1] where a scenario has none.
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

/// The least consistency of a policy whose contributions have this mean.
fn least_consistency(mean: f64) -> f64 {
    // Every success takes its tenth of the score from the composite's eight.
    let composite = (MEAN_PART * mean - 0.1) / 0.8;
    if composite <= 0.5 { 0.0 } else { 1.0 - 2.0 * (composite * (1.0 - composite)).sqrt() }
}

/// Tells whether the first of two policies would score more over all worlds, from both one's contributions in the same
/// worlds, a pair for each scenario; with a probability of at most `error` if it would not. Never where their episodes
/// do not pair up.
pub(crate) fn certainly_leads(pairs: &[(&[f64], &[f64])], error: f64) -> bool {
    if pairs.iter().any(|(a, b)| a.len() != b.len()) {
        return false;
    }
    let Some(pool) = PooledSample::of(pairs.iter().map(|(a, _)| a.len())) else { return false };
    let leads = pairs.iter().map(|(a, b)| a.iter().zip(*b).map(|(a, b)| f64::midpoint(1.0, a - b)).collect());
    // The lead has to be larger than all that consistencies of 0 and 1 could make up for.
    let level = f64::midpoint(1.0, CONSISTENCY_PART / MEAN_PART);
    mean_exceeds(&pool.weighted(leads), level / pool.largest, error)
}

/// Episodes of several scenarios as one sample. Each scenario counts the same, so where one has fewer episodes they
/// weigh more.
struct PooledSample {
    weights: Vec<f64>,
    /// The largest weight; the average of all episodes' is 1.
    largest: f64,
    episodes: f64,
    /// Mean of the squares of all episodes' weights.
    mean_square: f64,
}

impl PooledSample {
    /// Of so many episodes each; `None` if there is none, or none of one of them.
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

    /// The values by weight, scaled so that they stay in [0, 1].
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
