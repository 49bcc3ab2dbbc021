//! Attempts are replaced only on evidence that a policy cannot fake.

use std::time::Duration;

use assay_jail::Activity;
use assay_model::{EpisodeStatus, PolicyErrorCode, ReplacementReason};

use super::script::{Act, Attempt, CPU_LIMIT, exited, signalled};
use super::session_run::SessionRun;
use crate::SessionError;

const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;

#[test]
fn an_undisturbed_episode_takes_one_attempt() {
    let run = SessionRun::new(vec![Attempt::completed()]);
    let result = run.result();
    assert_eq!((result.status, run.notes()), (EpisodeStatus::Completed, Vec::new()));
    assert_eq!(run.host.count("lane started"), 1);
}

#[test]
fn an_attempt_whose_lane_is_killed_is_replaced_on_a_new_lane() {
    let run = SessionRun::new(vec![Attempt::lane_killed(), Attempt::completed()]);
    let result = run.result();
    assert_eq!(result.status, EpisodeStatus::Completed);
    assert_eq!(run.replaced(), [ReplacementReason::LaneDied]);
    assert_eq!(result.replaced_attempts.len(), 1, "the report shows the replaced attempt");
    assert_eq!(run.host.count("lane started"), 2);
}

#[test]
fn a_policy_that_connects_elsewhere_costs_nothing_before_its_first_attempt_and_a_failure_after_one() {
    let run = SessionRun::new(vec![Attempt::policy_elsewhere()]);
    assert!(matches!(run.run(1), Err(SessionError::PolicyElsewhere)));
    assert_eq!(run.notes(), []);
    // Otherwise a policy that kills its simulator could do so without end.
    let run = SessionRun::new(vec![Attempt::lane_killed(), Attempt::policy_elsewhere()]);
    assert!(matches!(run.run(1), Err(SessionError::Interrupted { tries: 1, .. })));
    assert_eq!(run.replaced(), [ReplacementReason::LaneDied]);
}

#[test]
fn an_attempt_whose_policy_is_killed_from_outside_is_replaced_on_the_same_lane() {
    let killed = signalled(SIGKILL, Duration::from_secs(1));
    let run = SessionRun::new(vec![Attempt::policy_gone(killed), Attempt::completed()]);
    assert_eq!(run.result().status, EpisodeStatus::Completed);
    assert_eq!(run.replaced(), [ReplacementReason::PolicyKilled]);
    assert_eq!(run.host.count("lane started"), 1);
}

#[test]
fn a_sigkill_that_the_policy_could_cause_itself_is_not_retried() {
    let run = SessionRun::new(vec![Attempt::policy_gone(signalled(SIGKILL, CPU_LIMIT))]);
    assert_eq!(run.result().status, EpisodeStatus::PolicyError);
    assert_eq!(run.notes(), []);
}

#[test]
fn a_crash_or_an_exit_of_the_policy_is_not_retried() {
    for exit in [signalled(SIGSEGV, Duration::ZERO), exited(0), exited(1), exited(128 + SIGKILL)] {
        let run = SessionRun::new(vec![Attempt::policy_gone(exit.clone())]);
        let result = run.result();
        assert_eq!(result.status, EpisodeStatus::PolicyError, "{exit}");
        assert_eq!(result.error.unwrap().code, PolicyErrorCode::Exited, "{exit}");
        assert_eq!(run.notes(), [], "{exit}");
    }
}

#[test]
fn a_policy_that_is_stopped_from_outside_is_replaced() {
    let stopped = Attempt::completed().with(Act::Waits(Duration::from_secs(30), Activity::Stopped));
    let run = SessionRun::new(vec![stopped, Attempt::completed()]);
    assert_eq!(run.result().status, EpisodeStatus::Completed);
    assert_eq!(run.replaced(), [ReplacementReason::PolicyStopped]);
    assert_eq!(run.host.count("policy killed"), 1);
}

#[test]
fn a_short_stop_replaces_nothing() {
    let stopped = Attempt::completed().with(Act::Waits(Duration::from_secs(15), Activity::Stopped));
    let run = SessionRun::new(vec![stopped]);
    assert_eq!(run.result().status, EpisodeStatus::Completed);
    assert_eq!(run.notes(), []);
}

#[test]
fn a_disturbed_import_is_repeated_and_replaces_no_attempt() {
    let run = SessionRun::new(vec![Attempt::import_disturbed(), Attempt::completed()]);
    let result = run.result();
    assert_eq!((result.status, result.replaced_attempts), (EpisodeStatus::Completed, Vec::new()));
    assert_eq!((run.notes(), run.host.count("lane started")), (Vec::new(), 1));
}

#[test]
fn a_failed_import_is_not_repeated() {
    for (code, status) in [
        (PolicyErrorCode::ImportError, EpisodeStatus::PolicyError),
        (PolicyErrorCode::Exited, EpisodeStatus::PolicyError),
        (PolicyErrorCode::Connect, EpisodeStatus::PolicyError),
        (PolicyErrorCode::ImportTimeout, EpisodeStatus::PolicyTimeout),
        (PolicyErrorCode::Timeout, EpisodeStatus::PolicyTimeout),
    ] {
        let run = SessionRun::new(vec![Attempt::import_failed(code.clone())]);
        let result = run.result();
        assert_eq!((result.status, result.error.unwrap().code), (status, code));
        assert_eq!(run.notes(), []);
    }
}

#[test]
fn retries_are_bounded_and_leave_the_episode_to_another_worker() {
    let run = SessionRun::new((0..4).map(|_| Attempt::lane_killed()).collect());
    let error = run.run(1).unwrap_err();
    assert!(matches!(error, SessionError::Interrupted { tries: 4, .. }), "{error:?}");
    assert!(error.to_string().contains("4 attempts"), "{error}");
    assert!(run.host.is_played() && run.results().is_empty(), "the policy gets no result for it");
    assert_eq!(run.replaced(), [ReplacementReason::LaneDied; 4]);
}

#[test]
fn the_last_worker_gives_up_an_episode_without_observations_as_well() {
    let mut run = SessionRun::new((0..4).map(|_| Attempt::lane_killed()).collect());
    run.is_last_try = true;
    assert!(matches!(run.run(1), Err(SessionError::Interrupted { .. })));
    assert_eq!(run.results(), []);
}

#[test]
fn a_simulator_that_dies_twice_in_the_same_way_makes_the_episode_invalid() {
    let run = SessionRun::new(vec![Attempt::lane_dies("status 1", 12), Attempt::lane_dies("status 1", 12)]);
    let result = run.result();
    assert_eq!(result.status, EpisodeStatus::Invalid);
    assert_eq!(result.error.unwrap().code, PolicyErrorCode::SimulatorDied);
    assert_eq!(result.replaced_attempts.len(), 1);
}

#[test]
fn different_deaths_of_a_simulator_are_retried() {
    let deaths = [("status 1", 12), ("status 1", 13), ("signal 11", 12)];
    let deaths = deaths.map(|(exit, step)| Attempt::lane_dies(exit, step));
    let run = SessionRun::new(deaths.into_iter().chain([Attempt::completed()]).collect());
    assert_eq!(run.result().status, EpisodeStatus::Completed);
}

#[test]
fn kills_from_outside_are_not_evidence_against_the_scenario() {
    let run = SessionRun::new(vec![Attempt::lane_killed(), Attempt::lane_killed(), Attempt::completed()]);
    let result = run.result();
    assert_eq!((result.status, result.replaced_attempts.len()), (EpisodeStatus::Completed, 2));
}
