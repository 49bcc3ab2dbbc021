//! A violation that a worker has recorded outlives the worker.

use std::time::Duration;

use assay_model::{JobStatus, ReplacementReason, ReviewReason, Verdict};
use assay_testkit::{Assay, Client, Jailed, PATIENCE, VIOLATOR_THREADS, archive, now_s, violating_once, wait_for};
use rustix::process::Signal;

use crate::serve::{CARTPOLE, STOP_LIMIT, assay, serve};

const LIMIT: Duration = PATIENCE;
/// Times from a job to the last moment at which its episode may begin in order to violate.
const TIMES_S: [f64; 3] = [4.0, 15.0, 60.0];

/// Runs a policy until it has violated a clause. Returns the job, and the time from which further attempts are honest. If
/// an episode begins too late for a violation, another job has more time.
fn violated(assay: &Assay, client: &Client) -> (String, f64) {
    for time_s in TIMES_S {
        let until = now_s() + time_s;
        let zip = archive(&[("policy.py", violating_once(until).as_bytes())]);
        let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")]);
        let has_violated = wait_for("a policy that has violated, or an honest attempt", LIMIT, || {
            let is_violator = |process: &Jailed| !process.is_lane() && process.threads() > VIOLATOR_THREADS;
            let violator = assay.jailed().iter().any(is_violator).then_some(true);
            violator.or_else(|| client.job(&id).status.is_final().then_some(false))
        });
        if has_violated {
            return (id, until);
        }
    }
    panic!("no episode began within {TIMES_S:?} s");
}

/// The service ends by `signal` after a violation, in the middle of the episode; the next one runs an honest attempt.
fn assert_stands(signal: Signal, reason: ReplacementReason) {
    let assay = assay();
    let (server, client) = serve(&assay);
    let (id, until) = violated(&assay, &client);
    wait_for("the time of the violation to pass", LIMIT, || (now_s() > until).then_some(()));
    drop(server.stop(signal, LIMIT));
    let (server, client) = serve(&assay);
    let job = client.ended_job(&id, LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Unsafe)), "{}", server.log());
    let [replaced] = &job.replaced_attempts[..] else { panic!("{:?}", job.replaced_attempts) };
    assert_eq!((replaced.episode, replaced.reason), (0, reason), "{replaced:?}");
    assert!(job.review_reasons.contains(&ReviewReason::EpisodeRepeated));
    assert!(job.episode_details[0].violations.iter().any(|violation| violation.clause == "keep_in"));
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}

#[test]
fn after_kill_9() {
    assert_stands(Signal::KILL, ReplacementReason::LeaseExpired);
}

#[test]
fn a_violation_stands_after_an_orderly_stop() {
    assert_stands(Signal::TERM, ReplacementReason::ServiceStopped);
}
