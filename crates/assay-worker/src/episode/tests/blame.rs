//! A policy's faults are results; the machine's and the scenario's are errors of the session.

use std::io;
use std::time::Duration;

use assay_jail::Activity;
use assay_model::{EpisodeStatus, PolicyErrorCode, ReplacementReason, Termination};

use super::script::{Act, Attempt, scenario};
use super::session_run::SessionRun;
use crate::episode::lane::LaneError;
use crate::{SessionError, WallBudget};

fn waits(seconds: u64, activity: Activity) -> Act {
    Act::Waits(Duration::from_secs(seconds), activity)
}

#[test]
fn a_policy_that_sleeps_over_one_action_is_timed_out() {
    let run = SessionRun::new(vec![Attempt::completed().with(waits(60, Activity::Asleep))]);
    let result = run.result();
    assert_eq!((result.status, result.termination), (EpisodeStatus::PolicyTimeout, Termination::PolicyTimeout));
    assert_eq!(result.error.unwrap().code, PolicyErrorCode::Timeout);
    assert_eq!((run.notes(), run.host.count("policy aborted")), (Vec::new(), 1));
}

#[test]
fn many_short_sleeps_use_up_the_budget_of_the_episode() {
    let budget = WallBudget::default().of(&scenario()).as_secs();
    let sleeps = |count: u64| (0..count).fold(Attempt::completed(), |run, _| run.with(waits(10, Activity::Asleep)));
    let within = SessionRun::new(vec![sleeps(budget / 10 - 1)]);
    assert_eq!(within.result().status, EpisodeStatus::Completed);
    let run = SessionRun::new(vec![sleeps(budget / 10 + 1)]);
    let result = run.result();
    assert_eq!((result.status, result.error.unwrap().code.as_str()), (EpisodeStatus::PolicyTimeout, "wall_budget"));
    assert_eq!(run.notes(), [], "a time-out is not retried");
}

#[test]
fn a_policy_that_is_starved_of_cpu_gets_more_time() {
    let run = SessionRun::new(vec![Attempt::completed().with(waits(3600, Activity::Ready))]);
    assert_eq!((run.result().status, run.host.count("policy killed")), (EpisodeStatus::Completed, 0));
}

#[test]
fn a_policy_whose_answer_the_lane_could_not_read_yet_does_not_sleep() {
    let run = SessionRun::new(vec![Attempt::completed().with(Act::Delays(Duration::from_secs(3600)))]);
    assert_eq!((run.result().status, run.host.count("policy killed")), (EpisodeStatus::Completed, 0));
}

#[test]
fn the_sleep_of_a_policy_server_is_not_watched() {
    let run = SessionRun::new(vec![Attempt::completed().of_server().with(waits(60, Activity::Asleep))]);
    assert_eq!((run.result().status, run.host.count("policy killed")), (EpisodeStatus::Completed, 0));
}

#[test]
fn a_policy_that_times_out_after_retries_is_still_to_blame() {
    let asleep = Attempt::completed().with(waits(60, Activity::Asleep));
    let killed = || Attempt::lane_killed();
    let run = SessionRun::new(vec![killed(), killed(), killed(), asleep]);
    let result = run.result();
    assert_eq!(result.status, EpisodeStatus::PolicyTimeout);
    assert_eq!(result.replaced_attempts.len(), 3);
}

#[test]
fn a_message_that_is_not_an_action_is_the_policys_fault() {
    let run = SessionRun::new(vec![Attempt::policy_error(PolicyErrorCode::BadAction)]);
    let result = run.result();
    let error = result.error.unwrap();
    assert_eq!((result.status, error.code.as_str()), (EpisodeStatus::PolicyError, "bad_action"));
    assert_eq!((error.log_tail.as_str(), run.notes()), ("the policy's log", Vec::new()));
}

#[test]
fn lanes_of_policies_that_sleep_most_of_the_time_are_reported() {
    let run = SessionRun::new(vec![Attempt::completed().with(waits(5, Activity::Asleep))]);
    run.result();
    let asleep = run.asleep();
    assert!(asleep.contains(&(0, true)), "{asleep:?}");
    assert_eq!(asleep.last(), Some(&(0, false)), "the lane is free of it when the episode ends");
}

#[test]
fn a_refused_scenario_is_its_authors_fault() {
    let run = SessionRun::new(vec![Attempt::lane_error(LaneError::Refused("no such joint".to_owned()))]);
    let error = run.run(1).unwrap_err();
    assert!(matches!(error, SessionError::Scenario(_)), "{error:?}");
    assert_eq!((run.results(), run.notes()), (Vec::new(), Vec::new()));
}

#[test]
fn a_full_disk_is_an_outage() {
    for error in [LaneError::DiskFull("no space".to_owned()), LaneError::Io(io::Error::from_raw_os_error(28))] {
        let run = SessionRun::new(vec![Attempt::lane_error(error)]);
        let error = run.run(1).unwrap_err();
        assert!(matches!(error, SessionError::Outage(_)), "{error:?}");
        assert_eq!((run.results(), run.replaced()), (Vec::new(), vec![ReplacementReason::Outage]));
    }
}

#[test]
fn a_lane_that_fails_is_an_internal_error() {
    let run = SessionRun::new(vec![Attempt::lane_error(LaneError::Failed("no rasteriser".to_owned()))]);
    let error = run.run(1).unwrap_err();
    assert!(matches!(error, SessionError::Internal(_)), "{error:?}");
    assert_eq!((run.results(), run.replaced()), (Vec::new(), vec![ReplacementReason::LaneDied]));
}
