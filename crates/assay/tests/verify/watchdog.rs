//! A policy that gives no answer: its own fault when it sleeps, not when somebody kept it from running.

use std::time::Duration;

use assay_model::EpisodeStatus;
use assay_testkit::wait_for;

use crate::load::result_of;
use crate::{CARTPOLE, assay, report, verify};

/// Until a policy acts, and for a run with a stall in it, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);
/// More threads than an interpreter has by itself.
const THREADS: usize = 8;

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

#[test]
fn a_policy_that_was_stopped_is_run_again() {
    let assay = assay();
    // Many threads tell that it acts; then there is time to stop it.
    let source = format!(
        "import threading\nimport time\ncalls = 0\n\ndef policy(observation):\n    global calls\n    calls += 1\n    \
         if calls == 10:\n        for _ in range({THREADS}):\n            threading.Thread(target=time.sleep, \
         args=(1000,), daemon=True).start()\n        time.sleep(2)\n    return [3 * observation['time'] - 5]\n"
    );
    let policy = assay.write("policy.py", source);
    let undisturbed = result_of(report(&verify(&assay, &policy, &["--episodes", "1", "--json"])));
    let words = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--episodes", "1", "--json"];
    let running = assay.start(&words);
    let acting = wait_for("a policy that acts", LIMIT, || {
        assay.jailed().into_iter().find(|process| !process.is_lane() && process.threads() > THREADS)
    });
    acting.stop();
    let run = running.wait(LIMIT);
    assert!(run.stderr.contains("the policy was kept from running; the episode is run again"), "{}", run.stderr);
    assert_eq!(result_of(report(&run)), undisturbed);
    assay.assert_clean();
}
