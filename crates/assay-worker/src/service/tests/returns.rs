//! The ways in which the work on a shard ends: done, handed back, postponed, abandoned.

use assay_model::{AttemptNote, Blame, EpisodeStatus, ReplacementReason, Verdict};
use assay_policy::PolicyHome;
use assay_store::{JobState, MAX_RETRIES};
use assay_store_testing::job;

use super::service_run::ServiceRun;
use crate::episode::lane::LaneError;
use crate::episode::tests::script::{Act, Attempt, CRITICAL, ScriptedHost, scenario};
use crate::shards::warm_lane::WarmLane;
use crate::{PolicyFolder, PolicySource, SessionError};

/// Number of attempts that a session makes at an episode.
const ATTEMPTS: u32 = 4;
/// Number of files that a lane writes for an episode.
const FILES: usize = assay_model::lane::files::STEPPED.len();

/// Attempts of `sessions` sessions that are all cut off; the very first one shows a violation if `violates`.
fn cut_off(sessions: u32, violates: bool) -> Vec<Attempt> {
    let mut attempts: Vec<_> = (0..sessions * ATTEMPTS).map(|_| Attempt::lane_killed()).collect();
    if violates {
        attempts[0] = Attempt::lane_killed().with(Act::Violates(CRITICAL));
    }
    attempts
}

fn verdict(state: &JobState) -> Option<Verdict> {
    match state {
        JobState::Completed { outcome, .. } => Some(outcome.conclusion.verdict),
        _ => None,
    }
}

#[test]
fn a_job_runs_to_its_verdict() {
    let run = ServiceRun::new(4, 2, |_| ScriptedHost::new([]));
    assert!(run.work());
    assert!(matches!(run.outside.state(run.id), JobState::Running { .. }));
    assert!(run.work() && !run.work());
    assert!(verdict(&run.outside.state(run.id)).is_some());
    let episodes = run.outside.episodes(run.id);
    assert_eq!(episodes.iter().map(|result| result.episode).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(episodes.iter().all(|result| result.evidence.len() == FILES));
}

#[test]
fn shards_of_one_job_share_a_lane_and_a_fork_server_until_their_thread_is_idle() {
    let run = ServiceRun::new(4, 1, |_| ScriptedHost::new([]));
    let mut lane = WarmLane::new(0);
    assert!(run.work_on(&mut lane) && run.work_on(&mut lane));
    assert_eq!(run.host.count("lane started"), 1);
    lane.start(&run.host);
    assert!(run.work_on(&mut lane));
    let homes = run.host.homes();
    assert!(homes[0] == homes[1] && homes[1] != homes[2], "an idle thread keeps nothing");
    assert_eq!(run.host.count("lane started"), 2, "the second was started while it was idle");
    let mut policy =
        PolicySource::Folder(PolicyFolder { path: "/".into(), runtime: None, home: PolicyHome::default() });
    let other = job(9, "lab", 1, 1).header.job_id;
    lane.share_home(other, &mut policy);
    let PolicySource::Folder(folder) = policy else { unreachable!() };
    assert!(folder.home != homes[2], "another job gets its own");
    assert!(lane.take(run.id, &scenario()).is_some() && lane.take(run.id, &scenario()).is_none());
    assert!(run.work_on(&mut lane));
    assert!(lane.take(other, &scenario()).is_none(), "another job does not get its lane");
}

#[test]
fn a_stopping_worker_hands_its_shard_back() {
    let run = ServiceRun::new(3, 3, |outside| {
        let outside = outside.clone();
        let stops = Attempt::completed().meanwhile(move || outside.worker().runner.stopping.cancel());
        ScriptedHost::new([(0, vec![stops])])
    });
    assert!(run.work());
    assert_eq!(run.outside.episodes(run.id).len(), 1, "its episode is recorded");
    let next = run.outside.claim().unwrap();
    assert_eq!((next.episodes.as_slice(), next.failures), (&[1, 2][..], 0));
}

#[test]
fn a_worker_that_cannot_wait_hands_its_shard_back_in_the_middle_of_an_episode() {
    let run = ServiceRun::new(1, 1, |outside| {
        let outside = outside.clone();
        let stops = Attempt::completed().meanwhile(move || outside.worker().runner.claims.cancel_all());
        ScriptedHost::new([(0, vec![stops])])
    });
    assert!(run.work());
    let next = run.outside.claim().unwrap();
    assert_eq!((next.episodes.as_slice(), next.failures), (&[0][..], 0));
    let noted = next.notes.iter().map(|note| match note {
        AttemptNote::Replaced(replaced) => replaced.reason,
        other => panic!("{other:?}"),
    });
    assert_eq!(noted.collect::<Vec<_>>(), [ReplacementReason::ServiceStopped]);
}

#[test]
fn a_job_that_fills_the_disk_by_itself_ends() {
    let run = ServiceRun::new(1, 1, |_| ScriptedHost::new([]));
    let full = || std::io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
    for _ in 0..=MAX_RETRIES {
        let claim = run.outside.claim().unwrap();
        // This machine's disk has room as soon as the shard's files are gone.
        let shard = claim.assignment(&claim.header.job_seeds(), 1 << 20);
        let run_out = |_: &_, _: &_| Err(SessionError::Outage(Box::new(full())));
        run.outside.worker().runner.process(&shard, run_out, &|| ());
    }
    let JobState::Failed { failure, .. } = run.outside.state(run.id) else { panic!("the job has not ended") };
    assert_eq!(failure.blame, Blame::Platform);
    assert!(failure.message.contains("too little disk space"), "{}", failure.message);
}

#[test]
fn a_shard_that_fails_too_often_fails_its_job_and_blames_the_platform() {
    let claims = MAX_RETRIES + 1;
    let run = ServiceRun::new(1, 1, |_| ScriptedHost::new([(0, cut_off(claims, false))]));
    for _ in 1..claims {
        assert!(run.work());
        assert!(matches!(run.outside.state(run.id), JobState::Running { .. }));
    }
    assert!(run.work() && !run.work());
    let JobState::Failed { failure, .. } = run.outside.state(run.id) else { panic!("it has not failed") };
    assert_eq!(failure.blame, Blame::Platform);
    assert_eq!(run.outside.episodes(run.id), [], "the policy has no result");
}

#[test]
fn a_violation_survives_the_failures_of_its_shard() {
    let claims = MAX_RETRIES + 1;
    let run = ServiceRun::new(1, 1, |_| ScriptedHost::new([(0, cut_off(claims, true))]));
    while run.work() {}
    assert_eq!(verdict(&run.outside.state(run.id)), Some(Verdict::Unsafe));
    let episodes = run.outside.episodes(run.id);
    assert_eq!(episodes[0].status, EpisodeStatus::Invalid);
    assert!(episodes[0].has_critical_violation());
}

#[test]
fn a_violation_stands_when_another_worker_completes_the_episode() {
    let run = ServiceRun::new(1, 1, |_| ScriptedHost::new([(0, cut_off(1, true))]));
    while run.work() {}
    assert_eq!(verdict(&run.outside.state(run.id)), Some(Verdict::Unsafe));
    let episodes = run.outside.episodes(run.id);
    assert_eq!((episodes[0].status, episodes[0].violations.len()), (EpisodeStatus::Completed, 1));
    assert_eq!(episodes[0].replaced_attempts.len(), ATTEMPTS as usize);
}

#[test]
fn an_outage_postpones_the_shard_and_counts_no_failure() {
    let full = || Attempt::lane_error(LaneError::DiskFull("no space".to_owned()));
    let attempts = (0..10).map(|_| full()).collect();
    let run = ServiceRun::new(1, 1, |_| ScriptedHost::new([(0, attempts)]));
    for _ in 0..10 {
        assert!(run.work());
        assert!(!run.work(), "the shard waits");
        run.outside.pass(60);
    }
    assert!(run.work());
    assert!(verdict(&run.outside.state(run.id)).is_some());
    let replaced = &run.outside.episodes(run.id)[0].replaced_attempts;
    assert!(replaced.iter().all(|attempt| attempt.reason == ReplacementReason::Outage), "{replaced:?}");
}

#[test]
fn unavailable_storage_postpones_the_shard_as_well() {
    let run = ServiceRun::new(1, 1, |_| ScriptedHost::new([]));
    run.break_storage(true);
    assert!(run.work() && !run.work());
    assert_eq!(run.host.log(), [] as [&str; 0], "nothing is begun");
    run.break_storage(false);
    run.outside.pass(60);
    assert!(run.work());
    assert!(verdict(&run.outside.state(run.id)).is_some());
}

#[test]
fn a_refused_scenario_fails_the_job_and_blames_its_author() {
    let refused = Attempt::lane_error(LaneError::Refused("no such joint".to_owned()));
    let run = ServiceRun::new(2, 2, |_| ScriptedHost::new([(0, vec![refused])]));
    assert!(run.work() && !run.work());
    let JobState::Failed { failure, .. } = run.outside.state(run.id) else { panic!("it has not failed") };
    assert_eq!((failure.blame, failure.message.as_str()), (Blame::Scenario, "no such joint"));
}

#[test]
fn a_certification_stores_the_files_of_the_episodes_that_count() {
    let fails = Attempt::completed().with(Act::Violates(CRITICAL));
    let run = ServiceRun::certifying(20, |_| ScriptedHost::new([(2, vec![fails])]));
    assert!(run.work() && !run.work());
    assert_eq!(verdict(&run.outside.state(run.id)), Some(Verdict::Unsafe));
    assert_eq!(run.outside.episodes(run.id).len(), 3);
    assert_eq!(run.stored(), 3 * FILES);
}
