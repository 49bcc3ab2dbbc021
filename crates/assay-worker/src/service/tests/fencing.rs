//! A worker that lost its lease changes nothing.

use assay_model::AttemptNote;
use assay_store::{CancelOutcome, JobRecords, JobState, RecordOutcome, ShardRecords};
use assay_store_testing::episode;

use super::service_run::{Outside, ServiceRun};
use crate::episode::tests::script::{Act, Attempt, CRITICAL, ScriptedHost};

fn meanwhile(outside: &Outside, act: impl FnOnce(&Outside) + Send + 'static) -> Attempt {
    let outside = outside.clone();
    Attempt::completed().meanwhile(move || act(&outside))
}

fn first(attempt: Attempt) -> ScriptedHost {
    ScriptedHost::new([(0, vec![attempt])])
}

fn cancel_job(outside: &Outside) {
    let id = assay_store_testing::job(1, "lab", 1, 1).header.job_id;
    let done = outside.wait(outside.records.cancel_job(None, id, outside.now())).unwrap();
    assert_eq!(done, CancelOutcome::Done);
}

#[test]
fn a_stale_result_is_refused_and_nothing_is_counted_twice() {
    let run = ServiceRun::new(2, 2, |outside| {
        first(meanwhile(outside, |outside| {
            let other = outside.take_over();
            let mut result = episode(0);
            result.steps = 42;
            let recorded = outside.wait(outside.records.record_episode(other.fence, result, outside.now())).unwrap();
            assert_eq!(recorded, RecordOutcome::New { left_in_shard: 1, left_in_job: 1 });
        }))
    });
    assert!(run.work());
    let episodes = run.outside.episodes(run.id);
    assert_eq!(episodes.iter().map(|result| (result.episode, result.steps)).collect::<Vec<_>>(), [(0, 42)]);
    assert!(!run.work(), "the shard is the other worker's, and was not handed back");
    assert!(matches!(run.outside.state(run.id), JobState::Running { .. }));
    assert_eq!(run.host.count("policy finished"), 1, "the stale worker begins no further episode");
}

#[test]
fn a_stale_violation_is_not_noted_and_its_attempt_has_no_result() {
    let run = ServiceRun::new(1, 1, |outside| {
        let stale = meanwhile(outside, |outside| drop(outside.take_over()));
        first(stale.with(Act::Violates(CRITICAL)))
    });
    assert!(run.work());
    assert_eq!(run.outside.episodes(run.id), []);
    let next = run.outside.take_over();
    let violated = next.notes.iter().filter(|note| matches!(note, AttemptNote::Violated { .. })).count();
    assert_eq!((next.failures, violated), (0, 0), "{:?}", next.notes);
}

#[test]
fn a_shard_that_was_requeued_but_not_claimed_is_lost_as_well() {
    let run = ServiceRun::new(1, 1, |outside| {
        first(meanwhile(outside, |outside| {
            outside.pass(60);
            assert_eq!(outside.reconcile(), 1);
        }))
    });
    assert!(run.work());
    assert_eq!(run.outside.episodes(run.id), []);
    assert!(run.work(), "the episode runs again");
    assert_eq!(run.outside.episodes(run.id).len(), 1);
    assert!(matches!(run.outside.state(run.id), JobState::Completed { .. }));
}

#[test]
fn a_renewed_lease_outlasts_its_first_term() {
    let run = ServiceRun::new(1, 1, |outside| {
        first(meanwhile(outside, |outside| {
            for _ in 0..10 {
                outside.pass(10);
                outside.worker().renew_leases();
                assert_eq!(outside.reconcile(), 0);
            }
        }))
    });
    assert!(run.work());
    assert_eq!(run.outside.episodes(run.id).len(), 1);
}

#[test]
fn a_cancelled_job_is_left_at_the_next_renewal() {
    let run = ServiceRun::new(2, 2, |outside| {
        let cancelled = meanwhile(outside, |outside| {
            cancel_job(outside);
            outside.worker().renew_leases();
        });
        first(cancelled.meanwhile(|| panic!("the episode goes on")))
    });
    assert!(run.work());
    assert!(matches!(run.outside.state(run.id), JobState::Cancelled { .. }));
    assert_eq!(run.outside.episodes(run.id), []);
    assert!(!run.work() && !run.conclude());
}

#[test]
fn a_result_that_comes_after_the_cancellation_is_refused() {
    let run = ServiceRun::new(2, 2, |outside| first(meanwhile(outside, cancel_job)));
    assert!(run.work());
    assert!(matches!(run.outside.state(run.id), JobState::Cancelled { .. }));
    assert_eq!(run.outside.episodes(run.id), []);
    assert!(!run.work() && !run.conclude());
}
