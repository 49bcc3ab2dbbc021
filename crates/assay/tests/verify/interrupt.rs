//! Ctrl-C: exit code 130, and nothing is left behind, at any time.

use std::time::Duration;

use assay_testkit::{Jailed, Running, example, wait_for};
use rustix::process::Signal;

use crate::{CARTPOLE, assay};

/// Maximum time from the signal to the end of the program.
const STOP_LIMIT: Duration = Duration::from_secs(3);
const START_LIMIT: Duration = Duration::from_secs(30);
const ENDLESS_IMPORT: &str = "while True:\n    pass\n";
const SLOW: &str = "import time\n\ndef policy(observation):\n    time.sleep(0.2)\n    return [0]\n";

#[track_caller]
fn interrupted(running: Running, signal: &dyn Fn(&Running)) {
    signal(&running);
    let run = running.wait(STOP_LIMIT);
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert!(run.stderr.contains("interrupted"), "{}", run.stderr);
    assert!(run.stdout.is_empty(), "{}", run.stdout);
}

#[test]
fn a_run_can_be_interrupted_while_episodes_run() {
    let assay = assay();
    let policy = assay.write("policy.py", SLOW);
    let out = assay.path("out");
    let by_pid = |signal| move |running: &Running| running.signal(signal);
    for signal in [&by_pid(Signal::INT) as &dyn Fn(&Running), &by_pid(Signal::TERM), &Running::interrupt] {
        let arguments = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--out", out.to_str().unwrap()];
        let running = assay.start(&arguments);
        wait_for("a lane", START_LIMIT, || assay.jailed().iter().any(Jailed::is_lane).then_some(()));
        interrupted(running, signal);
        assert!(!out.exists(), "the output folder was made by this run");
        assay.assert_clean();
    }
}

#[test]
fn a_run_can_be_interrupted_while_a_policy_is_imported() {
    let assay = assay();
    let policy = assay.write("policy.py", ENDLESS_IMPORT);
    let running = assay.start(&["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE]);
    wait_for("an interpreter", START_LIMIT, || {
        assay.jailed().iter().any(|jailed| jailed.command.starts_with("/py/bin/python3")).then_some(())
    });
    interrupted(running, &Running::interrupt);
    assay.assert_clean();
}

#[test]
fn an_interruption_of_the_rendering_keeps_the_verdict() {
    let assay = assay();
    let out = assay.path("out");
    let policy = example(CARTPOLE, "reference");
    let arguments = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--record", "all", "--out"];
    let running = assay.start(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    wait_for("a video that is drawn", START_LIMIT, || {
        // The logs come first.
        let drawing = assay.jailed().iter().any(|jailed| jailed.command.starts_with("/assay/assay-lane render"));
        (drawing && (0..3).all(|episode| out.join(format!("episodes/{episode:03}/log.intoto.json")).exists()))
            .then_some(())
    });
    running.interrupt();
    let run = running.wait(STOP_LIMIT);
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert!(run.stdout.contains("SAFE"), "the verdict was printed: {}", run.stdout);
    let command = format!("assay render {} --record all", out.display());
    assert!(run.stderr.contains("interrupted") && run.stderr.contains(&command), "{}", run.stderr);
    assay.assert_clean();
    let checked = assay.run(&["attest", "verify", "out/report.intoto.json", "--policy", policy.to_str().unwrap()]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
}
