//! A policy that gives no answer: its own fault when it sleeps, not when somebody kept it from running.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assay_model::EpisodeStatus;
use assay_testkit::{Jailed, wait_for};
use rustix::thread::sched_setaffinity;

use crate::load::result_of;
use crate::{CARTPOLE, assay, report, verify};

/// Until a policy acts, and for a run with a stall in it, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn a_policy_that_sleeps_for_ever_is_to_blame() {
    let assay = assay();
    let source = "import time\ncalls = 0\n\ndef policy(observation):\n    global calls\n    calls += 1\n    if calls > 3:\n        time.sleep(1000)\n    return [0]\n";
    let run = verify(&assay, &assay.write("policy.py", source), &["--episodes", "1", "--json"]);
    let report = report(&run);
    let episode = &report.episode_details[0];
    let error = episode.error.as_ref().unwrap();
    assert_eq!((run.code, episode.status, episode.steps), (3, EpisodeStatus::PolicyTimeout, 3), "{error:?}");
    assert!(error.code == "timeout" && error.message.contains("no answer for 20 s"), "{error:?}");
    assert!(!run.stderr.contains("run again"), "{}", run.stderr);
    assay.assert_clean();
}

/// Tells by its threads that it acts, leaves time to be disturbed, and then needs 0.8 s of a processor.
const ACTS: &str = "import threading\nimport time\ncalls = 0\n\ndef policy(observation):\n    global calls\n    calls += 1\n    if calls == 10:\n        for _ in range(8):\n            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n        time.sleep(2)\n    if calls == 11:\n        end = time.process_time() + 0.8\n        while time.process_time() < end:\n            pass\n    return [3 * observation['time'] - 5]\n";
/// Fewer threads than [`ACTS`] has once it acts, and more than an interpreter has by itself.
const THREADS: usize = 8;
const AGAIN: &str = "the policy was kept from running; the episode is run again";

/// An episode whose policy is disturbed until it is run again has the result of one that nobody disturbed.
fn assert_run_again<T>(disturb: impl FnOnce(&Jailed) -> T) {
    let assay = assay();
    let policy = assay.write("policy.py", ACTS);
    let undisturbed = result_of(report(&verify(&assay, &policy, &["--episodes", "1", "--json"])));
    let words = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--episodes", "1", "--json"];
    let running = assay.start(&words);
    let acting = wait_for("a policy that acts", LIMIT, || {
        assay.jailed().into_iter().find(|process| !process.is_lane() && process.threads() > THREADS)
    });
    let disturbance = disturb(&acting);
    wait_for("another try", LIMIT, || running.stderr().contains(AGAIN).then_some(()));
    drop(disturbance);
    assert_eq!(result_of(report(&running.wait(LIMIT))), undisturbed);
    assay.assert_clean();
}

#[test]
fn a_policy_that_was_stopped_is_run_again() {
    assert_run_again(Jailed::stop);
}

/// Ends what spins as soon as nobody needs it, also where a test fails.
struct Spinning<'a>(&'a AtomicBool);

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_policy_that_gets_no_processor_is_run_again() {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        assert_run_again(|acting| {
            let processor = acting.processors();
            acting.give_way();
            // More than it has to give way to, on the processor that it is pinned to.
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
        });
    });
}
