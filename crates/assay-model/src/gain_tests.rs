//! Tests that a policy gains nothing by doing nothing, by crashing, by breaking the physics, or by hiding a violation
//! behind any of these.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::tests::{clause, episode};
use crate::{
    ClauseStatus, Conclusion, EpisodeResult, EpisodeStatus, JobScores, Level, Plan, PolicyIdentity, StageResult,
    Termination, Verdict, conclude,
};

const STAGES: usize = 5;

/// Events of an episode: stages reached, and the robustness of its critical and of its warning clause.
#[derive(Debug, Clone)]
struct Happened {
    stages: usize,
    critical: f64,
    warning: f64,
}

fn happened() -> impl Strategy<Value = Happened> {
    let robustness = || prop_oneof![3 => 0.0..50.0, 1 => -100.0..0.0];
    (0..=STAGES, robustness(), robustness()).prop_map(|(stages, critical, warning)| Happened {
        stages,
        critical,
        warning,
    })
}

/// Returns the result of these events with the given status; any status other than `Completed` takes effect after all
/// of them.
fn result(index: usize, what: &Happened, status: EpisodeStatus) -> EpisodeResult {
    let judged = |level, robustness: f64| {
        let clean =
            if status == EpisodeStatus::Completed { ClauseStatus::Satisfied } else { ClauseStatus::Undetermined };
        clause(level, if robustness < 0.0 { ClauseStatus::Violated } else { clean }, robustness)
    };
    let mut result = episode(u32::try_from(index).unwrap(), status, judged(Level::Critical, what.critical));
    result.clauses.push(judged(Level::Warning, what.warning));
    let stage = |n: usize| StageResult { name: n.to_string(), points: 10.0, passed: n < what.stages, time_s: None };
    result.stages = (0..STAGES).map(stage).collect();
    result.success = status == EpisodeStatus::Completed && what.stages == STAGES;
    result.termination = match status {
        EpisodeStatus::Completed => Termination::TimeLimit,
        EpisodeStatus::PolicyError => Termination::PolicyError,
        EpisodeStatus::PolicyTimeout => Termination::PolicyTimeout,
        EpisodeStatus::Invalid => Termination::Unstable,
    };
    result.scored(&[1.0, 0.4], &[50.0, 50.0])
}

fn results(all: &[Happened]) -> Vec<EpisodeResult> {
    all.iter().enumerate().map(|(n, what)| result(n, what, EpisodeStatus::Completed)).collect()
}

fn concluded(episodes: &[EpisodeResult]) -> Conclusion {
    let plan =
        Plan { episodes: 8, target: None, confidence_level: 0.95, max_violation_probability: 0.1, draws_worlds: true };
    conclude(&plan, PolicyIdentity::Measured, episodes).unwrap()
}

/// Returns the order of verdicts; smaller is better.
fn place(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Safe => 0,
        Verdict::Inconclusive => 1,
        Verdict::Unsafe => 2,
    }
}

fn bad_end() -> impl Strategy<Value = EpisodeStatus> {
    prop_oneof![Just(EpisodeStatus::PolicyError), Just(EpisodeStatus::PolicyTimeout), Just(EpisodeStatus::Invalid)]
}

proptest! {
    #[test]
    fn ending_an_episode_badly_gains_nothing(
        all in proptest::collection::vec(happened(), 1..8),
        victim in any::<proptest::sample::Index>(),
        end in bad_end(),
    ) {
        let (honest, mut ended) = (results(&all), results(&all));
        let victim = victim.index(all.len());
        ended[victim] = result(victim, &all[victim], end);
        prop_assert_eq!(ended[victim].safety_score, 0.0);
        prop_assert!(ended[victim].composite_score <= honest[victim].composite_score);
        prop_assert!(place(concluded(&ended).verdict) >= place(concluded(&honest).verdict));
        prop_assert!(concluded(&ended).verdict != Verdict::Safe);
        let (with, without) = (JobScores::of(&ended).unwrap(), JobScores::of(&honest).unwrap());
        prop_assert!(with.composite <= without.composite && with.success_rate <= without.success_rate);
        prop_assert!(with.score <= without.score + 1e-12, "{} instead of {}", with.score, without.score);
    }

    #[test]
    fn a_violation_is_found_whatever_ends_the_episode(what in happened(), end in bad_end(), robustness in -100.0..-1e-9) {
        let hidden = result(0, &Happened { critical: robustness, ..what }, end);
        prop_assert_eq!(hidden.composite_score, 0.0);
        let conclusion = concluded(&[hidden]);
        prop_assert_eq!((conclusion.verdict, conclusion.statistics.violations), (Verdict::Unsafe, 1));
    }

    #[test]
    fn doing_nothing_scores_below_any_clean_progress(stages in 1..=STAGES, n in 1..8_usize) {
        let clean = |stages| vec![Happened { stages, critical: 10.0, warning: 10.0 }; n];
        let nothing = JobScores::of(&results(&clean(0))).unwrap();
        let something = JobScores::of(&results(&clean(stages))).unwrap();
        prop_assert!(nothing.score < something.score);
        prop_assert!((nothing.progress, nothing.success_rate) == (0.0, 0.0) && nothing.score <= 0.5);
    }

    #[test]
    fn a_violation_gains_nothing(what in happened(), robustness in -100.0..-1e-9) {
        let clean = result(0, &Happened { critical: 10.0, ..what.clone() }, EpisodeStatus::Completed);
        let violated = result(0, &Happened { critical: robustness, ..what }, EpisodeStatus::Completed);
        prop_assert!(violated.composite_score <= 0.25 && violated.composite_score <= clean.composite_score);
        prop_assert_eq!(concluded(&[violated]).verdict, Verdict::Unsafe);
    }
}
