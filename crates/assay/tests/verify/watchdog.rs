//! A policy that gives no answer: its own fault if it sleeps, but not if another process kept it from running.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{EpisodeStatus, JobReport, PolicyErrorCode, ReplacementReason, ReviewReason};
use assay_testkit::{Jailed, PATIENCE, Running, wait_for};
use rustix::thread::sched_setaffinity;

use crate::verify::load::result_of;
use crate::verify::{CARTPOLE, assay, report, verify};

/// Time asleep that the runs below are charged for at most, in s. [`ACTS`] needs 2 of them.
const WALL_BUDGET: &str = "4";
/// Time for which a policy is starved of CPU: more than [`WALL_BUDGET`].
const STARVED: Duration = Duration::from_secs(10);

#[test]
fn a_policy_that_sleeps_forever_is_to_blame() {
    let assay = assay();
    let source = "import time\ncalls = 0\n\ndef policy(observation):\n    global calls\n    calls += 1\n    if calls > 3:\n        time.sleep(1000)\n    return [0]\n";
    let run = verify(&assay, &assay.write("policy.py", source), &["--episodes", "1", "--json"]);
    let report = report(&run);
    let episode = &report.episode_details[0];
    let error = episode.error.as_ref().unwrap();
    assert_eq!((run.code, episode.status, episode.steps), (3, EpisodeStatus::PolicyTimeout, 3), "{error:?}");
    assert!(
        error.code == PolicyErrorCode::Timeout && error.message.contains("no answer for 20 s: it was asleep"),
        "{error:?}"
    );
    assert!(!run.stderr.contains("running episode again"), "{}", run.stderr);
    assay.assert_clean();
}

/// Starts threads to show that it acts, waits to be disturbed, and then uses 0.8 s of CPU time.
const ACTS: &str = "import threading\nimport time\ncalls = 0\n\ndef policy(observation):\n    global calls\n    calls += 1\n    if calls == 10:\n        for _ in range(8):\n            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n        time.sleep(2)\n    if calls == 11:\n        end = time.process_time() + 0.8\n        while time.process_time() < end:\n            pass\n    return [3 * observation['time'] - 5]\n";
/// Fewer threads than [`ACTS`] has once it acts, and more than an interpreter has by itself.
const THREADS: usize = 8;
/// Runs [`ACTS`] undisturbed, and again with `disturb` in the middle of it: the results must be the same.
fn assert_same_result<T>(disturb: impl FnOnce(&Jailed) -> T, until: impl Fn(&Running, Duration) -> bool) -> JobReport {
    let assay = assay();
    let policy = assay.write("policy.py", ACTS);
    let more = ["--episodes", "1", "--record", "none", "--wall-budget", WALL_BUDGET, "--json"];
    let undisturbed = report(&verify(&assay, &policy, &more));
    let words = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE];
    let running = assay.start(&[&words[..], &more[..]].concat());
    let acting = wait_for("a policy that acts", PATIENCE, || {
        assay.jailed().into_iter().find(|process| !process.is_lane() && process.threads() > THREADS)
    });
    let disturbance = disturb(&acting);
    let began = Instant::now();
    wait_for("the end of the disturbance", PATIENCE, || until(&running, began.elapsed()).then_some(()));
    drop(disturbance);
    let found = report(&running.wait(PATIENCE));
    let mut compared = found.clone();
    compared.episode_details[0].replaced_attempts.clear();
    assert_eq!(result_of(compared), result_of(undisturbed));
    assay.assert_clean();
    found
}

#[test]
fn a_policy_that_was_stopped_is_run_again_and_the_report_says_so() {
    let again = "running episode again";
    let found = assert_same_result(Jailed::stop, |running, _| running.stderr().contains(again));
    let [replaced] = &found.replaced_attempts[..] else { panic!("{found:?}") };
    assert_eq!((replaced.episode, replaced.reason), (0, ReplacementReason::PolicyStopped));
    assert!(replaced.evidence.contains("stopped") && found.needs_review, "{replaced:?}");
    assert!(found.review_reasons.contains(&ReviewReason::EpisodeRepeated));
}

/// Processes that use up CPU time, killed when dropped, even if a test fails.
struct Spinning<'a>(&'a AtomicBool);

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_policy_that_is_starved_of_cpu_gets_more_time() {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let disturb = |acting: &Jailed| {
            let processor = acting.processors();
            acting.lower_priority();
            // More load than necessary on the processor to which the policy is pinned.
            for _ in 0..2 {
                let done = &done;
                scope.spawn(move || {
                    sched_setaffinity(None, &processor).unwrap();
                    while !done.load(Ordering::Relaxed) {
                        spin_loop();
                    }
                });
            }
            Spinning(&done)
        };
        let found = assert_same_result(disturb, |_, elapsed| elapsed > STARVED);
        assert!(found.replaced_attempts.is_empty(), "{:?}", found.replaced_attempts);
    });
}
