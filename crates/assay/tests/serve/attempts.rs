//! A violation that a worker has recorded outlives the worker.

use std::time::Duration;

use assay_model::{JobStatus, ReplacementReason, ReviewReason, Verdict};
use assay_testkit::{VIOLATOR_THREADS, archive, now_s, violating_once, wait_for};
use rustix::process::Signal;

use crate::{CARTPOLE, STOP_LIMIT, assay, serve};

const LIMIT: Duration = Duration::from_secs(180);

/// The service ends by `signal` after a violation, in the middle of the episode; the next one runs an honest attempt.
fn assert_stands(signal: Signal, reason: ReplacementReason) {
    let assay = assay();
    let (server, client) = serve(&assay);
    let until = now_s() + 15.0;
    let zip = archive(&[("policy.py", violating_once(until).as_bytes())]);
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")]);
    wait_for("a policy that has violated", LIMIT, || {
        assay.jailed().into_iter().find(|process| !process.is_lane() && process.threads() > VIOLATOR_THREADS)
    });
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
