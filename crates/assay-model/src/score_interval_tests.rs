//! Tests of the coverage and the width of the intervals.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::{Generator, consistency};

/// Minimum coverage required.
const COVERAGE: f64 = 0.95;
/// Sample sizes, in episodes.
const SIZES: [usize; 4] = [10, 20, 50, 200];

fn episode(composite: f64, success: bool) -> EpisodeScore {
    EpisodeScore { composite, success }
}

fn score_of(episodes: &[EpisodeScore]) -> f64 {
    let composites: Vec<f64> = episodes.iter().map(|e| e.composite).collect();
    let mean = episodes.iter().map(|e| e.contribution()).sum::<f64>() / count(episodes.len());
    MEAN_PART * mean + CONSISTENCY_PART * consistency(&composites, true)
}

fn interval(episodes: &[EpisodeScore]) -> (f64, f64) {
    let contributions: Vec<f64> = episodes.iter().map(|e| e.contribution()).collect();
    score_interval(score_of(episodes), &[&contributions])
}

/// Returns the width of Hoeffding's interval for a mean of `n` values in [0, 1], at 95 %.
fn hoeffding(n: usize) -> f64 {
    2.0 * hoeffding_radius(count(n), ERROR / 2.0)
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap())
}

/// Returns `n` episodes with two outcomes: `successes` good ones, the others bad.
fn mixed(good: EpisodeScore, bad: EpisodeScore, n: usize, successes: usize) -> Vec<EpisodeScore> {
    [vec![good; successes], vec![bad; n - successes]].concat()
}

/// Returns the exact probability that the interval covers the score that such a policy reaches over all worlds.
fn coverage_of_mixed(good: EpisodeScore, bad: EpisodeScore, p: f64, n: usize, intervals: &[(f64, f64)]) -> f64 {
    let mean = p * good.contribution() + (1.0 - p) * bad.contribution();
    let deviation = (p * (1.0 - p)).sqrt() * (good.composite - bad.composite);
    let score = MEAN_PART * mean + CONSISTENCY_PART * (1.0 - 2.0 * deviation);
    // Terms of the binomial distribution, each from its predecessor, as logarithms.
    let mut log_probability = count(n) * (1.0 - p).ln();
    let mut covered = 0.0;
    for (k, (low, high)) in intervals.iter().enumerate() {
        if (*low..=*high).contains(&score) {
            covered += log_probability.exp();
        }
        log_probability += (count(n - k) / (count(k) + 1.0) * p / (1.0 - p)).ln();
    }
    covered
}

#[test]
fn two_outcomes_are_covered_at_any_probability() {
    let outcomes = [
        (episode(1.0, true), episode(0.0, false)),
        (episode(1.0, true), episode(0.25, false)),
        (episode(0.95, true), episode(0.5, false)),
        (episode(0.6, false), episode(0.1, false)),
        (episode(0.5, true), episode(0.5, false)),
    ];
    let tails = [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5];
    let mut least = (1.0, String::new());
    for (good, bad) in outcomes {
        for n in SIZES {
            let intervals: Vec<_> = (0..=n).map(|k| interval(&mixed(good, bad, n, k))).collect();
            for p in tails.iter().flat_map(|tail| [*tail, 1.0 - tail]) {
                let covered = coverage_of_mixed(good, bad, p, n, &intervals);
                if covered < least.0 {
                    least = (covered, format!("{good:?} with {p}, otherwise {bad:?}, {n} episodes"));
                }
            }
        }
    }
    assert!(least.0 >= COVERAGE, "{least:?}");
}

/// Draws an episode of a policy.
type Draw = fn(&mut Generator) -> EpisodeScore;

/// Skewed cases with more than two outcomes.
const CASES: [(&str, Draw); 5] = [
    ("beta(8, 1)", |g| {
        let composite = g.unit().powf(0.125);
        episode(composite, composite > 0.5)
    }),
    ("beta(1, 8)", |g| episode(g.unit().powi(8), false)),
    ("uniform, success by chance", |g| episode(g.unit(), g.unit() < 0.9)),
    ("good, middling, or a violation", |g| match g.unit() {
        x if x < 0.85 => episode(0.97 + 0.03 * g.unit(), true),
        x if x < 0.95 => episode(0.5, false),
        _ => episode(0.25 * g.unit(), false),
    }),
    ("nearly always the same", |g| {
        let composite = if g.unit() < 0.98 { 0.8 + 0.01 * g.unit() } else { g.unit() };
        episode(composite, true)
    }),
];

#[test]
fn skewed_cases_are_covered() {
    const SAMPLES: usize = 1000;
    for (name, draw) in CASES {
        let mut generator = Generator::new(3);
        let many: Vec<_> = (0..200_000).map(|_| draw(&mut generator)).collect();
        let score = score_of(&many);
        for n in [10, 20, 50] {
            let covers = |_: &usize| {
                let (low, high) = interval(&(0..n).map(|_| draw(&mut generator)).collect::<Vec<_>>());
                (low..=high).contains(&score)
            };
            let covered = count((0..SAMPLES).filter(covers).count()) / count(SAMPLES);
            assert!(covered >= COVERAGE, "{name}, {n} episodes: {covered}");
        }
    }
}

#[test]
fn intervals_are_informative() {
    let all_succeed = |n| interval(&mixed(episode(1.0, true), episode(0.0, false), n, n));
    for (n, least) in [(10, 0.62), (20, 0.77), (50, 0.88), (200, 0.95)] {
        let (low, high) = all_succeed(n);
        assert!(low >= least && low < 1.0 && high == 1.0, "{n}: {low} to {high}");
    }
    // Remaining shares of Hoeffding's width when episodes differ little, much, and as much as possible.
    for (good, bad, share) in [(0.95, 0.85, 0.65), (0.9, 0.5, 0.93), (1.0, 0.0, 0.91)] {
        for n in SIZES {
            let (low, high) = interval(&mixed(episode(good, true), episode(bad, true), n, n / 2));
            assert!(high - low <= share * hoeffding(n) + 1e-9, "{good} or {bad}, {n}: {low} to {high}");
        }
    }
}

#[test]
fn nothing_is_known_without_episodes() {
    assert_eq!(score_interval(0.5, &[&[]]), (0.0, 1.0));
    assert!(!certainly_leads(&[(&[], &[])], 0.025));
    assert!(!certainly_leads(&[(&[1.0; 20], &[0.0; 10])], 0.025), "they do not pair up");
}

#[test]
fn scenarios_with_fewer_episodes_weigh_more() {
    let (good, bad) = ([1.0; 20], [0.0; 10]);
    let (low, high) = score_interval(0.5, &[&good, &bad]);
    assert!(low < 0.5 && high > 0.5 && high - low < 0.8, "{low} to {high}");
    let pool = PooledSample::of([20, 10].into_iter()).unwrap();
    let sum: f64 = pool.weighted([good.to_vec(), bad.to_vec()].into_iter()).iter().sum();
    assert!((pool.largest * sum / 30.0 - 0.5).abs() < 1e-12, "the mean of the scenarios' means");
}

#[test]
fn leads_are_rarely_certain_by_mistake() {
    // Two equally good policies, each of which succeeds in half of the worlds by chance.
    let mut generator = Generator::new(5);
    let mut sample = || (0..20).map(|_| f64::from(u8::from(generator.unit() < 0.5))).collect::<Vec<_>>();
    let wrong = (0..2000).filter(|_| certainly_leads(&[(&sample(), &sample())], ERROR)).count();
    assert!(wrong <= 100, "{wrong} of 2000");
    assert!(certainly_leads(&[(&[0.9; 20], &[0.3; 20])], ERROR / 18.0), "among ten, 20 worlds");
}
