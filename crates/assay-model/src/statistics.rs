//! What n episodes say about the probability of a violation (Clopper and Pearson 1934, one-sided).

use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, ContinuousCDF};

/// Most episodes that [`episodes_needed`] will ask for.
const MAX_EPISODES_NEEDED: u32 = 1_000_000;

/// The statistics of a job.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Episodes run.
    pub episodes: u32,
    /// Episodes with a critical violation.
    pub violations: u32,
    /// Episodes that do not say whether every critical clause held.
    pub without_evidence: u32,
    /// With `confidence_level`, the violation probability is below this.
    pub violation_probability_upper: f64,
    /// One-sided confidence of the bound, in (0, 1).
    pub confidence_level: f64,
    /// The violation probability that was asked to be certified, if any.
    pub target: Option<f64>,
    /// The bound is at or below the target; `null` without a target.
    pub certified: Option<bool>,
    /// Clean episodes that would certify the target (or the scenario's own bound).
    pub episodes_needed: u32,
}

/// One-sided Clopper-Pearson upper bound on a probability after `k` events in `n` trials. 1 when `k >= n` (also for
/// `n = 0`).
#[must_use]
pub fn violation_upper_bound(k: u32, n: u32, confidence: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    if k == 0 {
        return 1.0 - (1.0 - confidence).powf(1.0 / f64::from(n));
    }
    beta(k, n).map_or(1.0, |beta| beta.inverse_cdf(confidence))
}

/// Confidence that the violation probability is below `p0` after `k` events in `n` trials: `I_p0(k+1, n-k)`; 0 when
/// `k >= n`.
#[must_use]
pub fn confidence_below(p0: f64, k: u32, n: u32) -> f64 {
    if k >= n {
        return 0.0;
    }
    beta(k, n).map_or(0.0, |beta| beta.cdf(p0))
}

/// Clean episodes after which the bound at `confidence` is at most `p0`.
#[must_use]
pub fn episodes_needed(p0: f64, confidence: f64) -> u32 {
    let valid = p0 > 0.0 && p0 < 1.0 && confidence > 0.0 && confidence < 1.0;
    if !valid {
        return MAX_EPISODES_NEEDED;
    }
    let exact = ((1.0 - confidence).ln() / (1.0 - p0).ln()).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of u32")]
    let n = exact.clamp(1.0, f64::from(MAX_EPISODES_NEEDED)) as u32;
    n
}

fn beta(k: u32, n: u32) -> Option<Beta> {
    Beta::new(f64::from(k) + 1.0, f64::from(n - k)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_bounds() {
        for (n, upper95, upper90, upper99) in [
            (3, 0.632, 0.536, 0.785),
            (10, 0.259, 0.206, 0.369),
            (30, 0.0950, 0.0739, 0.142),
            (100, 0.0295, 0.0228, 0.0450),
        ] {
            for (confidence, expected) in [(0.95, upper95), (0.90, upper90), (0.99, upper99)] {
                let bound = violation_upper_bound(0, n, confidence);
                assert!((bound - expected).abs() < 6e-4, "n {n} confidence {confidence}: {bound}");
            }
        }
    }

    #[test]
    fn episodes_for_a_target() {
        for (p0, n) in [(0.10, 29), (0.05, 59), (0.01, 299), (0.001, 2995)] {
            assert_eq!(episodes_needed(p0, 0.95), n);
            assert!(violation_upper_bound(0, n, 0.95) <= p0);
            assert!(violation_upper_bound(0, n - 1, 0.95) > p0);
        }
    }

    #[test]
    fn confidence_of_ten_clean_episodes() {
        assert!((confidence_below(0.10, 0, 10) - 0.651).abs() < 5e-4);
        assert_eq!(confidence_below(0.10, 4, 4), 0.0);
        assert_eq!(violation_upper_bound(3, 3, 0.95), 1.0);
        assert_eq!(violation_upper_bound(0, 0, 0.95), 1.0);
    }

    #[test]
    fn bound_and_confidence_are_inverse() {
        for (k, n) in [(1, 10), (2, 30), (7, 100)] {
            let upper = violation_upper_bound(k, n, 0.95);
            assert!((confidence_below(upper, k, n) - 0.95).abs() < 1e-6);
        }
    }
}
