//! A critical violation stands, regardless of how the attempt that showed it ends.

use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_model::{AttemptNote, EpisodeResult, EpisodeStatus, PolicyErrorCode};

use super::script::{Act, Attempt, CRITICAL, ScriptedHost, exited, signalled, violation};
use super::session_run::SessionRun;
use crate::SessionError;

fn violates(attempt: Attempt) -> Attempt {
    attempt.with(Act::Steps(3)).with(Act::Violates(CRITICAL))
}

fn stands(result: &EpisodeResult) -> bool {
    result.has_critical_violation() && result.violations.len() == 1
}

#[test]
fn a_violation_stands_when_its_attempt_is_replaced() {
    let killed = || signalled(9, Duration::ZERO);
    for attempt in [Attempt::lane_killed(), Attempt::lane_dies("status 1", 3), Attempt::policy_gone(killed())] {
        let run = SessionRun::new(vec![violates(attempt), Attempt::completed()]);
        let result = run.result();
        assert_eq!((result.status, stands(&result)), (EpisodeStatus::Completed, true), "{result:?}");
        assert_eq!(result.replaced_attempts.len(), 1);
    }
}

#[test]
fn a_violation_stands_when_the_policy_fails_later() {
    for attempt in [Attempt::policy_gone(exited(0)), Attempt::policy_error(PolicyErrorCode::BadAction)] {
        let result = SessionRun::new(vec![violates(attempt)]).result();
        assert_eq!((result.status, stands(&result)), (EpisodeStatus::PolicyError, true));
    }
}

#[test]
fn a_violation_stands_when_every_attempt_is_interrupted() {
    let attempts = || (0..3).map(|_| Attempt::lane_killed()).chain([violates(Attempt::lane_killed())]);
    let mut last = SessionRun::new(attempts().collect());
    last.is_last_try = true;
    let result = last.result();
    assert_eq!((result.status, stands(&result)), (EpisodeStatus::Invalid, true));
    assert_eq!(result.error.unwrap().code, PolicyErrorCode::CutOff);
    assert_eq!(result.replaced_attempts.len(), 4);

    let earlier = SessionRun::new(attempts().collect());
    assert!(matches!(earlier.run(1), Err(SessionError::Interrupted { .. })), "another worker tries again");
    let noted = earlier.notes();
    assert_eq!(noted.iter().filter(|note| matches!(note, AttemptNote::Violated { .. })).count(), 1);
}

#[test]
fn a_violation_stands_when_the_simulator_dies_twice_in_the_same_way() {
    let dies = || Attempt::lane_dies("status 1", 3);
    let result = SessionRun::new(vec![violates(dies()), dies()]).result();
    assert_eq!((result.status, stands(&result)), (EpisodeStatus::Invalid, true));
}

#[test]
fn a_violation_recorded_by_an_earlier_worker_stands() {
    let mut run = SessionRun::new(vec![Attempt::completed()]);
    run.earlier = vec![AttemptNote::Violated { episode: 0, violation: violation(CRITICAL), origin: None }];
    assert!(stands(&run.result()));
}

#[test]
fn a_violation_seen_in_two_attempts_counts_once() {
    let run = SessionRun::new(vec![violates(Attempt::lane_killed()), violates(Attempt::completed())]);
    assert!(stands(&run.result()));
}

#[test]
fn a_violation_counts_only_in_its_own_episode() {
    let run = SessionRun::of(ScriptedHost::new([(0, vec![violates(Attempt::lane_killed()), Attempt::completed()])]));
    run.run(2).unwrap();
    let results = run.results();
    assert_eq!(results.iter().map(stands).collect::<Vec<_>>(), [true, false]);
    assert_eq!(results[1].replaced_attempts, []);
}

#[test]
fn the_episode_ends_if_its_violation_cannot_be_recorded() {
    let run = SessionRun::new(vec![violates(Attempt::completed())]);
    run.events.refuses_notes.store(true, Ordering::SeqCst);
    assert!(matches!(run.run(1), Err(SessionError::Rejected(_))));
    assert_eq!(run.results(), [], "no result without its violation");
}
