//! Lower confidence bound for the mean of values in [0, 1], valid for any distribution and any number of values.
//!
//! This is a betting bound (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting").
//! Against the hypothesis that the mean is at most `m`, each value `x` multiplies a capital of 1 by `1 + bet (x - m)`.
//! If the hypothesis is true, the expected capital is at most 1, so it reaches `1 / error` with a probability of at
//! most `error` (Markov's inequality), and every `m` for which it does is rejected. The values must be independent;
//! their means may differ, in which case the bound applies to the average of their means (inequality of arithmetic and
//! geometric means).
//!
//! The bet is constant: it is optimal for zeros and ones whose share of ones is just large enough to reject `m`. For
//! zeros and ones the bound is therefore that of Chernoff and of Hoeffding's first theorem (1963),
//! `n KL(mean, m) = ln(1 / error)`; for values in between, the capital is larger, because its logarithm is concave in
//! each of them. The bound is thus never below `mean - sqrt(ln(1 / error) / 2n)`, known as Hoeffding's bound. It does
//! not depend on the order of the values and is never above their mean.

/// Number of bisection steps: they reach 1e-9, far below the 4 decimals of a score. The remaining error is on the safe
/// side.
const HALVINGS: usize = 30;

/// Factors by which the capital is multiplied for a value of 1 and a value of 0; values in between interpolate
/// linearly.
#[derive(Debug, Clone, Copy)]
struct Bet {
    at_one: f64,
    at_zero: f64,
}

impl Bet {
    /// Returns the bet against a mean of at most `mean` for which the logarithm of the capital must grow by `growth`
    /// per value. `None` if even values of 1 would not suffice.
    fn against(mean: f64, growth: f64) -> Option<Self> {
        if mean <= 0.0 || -mean.ln() <= growth {
            return None;
        }
        let (mut low, mut high) = (mean, 1.0);
        for _ in 0..HALVINGS {
            let share = f64::midpoint(low, high);
            if divergence(share, mean) < growth {
                low = share;
            } else {
                high = share;
            }
        }
        Some(Self { at_one: high / mean, at_zero: (1.0 - high) / (1.0 - mean) })
    }

    /// Returns the logarithm of the final capital.
    fn log_capital(self, values: &[f64]) -> f64 {
        values.iter().map(|x| (x * self.at_one + (1.0 - x) * self.at_zero).ln()).sum()
    }
}

/// Returns the Kullback-Leibler divergence between Bernoulli variables with means `share` and `mean`, `mean` in (0, 1).
fn divergence(share: f64, mean: f64) -> f64 {
    let term = |p: f64, q: f64| if p > 0.0 { p * (p / q).ln() } else { 0.0 };
    term(share, mean) + term(1.0 - share, 1.0 - mean)
}

/// Returns whether a mean of at most `mean` is rejected. If the true mean is at most `mean`, the probability of a
/// rejection is at most `error`.
pub(crate) fn mean_exceeds(values: &[f64], mean: f64, error: f64) -> bool {
    // No bet gains if the values do not exceed the hypothesis on average. Checked first, because boards compare many
    // pairs.
    if values.iter().sum::<f64>() <= mean * count(values) {
        return false;
    }
    let needed = -error.ln();
    let bet = Bet::against(mean, needed / count(values));
    bet.is_some_and(|bet| bet.log_capital(values) >= needed)
}

/// Returns the largest mean that is not rejected: the true mean is below it with a probability of at most `error`. 0
/// without values.
pub(crate) fn mean_lower_bound(values: &[f64], error: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    // Both factors of the bet decrease as the hypothesis increases, so the rejected means form an interval from 0.
    let (mut low, mut high) = (0.0, values.iter().sum::<f64>() / count(values));
    for _ in 0..HALVINGS {
        let mean = f64::midpoint(low, high);
        if mean_exceeds(values, mean, error) {
            low = mean;
        } else {
            high = mean;
        }
    }
    low
}

/// Returns Hoeffding's radius for the mean of `n` values in [0, 1], with `error` on each side.
pub(crate) fn hoeffding_radius(n: f64, error: f64) -> f64 {
    (-error.ln() / (2.0 * n)).sqrt()
}

#[expect(clippy::cast_precision_loss, reason = "episodes are counted in thousands")]
fn count(values: &[f64]) -> f64 {
    values.len() as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ones_yield_the_clopper_pearson_bound() {
        for n in [1, 3, 10, 20, 100] {
            let bound = mean_lower_bound(&vec![1.0; n], 0.025);
            let exact = 1.0 - crate::violation_upper_bound(0, u32::try_from(n).unwrap_or(0), 0.975);
            assert!((bound - exact).abs() < 1e-9, "{n}: {bound} and {exact}");
        }
        assert_eq!(mean_lower_bound(&[0.0; 20], 0.025), 0.0);
        assert_eq!(mean_lower_bound(&[], 0.025), 0.0);
    }

    #[test]
    fn zeros_and_ones_yield_the_chernoff_bound() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(u8::from(i < 15))).collect();
        let bound = mean_lower_bound(&values, 0.025);
        assert!((20.0 * divergence(0.75, bound) - 40.0_f64.ln()).abs() < 1e-6, "{bound}");
    }

    #[test]
    fn less_variance_yields_a_better_bound() {
        let (constant, spread) = (vec![0.5; 20], [vec![0.0; 10], vec![1.0; 10]].concat());
        let (better, worse) = (mean_lower_bound(&constant, 0.025), mean_lower_bound(&spread, 0.025));
        assert!(better > 0.34 && worse < 0.24, "{better} and {worse}");
    }

    proptest! {
        #[test]
        fn the_bound_lies_between_hoeffdings_and_the_mean(
            values in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0], 1..60),
            error in 0.000_01..0.2_f64,
        ) {
            let (mean, bound) = (values.iter().sum::<f64>() / count(&values), mean_lower_bound(&values, error));
            let radius = hoeffding_radius(count(&values), error);
            prop_assert!(bound >= mean - radius - 1e-9, "{bound} for {mean}");
            prop_assert!(bound <= mean);
        }

        #[test]
        fn the_order_does_not_matter(mut values in prop::collection::vec(0.0..=1.0, 1..30)) {
            let bound = mean_lower_bound(&values, 0.025);
            values.reverse();
            prop_assert!((mean_lower_bound(&values, 0.025) - bound).abs() < 1e-9);
        }

        #[test]
        fn larger_values_never_lower_the_bound(values in prop::collection::vec(0.0..=1.0, 1..30), which in any::<prop::sample::Index>()) {
            let mut larger = values.clone();
            larger[which.index(values.len())] = 1.0;
            prop_assert!(mean_lower_bound(&larger, 0.025) >= mean_lower_bound(&values, 0.025) - 1e-9);
        }
    }
}
