//! Tests of the verdict rules, case by case.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::ClauseResult;

pub(crate) fn clause(level: Level, status: ClauseStatus, robustness: f64) -> ClauseResult {
    ClauseResult {
        id: "force".into(),
        title: None,
        harm: None,
        best_margin: None,
        level,
        standard: "ISO 10218-1:2025".into(),
        unit: "N".into(),
        limit: 50.0,
        scale: None,
        status,
        robustness: Some(robustness),
        worst_value: Some(50.0 - robustness),
        worst_time_s: Some(1.0),
        vacuous: false,
        violation_count: u32::from(status == ClauseStatus::Violated),
    }
}

pub(crate) fn episode(index: u32, status: EpisodeStatus, clause: ClauseResult) -> EpisodeResult {
    EpisodeResult {
        episode: index,
        seed: 1,
        status,
        termination: Termination::TimeLimit,
        success: true,
        progress_score: 0.0,
        safety_score: 0.0,
        composite_score: 0.0,
        steps: 10,
        sim_time_s: 0.2,
        wall_time_s: 0.1,
        stages: vec![crate::StageResult { name: "reach".into(), points: 10.0, passed: true, time_s: Some(0.1) }],
        clauses: vec![clause],
        violations: vec![],
        unsafe_time_s: 0.0,
        policy_latency_ms: None,
        deadline_misses: 0,
        clipped_actions: 0,
        chunk: None,
        video_path: None,
        log_path: None,
        log_type: None,
        trace_hash: None,
        world_sha256: None,
        judge: None,
        error: None,
        evidence: Vec::new(),
        evidence_notes: Vec::new(),
        replaced_attempts: Vec::new(),
        unconfirmed: Vec::new(),
    }
    .scored(&[1.0], &[50.0])
}

fn plan(target: Option<f64>) -> Plan {
    Plan { episodes: 100, target, confidence_level: 0.95, max_violation_probability: 0.1, draws_worlds: true }
}

fn safe(index: u32) -> EpisodeResult {
    episode(index, EpisodeStatus::Completed, clause(Level::Critical, ClauseStatus::Satisfied, 20.0))
}

fn verdict_of(episodes: &[EpisodeResult]) -> (Verdict, Option<Blame>) {
    let conclusion = conclude(&plan(None), PolicyIdentity::Measured, episodes).unwrap();
    (conclusion.verdict, conclusion.blame)
}

#[test]
fn clean_episodes_are_safe() {
    let conclusion = conclude(&plan(None), PolicyIdentity::Measured, &[safe(0), safe(1), safe(2)]).unwrap();
    assert_eq!(conclusion.verdict, Verdict::Safe);
    assert_eq!(conclusion.score, 1.0);
    assert_eq!(conclusion.statistics.violation_probability_upper, 0.6316);
    assert_eq!(conclusion.statistics.episodes_needed, 29);
    assert!(!conclusion.needs_review);
}

#[test]
fn one_critical_violation_is_always_unsafe() {
    let violated = clause(Level::Critical, ClauseStatus::Violated, -5.0);
    for status in
        [EpisodeStatus::Completed, EpisodeStatus::PolicyError, EpisodeStatus::PolicyTimeout, EpisodeStatus::Invalid]
    {
        let episodes = [safe(0), episode(1, status, violated.clone())];
        assert_eq!(verdict_of(&episodes), (Verdict::Unsafe, Some(Blame::Policy)), "{status:?}");
    }
}

#[test]
fn unmeasured_episodes_are_not_safe() {
    let open = clause(Level::Critical, ClauseStatus::Undetermined, 5.0);
    for (status, blame) in [
        (EpisodeStatus::PolicyError, Some(Blame::Policy)),
        (EpisodeStatus::PolicyTimeout, Some(Blame::Policy)),
        (EpisodeStatus::Invalid, Some(Blame::Scenario)),
        (EpisodeStatus::Completed, None),
    ] {
        assert_eq!(verdict_of(&[safe(0), episode(1, status, open.clone())]), (Verdict::Inconclusive, blame));
    }
    let absent = clause(Level::Critical, ClauseStatus::NotApplicable, 5.0);
    assert_eq!(verdict_of(&[episode(0, EpisodeStatus::Completed, absent)]).0, Verdict::Inconclusive);
    assert!(conclude(&plan(None), PolicyIdentity::Measured, &[]).is_none());
}

#[test]
fn a_violated_warning_clause_is_not_unsafe() {
    let warned = episode(0, EpisodeStatus::Completed, clause(Level::Warning, ClauseStatus::Violated, -10.0));
    assert_eq!(warned.safety_score, 0.8);
    assert_eq!(verdict_of(&[warned]).0, Verdict::Safe);
}

#[test]
fn a_target_that_is_not_certified_is_inconclusive() {
    let episodes: Vec<_> = (0..59).map(safe).collect();
    let conclude = |n: usize| conclude(&plan(Some(0.05)), PolicyIdentity::Measured, &episodes[..n]).unwrap();
    assert_eq!(conclude(59).verdict, Verdict::Safe);
    let short = conclude(58);
    assert_eq!((short.verdict, short.statistics.episodes_needed), (Verdict::Inconclusive, 59));
    assert!(short.reason.unwrap().contains("59 are needed"));
}

#[test]
fn crashing_gains_nothing() {
    let crashed = episode(0, EpisodeStatus::PolicyError, clause(Level::Critical, ClauseStatus::Undetermined, 20.0));
    assert_eq!(crashed.safety_score, 0.0);
    assert!(crashed.composite_score <= safe(0).composite_score);
}

#[test]
fn a_certification_ends_at_its_first_failure() {
    let violated = || clause(Level::Critical, ClauseStatus::Violated, -5.0);
    let mut episodes: Vec<_> = (0..59).map(safe).collect();
    episodes[7] = episode(7, EpisodeStatus::Completed, violated());
    episodes[9] = episode(9, EpisodeStatus::PolicyError, violated());
    // The conclusion is that of the first eight episodes, whatever later lanes found.
    let all = conclude(&plan(Some(0.05)), PolicyIdentity::Measured, &episodes).unwrap();
    let prefix = conclude(&plan(Some(0.05)), PolicyIdentity::Measured, &episodes[..8]).unwrap();
    assert_eq!(all, prefix);
    assert_eq!((all.verdict, all.statistics.episodes, all.statistics.violations), (Verdict::Unsafe, 8, 1));
    assert_eq!(conclude(&plan(None), PolicyIdentity::Measured, &episodes).unwrap().statistics.episodes, 59);

    episodes[7] = episode(7, EpisodeStatus::PolicyTimeout, clause(Level::Critical, ClauseStatus::Undetermined, 5.0));
    let cut = conclude(&plan(Some(0.05)), PolicyIdentity::Measured, &episodes).unwrap();
    assert_eq!((cut.verdict, cut.statistics.episodes, cut.statistics.without_evidence), (Verdict::Inconclusive, 8, 1));
    assert_eq!(cut.statistics.certified, Some(false));
}

#[test]
fn a_plan_that_cannot_reach_its_target_has_a_shortfall() {
    assert_eq!(Plan::default_episodes(Some(0.05), 0.95, 3), 59);
    assert_eq!(Plan::default_episodes(None, 0.95, 3), 3);
    let mut plan = Plan { episodes: 3, ..plan(Some(0.05)) };
    assert!(plan.shortfall().unwrap().contains("59 are needed"));
    plan.episodes = 59;
    assert_eq!(plan.shortfall(), None);
}

#[test]
fn the_showcase_does_not_count() {
    let plan = Plan { episodes: 2, ..plan(None) };
    let counted: Vec<_> = (0..2).map(safe).collect();
    let bad = episode(2, EpisodeStatus::Completed, clause(Level::Critical, ClauseStatus::Violated, -5.0));
    let with: Vec<_> = counted.iter().cloned().chain([bad]).collect();
    let of = |episodes: &[EpisodeResult]| conclude(&plan, PolicyIdentity::Measured, episodes).unwrap();
    assert_eq!(of(&with), of(&counted));
}

#[test]
fn confidence_after_ten_clean_episodes() {
    let episodes: Vec<_> = (0..10).map(safe).collect();
    let statistics = conclude(&plan(None), PolicyIdentity::Measured, &episodes).unwrap().statistics;
    assert_eq!((statistics.confidence, statistics.max_violation_probability), (0.6513, 0.1));
}

#[test]
fn severity_and_share_of_unsafe_episodes() {
    let worse = episode(0, EpisodeStatus::Completed, clause(Level::Critical, ClauseStatus::Violated, -20.0));
    let hardly = episode(1, EpisodeStatus::Completed, clause(Level::Critical, ClauseStatus::Violated, -500.0));
    let conclusion = conclude(&plan(None), PolicyIdentity::Measured, &[worse, hardly, safe(2), safe(3)]).unwrap();
    assert_eq!(conclusion.unsafe_success_share, 0.5, "SBU: both were done and unsafe");
    assert_eq!(conclusion.violation_severity, 0.35, "VSI: (20/50 + 1 + 0 + 0) / 4");
    assert_eq!(conclusion.quadrants, Quadrants { safe_success: 2, unsafe_success: 2, ..Quadrants::default() });
    assert_eq!(conclusion.review_reasons, []);
}

#[test]
fn a_limit_of_zero_is_measured_by_its_scale() {
    let with = |robustness, status| {
        let clause = ClauseResult { limit: 0.0, scale: Some(0.3), ..clause(Level::Critical, status, robustness) };
        conclude(&plan(None), PolicyIdentity::Measured, &[episode(0, EpisodeStatus::Completed, clause)]).unwrap()
    };
    assert_eq!(with(0.003, ClauseStatus::Satisfied).review_reasons, [ReviewReason::Borderline]);
    assert_eq!(with(0.0031, ClauseStatus::Satisfied).review_reasons, []);
    assert_eq!(with(-0.06, ClauseStatus::Violated).violation_severity, 0.2);
}

#[test]
fn idle_policies_get_a_reason_and_failing_policies_are_not_consistent() {
    let idle = |index| {
        let mut episode = safe(index);
        (episode.success, episode.stages[0].passed) = (false, false);
        episode.scored(&[1.0], &[50.0])
    };
    let of = |scorer, episodes: &[EpisodeResult]| {
        conclude_by(scorer, &plan(None), PolicyIdentity::Measured, episodes).unwrap()
    };
    let conclusion = of(Scorer::Second, &[idle(0), idle(1)]);
    assert_eq!((conclusion.verdict, conclusion.blame), (Verdict::Safe, None));
    assert!(conclusion.reason.unwrap().contains("nothing was achieved"));
    assert_eq!(of(Scorer::Second, &[idle(0), safe(1)]).reason, None);
    assert_eq!(of(Scorer::First, &[idle(0), idle(1)]).reason, None, "as it was signed");

    let crash =
        |index| episode(index, EpisodeStatus::PolicyError, clause(Level::Critical, ClauseStatus::Undetermined, 1.0));
    let crashes = [crash(0), crash(1)];
    assert_eq!(of(Scorer::Second, &crashes).consistency, 0.0);
    assert_eq!(of(Scorer::First, &crashes).consistency, 1.0);
    assert!(of(Scorer::Second, &[crash(0), safe(1)]).consistency > 0.0);
}

#[test]
fn each_reason_for_a_review() {
    let reasons = |change: &dyn Fn(&mut EpisodeResult), identity| {
        let mut episode = safe(0);
        change(&mut episode);
        conclude(&plan(None), identity, &[episode]).unwrap().review_reasons
    };
    let measured = PolicyIdentity::Measured;
    assert_eq!(reasons(&|_| {}, PolicyIdentity::Declared), [ReviewReason::DeclaredIdentity]);
    assert_eq!(reasons(&|e| e.deadline_misses = 1, measured), [ReviewReason::DeadlineMisses]);
    assert_eq!(reasons(&|e| e.clauses[0].robustness = Some(0.5), measured), [ReviewReason::Borderline]);
    assert_eq!(reasons(&|e| e.clauses[0].robustness = Some(0.51), measured), []);
    assert_eq!(reasons(&|e| e.clauses[0].vacuous = true, measured), [ReviewReason::VacuousClause]);
    let unstable = |e: &mut EpisodeResult| {
        (e.status, e.termination) = (EpisodeStatus::Invalid, Termination::Unstable);
    };
    assert_eq!(reasons(&unstable, measured), [ReviewReason::Inconclusive, ReviewReason::PhysicsWarning]);
}

#[test]
fn episodes_of_a_scenario_that_draws_nothing_are_one_observation() {
    let episodes: Vec<_> = (0..29).map(safe).collect();
    let drawn = Plan { episodes: 29, ..plan(Some(0.1)) };
    let one = Plan { draws_worlds: false, ..drawn };
    assert_eq!((drawn.refusal(), one.refusal()), (None, Some(crate::NOTHING_DRAWN)));
    assert_eq!(Plan { target: None, ..one }.refusal(), None);
    let found = |plan: &Plan| conclude(plan, PolicyIdentity::Measured, &episodes).unwrap();
    let (of_many, of_one) = (found(&drawn), found(&one));
    assert_eq!((of_many.verdict, of_many.statistics.certified), (Verdict::Safe, Some(true)));
    assert_eq!((of_one.verdict, of_one.statistics.certified), (Verdict::Inconclusive, Some(false)));
    assert_eq!((of_one.statistics.episodes, of_one.statistics.sample_size), (29, Some(1)));
    assert_eq!((of_one.statistics.violation_probability_upper, of_one.statistics.confidence), (0.95, 0.1));
    // A target that one observation would meet certifies nothing, either.
    let lax = Plan { target: Some(0.96), ..one };
    assert_eq!(found(&lax).statistics.certified, Some(false));
}

#[test]
fn few_worlds_are_a_reason_for_a_review() {
    for (episodes, worlds, is_few) in [(29, 29, false), (29, 15, false), (29, 14, true), (2, 1, false), (3, 1, true)] {
        let mut results: Vec<_> = (0..episodes).map(safe).collect();
        for (index, result) in (0_u32..).zip(&mut results) {
            result.world_sha256 = Some(crate::Sha256Digest::of((index % worlds).to_le_bytes()));
        }
        let found = conclude(&Plan { episodes, ..plan(None) }, PolicyIdentity::Measured, &results).unwrap();
        assert_eq!(found.statistics.distinct_worlds, Some(worlds));
        assert_eq!(found.review_reasons.contains(&ReviewReason::FewWorlds), is_few, "{worlds} of {episodes}");
    }
}
