//! Tests of the bounds against published tables, SciPy and sums over the binomial distribution, and of the guarantee of
//! a certification in integers and by simulation.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::conclusion::tests::{clause, episode};
use crate::{ClauseStatus, EpisodeResult, EpisodeStatus, Generator, Level, Plan, PolicyIdentity, Verdict, conclude};

/// Returns P(at most k of n), summed term by term in logarithms: an independent computation of the same numbers.
fn binomial_cdf(k: u32, n: u32, p: f64) -> f64 {
    let ln_factorial = |n: u32| (1..=n).map(|i| f64::from(i).ln()).sum::<f64>();
    let term = |i: u32| {
        let ways = ln_factorial(n) - ln_factorial(i) - ln_factorial(n - i);
        (ways + f64::from(i) * p.ln() + f64::from(n - i) * (1.0 - p).ln()).exp()
    };
    (0..=k).map(term).sum()
}

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

/// `scipy.stats.beta.ppf(c, k + 1, n - k)` and `beta.cdf(p, k + 1, n - k)` of SciPy 1.17.1.
#[test]
fn bounds_match_scipy() {
    for (k, n, confidence, expected) in [
        (0, 59, 0.95, 0.049_507_609_888_226_93),
        (1, 10, 0.95, 0.394_163_302_436_504_66),
        (2, 30, 0.9, 0.167_812_943_654_786_2),
        (7, 100, 0.95, 0.127_458_015_582_970_26),
        (3, 5, 0.99, 0.967_317_887_799_397_1),
        (29, 30, 0.95, 0.998_291_684_355_534_3),
        (1, 1000, 0.95, 0.004_734_993_575_499_777),
        (40, 1000, 0.99, 0.056_848_069_407_539_48),
    ] {
        let found = violation_upper_bound(k, n, confidence);
        assert!((found - expected).abs() < 1e-9, "{k} of {n} at {confidence}: {found}");
    }
    for (p, k, n, expected) in [
        (0.1, 0, 10, 0.651_321_559_900_000_1),
        (0.1, 1, 30, 0.816_304_980_807_396_3),
        (0.05, 2, 100, 0.881_737_018_814_879_6),
        (0.01, 0, 299, 0.950_463_743_362_337_5),
        (0.2, 3, 12, 0.205_431_050_240_000_1),
    ] {
        let found = confidence_below(p, k, n);
        assert!((found - expected).abs() < 1e-9, "{k} of {n} below {p}: {found}");
    }
}

#[test]
fn episodes_for_a_target() {
    for (p0, confidence, n) in
        [(0.10, 0.95, 29), (0.05, 0.95, 59), (0.01, 0.95, 299), (0.001, 0.95, 2995), (0.5, 0.75, 2), (0.1, 0.9, 22)]
    {
        assert_eq!(episodes_needed(p0, confidence), n, "{p0} at {confidence}");
    }
    assert_eq!(episodes_needed(1.5, 0.95), MAX_EPISODES_NEEDED);
}

#[test]
fn ends_of_the_range() {
    assert!((confidence_below(0.10, 0, 10) - 0.651).abs() < 5e-4);
    assert_eq!(confidence_below(0.10, 4, 4), 0.0);
    assert_eq!(violation_upper_bound(3, 3, 0.95), 1.0);
    assert_eq!(violation_upper_bound(0, 0, 0.95), 1.0);
}

proptest! {
    #[test]
    fn the_bound_inverts_the_binomial_distribution(n in 1_u32..400, share in 0.0..1.0, confidence in 0.5..0.995) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than n")]
        let k = (f64::from(n) * share) as u32;
        let upper = violation_upper_bound(k, n, confidence);
        prop_assert!((binomial_cdf(k, n, upper) - (1.0 - confidence)).abs() < 1e-6);
        prop_assert!((confidence_below(upper, k, n) - confidence).abs() < 1e-6);
    }

    #[test]
    fn the_needed_episodes_are_minimal(p0 in 0.001..0.9, confidence in 0.5..0.999) {
        let n = episodes_needed(p0, confidence);
        prop_assert!(violation_upper_bound(0, n, confidence) <= p0);
        prop_assert!(n == 1 || violation_upper_bound(0, n - 1, confidence) > p0);
    }
}

/// .95^59 <= .05 and .95^58 > .05 in integers: 19^59 <= 20^58 and 19^58 > 20^57.
#[test]
fn the_guarantee_in_integers() {
    assert!(power(19, 59) <= power(20, 58), "59 episodes of a policy at 5 % pass with at most 5 %");
    assert!(power(19, 58) > power(20, 57), "58 do not suffice");
}

/// Returns `base^exponent`, most significant digit (of base 2^32) first, padded to a fixed length: compares as a
/// number.
fn power(base: u32, exponent: u32) -> Vec<u32> {
    let mut digits = vec![0_u32; 10];
    digits[0] = 1;
    for _ in 0..exponent {
        let mut carry = 0_u64;
        for digit in &mut digits {
            let product = u64::from(*digit) * u64::from(base) + carry;
            *digit = u32::try_from(product & u64::from(u32::MAX)).unwrap();
            carry = product >> 32;
        }
        assert_eq!(carry, 0, "more digits are needed");
    }
    digits.reverse();
    digits
}

/// A certification ends at its first failure without affecting its bound: summed over all courses of such a run, the
/// bound is below the true probability at most as often as the confidence level permits.
#[test]
fn stopping_at_the_first_failure_keeps_the_bound() {
    let (planned, confidence) = (59, 0.95);
    for thousandths in 1..1000 {
        let p = f64::from(thousandths) / 1000.0;
        let clean = |n: u32| (1.0 - p).powf(f64::from(n));
        let ends_at = |n: u32| if violation_upper_bound(1, n, confidence) < p { clean(n - 1) * p } else { 0.0 };
        let never = if violation_upper_bound(0, planned, confidence) < p { clean(planned) } else { 0.0 };
        let wrong: f64 = (1..=planned).map(ends_at).sum::<f64>() + never;
        assert!(wrong <= 1.0 - confidence + 1e-12, "{p}: wrong with probability {wrong}");
    }
}

/// Certifies policies that violate with exactly the target probability, using the verdict's own rules.
#[test]
fn the_guarantee_by_simulation() {
    const RUNS: u32 = 6000;
    let plan = Plan {
        episodes: 59,
        target: Some(0.05),
        confidence_level: 0.95,
        max_violation_probability: 0.1,
        draws_worlds: true,
    };
    let made = |index: u32, failed: bool| {
        let (status, margin) = if failed { (ClauseStatus::Violated, -1.0) } else { (ClauseStatus::Satisfied, 9.0) };
        episode(index, EpisodeStatus::Completed, clause(Level::Critical, status, margin))
    };
    let mut random = Generator::new(20_261_121);
    let mut passed = 0;
    for _ in 0..RUNS {
        let mut episodes: Vec<EpisodeResult> = Vec::new();
        while episodes.len() < 59 && !episodes.last().is_some_and(|e| plan.ends_with(e)) {
            let failed = random.unit() < 0.05;
            episodes.push(made(u32::try_from(episodes.len()).unwrap(), failed));
        }
        let conclusion = conclude(&plan, PolicyIdentity::Measured, &episodes).unwrap();
        assert_eq!(conclusion.statistics.certified == Some(true), conclusion.verdict == Verdict::Safe);
        passed += u32::from(conclusion.verdict == Verdict::Safe);
    }
    // A fair simulation leaves this range with a probability below 1e-6 on either side.
    let exact = 0.95_f64.powi(59);
    assert!(exact <= 0.05);
    let (below, above) = (binomial_cdf(passed, RUNS, exact), 1.0 - binomial_cdf(passed.saturating_sub(1), RUNS, exact));
    assert!(below > 1e-6 && above > 1e-6, "{passed} of {RUNS} passed: {below} {above}");
}

#[test]
fn an_invalid_confidence_bounds_nothing() {
    for confidence in [-0.1, 1.1, 1e308, f64::NAN, f64::INFINITY] {
        for violations in [0, 1, 2] {
            assert_eq!(violation_upper_bound(violations, 3, confidence), 1.0, "{violations} {confidence}");
        }
    }
}
