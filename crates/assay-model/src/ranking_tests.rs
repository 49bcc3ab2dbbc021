//! Tests that an entry gains no rank by doing nothing, by crashing, by breaking the physics, or by hiding a violation
//! behind one of these.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::conclusion::tests::{clause, episode};
use crate::{ClauseStatus, EpisodeResult, EpisodeStatus, Level, Plan, PolicyIdentity, conclude};

/// Course of an episode.
#[derive(Debug, Clone, Copy)]
struct Rollout {
    progress: f64,
    success: bool,
    /// Robustness of a critical clause; negative is a violation.
    robustness: f64,
}

fn rollout() -> impl Strategy<Value = Rollout> {
    (0.0..=1.0_f64, any::<bool>(), -100.0..100.0_f64).prop_map(|(progress, success, robustness)| Rollout {
        progress,
        success,
        robustness,
    })
}

fn rollouts() -> impl Strategy<Value = Vec<Rollout>> {
    prop::collection::vec(rollout(), 1..=12)
}

fn result(index: usize, rollout: Rollout, status: EpisodeStatus) -> EpisodeResult {
    let violated = rollout.robustness < 0.0;
    let clause_status = match (violated, status) {
        (true, _) => ClauseStatus::Violated,
        (false, EpisodeStatus::Completed) => ClauseStatus::Satisfied,
        (false, _) => ClauseStatus::Undetermined,
    };
    let mut result =
        episode(u32::try_from(index).unwrap(), status, clause(Level::Critical, clause_status, rollout.robustness));
    result.success = rollout.success && status == EpisodeStatus::Completed;
    result.progress_score = rollout.progress;
    result.composite_score = crate::episode_composite(rollout.progress, result.safety_score, violated);
    result
}

fn entrant(results: &[EpisodeResult]) -> Entrant {
    let episodes = u32::try_from(results.len()).unwrap();
    let plan =
        Plan { episodes, target: None, confidence_level: 0.95, max_violation_probability: 0.1, draws_worlds: true };
    let found = conclude(&plan, PolicyIdentity::Measured, results).unwrap();
    Entrant {
        verdict: found.verdict,
        score: found.score,
        progress: found.progress_score,
        episodes: results.iter().map(EpisodeScore::from).collect(),
        worlds: Worlds::Season,
    }
}

fn honest(rollouts: &[Rollout]) -> Vec<EpisodeResult> {
    rollouts.iter().enumerate().map(|(i, r)| result(i, *r, EpisodeStatus::Completed)).collect()
}

fn simple(verdict: Verdict, score: f64) -> Entrant {
    let one = EpisodeScore { composite: score, success: true };
    Entrant { verdict, score, progress: 1.0, episodes: vec![one; 20], worlds: Worlds::Season }
}

fn ranks(places: &[Place]) -> Vec<(Option<u32>, Option<u32>, Option<u32>)> {
    places.iter().map(|place| (place.rank_low, place.rank, place.rank_high)).collect()
}

#[test]
fn safety_comes_before_the_score() {
    let board = [
        simple(Verdict::Unsafe, 0.9),
        simple(Verdict::Inconclusive, 0.8),
        simple(Verdict::Safe, 0.3),
        simple(Verdict::Safe, 0.4),
    ];
    let ranks: Vec<_> = rank(&board, 0.0).iter().map(|place| place.rank).collect();
    assert_eq!(ranks, [Some(4), Some(3), Some(2), Some(1)]);
}

#[test]
fn tied_entries_share_a_rank_and_idle_entries_have_none() {
    let idle = Entrant { progress: 0.1, ..simple(Verdict::Safe, 0.99) };
    let board = [idle, simple(Verdict::Safe, 0.5), simple(Verdict::Safe, 0.5), simple(Verdict::Safe, 0.4)];
    let places = rank(&board, 0.1);
    let ranks: Vec<_> = places.iter().map(|place| place.rank).collect();
    assert_eq!(ranks, [None, Some(1), Some(1), Some(3)]);
    assert_eq!((places[1].rank_low, places[1].rank_high), (Some(1), Some(3)), "0.4 is not far enough behind");
    assert_eq!((places[0].rank_low, places[0].score), (None, 0.99));
    assert_eq!(rank(&[], 0.0), []);
}

#[test]
fn a_narrow_lead_is_not_certain() {
    let places = rank(&[simple(Verdict::Safe, 0.95), simple(Verdict::Safe, 0.6), simple(Verdict::Safe, 0.1)], 0.0);
    let sure = |low, rank, high| (Some(low), Some(rank), Some(high));
    assert_eq!(ranks(&places), [sure(1, 1, 2), sure(1, 2, 3), sure(2, 3, 3)], "0.85 in each world is a sure lead");
    let alike = simple(Verdict::Safe, 0.5);
    assert_eq!(
        ranks(&rank(&[alike.clone(), alike], 0.0)),
        [sure(1, 1, 2); 2],
        "level entries may each be the better one"
    );
    assert_eq!(ranks(&rank(&[simple(Verdict::Safe, 0.5)], 0.0)), [sure(1, 1, 1)]);
}

#[test]
fn a_verdict_alone_is_not_a_certain_lead() {
    let sure = |low, rank, high| (Some(low), Some(rank), Some(high));
    let places = rank(&[simple(Verdict::Unsafe, 0.8), simple(Verdict::Safe, 0.7)], 0.0);
    assert_eq!(ranks(&places), [sure(1, 2, 2), sure(1, 1, 2)]);
    let places = rank(&[simple(Verdict::Unsafe, 0.1), simple(Verdict::Safe, 0.9)], 0.0);
    assert_eq!(ranks(&places), [sure(2, 2, 2), sure(1, 1, 1)]);
}

#[test]
fn scores_are_compared_only_in_the_same_worlds() {
    let fresh = |verdict, score| Entrant { worlds: Worlds::Fresh, ..simple(verdict, score) };
    let board = [
        simple(Verdict::Safe, 0.99),
        fresh(Verdict::Safe, 0.3),
        fresh(Verdict::Safe, 0.4),
        fresh(Verdict::Unsafe, 0.9),
        simple(Verdict::Unsafe, 0.95),
    ];
    let places = rank(&board, 0.0);
    let found: Vec<_> = places.iter().map(|place| place.rank).collect();
    assert_eq!(found, [Some(3), Some(2), Some(1), Some(4), Some(5)]);
    assert_eq!((places[2].rank_low, places[2].rank_high), (Some(1), Some(4)), "it is ahead of 0.99 by rule");
}

#[test]
fn boards_are_averaged_and_missing_scenarios_count_zero() {
    let boards = [
        (0.0, vec![simple(Verdict::Safe, 0.8), simple(Verdict::Safe, 0.6)]),
        (0.5, vec![simple(Verdict::Safe, 0.7), Entrant { progress: 0.5, ..simple(Verdict::Safe, 0.9) }]),
    ];
    let members = [vec![Some(0), None], vec![Some(1), Some(0)], vec![None, Some(1)]];
    let places = rank_together(&boards, &members);
    let found: Vec<_> = places.iter().map(|place| (place.rank, place.score)).collect();
    assert_eq!(found, [(Some(2), 0.4), (Some(1), 0.65), (None, 0.0)]);
    assert_eq!((places[2].score_low, places[2].score_high), (0.0, 0.0));
    assert!(places[0].score_high <= 0.5, "a missing scenario is 0 for certain: {:?}", places[0]);
}

#[test]
fn results_other_than_safe_count_as_missing() {
    for verdict in [Verdict::Unsafe, Verdict::Inconclusive] {
        let boards =
            [(0.0, vec![simple(Verdict::Safe, 0.8), simple(Verdict::Safe, 0.8)]), (0.0, vec![simple(verdict, 0.95)])];
        let places = rank_together(&boards, &[vec![Some(0), Some(0)], vec![Some(1), None], vec![None, Some(0)]]);
        assert_eq!(places[0], places[1], "{verdict:?}");
        assert_eq!((places[0].rank, places[0].score, places[2].rank), (Some(1), 0.4, None), "{verdict:?}");
    }
}

#[test]
fn many_scenarios_yield_a_narrow_interval() {
    let boards: Vec<_> = (0..12).map(|_| (0.0, vec![simple(Verdict::Safe, 0.9), simple(Verdict::Safe, 0.5)])).collect();
    let places = rank_together(&boards, &[vec![Some(0); 12], vec![Some(1); 12]]);
    assert!(places[0].score_high - places[0].score_low < 0.13, "{:?}", places[0]);
    assert_eq!((places[0].rank_high, places[1].rank_low), (Some(1), Some(2)), "240 worlds");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn contributions_and_consistency_make_up_the_score(rollouts in rollouts(), crashed in any::<prop::sample::Index>()) {
        for results in [honest(&rollouts), spoilt(&rollouts, crashed, EpisodeStatus::PolicyError)] {
            let scores = crate::JobScores::of(&results).unwrap();
            let contributions = entrant(&results).contributions();
            let mean = contributions.iter().sum::<f64>() / amount(contributions.len());
            prop_assert!((0.9 * mean + 0.1 * scores.consistency - scores.score).abs() < 1e-9);
        }
    }

    #[test]
    fn a_further_run_that_is_not_safe_changes_nothing(
        all in prop::collection::vec((rollouts(), any::<prop::sample::Index>()), 1..5),
        which in any::<prop::sample::Index>(),
    ) {
        let safe = |rollouts: &Vec<Rollout>| Entrant { verdict: Verdict::Safe, ..entrant(&honest(rollouts)) };
        let boards: Vec<_> = all.iter().map(|(rollouts, crash)| {
            let spoilt = entrant(&spoilt(rollouts, *crash, EpisodeStatus::PolicyError));
            (0.0, vec![safe(rollouts), spoilt])
        }).collect();
        // A competing member has an entry in every scenario, so that there are ranks to lose.
        let without: Vec<_> = (0..all.len()).map(|board| (board != which.index(all.len())).then_some(0)).collect();
        let with: Vec<_> = without.iter().map(|index| index.or(Some(1))).collect();
        let other = vec![Some(0); all.len()];
        let (before, after) = (rank_together(&boards, &[without, other.clone()]), rank_together(&boards, &[with, other]));
        prop_assert_eq!(before, after);
    }

    #[test]
    fn a_failure_never_raises_a_safe_entry(
        rollouts in rollouts(),
        which in any::<prop::sample::Index>(),
        status in prop::sample::select(vec![
            EpisodeStatus::PolicyError, EpisodeStatus::PolicyTimeout, EpisodeStatus::Invalid,
        ]),
    ) {
        let (before, after) = (entrant(&honest(&rollouts)), entrant(&spoilt(&rollouts, which, status)));
        prop_assert!(after.key().class >= before.key().class, "a violation stays one, whatever comes after it");
        prop_assert!(after.verdict != Verdict::Safe);
        if before.verdict == Verdict::Safe {
            prop_assert_eq!(before.key().order(&after.key()), Ordering::Less);
        }
    }

    #[test]
    fn a_violation_never_raises_an_entry(rollouts in rollouts(), which in any::<prop::sample::Index>()) {
        let before = entrant(&honest(&rollouts));
        let mut worse = rollouts.clone();
        let spoilt = which.get(&rollouts).robustness.abs();
        worse[which.index(rollouts.len())].robustness = -spoilt - 0.1;
        let after = entrant(&honest(&worse));
        prop_assert_eq!(after.verdict, Verdict::Unsafe);
        prop_assert!(after.key().class >= before.key().class);
    }

    #[test]
    fn doing_nothing_has_no_rank_however_safe(idle in 0.0..0.5_f64, share in 0.0..=1.0_f64) {
        let nothing = Rollout { progress: idle * share, success: false, robustness: 100.0 };
        let places = rank(&[entrant(&honest(&[nothing; 5])), simple(Verdict::Unsafe, 0.1)], round4(idle));
        prop_assert_eq!((places[0].rank, places[1].rank), (None, Some(1)));
    }

    #[test]
    fn a_board_is_consistent(all in prop::collection::vec(rollouts(), 1..6), idle in 0.0..0.5_f64) {
        let entrants: Vec<_> = all.iter().map(|rollouts| entrant(&honest(rollouts))).collect();
        let places = rank(&entrants, idle);
        prop_assert_eq!(&places, &rank(&entrants, idle), "the same whenever it is made");
        for (a, entrant) in places.iter().zip(&entrants) {
            prop_assert_eq!(a.rank.is_some(), entrant.progress > idle);
            prop_assert!(a.rank_low <= a.rank && a.rank <= a.rank_high);
            let radius = (40.0_f64.ln() / (2.0 * amount(entrant.episodes.len()))).sqrt();
            prop_assert!(a.score_high - a.score_low <= 2.0 * radius + 1e-9, "not wider than Hoeffding's: {a:?}");
            prop_assert!(a.score_high - a.score_low > 1e-3, "never nothing: {a:?}");
            prop_assert!(a.score_low <= a.score && a.score <= a.score_high);
            for (b, other) in places.iter().zip(&entrants) {
                if let (Some(first), Some(second)) = (a.rank, b.rank) {
                    prop_assert_eq!(entrant.key().order(&other.key()), first.cmp(&second));
                }
            }
        }
    }
}

/// Returns results of the same rollouts, one of which ends in a failure; a violation in it came before the failure.
fn spoilt(rollouts: &[Rollout], which: prop::sample::Index, status: EpisodeStatus) -> Vec<EpisodeResult> {
    let mut results = honest(rollouts);
    let index = which.index(rollouts.len());
    results[index] = result(index, rollouts[index], status);
    results
}
