//! Statistical bounds on the probability of a violation from n episodes (Clopper and Pearson 1934, one-sided).

use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, ContinuousCDF};

/// Maximum result of [`episodes_needed`].
const MAX_EPISODES_NEEDED: u32 = 1_000_000;

/// Statistics of a job.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Statistics {
    /// Number of episodes that count.
    pub episodes: u32,
    /// Number of episodes with a critical violation.
    pub violations: u32,
    /// Number of episodes without a critical violation that do not show whether every critical clause held.
    pub without_evidence: u32,
    /// Upper bound of the violation probability, at the confidence `confidence_level`.
    #[schemars(range(min = 0, max = 1))]
    pub violation_probability_upper: f64,
    /// One-sided confidence level of the bound, in (0, 1).
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub confidence_level: f64,
    /// Violation probability to certify, in (0, 1); `null` without a certification.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub target: Option<f64>,
    /// True if the bound is at or below the target; `null` without a target.
    pub certified: Option<bool>,
    /// Number of clean episodes needed to certify the target, or without one the scenario's own bound.
    pub episodes_needed: u32,
    /// The scenario's own bound on the violation probability, in (0, 1).
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub max_violation_probability: f64,
    /// Confidence that the violation probability is below the scenario's own bound, in [0, 1].
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f64,
    /// Number of independent observations, which the bound and the confidence refer to: the episodes, or 1 if the
    /// scenario draws nothing. `null` in reports of earlier versions, which counted every episode.
    #[serde(default)]
    pub sample_size: Option<u32>,
    /// Number of different worlds among the episodes; `null` in reports of earlier versions, and if no episode began.
    #[serde(default)]
    pub distinct_worlds: Option<u32>,
}

/// Returns the one-sided Clopper-Pearson upper bound on a probability after `k` events in `n` trials. It is 1 if
/// `k >= n` (including `n = 0`), or if `confidence` is not in [0, 1].
#[must_use]
pub fn violation_upper_bound(k: u32, n: u32, confidence: f64) -> f64 {
    if k >= n || !(0.0..=1.0).contains(&confidence) {
        return 1.0;
    }
    if k == 0 {
        return 1.0 - (1.0 - confidence).powf(1.0 / f64::from(n));
    }
    beta(k, n).map_or(1.0, |beta| beta.inverse_cdf(confidence))
}

/// Returns the confidence that the violation probability is below `p0` after `k` events in `n` trials:
/// `I_p0(k+1, n-k)`; 0 if `k >= n`.
#[must_use]
pub fn confidence_below(p0: f64, k: u32, n: u32) -> f64 {
    if k >= n {
        return 0.0;
    }
    beta(k, n).map_or(0.0, |beta| beta.cdf(p0))
}

/// Returns the number of clean episodes after which the bound at `confidence` is at most `p0`.
#[must_use]
pub fn episodes_needed(p0: f64, confidence: f64) -> u32 {
    let valid = p0 > 0.0 && p0 < 1.0 && confidence > 0.0 && confidence < 1.0;
    if !valid {
        return MAX_EPISODES_NEEDED;
    }
    let exact = ((1.0 - confidence).ln() / (1.0 - p0).ln()).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of u32")]
    let mut n = exact.clamp(1.0, f64::from(MAX_EPISODES_NEEDED)) as u32;
    // The quotient of logarithms may fall on the wrong side of a whole number; the bound itself decides.
    while n > 1 && violation_upper_bound(0, n - 1, confidence) <= p0 {
        n -= 1;
    }
    while n < MAX_EPISODES_NEEDED && violation_upper_bound(0, n, confidence) > p0 {
        n += 1;
    }
    n
}

fn beta(k: u32, n: u32) -> Option<Beta> {
    Beta::new(f64::from(k) + 1.0, f64::from(n - k)).ok()
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
